import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Control from "holdfast/Control"
import type * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Retention from "holdfast/Retention"
import * as SqliteStore from "holdfast/SqliteStore"
import { StoreUnavailable } from "holdfast/StoreError"
import { extent, longer } from "../support/extent.js"
import * as Temp from "../support/temp.js"
import * as Support from "../support/workers.js"

const { event, eventually, execution, load } = Support

type Store = ExecutionStore.ExecutionStore

const on = <A, E, R>(store: Store, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, ExecutionStore.ExecutionStore, store)

/** One run, whose rests between batches pass. */
const run = (store: Store, options: Retention.Options) => on(store, Retention.run({ pause: Duration.zero, ...options }))

const child = (
  id: string,
  parentId: string,
  options: { readonly [K in keyof Execution.Execution]?: Execution.Execution[K] } = {}
) => execution(id, { status: "DONE", ...options, parentId, childId: id })

const ids = (store: Store) => Effect.map(store.idsWithPrefix(""), (ids) => ids.toSorted())

const days = (n: number) => TestClock.setTime(n * 24 * 3600 * 1000)

/** The execution consumes these events. */
const consume = (store: Store, id: string, events: ReadonlyArray<string>) =>
  Effect.forEach(
    events,
    (processed) =>
      Effect.gen(function* () {
        const found = yield* store.load(id)
        yield* store.commit(
          Option.getOrElse(found, () => execution(id)),
          { processed }
        )
      }),
    { discard: true }
  )

const known = (store: Store, id: string, events: ReadonlyArray<string>) =>
  Effect.filter(events, (eventId) => store.isProcessed(id, eventId))

