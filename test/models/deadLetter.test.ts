import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Commit from "holdfast/Commit"
import * as DeadLetter from "holdfast/DeadLetter"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as MemoryStore from "holdfast/MemoryStore"
import { StoreCorrupt } from "holdfast/StoreError"

it.effect("dead letters and failures pass through JSON", () =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.make()
    const { seqs } = yield* store.commit(Execution.make({ id: "a", definitionId: "order" }), {
      emits: [{ targetId: null, event: Event.make({ id: "e", kind: "Paid", data: { amount: 39.98 } }) }],
      spawns: [{ childId: "c", rootPath: "Root", context: { n: [1, null] } }],
      timers: [Commit.scheduleTimer("p", 1790000060.1234567)]
    })
    const works: ReadonlyArray<Commit.WorkItem> = [
      { _tag: "Outbox", seq: seqs[0] ?? 0 },
      { _tag: "Spawn", seq: 1 },
      { _tag: "Timer", executionId: "a", path: "p", fireAt: 1790000060.1234567 }
    ]
    for (const work of works)
      yield* store.deadLetters.recordFailure({ work, attempts: 3, error: "no answer", retryAt: 7.5 })
    const { failures } = yield* store.pendingOutbox()
    const Failures = Schema.parseJson(Schema.Array(DeadLetter.Failure))
    assert.lengthOf(failures, 1)
    assert.deepStrictEqual(yield* Schema.decode(Failures)(yield* Schema.encode(Failures)(failures)), failures)
    for (const work of works) yield* store.deadLetters.bury(work, { reason: "no-target", attempts: 4, error: "nobody" })
    const { entries } = yield* store.deadLetters.list()
    assert.deepStrictEqual(
      entries.map(({ _tag, row }) => [_tag, row._tag]),
      [
        ["Outbox", "Some"],
        ["Spawn", "Some"],
        ["Timer", "Some"]
      ]
    )
    const Letters = Schema.parseJson(Schema.Array(DeadLetter.DeadLetter))
    assert.deepStrictEqual(yield* Schema.decode(Letters)(yield* Schema.encode(Letters)(entries)), entries)
  })
)

it.effect("the report of a corrupt row passes through JSON with the work that it is", () =>
  Effect.gen(function* () {
    const Reports = Schema.parseJson(StoreCorrupt)
    for (const work of [{ work: { _tag: "Outbox", seq: 3 } as const }, {}]) {
      const corrupt = new StoreCorrupt({
        operation: "pendingOutbox",
        table: "outbox",
        key: "3",
        problem: "bad",
        ...work
      })
      const read = yield* Schema.decode(Reports)(yield* Schema.encode(Reports)(corrupt))
      assert.deepStrictEqual(read.work, corrupt.work)
    }
  })
)
