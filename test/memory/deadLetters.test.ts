import { assert, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Commit from "holdfast/Commit"
import * as Execution from "holdfast/Execution"
import { DeadLetters } from "holdfast/internal/memory/deadLetters"
import { Ordered } from "holdfast/internal/memory/sortedArray"
import * as MemoryStore from "holdfast/MemoryStore"

const rest = { reason: "failed", attempts: 1, error: "", diedAt: 0, broken: false, seq: null, fireAt: null, body: null }

const timer = (executionId: string, path: string) => ({ ...rest, kind: "Timer", executionId, path, childId: null })
const activity = (executionId: string, key: string) => ({
  ...rest,
  kind: "Activity",
  executionId,
  path: "a",
  childId: key
})

type Row = ReturnType<typeof timer | typeof activity>

const name = FastCheck.constantFrom("a", "b", "c")

const change = FastCheck.oneof(
  FastCheck.record({ _tag: FastCheck.constantFrom("Timer" as const, "Activity" as const), id: name, name }),
  FastCheck.record({ _tag: FastCheck.constant("Delete" as const), nth: FastCheck.integer({ min: 1, max: 12 }) }),
  FastCheck.record({ _tag: FastCheck.constant("Replace" as const), id: name, path: name, key: name }),
  FastCheck.record({ _tag: FastCheck.constant("RemoveOf" as const), id: name })
)

it("Dead letters of an execution are removed as if each of all were looked at", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.array(change, { maxLength: 30 }), (changes) => {
      const letters = new DeadLetters()
      let all: ReadonlyArray<Row & { readonly id: number }> = []
      let last = 0
      for (const change of changes) {
        if (change._tag === "Delete") {
          letters.delete(change.nth)
          all = all.filter(({ id }) => id !== change.nth)
        } else if (change._tag === "RemoveOf") {
          letters.removeOf(change.id)
          all = all.filter(({ executionId }) => executionId !== change.id)
        } else if (change._tag === "Replace") {
          letters.replace(change.id, [change.path], [change.key])
          all = all.filter(
            ({ childId, executionId, kind, path }) =>
              executionId !== change.id || (kind === "Timer" ? path !== change.path : childId !== change.key)
          )
        } else {
          const row = change._tag === "Timer" ? timer(change.id, change.name) : activity(change.id, change.name)
          letters.add(row)
          all = [...all, { id: ++last, ...row }]
        }
      }
      assert.deepStrictEqual<ReadonlyArray<unknown>>(Array.from(letters.after(undefined)), all)
      assert.strictEqual(letters.size, all.length)
    })
  )
})

it.effect("A commit that arms and cancels timers does not look through the dead letters of others", () =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.make()
    const execution = yield* store.save(Execution.make({ id: "a", definitionId: "order" }))
    const since = vi.spyOn(Ordered.prototype, "after")
    const from = vi.spyOn(Ordered.prototype, "from")
    yield* store.commit(execution, { timers: [Commit.scheduleTimer("x", 1), Commit.cancelTimer("y")] })
    assert.deepStrictEqual([since.mock.calls.length, from.mock.calls.length], [0, 0])
    vi.restoreAllMocks()
  })
)
