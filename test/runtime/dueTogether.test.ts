import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import * as SpawnRelay from "holdfast/SpawnRelay"
import * as drivers from "../support/drivers.js"
import * as Support from "../support/workers.js"

const { armed, driven, eventually, execution, load, recorder, seen } = Support

type Store = ExecutionStore

const ids = Array.from({ length: 30 }, (_, i) => `due-${i}`)
const [first = "", second = "", third = ""] = ids

const fireAt = 5

const runtimeOn = (store: Store, transition: Processor.Transition) =>
  Effect.provideService(
    ExecutionRuntime.make({ concurrency: ids.length, definitions: { recorder: transition } }),
    ExecutionStore,
    store
  )

/** Executions that each have a timer that is due soon. */
const fill = (store: Store) =>
  Effect.forEach(ids, (id) => store.commit(execution(id), { timers: [Commit.scheduleTimer("p", fireAt)] }), {
    discard: true
  })

const versions = (store: Store) => Effect.forEach(ids, (id) => Effect.map(load(store, id), ({ version }) => version))

const parent = execution("parent")

const childIds = ids.map((id) => `child-${id}`)

const spawns = childIds.map((childId) => ({ childId, rootPath: "", context: {} }))

const relayOn = (store: Store, options: SpawnRelay.Options = {}) =>
  Effect.provideService(SpawnRelay.make({ concurrency: ids.length, ...options }), ExecutionStore, store)

const created = (store: Store) => Effect.map(store.idsWithPrefix("child-"), (found) => found.length)

Support.onEach("Timers of many executions that are due at once", (makeStore) => {
  it.scoped("fire once each, and are gone", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store)
      const runtime = yield* runtimeOn(store, recorder)
      yield* TestClock.adjust("1 minute")
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(yield* armed(store), [])
      for (const id of ids) assert.strictEqual(seen(yield* load(store, id)).length, 1)
    })
  )

  it.scoped(
    "do not fire where they were cancelled or armed anew after they were read, or where their execution is gone",
    () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        yield* fill(store)
        const dueTimers: Store["dueTimers"] = (...query) =>
          Effect.tap(store.dueTimers(...query), ({ entries }) =>
            entries.length < ids.length
              ? Effect.void
              : Effect.gen(function* () {
                  yield* store.commit(yield* load(store, first), { timers: [Commit.cancelTimer("p")] })
                  yield* store.commit(yield* load(store, second), { timers: [Commit.scheduleTimer("p", 1e9)] })
                  yield* store.purge(third, 1)
                }).pipe(Effect.orDie)
          )
        yield* runtimeOn({ ...store, dueTimers }, recorder)
        yield* TestClock.adjust("6 seconds")
        yield* eventually(armed(store), [[second, "p", 1e9]])
        yield* eventually(
          Effect.forEach(
            ids.filter((id) => id !== third),
            (id) => Effect.map(load(store, id), (found) => seen(found).length)
          ),
          ids.flatMap((id) => (id === third ? [] : [id === first || id === second ? 0 : 1]))
        )
        assert.isTrue(Option.isNone(yield* store.load(third)))
      })
  )

  it.scoped("do not wait for one whose transition waits, and one that fails is tried again", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store)
      const gate = yield* Deferred.make<void>()
      let fails = true
      const transition: Processor.Transition<string> = (given, event) => {
        if (given.id === first) return Effect.zipRight(Deferred.await(gate), recorder(given, event))
        if (given.id === second && fails) return Effect.fail("not yet")
        return recorder(given, event)
      }
      yield* Effect.provideService(
        ExecutionRuntime.make({ concurrency: ids.length, definitions: { recorder: transition } }),
        ExecutionStore,
        store
      )
      yield* TestClock.adjust("6 seconds")
      yield* eventually(
        versions(store),
        ids.map((id) => (id === first || id === second ? 1 : 2))
      )
      yield* Deferred.succeed(gate, undefined)
      fails = false
      yield* driven(
        eventually(
          versions(store),
          ids.map(() => 2)
        )
      )
      assert.deepStrictEqual(yield* armed(store), [])
    })
  )
})

Support.onEach("Many children at once", (makeStore) => {
  it.scoped("do not wait for one that takes its time, and one that fails or exists does not stop the others", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const [slow = "", bad = "", taken = "", other = ""] = childIds
      yield* store.save(execution(taken, { context: { mine: true } }))
      yield* store.save(execution(other, { parentId: "parent", childId: other, context: { made: true } }))
      yield* store.commit(parent, { spawns })
      const gate = yield* Deferred.make<void>()
      const relay = yield* relayOn(store, {
        child: (spawn, parent) => {
          const made = Effect.orDie(SpawnRelay.defaultChild(spawn, parent))
          if (spawn.childId === bad) return Effect.die("a bug")
          return spawn.childId === slow ? Effect.zipRight(Deferred.await(gate), made) : made
        }
      })
      yield* eventually(created(store), childIds.length - 2)
      yield* Deferred.succeed(gate, undefined)
      yield* relay.awaitQuiet
      yield* eventually(created(store), childIds.length - 1)
      assert.deepStrictEqual((yield* load(store, taken)).context, { mine: true })
      assert.deepStrictEqual((yield* load(store, other)).context, { made: true })
      const { entries } = yield* store.deadLetters.list()
      assert.deepStrictEqual(
        entries.map(({ reason }) => reason),
        ["id-taken"]
      )
      const pending = yield* store.pendingSpawns()
      assert.deepStrictEqual(
        pending.entries.map(({ childId }) => childId),
        [bad]
      )
    })
  )

  it.scoped("wait where their parent is suspended", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { execution: suspended } = yield* store.commit({ ...parent, status: "SUSPENDED" }, { spawns })
      yield* relayOn(store)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* created(store), 0)
      yield* store.save({ ...suspended, status: "RUNNING" })
      yield* driven(eventually(created(store), childIds.length))
    })
  )
})

for (const [name, makeDriver] of drivers.all) {
  it.scoped(`Timers of many executions take one read and one transaction on ${name}`, () =>
    Effect.gen(function* () {
      const { operations, store } = yield* drivers.counting(makeDriver)
      yield* fill(store)
      const runtime = yield* runtimeOn(store, recorder)
      operations.length = 0
      yield* TestClock.adjust("6 seconds")
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(yield* armed(store), [])
      assert.deepStrictEqual(operations, ["loadForEvents", `${ids.length} commits`])
    })
  )

  it.scoped(`Children of one parent take one read and one transaction on ${name}`, () =>
    Effect.gen(function* () {
      const { operations, store } = yield* drivers.counting(makeDriver)
      yield* store.commit(parent, { spawns })
      operations.length = 0
      const relay = yield* relayOn(store)
      yield* driven(Effect.zipRight(relay.awaitQuiet, eventually(created(store), ids.length)))
      assert.deepStrictEqual(operations, ["loadForEvent", `${ids.length} commits`])
    })
  )
}
