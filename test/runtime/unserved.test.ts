import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Metrics from "holdfast/Metrics"
import { StoreUnavailable } from "holdfast/StoreError"
import { shareOfTests } from "../support/extent.js"
import { isolated } from "../support/metrics.js"
import { deaf, event, eventually, execution, onEach, recorder } from "../support/workers.js"

type Store = ExecutionStore.ExecutionStore

// A jump in time should not cost a poll, or a look at the gauges, for each second of it.
const rarely: ExecutionRuntime.CommonOptions = {
  pollInterval: "10 minutes",
  timerInterval: "10 minutes",
  statsInterval: "1 hour",
  activityTtl: "1 hour"
}

const runtimeOn = (store: Store, options: ExecutionRuntime.CommonOptions = rarely) =>
  Effect.provideService(
    ExecutionRuntime.make({ ...options, definitions: { recorder } }),
    ExecutionStore.ExecutionStore,
    store
  )

/** What health tells, without since when the process knows. */
const told = (runtime: ExecutionRuntime.ExecutionRuntime) =>
  Effect.map(runtime.health, ({ unknownActivities, unknownDefinitions }) =>
    [
      ...unknownDefinitions.map(({ definitionId, outbox, spawns, timers }) => [definitionId, outbox, spawns, timers]),
      ...unknownActivities.map(({ count, name }) => [name, count])
    ].toSorted()
  )

const theirs = (id: string, definitionId: string) => execution(id, { definitionId })

/** One of each kind of work, each of another definition, and an activity. */
const fill = (store: Store) =>
  Effect.gen(function* () {
    yield* store.commit(theirs("e", "events"), { emits: [{ targetId: "e", event: event("e0") }] })
    yield* store.commit(theirs("s", "spawns"), { spawns: [{ childId: "s:child", rootPath: "", context: {} }] })
    yield* store.commit(theirs("t", "timers"), { timers: [Commit.scheduleTimer("p", 4600)] })
    yield* store.commit(theirs("d", "delayed"), { emits: [{ targetId: "d", event: event("d0"), dueAt: 4600 }] })
    yield* store.commit(execution("a"), { activities: [Commit.runActivity({ key: "k", name: "charge", payload: {} })] })
  })

const present = [
  ["charge", 1],
  ["events", 1, 0, 0],
  ["spawns", 0, 1, 0]
]

const all = [["charge", 1], ["delayed", 1, 0, 0], ...present.slice(1, 2), ["spawns", 0, 1, 0], ["timers", 0, 0, 1]]

const sharings: ReadonlyArray<readonly [string, (store: Store) => Store]> = [
  ["", (store) => store],
  [", also of a store to which others write", deaf]
]

onEach("What waits for definitions and activities of others", (make, onStore) => {
  for (const [[name, shared], named] of shareOfTests(sharings, onStore === "memory" ? 0 : 1, 2)) {
    it.scoped(named(`is in health at any time, also after pauses of hours and days${name}`), () =>
      Effect.gen(function* () {
        const store = shared(yield* make)
        yield* TestClock.setTime(1_000_000)
        yield* fill(store)
        const runtime = yield* runtimeOn(store)
        // Before any worker has looked.
        assert.deepStrictEqual(yield* told(runtime), present)
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(yield* told(runtime), present)
        yield* TestClock.setTime(4_600_500)
        yield* TestClock.adjust("11 minutes")
        assert.deepStrictEqual(yield* told(runtime), all)
        for (const hours of [0.01, 0.1, 0.16, 0.2, 0.3, 2, 24]) {
          yield* TestClock.adjust(`${hours} hours`)
          // At the first look after the pause.
          assert.deepStrictEqual(yield* told(runtime), all)
        }
        const { ready, unknownActivities, unknownDefinitions } = yield* runtime.health
        assert.isTrue(ready)
        assert.deepStrictEqual(
          Object.fromEntries(unknownDefinitions.map(({ definitionId, oldest }) => [definitionId, oldest])),
          {
            events: Option.some(1000),
            spawns: Option.none(),
            timers: Option.some(4600),
            delayed: Option.some(4600)
          }
        )
        assert.deepStrictEqual(unknownActivities, [
          { name: "charge", since: 1000, count: 1, oldest: Option.some(1000) }
        ])
        assert.strictEqual((yield* Metric.value(Metrics.unknownDefinitions)).value, 4)
        assert.isAtLeast((yield* Metric.value(Metrics.unknownDefinitionAge)).value, 26 * 3600)
        assert.strictEqual((yield* Metric.value(Metrics.unknownActivities)).value, 1)
        assert.isAtLeast((yield* Metric.value(Metrics.unknownActivityAge)).value, 26 * 3600)
        assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
      }).pipe(isolated)
    )
  }

  it.scoped("is in health of a runtime that is paused", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store)
      yield* runtime.pause
      yield* TestClock.setTime(4_600_500)
      yield* fill(store)
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(
        yield* told(runtime),
        all.filter(([id]) => id !== "delayed")
      )
    })
  )

  it.scoped("stays in health while the store does not answer", () =>
    Effect.gen(function* () {
      const made = yield* make
      let isDown = false
      const down = new StoreUnavailable({
        operation: "stats",
        reason: "connection",
        outcome: "not-applied",
        detail: "connection refused"
      })
      const store: Store = {
        ...deaf(made),
        stats: Effect.suspend(() => (isDown ? Effect.fail(down) : made.stats)),
        pendingOutbox: (query) => (isDown ? Effect.fail(down) : made.pendingOutbox(query))
      }
      yield* TestClock.setTime(4_600_500)
      yield* fill(store)
      const runtime = yield* runtimeOn(store)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* told(runtime), all)
      isDown = true
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(yield* told(runtime), all)
      isDown = false
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* told(runtime), all)
    })
  )

  it.scoped("goes from health, by itself, when others have done it", () =>
    Effect.gen(function* () {
      const store = deaf(yield* make)
      yield* TestClock.setTime(4_600_500)
      yield* fill(store)
      const runtime = yield* runtimeOn(store)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* told(runtime), all)
      const other = yield* Effect.provideService(
        ExecutionRuntime.make({
          definitions: { events: recorder, spawns: recorder, timers: recorder, delayed: recorder }
        }),
        ExecutionStore.ExecutionStore,
        store
      )
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* told(runtime), [["charge", 1]])
      assert.deepStrictEqual(yield* told(other), [["charge", 1]])
    })
  )

  it.scoped("is told of children too that only the application's own function can tell of", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* TestClock.setTime(1_000_000)
      yield* store.commit(execution("a"), { spawns: [{ childId: "child", rootPath: "", context: {} }] })
      const child = () => Effect.succeed(Execution.make({ id: "child", definitionId: "grown", parentId: "a" }))
      const runtime = yield* runtimeOn(store, { ...rarely, child })
      const definitions = Effect.map(runtime.health, ({ unknownDefinitions }) =>
        unknownDefinitions.map(({ definitionId, since }) => [definitionId, since])
      )
      yield* eventually(definitions, [["grown", 1000]])
      yield* TestClock.adjust("5 hours")
      assert.deepStrictEqual(yield* definitions, [["grown", 1000]])
      yield* runtime.register("grown", recorder)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* definitions, [])
      assert.isTrue(Option.isSome(yield* store.load("child")))
    })
  )

  it.scoped("is nothing to a runtime that fails what it has no definition for", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* TestClock.setTime(4_600_500)
      yield* fill(store)
      const runtime = yield* runtimeOn(store, { ...rarely, unknownDefinition: "fail" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* runtime.health).unknownDefinitions, [])
    })
  )
})
