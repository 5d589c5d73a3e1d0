import { type Client, createClient } from "@libsql/client"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { make as makeTurn, type Turn, tasksOf } from "../sqlite/eventLoop.js"
import { retryWhileBusy } from "./busyRetry.js"
import { Failure, isBusy, ofLocal } from "./error.js"

/** - `filename`: none for a database in memory. */
export interface Options {
  readonly filename: string | undefined
  readonly durability: "full" | "normal"
  readonly busyTimeout: Duration.Duration
}

/** Uses a client. It may do so again, where the first use is certain to have done nothing. */
type Use = <A>(kind: "read" | "write", run: (client: Client) => Promise<A>) => Effect.Effect<A, Failure>

/**
 * A connection to a database of this process, for one use at a time.
 *
 * - `use`: runs on the client; a lock is waited for, and then it runs again.
 * - `own`: begins a transaction, for one who then keeps the client to itself: the uses of others wait until `giveBack`.
 * - `inTurn`: runs a task in a turn of the event loop in which there is time left; none where nobody waits for turns.
 */
export interface Connection {
  readonly use: Use
  readonly own: <T>(begin: (client: Client) => Promise<T>) => Effect.Effect<Owned<T>, Failure>
  readonly inTurn: Turn["run"] | undefined
}

/** What was begun on a client that nobody else uses. After a use of it met a lock, or the disk failed, it cannot be used any more. */
export interface Owned<T> {
  readonly use: <A>(run: (begun: T) => Promise<A>) => Effect.Effect<A, Failure>
  readonly giveBack: Effect.Effect<void>
}

/**
 * What a connection is doing.
 *
 * - `client`: the one that is open, opened when it is needed.
 * - `owned`: whether a transaction of the application has it to itself.
 * - `locked`, `probedAt`: the lock that the last write met, and when it was last looked for, in milliseconds since the epoch.
 */
interface State {
  client: Client | undefined
  closed: boolean
  owned: boolean
  locked: Failure | undefined
  probedAt: number
}

const tried = <A>(run: () => Promise<A>): Effect.Effect<A, Failure> => Effect.tryPromise({ try: run, catch: ofLocal })

export const urlOf = (filename: string | undefined): string =>
  filename === undefined ? ":memory:" : `file:${filename.split("/").map(encodeURIComponent).join("/")}`

const synchronous = { full: "PRAGMA synchronous = FULL", normal: "PRAGMA synchronous = NORMAL" }

/** How long SQLite itself waits for a lock, in milliseconds. It blocks the whole process, so it is short: as long as a commit takes. */
const sqliteBusyTimeout = 5

/** How long to wait between two looks at a lock, in milliseconds. */
const probeInterval = 5

const noLog = (journal: unknown): Failure =>
  new Failure({
    reason: "open",
    outcome: "not-applied",
    detail: `its file system does not allow SQLite's write-ahead log: the journal mode stays ${String(journal)}`
  })

const closed: Failure = new Failure({ reason: "shutdown", outcome: "not-applied", detail: "the store is closed" })
const taken: Failure = new Failure({
  reason: "busy",
  outcome: "not-applied",
  detail: "a transaction of the application has the only connection"
})

// `executeMultiple` leaves no statement behind when it meets a lock.
const prepare = async (client: Client, { durability, filename }: Options): Promise<Client> => {
  try {
    await client.executeMultiple(`PRAGMA busy_timeout = ${sqliteBusyTimeout}`)
    await client.executeMultiple("PRAGMA journal_mode = WAL")
    await client.executeMultiple(synchronous[durability])
    const { rows } = await client.execute({ sql: "PRAGMA journal_mode", args: [] })
    if (rows[0]?.[0] !== "wal" && filename !== undefined) throw noLog(rows[0]?.[0])
    return client
  } catch (error) {
    client.close()
    throw error
  }
}

// A client that has a pool of connections would prepare the first alone.
const open = (options: Options): Effect.Effect<Client, Failure> =>
  tried(() => prepare(createClient({ url: urlOf(options.filename), intMode: "bigint", concurrency: 1 }), options))