Support.onEach("Retention", (make) => {
  it.scoped("removes nothing that it is not asked for", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* store.commit(execution("a", { status: "DONE" }), { processed: "e" })
      yield* run(store, {})
      yield* days(1000)
      assert.deepStrictEqual(yield* run(store, {}), { processed: 0, executions: 0 })
      assert.deepStrictEqual(yield* ids(store), ["a"])
      assert.isTrue(yield* store.isProcessed("a", "e"))
    })
  )

  it.scoped("removes executions that finished longer ago, and nothing that lives", () =>
    Effect.gen(function* () {
      const store = yield* make
      for (const status of ["DONE", "CANCELLED", "FAILED", "RUNNING", "PENDING", "SUSPENDED", "CANCELLING"] as const) {
        yield* store.save(execution(`old ${status}`, { status }))
      }
      yield* days(5)
      yield* store.save(execution("young", { status: "DONE" }))
      yield* days(8)
      assert.deepStrictEqual(yield* run(store, { finished: "7 days" }), { processed: 0, executions: 2 })
      const left = ["old CANCELLING", "old FAILED", "old PENDING", "old RUNNING", "old SUSPENDED"]
      assert.deepStrictEqual(yield* ids(store), [...left, "young"])
      yield* days(12)
      assert.deepStrictEqual(yield* run(store, { finished: "7 days" }), { processed: 0, executions: 1 })
      assert.deepStrictEqual(yield* ids(store), left)
    })
  )

  it.scoped("removes one exactly as old as asked for, and none that is younger", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* store.save(execution("a", { status: "DONE" }))
      yield* TestClock.setTime(59_999)
      assert.deepStrictEqual(yield* run(store, { finished: "1 minute" }), { processed: 0, executions: 0 })
      yield* TestClock.setTime(60_000)
      assert.deepStrictEqual(yield* run(store, { finished: "1 minute" }), { processed: 0, executions: 1 })
    })
  )

  it.scoped("removes failed executions where it is told to, by the time of their last commit", () =>
    Effect.gen(function* () {
      const store = yield* make
      const failed = yield* store.save(execution("a", { status: "FAILED" }))
      yield* store.save(execution("p", { status: "DONE" }))
      yield* store.save(child("c", "p", { status: "FAILED" }))
      yield* days(3)
      yield* store.save({ ...failed, error: "worse" })
      yield* days(5)
      assert.deepStrictEqual(yield* run(store, { finished: "4 days" }), { processed: 0, executions: 0 })
      assert.deepStrictEqual(yield* run(store, { finished: "4 days", failed: true }), { processed: 0, executions: 2 })
      assert.deepStrictEqual(yield* ids(store), ["a"])
      yield* days(7)
      assert.deepStrictEqual(yield* run(store, { finished: "4 days", failed: true }), { processed: 0, executions: 1 })
    })
  )

  it.scoped("removes whole trees, when the last of them is old enough", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* store.save(execution("p", { status: "DONE" }))
      yield* store.save(child("c", "p"))
      yield* days(5)
      yield* store.save(child("g", "c"))
      yield* days(8)
      assert.deepStrictEqual(yield* run(store, { finished: "7 days" }), { processed: 0, executions: 0 })
      yield* days(12)
      assert.deepStrictEqual(yield* run(store, { finished: "7 days" }), { processed: 0, executions: 3 })
      assert.deepStrictEqual(yield* ids(store), [])
    })
  )

  it.scoped("never removes one whose children live or are to be created, nor the child of one that lives", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* store.save(execution("done", { status: "DONE" }))
      yield* store.save(child("c", "done"))
      const living = yield* store.save(child("g", "c", { status: "SUSPENDED" }))
      yield* store.commit(execution("spawning", { status: "DONE" }), {
        spawns: [{ childId: "spawned", rootPath: "", context: {} }]
      })
      yield* store.save(execution("waiting", { status: "RUNNING" }))
      yield* store.save(child("awaited", "waiting"))
      yield* days(30)
      assert.deepStrictEqual(yield* run(store, { finished: "7 days" }), { processed: 0, executions: 0 })
      assert.deepStrictEqual(yield* ids(store), ["awaited", "c", "done", "g", "spawning", "waiting"])
      yield* store.save({ ...living, status: "DONE" })
      yield* days(37)
      assert.deepStrictEqual(yield* run(store, { finished: "7 days" }), { processed: 0, executions: 3 })
      assert.deepStrictEqual(yield* ids(store), ["awaited", "spawning", "waiting"])
    })
  )

  it.scoped("removes only what follows a definition, where it is told which", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* store.save(execution("a", { status: "DONE", definitionId: "short" }))
      yield* store.save(child("c", "a", { definitionId: "long" }))
      yield* store.save(execution("b", { status: "DONE", definitionId: "long" }))
      yield* days(1)
      yield* run(store, { finished: "1 hour", definitionId: "short" })
      assert.deepStrictEqual(yield* ids(store), ["b"])
    })
  )

  it.scoped("leaves alone what moves on meanwhile", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* store.save(execution("a", { status: "DONE" }))
      yield* store.save(execution("b", { status: "DONE" }))
      yield* days(1)
      const reviving: Store = {
        ...store,
        purge: (id, version) =>
          id === "a"
            ? Effect.orDie(Effect.flatMap(load(store, id), (a) => store.save({ ...a, status: "RUNNING" }))).pipe(
                Effect.zipRight(store.purge(id, version))
              )
            : store.purge(id, version)
      }
      assert.deepStrictEqual(yield* run(reviving, { finished: "1 hour" }), { processed: 0, executions: 1 })
      assert.deepStrictEqual(yield* ids(store), ["a"])
    })
  )

  it.scoped("goes through the store in batches, and rests between them", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* Effect.forEach(
        Array.from({ length: 25 }, (_, i) => `e${i}`),
        (id) => store.save(execution(id, { status: "DONE" }))
      )
      yield* consume(
        store,
        "live",
        Array.from({ length: 25 }, (_, i) => `${i}`)
      )
      yield* run(store, { processed: "1 hour" })
      yield* days(1)
      const limits: Array<number | undefined> = []
      const watched: Store = {
        ...store,
        listExecutions: (query) => {
          if (query?.parentId === undefined) limits.push(query?.limit)
          return store.listExecutions(query)
        },
        ledger: {
          ...store.ledger,
          prune: (before, query) => {
            limits.push(query?.limit)
            return store.ledger.prune(before, query)
          }
        }
      }
      const options = { finished: "1 hour", processed: "1 hour", batchSize: 10, pause: "1 second" } as const
      const running = yield* Effect.fork(on(watched, Retention.run(options)))
      yield* eventually(
        Effect.sync(() => limits.length),
        1
      )
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* running, { processed: 24, executions: 25 })
      assert.deepStrictEqual(limits, [10, 10, 10, 10, 10, 10])
    })
  )

  it.scoped("removes events from the ledger that are older, and keeps those that may come again", () =>
    Effect.gen(function* () {
      const store = yield* make
      const options = { processed: "7 days" } as const
      yield* consume(store, "a", ["1", "2"])
      yield* run(store, options)
      yield* days(3)
      yield* consume(store, "a", ["3", "4"])
      yield* run(store, options)
      yield* days(6)
      assert.deepStrictEqual(yield* run(store, options), { processed: 0, executions: 0 })
      yield* days(7)
      // the youngest of each run stays until the next one's turn
      assert.deepStrictEqual(yield* run(store, options), { processed: 1, executions: 0 })
      assert.deepStrictEqual(yield* known(store, "a", ["1", "2", "3", "4"]), ["2", "3", "4"])
      yield* days(9)
      yield* store.enqueue([{ targetId: "a", event: event("3") }])
      yield* days(11)
      assert.deepStrictEqual(yield* run(store, options), { processed: 0, executions: 0 })
      const [entry] = (yield* store.pendingOutbox()).entries
      yield* store.ackOutbox(entry?.seq ?? -1)
      assert.deepStrictEqual(yield* run(store, options), { processed: 2, executions: 0 })
      assert.deepStrictEqual(yield* known(store, "a", ["1", "2", "3", "4"]), ["4"])
    })
  )

  it.scoped("does so at each interval, and says how it is", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* store.save(execution("a", { status: "DONE" }))
      yield* consume(store, "b", ["1", "2"])
      const retention = yield* on(
        store,
        Retention.make({ finished: "90 minutes", processed: "90 minutes", interval: "1 hour" })
      )
      const health = (time: number, processed: number, executions: number) =>
        eventually(retention.health, {
          lastRun: Option.some(time),
          lastError: Option.none(),
          outage: Option.none(),
          removed: { processed, executions }
        })
      yield* health(0, 0, 0)
      yield* TestClock.adjust("1 hour")
      yield* health(3600, 0, 0)
      yield* TestClock.adjust("1 hour")
      yield* health(7200, 1, 1)
      assert.deepStrictEqual(yield* ids(store), ["b"])
      assert.deepStrictEqual(yield* known(store, "b", ["1", "2"]), ["2"])
    })
  )

  it.scoped("says what went wrong and since when, and goes on as soon as it can", () =>
    Effect.gen(function* () {
      const store = yield* make
      const logs = Support.logs()
      yield* store.save(execution("a", { status: "DONE" }))
      const down = new StoreUnavailable({
        operation: "listExecutions",
        reason: "connection",
        outcome: "not-applied",
        detail: "the server is away"
      })
      let broken = true
      const failing: Store = {
        ...store,
        listExecutions: (query) => Effect.suspend(() => (broken ? Effect.fail(down) : store.listExecutions(query)))
      }
      yield* Effect.gen(function* () {
        const retention = yield* on(failing, Retention.make({ finished: "30 minutes" }))
        yield* TestClock.adjust("1 minute")
        const health = yield* retention.health
        assert.deepStrictEqual(health.lastRun, Option.none())
        assert.strictEqual(Option.getOrThrow(health.lastError).message, down.message)
        assert.deepStrictEqual(health.outage, Option.some({ since: 0, message: down.message }))
        broken = false
        yield* TestClock.adjust("1 minute")
        const { lastRun, outage } = yield* retention.health
        assert.isBelow(
          Option.getOrElse(lastRun, () => Number.NaN),
          100
        )
        assert.deepStrictEqual(outage, Option.none())
        yield* TestClock.adjust("1 hour")
        yield* eventually(ids(store), [])
      }).pipe(Effect.provide(logs.layer))
      assert.deepStrictEqual(
        logs.lines.map((line) => line.split("\n")[0]),
        [`WARN ${down.message}`, "INFO the store answers again"]
      )
    })
  )

  it.scoped("is a layer, too", () =>
    Effect.gen(function* () {
      const store = yield* make
      yield* store.save(execution("a", { status: "DONE" }))
      yield* days(1)
      const removed = Effect.flatMap(Retention.Retention, (retention) =>
        eventually(
          Effect.map(retention.health, ({ removed }) => removed),
          { processed: 0, executions: 1 }
        )
      )
      yield* on(store, Effect.provide(removed, Retention.layer({ finished: "1 hour" })))
    })
  )
})

