/**
 * Whatever the store answers, no fiber of a runtime ends: it waits, says since when and why, and goes on by itself. Each fiber, at each of
 * its operations, meets each answer.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as OutboxRelay from "holdfast/OutboxRelay"
import * as QueueWorker from "holdfast/QueueWorker"
import * as SqliteStore from "holdfast/SqliteStore"
import * as SqlStore from "holdfast/SqlStore"
import { StoreCorrupt, type StoreError, StoreRejected, StoreUnavailable } from "holdfast/StoreError"
import { extent, longer, share } from "../support/extent.js"
import * as Client from "../support/sqlClient.js"
import * as Temp from "../support/temp.js"
import * as Support from "../support/workers.js"

const { event, eventually, execution, load, pendingIds, recorder, seen } = Support

type Store = ExecutionStore.ExecutionStore

const unavailable = (reason: StoreUnavailable["reason"], detail: string) =>
  new StoreUnavailable({ operation: "any", reason, outcome: "not-applied", detail })

const rejected = (reason: StoreRejected["reason"], detail: string) =>
  new StoreRejected({ operation: "any", reason, detail })

const states = {
  "a full disk": rejected("disk-full", "the disk is full"),
  "a read-only file": rejected("read-only", "the database cannot be written"),
  "a lock": unavailable("busy", "the database is locked"),
  "an unreachable server": unavailable("connection", "connect ECONNREFUSED"),
  "no leader": unavailable("no-leader", "the cluster has no leader"),
  "no answer": unavailable("timeout", "no answer came"),
  "a lost permission (401 or 403)": rejected("auth", "the credentials are wrong"),
  "a gateway's 400 or 404": rejected("open", "there is no such database at this URL (status 404)"),
  "a missing table": rejected("schema", "no such table")
}
const refusals = {
  "a refused statement": rejected("sql", "too much recursion"),
  "a constraint": rejected("constraint", "CHECK constraint failed"),
  "refused input": rejected("invalid-input", "expected a whole number"),
  "a row that does not decode": new StoreCorrupt({ operation: "any", table: "outbox", key: "7", problem: "is no text" })
}
const answers: { readonly [name: string]: StoreError } = { ...states, ...refusals }

/** An operation of a fiber. */
interface Row {
  /** Under what health speaks of it. */
  readonly fiber: string
  /** The store, this operation of which fails while there is an answer. */
  readonly break: (store: Store, or: <A>(effect: Effect.Effect<A, StoreError>) => Effect.Effect<A, StoreError>) => Store
  /** Gives it something to do, by the number of the round. */
  readonly work: (store: Store, round: number) => Effect.Effect<unknown, unknown>
  /** Whether it is done, and done once. */
  readonly done: (store: Store, round: number) => Effect.Effect<boolean, unknown>
}

const external = (round: number, kind = "Happened") => ({
  targetId: null,
  event: Event.make({ id: `e${round}`, kind, data: {} })
})

const emptied = (store: Store) => Effect.map(pendingIds(store), (ids) => ids.length === 0)

/** When the runtime's fibers last ran, or what they have done, must have moved on: nothing else tells that they did. */
const nothing = () => Effect.succeed(true)