const current = (state: State, options: Options): Effect.Effect<Client, Failure> =>
  Effect.suspend(() => {
    if (state.closed) return Effect.fail(closed)
    if (state.client !== undefined) return Effect.succeed(state.client)
    return Effect.tap(open(options), (opened) =>
      Effect.sync(() => {
        state.client = opened
      })
    )
  })

const discard = (state: State, { filename }: Options): Effect.Effect<void> =>
  Effect.sync(() => {
    // What is in memory has no other connection, and nobody to lock it.
    if (filename === undefined) return
    state.client?.close()
    state.client = undefined
  })

/** Runs on the client, which is closed where it cannot be used afterwards. */
const run = <A>(state: State, options: Options, use: () => Promise<A>): Effect.Effect<A, Failure> =>
  Effect.tapError(tried(use), ({ reason }) =>
    reason === "sql" || reason === "constraint" ? Effect.void : discard(state, options)
  )

/** Whether the lock is free: begins a transaction, which the client rolls back by itself. */
const probeLock = (client: Client): Effect.Effect<void, Failure> =>
  tried(async () => {
    await client.executeMultiple("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE")
    await client.executeMultiple(`PRAGMA busy_timeout = ${sqliteBusyTimeout}`)
  })

/** Fails while the database is locked. Of many uses that wait, one looks for all. */
const unlocked = (state: State, client: Client, waiting: boolean): Effect.Effect<void, Failure> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (state.locked === undefined) return Effect.void
    if (waiting && Math.abs(now - state.probedAt) < probeInterval) return Effect.fail(state.locked)
    state.probedAt = now
    return probeLock(client)
  })

/** Uses the client once. `waiting` says that the use has met a lock before. */
const attempt = <A>(
  state: State,
  options: Options,
  kind: "read" | "write",
  use: (client: Client) => Promise<A>,
  waiting: boolean
): Effect.Effect<A, Failure> =>
  Effect.gen(function* () {
    if (state.owned) return yield* taken
    const client = yield* current(state, options)
    if (kind === "write") yield* unlocked(state, client, waiting)
    const result = yield* run(state, options, () => use(client))
    if (kind === "write") state.locked = undefined
    return result
  }).pipe(
    Effect.tapError((failure) =>
      Effect.sync(() => {
        if (isBusy(failure) && failure !== taken) state.locked = failure
      })
    ),
    Effect.uninterruptible
  )

/** Reserves the open client, on which something was begun, for one caller. */
const lend = <T>(state: State, options: Options, client: Client, begun: T): Owned<T> => {
  state.owned = true
  let over = false
  return {
    use: (use) =>
      Effect.suspend(() =>
        over || state.client !== client ? Effect.fail(closed) : run(state, options, () => use(begun))
      ),
    giveBack: Effect.sync(() => {
      if (!over) state.owned = false
      over = true
    })
  }
}

/**
 * A connection that is opened when it is needed, and closed with the scope.
 *
 * A statement that meets a lock is left unfinished by the client until garbage is collected. On the same connection every later commit
 * fails, a statement by itself seems to succeed and is undone, and the lock of both stays. So the connection is thrown away then, before
 * anybody can use it, and the lock is looked for with a statement that leaves nothing behind.
 */
export const make = (options: Options): Effect.Effect<Connection, never, Scope.Scope> =>
  Effect.gen(function* () {
    const alone = yield* Effect.makeSemaphore(1)
    const turn = makeTurn()
    const wait = retryWhileBusy(options.busyTimeout)
    const state: State = { client: undefined, closed: false, owned: false, locked: undefined, probedAt: 0 }

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        state.closed = true
        state.client?.close()
      })
    )

    const use: Use = (kind, run) =>
      Effect.suspend(() => {
        let waiting = false
        const once = Effect.suspend(() => {
          const attempted = attempt(state, options, kind, run, waiting)
          waiting = true
          return attempted
        })
        return wait(Effect.zipRight(turn.wait, alone.withPermits(1)(once)))
      })

    const own: Connection["own"] = (begin) =>
      use("write", async (client) => lend(state, options, client, await begin(client)))

    return { use, own, inTurn: yield* tasksOf(turn) }
  })
