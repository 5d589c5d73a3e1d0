import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Metrics from "holdfast/Metrics"
import * as SqliteStore from "holdfast/SqliteStore"
import { StoreUnavailable } from "holdfast/StoreError"
import * as Telemetry from "holdfast/Telemetry"
import { gauged, isolated } from "../support/metrics.js"
import * as Support from "../support/workers.js"
import { event, execution } from "../support/workers.js"

const seen = Effect.all({
  outbox: gauged(Metrics.backlog, { work: "Outbox" }),
  spawns: gauged(Metrics.backlog, { work: "Spawn" }),
  timers: gauged(Metrics.backlog, { work: "Timer" }),
  activities: gauged(Metrics.backlog, { work: "Activity" }),
  activityAge: gauged(Metrics.oldestAge, { work: "Activity" }),
  failing: gauged(Metrics.failing, { work: "Outbox" }),
  outboxAge: gauged(Metrics.oldestAge, { work: "Outbox" }),
  timerAge: gauged(Metrics.oldestAge, { work: "Timer" }),
  deadLetters: gauged(Metrics.deadLettersHeld)
})

const nothing = {
  outbox: 0,
  spawns: 0,
  timers: 0,
  activities: 0,
  activityAge: 0,
  failing: 0,
  outboxAge: 0,
  timerAge: 0,
  deadLetters: 0
}

for (const [name, makeStore] of [
  ["memory", MemoryStore.make()],
  ["SQLite", SqliteStore.make({ filename: ":memory:" })]
] as const) {
  describe(`Telemetry, ${name}`, () => {
    it.scoped("tells what waits in the store, and for how long", () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        yield* Effect.provideService(Telemetry.make(), ExecutionStore.ExecutionStore, store)
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(yield* seen, nothing)
        yield* store.commit(execution("a"), {
          emits: ["e1", "e2", "e3"].map((id) => ({ targetId: "b", event: event(id) })),
          spawns: [{ childId: "c", rootPath: "", context: {} }],
          activities: [Commit.runActivity({ key: "k", name: "n" }), Commit.runActivity({ key: "l", name: "n" })],
          timers: [Commit.scheduleTimer("soon", 10), Commit.scheduleTimer("later", 1000)]
        })
        const { entries } = yield* store.pendingOutbox()
        const [first = 0, second = 0, third = 0] = entries.map((entry) => entry.seq)
        yield* store.deadLetters.recordFailure({
          work: { _tag: "Outbox", seq: first },
          attempts: 1,
          error: "no",
          retryAt: 99
        })
        yield* store.deadLetters.bury({ _tag: "Outbox", seq: third }, { reason: "attempts", attempts: 1, error: "no" })
        yield* TestClock.adjust("15 seconds")
        const waiting = {
          outbox: 2,
          spawns: 1,
          timers: 1,
          activities: 2,
          activityAge: 15,
          failing: 1,
          outboxAge: 15,
          timerAge: 5,
          deadLetters: 1
        }
        assert.deepStrictEqual(yield* seen, waiting)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* seen, { ...waiting, activityAge: 75, outboxAge: 75, timerAge: 65 })
        yield* Effect.forEach([first, second], store.ackOutbox)
        yield* store.deleteTimer({ executionId: "a", path: "soon", fireAt: 10 })
        yield* TestClock.adjust("15 seconds")
        assert.deepStrictEqual(yield* seen, { ...nothing, spawns: 1, activities: 2, activityAge: 90, deadLetters: 1 })
      }).pipe(isolated)
    )

    it.scoped("knows the age of a delayed event from its time, not from when it was emitted", () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        yield* store.enqueue([{ targetId: "b", event: event("e1"), dueAt: 100 }])
        yield* TestClock.adjust("130 seconds")
        yield* store.delayed.release(130)
        yield* Effect.provideService(Telemetry.sample, ExecutionStore.ExecutionStore, store)
        assert.strictEqual((yield* seen).outboxAge, 30)
      }).pipe(isolated)
    )
  })
}

describe("Telemetry", () => {
  it.scoped("keeps its values in an outage, of which the log hears once, and makes no spans", () => {
    const logs = Support.logs()
    const spans = Support.spans()
    let down = false
    const outage = new StoreUnavailable({
      operation: "stats",
      reason: "busy",
      outcome: "not-applied",
      detail: "locked"
    })
    const store = Effect.map(MemoryStore.make(), (store) => ({
      ...store,
      stats: Effect.withSpan(
        Effect.suspend(() => (down ? Effect.fail(outage) : store.stats)),
        "read"
      )
    }))
    const live = Telemetry.layer({ interval: Duration.seconds(5) }).pipe(
      Layer.provideMerge(Layer.effect(ExecutionStore.ExecutionStore, store))
    )
    return Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* store.enqueue([{ targetId: "b", event: event("e1") }])
      yield* TestClock.adjust("5 seconds")
      down = true
      yield* TestClock.adjust("20 seconds")
      assert.deepInclude(yield* seen, { outbox: 1, outboxAge: 5 })
      assert.deepStrictEqual(
        logs.lines.map((line) => line.startsWith(`WARN ${outage.message}`)),
        [true]
      )
      down = false
      yield* TestClock.adjust("15 seconds")
      assert.isAbove((yield* seen).outboxAge, 25)
      down = true
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(
        logs.lines.map((line) => line.split(" ")[0]),
        ["WARN", "INFO", "WARN"]
      )
      assert.deepStrictEqual(
        spans.started.map((span) => span.name),
        ["ExecutionStore.enqueue"]
      )
    }).pipe(Effect.provide(live), Effect.provide([spans.layer, logs.layer]), isolated)
  })
})