const rows: { readonly [operation: string]: Row } = {
  "the relay reads the outbox": {
    fiber: "outbox",
    break: (store, or) => ({ ...store, pendingOutbox: (query) => or(store.pendingOutbox(query)) }),
    work: (store, round) => store.enqueue([external(round)]),
    done: emptied
  },
  "the relay removes what it has delivered": {
    fiber: "outbox",
    break: (store, or) => ({ ...store, ackOutbox: (seq) => or(store.ackOutbox(seq)) }),
    work: (store, round) => store.enqueue([external(round)]),
    done: emptied
  },
  "the relay reads the spawns": {
    fiber: "spawns",
    break: (store, or) => ({ ...store, pendingSpawns: (query) => or(store.pendingSpawns(query)) }),
    work: (store, round) =>
      store.commit(execution(`p${round}`), {
        spawns: [{ childId: `p${round}:1`, rootPath: "main", context: {} }]
      }),
    done: (store, round) => Effect.map(store.load(`p${round}:1`), Option.isSome)
  },
  "the sweeper reads the timers": {
    fiber: "timers",
    break: (store, or) => ({ ...store, dueTimers: (now, query) => or(store.dueTimers(now, query)) }),
    work: (store, round) =>
      Effect.flatMap(Support.now, (now) =>
        store.commit(execution(`t${round}`), { timers: [Commit.scheduleTimer("t", now)] })
      ),
    done: (store, round) => Effect.map(load(store, `t${round}`), (execution) => seen(execution).length === 1)
  },
  "the releaser asks what is due": {
    fiber: "timers",
    break: (store, or) => ({ ...store, delayed: { ...store.delayed, next: or(store.delayed.next) } }),
    work: (store, round) =>
      Effect.flatMap(Support.now, (now) => store.enqueue([{ ...external(round), dueAt: now + 1 }])),
    done: (store) =>
      Effect.zipWith(emptied(store), store.delayed.next, (emptied, next) => emptied && Option.isNone(next))
  },
  "the releaser puts it into the outbox": {
    fiber: "timers",
    break: (store, or) => ({
      ...store,
      delayed: { ...store.delayed, release: (now, limit) => or(store.delayed.release(now, limit)) }
    }),
    work: (store, round) =>
      Effect.flatMap(Support.now, (now) => store.enqueue([{ ...external(round), dueAt: now + 1 }])),
    done: (store) =>
      Effect.zipWith(emptied(store), store.delayed.next, (emptied, next) => emptied && Option.isNone(next))
  },
  "leases are renewed": {
    fiber: "shards",
    break: (store, or) => ({
      ...store,
      leases: { ...store.leases, renew: (renewal) => or(store.leases.renew(renewal)) }
    }),
    work: (store, round) => store.enqueue([external(round)]),
    done: emptied
  },
  "leases are read": {
    fiber: "shards",
    break: (store, or) => ({ ...store, leases: { ...store.leases, load: (pool) => or(store.leases.load(pool)) } }),
    work: (store, round) => store.enqueue([external(round)]),
    done: emptied
  },
  "retention marks the ledger": {
    fiber: "retention",
    break: (store, or) => ({ ...store, ledger: { ...store.ledger, mark: or(store.ledger.mark) } }),
    work: nothing,
    done: nothing
  },
  "retention prunes the ledger": {
    fiber: "retention",
    break: (store, or) => ({
      ...store,
      ledger: { ...store.ledger, prune: (before, query) => or(store.ledger.prune(before, query)) }
    }),
    work: nothing,
    done: nothing
  },
  "retention lists what is finished": {
    fiber: "retention",
    break: (store, or) => ({ ...store, listExecutions: (query) => or(store.listExecutions(query)) }),
    work: (store, round) => store.commit(execution(`f${round}`, { status: "DONE" })),
    done: (store, round) => Effect.map(store.load(`f${round}`), Option.isNone)
  },
  "telemetry counts": {
    fiber: "telemetry",
    break: (store, or) => ({ ...store, stats: or(store.stats) }),
    work: nothing,
    done: nothing
  }
}

const start = (store: Store, options: Partial<ExecutionRuntime.Options<{ readonly recorder: typeof recorder }>> = {}) =>
  Effect.provideService(
    ExecutionRuntime.make({
      definitions: { recorder },
      pollInterval: "1 minute",
      timerInterval: "1 minute",
      statsInterval: "1 minute",
      ...options
    }),
    ExecutionStore.ExecutionStore,
    store
  )

/** A store to which others may write: it is looked at again and again. */
const polled = Effect.map(MemoryStore.make(), (store): Store => ({ ...store, exclusive: false }))

const readiness = (runtime: ExecutionRuntime.ExecutionRuntime) =>
  Effect.map(runtime.health, ({ live, problems }) => ({ live, problems }))

const well = { live: true, problems: [] }

