import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Definition from "holdfast/Definition"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Step from "holdfast/Step"
import { servers } from "../support/servers.js"
import * as Temp from "../support/temp.js"
import { driven, eventually } from "../support/workers.js"

const Reminder = Definition.make("reminder", {
  context: Schema.Struct({ days: Schema.Number, times: Schema.Number, fired: Schema.Number }),
  input: Schema.Struct({ days: Schema.Number, times: Schema.Number }),
  initial: (input) => ({ ...input, fired: 0 }),
  timers: ["next"],
  result: Schema.Number
})

const ReminderLive = Reminder.toLayer({
  Start: (step) => Reminder.armTimer(step, "next", `${step.context.days} days`),
  timers: {
    next: (step) => {
      const counted = Step.updateContext(step, (context) => ({ ...context, fired: context.fired + 1 }))
      const { days, fired, times } = counted.context
      return fired === times ? Reminder.finish(counted, fired) : Reminder.armTimer(counted, "next", `${days} days`)
    }
  }
})

/** A store that counts how often it is read, by anybody. */
const counting = (store: ExecutionStore.ExecutionStore) => {
  let reads = 0
  const count = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      reads++
      return effect
    })
  const counted: ExecutionStore.ExecutionStore = {
    ...store,
    load: (id) => count(store.load(id)),
    pendingOutbox: (query) => count(store.pendingOutbox(query)),
    pendingSpawns: (query) => count(store.pendingSpawns(query)),
    dueTimers: (now, query) => count(store.dueTimers(now, query)),
    activities: {
      ...store.activities,
      waiting: (owner) => count(store.activities.waiting(owner)),
      owned: (owner) => count(store.activities.owned(owner))
    },
    delayed: { ...store.delayed, next: count(store.delayed.next) },
    leases: { ...store.leases, load: (pool) => count(store.leases.load(pool)) },
    stats: count(store.stats)
  }
  return { counted, reads: () => reads }
}

const runtimeOn = (store: ExecutionStore.ExecutionStore, options: ExecutionRuntime.CommonOptions = {}) =>
  ReminderLive.pipe(
    Layer.provideMerge(ExecutionRuntime.layer(options)),
    Layer.provideMerge(Layer.succeed(ExecutionStore.ExecutionStore, store))
  )

const sqliteFile = Effect.flatMap(Temp.database, (filename) => SqliteStore.make({ filename }))
const libsqlFile = Effect.flatMap(Temp.database, (filename) =>
  Effect.map(LibsqlStore.make({ url: `file:${filename}` }), ({ store }) => store)
)

const stores = [
  { name: "a store in memory", make: MemoryStore.make() },
  { name: "SQLite in memory", make: SqliteStore.make({ filename: ":memory:" }) },
  { name: "libSQL in memory", make: Effect.map(LibsqlStore.make({ url: ":memory:" }), ({ store }) => store) },
  { name: "an SQLite file", make: sqliteFile },
  { name: "a libSQL file", make: libsqlFile },
  ...servers
]

const firedOf = (store: ExecutionStore.ExecutionStore, id: string) =>
  Effect.map(
    store.load(id),
    Option.map(({ context }) => context["fired"])
  )

/** The answers of a server take turns of the event loop, and those that a jump did not wait for are asked for again. */
const settled = <A, E, R>(effect: Effect.Effect<A, E, R>, expected: A) =>
  Effect.repeat(Effect.zipRight(TestClock.adjust("100 millis"), effect), {
    until: (actual) => Equal.equals(actual, expected),
    times: 1000
  })

for (const { make, name } of stores) {
  describe(`A jump in time, on ${name}`, () => {
    it.scoped("costs as much as the work that falls into it, and nothing for the time between", () =>
      Effect.gen(function* () {
        const store = yield* make
        const { counted, reads } = counting(store)
        yield* Effect.gen(function* () {
          const runtime = yield* ExecutionRuntime.ExecutionRuntime
          yield* Reminder.start("a", { days: 3, times: 10 })
          for (let days = 1; days <= 10; days++) yield* Reminder.start(`${days}`, { days, times: 1 })
          const end = yield* Effect.fork(Reminder.await("a"))
          const ends = yield* Effect.fork(Effect.forEach([10, 1, 5], (days) => Reminder.await(`${days}`)))
          yield* driven(runtime.awaitIdle)
          const before = reads()
          for (let n = 1; n <= 10; n++) {
            yield* TestClock.adjust("3 days")
            yield* settled(firedOf(store, "a"), Option.some(n))
          }
          assert.strictEqual(yield* driven(Fiber.join(end)), 10)
          assert.deepStrictEqual(yield* driven(Fiber.join(ends)), [1, 1, 1])
          // 20 timers, each of which is looked for a few times. At each second it would be millions.
          assert.isBelow(reads() - before, 1000)
          const { live, problems, ready } = yield* driven(runtime.health)
          assert.deepStrictEqual({ live, problems, ready }, { live: true, problems: [], ready: true })
        }).pipe(Effect.provide(runtimeOn(counted)))
      })
    )
  })
}

describe("A jump in time on a file", () => {
  it.scoped("gives every timer its turn, in their order, though it is one jump", () =>
    Effect.gen(function* () {
      const { counted, reads } = counting(yield* sqliteFile)
      yield* Effect.gen(function* () {
        yield* Reminder.start("a", { days: 3, times: 10 })
        const end = yield* Effect.fork(Reminder.await("a"))
        yield* TestClock.adjust("30 days")
        assert.strictEqual(yield* end, 10)
        assert.isBelow(reads(), 300)
      }).pipe(Effect.provide(runtimeOn(counted)))
    })
  )

  it.scoped("leaves what another store of the process writes to be found at once", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* SqliteStore.make({ filename })
      const client = yield* SqliteStore.make({ filename })
      const asClient = Effect.provideService(ExecutionStore.ExecutionStore, client)
      const { counted, reads } = counting(store)
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("30 days")
        assert.isBelow(reads(), 200)
        yield* asClient(Reminder.start("a", { days: 1, times: 1 }))
        const end = yield* Effect.fork(asClient(Reminder.await("a")))
        yield* eventually(
          Effect.map(store.dueTimers(Number.MAX_SAFE_INTEGER), ({ entries }) => entries.length),
          1
        )
        yield* TestClock.adjust("1 day")
        assert.strictEqual(yield* end, 1)
      }).pipe(Effect.provide(runtimeOn(counted)))
    })
  )

  it.scoped("leaves what is written past all stores to be found after as long again as the test has lasted", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* SqliteStore.make({ filename })
      yield* Effect.gen(function* () {
        const runtime = yield* ExecutionRuntime.ExecutionRuntime
        yield* Reminder.start("a", { days: 365, times: 1 })
        yield* runtime.awaitIdle
        yield* TestClock.adjust("1 day")
        const database = new Database(filename)
        database.exec("UPDATE harel_timers SET fire_at = 0")
        database.close()
        yield* TestClock.adjust("1 day")
        assert.strictEqual(yield* Reminder.await("a"), 1)
      }).pipe(Effect.provide(runtimeOn(store)))
    })
  )
})
