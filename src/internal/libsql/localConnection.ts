import { type Client, createClient } from "@libsql/client"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { make as makeTurn } from "../sqlite/eventLoop.js"
import { patiently } from "./busyRetry.js"
import type { Use } from "./driver.js"
import { Failure, isBusy, ofLocal } from "./error.js"

/** - `filename`: none for a database in memory. */
export interface Options {
  readonly filename: string | undefined
  readonly durability: "full" | "normal"
  readonly busyTimeout: Duration.Duration
}

/**
 * A connection to a database of this process, for one use at a time.
 *
 * - `use`: runs on the client; a lock is waited for, and then it runs again.
 * - `own`: begins a transaction, for one who then keeps the client to itself: the uses of others wait until `giveBack`.
 */
export interface Connection {
  readonly use: Use
  readonly own: (run: (client: Client) => Promise<unknown>) => Effect.Effect<Owned, Failure>
}

/** A client that nobody else uses. It is worth nothing any more once a use of it has met a lock, or the disk failed. */
export interface Owned {
  readonly use: <A>(run: (client: Client) => Promise<A>) => Effect.Effect<A, Failure>
  readonly giveBack: Effect.Effect<void>
}

const tried = <A>(run: () => Promise<A>): Effect.Effect<A, Failure> => Effect.tryPromise({ try: run, catch: ofLocal })

export const urlOf = (filename: string | undefined): string =>
  filename === undefined ? ":memory:" : `file:${filename.split("/").map(encodeURIComponent).join("/")}`

const synchronous = { full: "PRAGMA synchronous = FULL", normal: "PRAGMA synchronous = NORMAL" }

/** How long SQLite itself waits for a lock, and the whole process with it, in milliseconds: others' commits are shorter. */
const standstill = 5

/** How long after one look at a lock comes the next, in milliseconds. */
const between = 5

const noLog = (journal: unknown): Failure =>
  new Failure({
    reason: "open",
    outcome: "not-applied",
    detail: `its file system does not allow SQLite's write-ahead log: the journal mode stays ${String(journal)}`
  })

// `executeMultiple` leaves no statement behind when it meets a lock.
const prepare = async (client: Client, { durability, filename }: Options): Promise<Client> => {
  try {
    await client.executeMultiple(`PRAGMA busy_timeout = ${standstill}`)
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

const open = (options: Options): Effect.Effect<Client, Failure> =>
  tried(() => prepare(createClient({ url: urlOf(options.filename), intMode: "bigint" }), options))

const closed: Failure = new Failure({ reason: "shutdown", outcome: "not-applied", detail: "the store is closed" })
const taken: Failure = new Failure({
  reason: "busy",
  outcome: "not-applied",
  detail: "a transaction of the application has the only connection"
})

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
    const turn = makeTurn().wait
    const wait = patiently(options.busyTimeout)
    let client: Client | undefined
    let shut = false
    let owned = false
    /** The lock that the last write met, and when it was last looked for, in milliseconds since the epoch. */
    let locked: Failure | undefined
    let lookedAt = 0

    const discard = Effect.sync(() => {
      // What is in memory has no other connection, and nobody to lock it.
      if (options.filename === undefined) return
      client?.close()
      client = undefined
    })

    const current = Effect.suspend(() => {
      if (shut) return Effect.fail(closed)
      if (client !== undefined) return Effect.succeed(client)
      return Effect.tap(open(options), (opened) =>
        Effect.sync(() => {
          client = opened
        })
      )
    })

    const onClient = <A>(client: Client, run: (client: Client) => Promise<A>): Effect.Effect<A, Failure> =>
      Effect.tapError(
        tried(() => run(client)),
        (failure) => (failure.reason === "sql" || failure.reason === "constraint" ? Effect.void : discard)
      )

    // Begins a transaction, which is rolled back by the client itself, and waits for nothing.
    const look = (client: Client) =>
      tried(async () => {
        await client.executeMultiple("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE")
        await client.executeMultiple(`PRAGMA busy_timeout = ${standstill}`)
      })

    /** Fails while the lock is there. Of many who wait for it one looks for all. */
    const unlocked = (client: Client, waiting: boolean): Effect.Effect<void, Failure> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (locked === undefined) return Effect.void
        if (waiting && now - lookedAt < between) return Effect.fail(locked)
        lookedAt = now
        return look(client)
      })

    const attempt = <A>(kind: "read" | "write", run: (client: Client) => Promise<A>, waiting: boolean) =>
      Effect.gen(function* () {
        const client = yield* current
        if (kind === "write") yield* unlocked(client, waiting)
        const result = yield* onClient(client, run)
        if (kind === "write") locked = undefined
        return result
      }).pipe(
        Effect.tapError((failure) =>
          Effect.sync(() => {
            if (isBusy(failure)) locked = failure
          })
        ),
        Effect.uninterruptible
      )

    const use: Use = (kind, run) =>
      Effect.suspend(() => {
        let waiting = false
        const once = Effect.suspend(() => {
          const attempted = owned ? Effect.fail(taken) : attempt(kind, run, waiting)
          waiting = true
          return attempted
        })
        return wait(Effect.zipRight(turn, alone.withPermits(1)(once)))
      })

    const lend = (mine: Client): Owned => {
      let over = false
      return {
        use: (run) => Effect.suspend(() => (over || client !== mine ? Effect.fail(closed) : onClient(mine, run))),
        giveBack: Effect.sync(() => {
          if (!over) owned = false
          over = true
        })
      }
    }

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        shut = true
        client?.close()
      })
    )

    return {
      use,
      own: (begin) =>
        Effect.map(
          use("write", async (client) => {
            await begin(client)
            owned = true
            return client
          }),
          lend
        )
    }
  })