type Operation =
  | { readonly _tag: "Consume"; readonly id: string; readonly event: string }
  | { readonly _tag: "Purge"; readonly id: string }
  | { readonly _tag: "Mark" }
  | { readonly _tag: "Wait" }
  | { readonly _tag: "Prune"; readonly age: number; readonly limit: number }

const operation: FastCheck.Arbitrary<Operation> = FastCheck.oneof(
  FastCheck.record({
    _tag: FastCheck.constant("Consume" as const),
    id: FastCheck.constantFrom("a", "b", "c"),
    event: FastCheck.constantFrom("1", "2", "3", "4")
  }),
  FastCheck.record({ _tag: FastCheck.constant("Purge" as const), id: FastCheck.constantFrom("a", "b", "c") }),
  FastCheck.constant({ _tag: "Mark" as const }),
  FastCheck.constant({ _tag: "Wait" as const }),
  FastCheck.record({
    _tag: FastCheck.constant("Prune" as const),
    age: FastCheck.integer({ min: 0, max: 3 }),
    limit: FastCheck.integer({ min: 1, max: 3 })
  })
)

/** When each event of the ledger was consumed, in the order of consumption. */
type Ledger = Map<string, number>

describe("Retention", () => {
  it.scoped.prop(
    longer("removes nothing that is younger than asked for, and the same on each store"),
    [FastCheck.array(operation, { minLength: 10, maxLength: 40 })],
    ([operations]) =>
      Effect.gen(function* () {
        const stores = yield* Effect.forEach(Support.stores, ({ make }) => make)
        const ledger: Ledger = new Map()
        let now = 0
        yield* TestClock.setTime(0)
        const left = (store: Store) =>
          Effect.filter(Array.from(ledger.keys()), (key) => store.isProcessed(key.charAt(0), key.slice(2)))
        for (const operation of operations) {
          if (operation._tag === "Wait") yield* TestClock.setTime(++now * 1000)
          for (const store of stores) {
            switch (operation._tag) {
              case "Consume":
                yield* consume(store, operation.id, [operation.event])
                break
              case "Purge": {
                const found = yield* store.load(operation.id)
                yield* store.purge(
                  operation.id,
                  Option.match(found, { onNone: () => 0, onSome: ({ version }) => version })
                )
                break
              }
              case "Mark":
                yield* store.ledger.mark
                break
              case "Prune": {
                let after: number | undefined
                do {
                  const query = { limit: operation.limit, ...(after === undefined ? undefined : { after }) }
                  after = Option.getOrUndefined((yield* store.ledger.prune(now - operation.age, query)).next)
                } while (after !== undefined)
                break
              }
            }
          }
          if (operation._tag === "Consume") {
            const key = `${operation.id} ${operation.event}`
            if (!ledger.has(key)) ledger.set(key, now)
          }
          if (operation._tag === "Purge") {
            for (const key of Array.from(ledger.keys())) if (key.startsWith(operation.id)) ledger.delete(key)
          }
          if (operation._tag === "Prune") {
            const [first = [], second] = yield* Effect.forEach(stores, left)
            assert.deepStrictEqual(second, first)
            for (const [key, time] of Array.from(ledger)) {
              if (first.includes(key)) continue
              assert.isAtMost(time, now - operation.age)
              ledger.delete(key)
            }
          }
        }
      }),
    { fastCheck: { numRuns: extent({ quick: 10, long: 40 }), seed: 20260730 } }
  )

  it.scoped("keeps to the order of the ledger over VACUUM, which may number its rows anew", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* SqliteStore.make({ filename })
      // what is purged leaves a gap before the rest
      yield* consume(store, "gap", ["1", "2", "3"])
      yield* consume(store, "a", ["1", "2", "3"])
      yield* on(
        store,
        Effect.flatMap(Control.make(), (control) => control.terminate("gap"))
      )
      yield* on(
        store,
        Effect.flatMap(Control.make(), (control) => control.purge("gap"))
      )
      yield* run(store, { processed: "1 day" })
      const rowids = () => {
        const database = new Database(filename)
        const rows = database.prepare("SELECT rowid FROM harel_processed_events ORDER BY rowid").raw().all()
        database.close()
        return rows
      }
      assert.deepStrictEqual(rowids(), [[4], [5], [6]])
      const database = new Database(filename)
      database.exec("VACUUM")
      database.exec("UPDATE harel_processed_events SET rowid = rowid - 3")
      database.close()
      assert.deepStrictEqual(rowids(), [[1], [2], [3]])
      yield* days(1)
      yield* consume(store, "b", ["4"])
      assert.deepStrictEqual(yield* run(store, { processed: "1 day" }), { processed: 2, executions: 0 })
      assert.deepStrictEqual(yield* known(store, "a", ["1", "2", "3"]), ["3"])
      assert.isTrue(yield* store.isProcessed("b", "4"))
    })
  )
})