describe("No answer of the store ends", () => {
  for (const [index, [operation, row]] of Object.entries(rows).entries()) {
    it.scoped(longer(`the fiber in which ${operation}`), () =>
      Effect.gen(function* () {
        const store = yield* polled
        let answer: StoreError | undefined
        const broken = row.break(store, (effect) =>
          Effect.suspend(() => (answer === undefined ? effect : Effect.fail(answer)))
        )
        const runtime = yield* start(broken, {
          leases: row.fiber === "shards" ? { ttl: "30 seconds" } : false,
          ...(row.fiber === "retention"
            ? { retention: { processed: "1 day", finished: 0, interval: "1 minute" } }
            : undefined)
        })
        yield* TestClock.adjust("10 seconds")
        yield* eventually(readiness(runtime), well)
        for (const [round, [name, error]] of share(Object.entries(answers), index, 7).entries()) {
          answer = error
          const since = yield* Support.now
          yield* row.work(store, round)
          yield* TestClock.adjust("2 minutes")
          const { live, problems } = yield* readiness(runtime)
          assert.isTrue(live, name)
          const [, waited] =
            problems.join("\n").match(new RegExp(`^${row.fiber}: has waited for the store for (\\d+) s: `, "m")) ?? []
          assert.isAtLeast(Number(waited), 59, `${name}: ${problems.join("; ")}`)
          assert.isAtMost(Number(waited), (yield* Support.now) - since, name)
          assert.include(problems.join("; "), error.message, name)
          answer = undefined
          yield* TestClock.adjust("1 minute")
          yield* eventually(readiness(runtime), well)
          yield* eventually(row.done(store, round), true)
        }
      })
    )
  }

  it.scoped("a worker that is to remember a failure, or to give up: it tries again until it can", () =>
    Effect.gen(function* () {
      const store = yield* polled
      let answer: StoreError | undefined
      const or = <A>(effect: Effect.Effect<A, StoreError>) =>
        Effect.suspend(() => (answer === undefined ? effect : Effect.fail(answer)))
      const failed = new Set<string>()
      const relay = yield* Effect.provideService(
        OutboxRelay.make({
          pollInterval: "1 minute",
          deliver: ({ event: { id, kind } }): Effect.Effect<QueueWorker.Delivered, QueueWorker.Refused | string> => {
            if (kind === "Refused") return new QueueWorker.Refused({ reason: "no" })
            if (failed.has(id)) return Effect.succeed("Delivered")
            failed.add(id)
            return Effect.fail("not yet")
          }
        }),
        ExecutionStore.ExecutionStore,
        {
          ...store,
          deadLetters: {
            ...store.deadLetters,
            recordFailure: (failure) => or(store.deadLetters.recordFailure(failure)),
            bury: (work, why) => or(store.deadLetters.bury(work, why))
          }
        }
      )
      for (const [round, [name, error]] of Object.entries(answers).entries()) {
        answer = error
        yield* store.enqueue([
          { targetId: `a${round}`, event: event(`a${round}`) },
          { targetId: `b${round}`, event: Event.make({ id: `b${round}`, kind: "Refused" }) }
        ])
        yield* TestClock.adjust("2 minutes")
        const { lastError, outage } = yield* relay.health
        assert.include(Option.getOrThrow(lastError).message, error.message, name)
        assert.strictEqual(Option.isSome(outage), name in states, name)
        answer = undefined
        yield* TestClock.adjust("1 minute")
        yield* eventually(pendingIds(store), [])
        assert.strictEqual((yield* store.stats).deadLetters.count, round + 1, name)
        assert.deepStrictEqual((yield* relay.health).outage, Option.none())
      }
    })
  )

  it.scoped(
    "a relay that has waited for long: it goes on a second after the store has done something for its process",
    () =>
      Effect.gen(function* () {
        const store = yield* polled
        let away = true
        const runtime = yield* start({
          ...store,
          pendingOutbox: (query) =>
            Effect.suspend(() => (away ? Effect.fail(states["an unreachable server"]) : store.pendingOutbox(query)))
        })
        yield* runtime.create(execution("a", { definitionId: "recorder" }))
        yield* TestClock.adjust("10 minutes")
        away = false
        yield* runtime.send("a", event("e"))
        yield* TestClock.adjust("1 second")
        yield* eventually(Effect.map(load(store, "a"), seen), ["e"])
      })
  )

  const minutes = extent({ quick: 30, long: 120 })

  it.scoped(
    longer("any of them, also when it lasts for hours; they go on within a minute, and ask twice a minute meanwhile"),
    () =>
      Effect.gen(function* () {
        const store = yield* polled
        let away = false
        let asked = 0
        const or = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
          Effect.suspend(() => {
            if (!away) return effect
            asked++
            return Effect.fail(states["an unreachable server"])
          })
        const broken = Object.values(rows).reduce((broken, row) => row.break(broken, or), store)
        const runtime = yield* start(broken, {
          leases: { ttl: "1 minute" },
          retention: { finished: 0, interval: "10 minutes" },
          pollInterval: "10 minutes",
          timerInterval: "10 minutes",
          statsInterval: "10 minutes"
        })
        yield* TestClock.adjust("1 minute")
        yield* eventually(readiness(runtime), well)
        away = true
        yield* Effect.forEach(Object.values(rows), (row, i) => row.work(store, i))
        yield* TestClock.adjust(`${minutes} minutes`)
        const { live, problems } = yield* readiness(runtime)
        assert.isTrue(live)
        for (const fiber of ["outbox", "spawns", "timers", "shards", "retention", "telemetry"]) {
          assert.match(
            problems.join("\n"),
            new RegExp(`^${fiber}: has waited for the store for \\d{4} s: .*ECONNREFUSED`, "m")
          )
        }
        assert.isBelow(asked, 7 * 2 * minutes * 2)
        away = false
        yield* TestClock.adjust("1 minute")
        yield* eventually(
          Effect.map(readiness(runtime), ({ problems }) => problems),
          []
        )
        for (const [i, row] of Object.values(rows).entries()) yield* eventually(row.done(store, i), true)
      })
  )
})

