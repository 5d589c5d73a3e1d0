import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { instrumented } from "holdfast/internal/store/instrumented"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Metrics from "holdfast/Metrics"
import * as SqliteStore from "holdfast/SqliteStore"
import { StoreCorrupt, type StoreError, StoreUnavailable } from "holdfast/StoreError"
import { counted, isolated, measured } from "../support/metrics.js"
import { event, execution } from "../support/workers.js"

const emit = (id: string) => ({ targetId: "b", event: event(id) })

/** The outcomes of commits so far. */
const commits = Effect.all({
  applied: counted(Metrics.commits, { outcome: "applied" }),
  conflict: counted(Metrics.commits, { outcome: "conflict" }),
  failed: counted(Metrics.commits, { outcome: "failed" })
})

for (const [name, makeStore] of [
  ["memory", MemoryStore.make()],
  ["SQLite", SqliteStore.make({ filename: ":memory:" })]
] as const) {
  describe(`the store's metrics, ${name}`, () => {
    it.scoped("count commits by their outcome, and what they emit", () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        const { execution: saved } = yield* store.commit(execution("a"), { emits: [emit("e1"), emit("e2")] })
        yield* store.save(saved)
        yield* Effect.flip(store.commit(saved, { emits: [emit("e3")] }))
        yield* Effect.flip(store.commit({ ...saved, version: -1 }, { emits: [emit("e4")] }))
        yield* store.enqueue([emit("e5")])
        assert.deepStrictEqual(yield* commits, { applied: 2, conflict: 1, failed: 1 })
        assert.strictEqual(yield* counted(Metrics.emits), 3)
        assert.strictEqual(yield* counted(Metrics.storeErrors, { operation: "commit", error: "StoreRejected" }), 1)
        assert.strictEqual(yield* counted(Metrics.storeErrors, { operation: "commit", error: "StoreConflict" }), 0)
        assert.strictEqual((yield* measured(Metrics.storeDuration, { operation: "commit" })).count, 4)
        assert.strictEqual((yield* measured(Metrics.storeDuration, { operation: "enqueue" })).count, 1)
      }).pipe(isolated)
    )

    it.scoped("count dead letters by reason", () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        const [first = 0, second = 0] = yield* store.enqueue([emit("e1"), emit("e2")])
        const why = { attempts: 1, error: "no" }
        yield* store.deadLetters.bury({ _tag: "Outbox", seq: first }, { reason: "attempts", ...why })
        yield* store.deadLetters.bury({ _tag: "Outbox", seq: second }, { reason: "rejected", ...why })
        yield* store.deadLetters.bury({ _tag: "Outbox", seq: first }, { reason: "attempts", ...why })
        assert.strictEqual(yield* counted(Metrics.deadLetters, { work: "Outbox", reason: "attempts" }), 1)
        assert.strictEqual(yield* counted(Metrics.deadLetters, { work: "Outbox", reason: "rejected" }), 1)
      }).pipe(isolated)
    )
  })
}

describe("the store's metrics", () => {
  it.scoped("measure in seconds, failures too, and no operation that is interrupted", () =>
    Effect.gen(function* () {
      const unavailable = new StoreUnavailable({
        operation: "load",
        reason: "busy",
        outcome: "not-applied",
        detail: "locked"
      })
      const corrupt = new StoreCorrupt({ operation: "load", table: "executions", key: "a", problem: "not JSON" })
      const results: ReadonlyArray<Effect.Effect<never, StoreError>> = [
        Effect.fail(unavailable),
        Effect.fail(corrupt),
        Effect.dieMessage("a bug"),
        Effect.never
      ]
      let next = 0
      const store = instrumented({
        ...(yield* MemoryStore.make()),
        load: () =>
          Effect.delay(
            Effect.suspend(() => results[next++] ?? Effect.never),
            "250 millis"
          )
      })
      for (let i = 0; i < 3; i++) {
        const loading = yield* Effect.fork(Effect.exit(store.load("a")))
        yield* TestClock.adjust("250 millis")
        yield* Fiber.join(loading)
      }
      const hanging = yield* Effect.fork(store.load("a"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.interrupt(hanging)
      assert.deepStrictEqual(yield* measured(Metrics.storeDuration, { operation: "load" }), { count: 3, sum: 0.75 })
      for (const error of ["StoreUnavailable", "StoreCorrupt", "Defect"]) {
        assert.strictEqual(yield* counted(Metrics.storeErrors, { operation: "load", error }), 1, error)
      }
    }).pipe(isolated)
  )

  it.scoped("tell how many commits share a transaction", () =>
    Effect.gen(function* () {
      const store = yield* SqliteStore.make({ filename: ":memory:" })
      const opened = yield* measured(Metrics.batchSize, { batch: "writes" })
      yield* Effect.forEach(["a", "b", "c", "d", "e"], (id) => store.save(execution(id)), { concurrency: "unbounded" })
      const { count, sum } = yield* measured(Metrics.batchSize, { batch: "writes" })
      assert.strictEqual(sum - opened.sum, 5)
      assert.isBelow(count - opened.count, 5)
    }).pipe(isolated)
  )
})
