import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Metrics from "holdfast/Metrics"
import * as OutboxRelay from "holdfast/OutboxRelay"
import * as Processor from "holdfast/Processor"
import * as QueueWorker from "holdfast/QueueWorker"
import * as SpawnRelay from "holdfast/SpawnRelay"
import * as TimerSweeper from "holdfast/TimerSweeper"
import { counted, gauged, isolated, measured } from "../support/metrics.js"
import * as Support from "../support/workers.js"
import { deaf, event, execution, note, recorder } from "../support/workers.js"

const provided = <A, E, R>(store: ExecutionStore.ExecutionStore, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, ExecutionStore.ExecutionStore, store)

const outcomes = (worker: string) =>
  Effect.all({
    done: counted(Metrics.deliveries, { worker, outcome: "done" }),
    retried: counted(Metrics.deliveries, { worker, outcome: "retried" }),
    postponed: counted(Metrics.deliveries, { worker, outcome: "postponed" }),
    dropped: counted(Metrics.deliveries, { worker, outcome: "dropped" }),
    dead: counted(Metrics.deliveries, { worker, outcome: "dead" })
  })

const none = { done: 0, retried: 0, postponed: 0, dropped: 0, dead: 0 }

Support.onEach("the metrics of workers", (makeStore) => {
  it.scoped("count deliveries by what became of them", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const failures: Record<string, ReadonlyArray<unknown>> = {
        retried: ["no"],
        dead: ["no", "no", "no"],
        postponed: [new QueueWorker.Postponed({ reason: "not now" })],
        dropped: [new QueueWorker.TargetNotFound({ targetId: "dropped" })],
        refused: [new QueueWorker.Refused({ reason: "never" })]
      }
      yield* provided(
        store,
        OutboxRelay.make({
          retry: Schedule.spaced("1 second"),
          maxAttempts: 3,
          unknownTarget: "drop",
          deliver: ({ event }, { attempt }) => {
            const failure = failures[event.id]?.[attempt - 1]
            if (event.id === "postponed") failures["postponed"] = []
            return failure === undefined ? Effect.succeed("Delivered" as const) : Effect.fail(failure)
          }
        })
      )
      yield* store.enqueue(["fine", ...Object.keys(failures)].map((id) => ({ targetId: id, event: event(id) })))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
      assert.deepStrictEqual(yield* outcomes("OutboxRelay"), {
        done: 3,
        retried: 3,
        postponed: 1,
        dropped: 1,
        dead: 2
      })
      assert.strictEqual(yield* counted(Metrics.deadLetters, { work: "Outbox", reason: "attempts" }), 1)
      assert.strictEqual(yield* counted(Metrics.deadLetters, { work: "Outbox", reason: "rejected" }), 1)
    }).pipe(isolated)
  )

  it.scoped("measure how late work begins, how long it takes, and when the store was read", () =>
    Effect.gen(function* () {
      const store = deaf(yield* makeStore)
      yield* TestClock.setTime(10_000)
      yield* store.enqueue(["a", "b"].map((id) => ({ targetId: id, event: event(id) })))
      yield* store.commit(execution("c"), { timers: [Commit.scheduleTimer("t", 12), Commit.scheduleTimer("u", 13)] })
      yield* TestClock.setTime(14_000)
      const deliver = () => Effect.delay(Effect.succeed("Delivered" as const), "250 millis")
      yield* provided(store, OutboxRelay.make({ deliver }))
      yield* provided(store, TimerSweeper.make({ deliver }))
      yield* TestClock.adjust("500 millis")
      const outbox = { worker: "OutboxRelay" }
      const timers = { worker: "TimerSweeper" }
      assert.deepStrictEqual(yield* measured(Metrics.deliveryLag, outbox), { count: 2, sum: 8 })
      assert.deepStrictEqual(yield* measured(Metrics.deliveryDuration, outbox), { count: 2, sum: 0.5 })
      // The second waits for the first, of the same execution.
      assert.deepStrictEqual(yield* measured(Metrics.deliveryLag, timers), { count: 2, sum: 2 + 1.25 })
      assert.deepStrictEqual(yield* measured(Metrics.deliveryDuration, timers), { count: 2, sum: 0.5 })
      assert.strictEqual(yield* gauged(Metrics.lastRun, outbox), 14)
      yield* TestClock.adjust("10 seconds")
      assert.isAtLeast(yield* gauged(Metrics.lastRun, outbox), 23)
      assert.deepStrictEqual(yield* outcomes("TimerSweeper"), { ...none, done: 2 })
    }).pipe(isolated)
  )

  it.scoped("count the creation of children", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* store.commit(execution("a"), { spawns: [{ childId: "c", rootPath: "", context: {} }] })
      yield* provided(store, SpawnRelay.make())
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* outcomes("SpawnRelay"), { ...none, done: 1 })
      // A spawn does not say since when it waits.
      assert.strictEqual((yield* measured(Metrics.deliveryLag, { worker: "SpawnRelay" })).count, 0)
    }).pipe(isolated)
  )

  it.scoped("count events by the definitions that the processor was given", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { process } = yield* provided(
        store,
        Processor.make({ definitions: { recorder, failing: () => Effect.fail("no") } })
      )
      yield* store.save(execution("a"))
      yield* store.save(execution("b", { definitionId: "failing" }))
      yield* store.save(execution("c", { definitionId: "somebody's" }))
      yield* store.save(execution("d", { status: "SUSPENDED" }))
      yield* process("a", event("e1"))
      yield* process("a", event("e1"))
      for (const id of ["b", "c", "d", "nobody"]) yield* Effect.flip(process(id, event("e1")))
      for (const [definition, outcome] of [
        ["recorder", "advanced"],
        ["recorder", "processed"],
        ["recorder", "suspended"],
        ["failing", "failed"],
        ["unknown", "failed"],
        ["unknown", "unknown"]
      ] as const) {
        assert.strictEqual(yield* counted(Metrics.events, { definition, outcome }), 1, `${definition} ${outcome}`)
      }
      assert.strictEqual((yield* measured(Metrics.eventDuration, { definition: "recorder" })).count, 3)
    }).pipe(isolated)
  )

  it.scoped("count the steps that run again because another commit came first", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      let rivals = 2
      const { process } = yield* provided(
        store,
        Processor.make({
          conflictRetry: Schedule.recurs(5),
          definitions: {
            recorder: (execution, cause) =>
              Effect.as(rivals-- > 0 ? Effect.orDie(store.save(execution)) : Effect.void, {
                execution: note(execution, cause)
              })
          }
        })
      )
      yield* store.save(execution("a"))
      yield* process("a", event("e1"))
      assert.strictEqual(yield* counted(Metrics.conflictRetries, { definition: "recorder" }), 2)
      assert.strictEqual(yield* counted(Metrics.commits, { outcome: "conflict" }), 2)
      assert.strictEqual(yield* counted(Metrics.events, { definition: "recorder", outcome: "advanced" }), 1)
    }).pipe(isolated)
  )

  it.scoped("are beside logs that say which work they are about", () => {
    const annotations: Array<unknown> = []
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* provided(
        store,
        OutboxRelay.make({
          deliver: () => new QueueWorker.Refused({ reason: "never" })
        })
      )
      yield* store.enqueue([{ targetId: "a", event: event("e1") }])
      yield* TestClock.adjust(0)
      const of = { package: "holdfast", module: "OutboxRelay", executionId: "a", eventId: "e1", seq: 1 }
      assert.deepStrictEqual(annotations, [of])
    }).pipe(Effect.provide(Support.annotations(annotations)))
  })
})