describe("A runtime on a database", () => {
  interface Trouble {
    readonly store: Store
    readonly begin: Effect.Effect<unknown, unknown>
    readonly end: Effect.Effect<unknown, unknown>
  }

  const ofConnection = (begin: (sql: SqlClient.SqlClient) => Trouble["begin"], end: string) =>
    Effect.gen(function* () {
      const sql = yield* Client.make()
      const store = yield* Effect.provideService(SqlStore.make(), SqlClient.SqlClient, sql)
      return { store, begin: begin(sql), end: sql.unsafe(end) }
    })

  /** How a database of SQLite gets into a state in which it cannot be written, and out of it. */
  const troubles: { readonly [name: string]: Effect.Effect<Trouble, unknown, Scope.Scope> } = {
    "that is full": ofConnection(
      (sql) =>
        Effect.flatMap(sql<{ readonly page_count: number }>`PRAGMA page_count`, ([size]) =>
          sql.unsafe(`PRAGMA max_page_count = ${size?.page_count ?? 0}`)
        ),
      "PRAGMA max_page_count = 100000"
    ),
    "that may only be read": ofConnection((sql) => sql`PRAGMA query_only = 1`, "PRAGMA query_only = 0"),
    "that another process has locked": Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* SqliteStore.make({ filename, busyTimeout: "200 millis" })
      const other = yield* Effect.acquireRelease(
        Effect.sync(() => new Database(filename)),
        (database) => Effect.sync(() => database.close())
      )
      return {
        store,
        begin: Effect.sync(() => other.exec("BEGIN EXCLUSIVE")),
        end: Effect.sync(() => other.exec("ROLLBACK"))
      }
    })
  }
  for (const [trouble, make] of Object.entries(troubles)) {
    it.scoped(`${trouble} waits, and does all of its work afterwards`, () =>
      Effect.gen(function* () {
        const { begin, end, store } = yield* make
        const runtime = yield* start(store, {
          leases: { ttl: "1 minute" },
          retention: { processed: "1 day", interval: "1 minute" }
        })
        const much = "x".repeat(20_000)
        yield* runtime.create(execution("a", { context: { much } }))
        yield* store.commit(execution("p"), {
          timers: [Commit.scheduleTimer("t", 70)],
          emits: [{ targetId: "a", dueAt: 71, event: Event.make({ id: "late", kind: "Happened", data: { much } }) }]
        })
        yield* TestClock.adjust("1 minute")
        yield* eventually(readiness(runtime), well)
        yield* begin
        yield* TestClock.adjust("3 minutes")
        const { live, problems } = yield* Support.driven(readiness(runtime))
        assert.isTrue(live)
        assert.notDeepEqual(problems, [])
        yield* end
        yield* TestClock.adjust("2 minutes")
        yield* eventually(readiness(runtime), well)
        yield* eventually(
          Effect.map(Effect.all([load(store, "a"), load(store, "p")]), (found) => found.map(seen)),
          [["late"], ["timeout:p:t:70.0"]]
        )
        assert.strictEqual((yield* store.stats).deadLetters.count, 0)
      })
    )
  }
})
