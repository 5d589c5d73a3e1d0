import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Metrics from "holdfast/Metrics"
import { extent, longer } from "../support/extent.js"
import { isolated } from "../support/metrics.js"
import * as Support from "../support/workers.js"

const { event, eventually, execution, load, recorder, seen } = Support

type Store = ExecutionStore.ExecutionStore

const targets = extent({ quick: 500, long: 10_000 })
const kinds = ["bill", "ship", "stock"]
const ships = targets / 100

const definitionOf = (i: number): string => (i % (targets / ships) === 1 ? "ship" : i % 2 === 0 ? "bill" : "stock")

/** Executions of another service, each with an event, a timer that is due and a child to create. */
const fill = (store: Store) =>
  Effect.gen(function* () {
    for (let i = 0; i < targets; i++) {
      const id = `foreign-${i}`
      yield* store.commit(execution(id, { definitionId: definitionOf(i) }), {
        emits: [{ targetId: id, event: event("e0") }],
        timers: [Commit.scheduleTimer("p", 1)],
        spawns: [{ childId: `${id}:child`, rootPath: "", context: {} }]
      })
    }
  })

/** The same store, which counts what is asked of it and how many rows it gives. */
const counting = (store: Store) => {
  const counts = { reads: 0, rows: 0 }
  const counted = <A, E, R>(effect: Effect.Effect<A, E, R>, rowsOf: (result: A) => number) =>
    Effect.tap(effect, (result) =>
      Effect.sync(() => {
        counts.reads++
        counts.rows += rowsOf(result)
      })
    )
  const entries = (page: { readonly entries: ReadonlyArray<unknown> }) => page.entries.length
  const one = () => 1
  const asked: Store = {
    ...store,
    pendingOutbox: (query) => counted(store.pendingOutbox(query), entries),
    pendingSpawns: (query) => counted(store.pendingSpawns(query), entries),
    dueTimers: (now, query) => counted(store.dueTimers(now, query), entries),
    load: (id) => counted(store.load(id), one),
    loadForEvent: (id, eventId) => counted(store.loadForEvent(id, eventId), one),
    timers: { ...store.timers, isArmed: (timer) => counted(store.timers.isArmed(timer), one) }
  }
  return {
    store: asked,
    counts,
    reset: Effect.sync(() => {
      counts.reads = 0
      counts.rows = 0
    })
  }
}

const runtimeOn = (store: Store) =>
  Effect.provideService(
    ExecutionRuntime.make({ definitions: { recorder }, pollInterval: "30 seconds", timerInterval: "1 minute" }),
    ExecutionStore.ExecutionStore,
    store
  )

const held = (runtime: ExecutionRuntime.ExecutionRuntime) =>
  Effect.map(runtime.health, ({ outbox, spawns, timers }) =>
    [outbox, spawns, timers].map(({ backlog, held }) => backlog + held)
  )

const known = (runtime: ExecutionRuntime.ExecutionRuntime) =>
  Effect.map(runtime.health, ({ unknownDefinitions }) =>
    unknownDefinitions.map(({ definitionId }) => definitionId).toSorted()
  )

Support.onEach("Work of many executions that another service has", (makeStore) => {
  it.scoped(longer("is passed over, and goes at once when its definition is registered"), () =>
    Effect.gen(function* () {
      const made = yield* makeStore
      yield* TestClock.setTime(1_000_000)
      yield* fill(made)
      const { counts, reset, store } = counting(made)
      const runtime = yield* runtimeOn(store)

      // found, and then read no more
      yield* eventually(known(runtime), kinds)
      yield* eventually(held(runtime), [0, 0, 0])
      assert.isBelow(counts.rows, 5_000)

      // one's own work does not wait for it
      yield* store.commit(execution("own"), {
        emits: [{ targetId: "own", event: event("e0") }],
        timers: [Commit.scheduleTimer("p", 1)],
        spawns: [{ childId: "own:child", rootPath: "", context: {} }]
      })
      // soon, that is: where event and timer meet, the loser of the race pauses
      const own = Effect.gen(function* () {
        return [seen(yield* load(store, "own")).length, Option.isSome(yield* store.load("own:child"))]
      })
      yield* Effect.repeat(Effect.zipRight(TestClock.adjust("10 millis"), own), {
        until: ([events, isThere]) => events === 2 && isThere === true,
        times: 300
      })
      assert.deepStrictEqual(yield* own, [2, true])

      yield* reset
      yield* TestClock.adjust("1 hour")
      // the polls, and every ten minutes a look at some of the rows
      assert.isBelow(counts.reads, 5_000)
      assert.isBelow(counts.rows, 5_000)
      assert.deepStrictEqual(yield* held(runtime), [0, 0, 0])
      const { ready, unknownDefinitions } = yield* runtime.health
      assert.isTrue(ready)
      assert.deepStrictEqual(
        unknownDefinitions.map(({ since }) => since),
        kinds.map(() => 1_000)
      )
      assert.strictEqual((yield* Metric.value(Metrics.unknownDefinitions)).value, kinds.length)
      assert.isAtLeast((yield* Metric.value(Metrics.unknownDefinitionAge)).value, 3_000)
      assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])

      yield* runtime.register("ship", recorder)
      assert.deepStrictEqual(yield* known(runtime), ["bill", "stock"])
      const ship = yield* load(store, "foreign-1")
      assert.deepStrictEqual(seen(ship), [])
      const done = Effect.gen(function* () {
        const { outbox, spawns, timers } = yield* store.stats
        return [outbox.count, spawns.count, timers.count]
      })
      const left = targets - ships
      yield* Effect.repeat(Effect.zipRight(TestClock.adjust("10 millis"), done), {
        until: (counts) => counts.every((count) => count === left),
        times: 300
      })
      assert.deepStrictEqual(yield* done, [left, left, left])
      assert.deepStrictEqual(seen(yield* load(store, "foreign-1")).toSorted(), ["e0", "timeout:foreign-1:p:1.0"])
      assert.deepStrictEqual(yield* known(runtime), ["bill", "stock"])
    }).pipe(isolated)
  )
})
