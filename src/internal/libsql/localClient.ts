import { type Client, type InStatement, LibsqlError, type Transaction, type TransactionMode } from "@libsql/client"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Runtime from "effect/Runtime"
import type { Failure } from "./error.js"
import type { Connection, Owned } from "./localConnection.js"
import { toPromise } from "./remoteConnection.js"
import { toNumbers } from "./values.js"

const begins: Readonly<Record<TransactionMode, string>> = {
  write: "BEGIN IMMEDIATE",
  read: "BEGIN",
  deferred: "BEGIN"
}

const once = (effect: Effect.Effect<unknown>): Effect.Effect<void> => {
  let done = false
  return Effect.suspend(() => {
    if (done) return Effect.void
    done = true
    return Effect.asVoid(effect)
  })
}

const closed = () => new LibsqlError("The transaction is closed", "TRANSACTION_CLOSED")

type Promised = <A>(effect: Effect.Effect<A, Failure>) => Promise<A>

/**
 * A transaction on a connection of its own. Where it cannot begin, its statements fail: an SqlClient of @effect/sql whose transaction does
 * not begin waits for ever.
 */
const makeTransaction = (
  promise: Promised,
  begun: Either.Either<Owned, Failure>,
  done: Effect.Effect<void>
): Transaction => {
  let over = false

  const use = <A>(run: (client: Client) => Promise<A>): Promise<A> => {
    if (over) return Promise.reject(closed())
    return promise(Effect.flatMap(begun, (owned) => owned.use(run)))
  }

  const end = (how: "COMMIT" | "ROLLBACK"): Effect.Effect<void, Failure> =>
    Effect.suspend(() => {
      if (over) return Effect.void
      over = true
      if (Either.isLeft(begun)) return how === "COMMIT" ? Effect.fail(begun.left) : Effect.void
      const { giveBack, use } = begun.right
      const rollback = Effect.ignore(use((client) => client.execute({ sql: "ROLLBACK", args: [] })))
      const ended =
        how === "ROLLBACK"
          ? rollback
          : Effect.tapError(
              use((client) => client.execute({ sql: "COMMIT", args: [] })),
              () => rollback
            )
      return Effect.asVoid(Effect.ensuring(ended, giveBack))
    }).pipe(Effect.ensuring(done), Effect.uninterruptible)

  // A failure that ended the transaction leaves a connection on which statements would be committed each by itself.
  const check = async (client: Client): Promise<void> => {
    try {
      await client.execute({ sql: "BEGIN", args: [] })
    } catch {
      return
    }
    await client.execute({ sql: "ROLLBACK", args: [] })
    over = true
    if (Either.isRight(begun)) await promise(Effect.zipRight(begun.right.giveBack, done))
  }

  const execute = (statement: InStatement) =>
    use(async (client) => {
      try {
        return toNumbers(await client.execute(statement))
      } catch (error) {
        await check(client)
        throw error
      }
    })

  return {
    execute,
    batch: async (statements) => {
      const results = []
      for (const statement of statements) results.push(await execute(statement))
      return results
    },
    executeMultiple: () =>
      Promise.reject(new LibsqlError("executeMultiple would end the transaction here: use batch", "UNSUPPORTED")),
    commit: () => (over ? Promise.reject(closed()) : promise(end("COMMIT"))),
    rollback: () => promise(end("ROLLBACK")),
    close: () => void promise(end("ROLLBACK")),
    get closed() {
      return over
    }
  }
}

const kindOf = (statement: InStatement): "read" | "write" =>
  /^\s*(SELECT|VALUES|EXPLAIN|PRAGMA)\b/i.test(typeof statement === "string" ? statement : statement.sql)
    ? "read"
    : "write"

/**
 * The client that applications get for a database of this process: the store's own connection, and for transactions another to the same
 * file, where there can be one.
 */
export const make = (
  runtime: Runtime.Runtime<never>,
  connection: Connection,
  transactions: Connection
): Effect.Effect<Client> =>
  Effect.map(Effect.makeSemaphore(1), (turn) => {
    // What a caller of the client sees is what the client itself throws.
    const promise: Promised = (effect) =>
      toPromise(
        runtime,
        Effect.mapError(effect, (failure) => failure.cause ?? failure)
      )
    const use = <A>(kind: "read" | "write", run: (client: Client) => Promise<A>): Promise<A> =>
      promise(connection.use(kind, run))
    let over = false
    return {
      execute: (statement) => use(kindOf(statement), async (client) => toNumbers(await client.execute(statement))),
      batch: (statements, mode) =>
        use("write", async (client) => (await client.batch(statements, mode)).map(toNumbers)),
      migrate: (statements) => use("write", async (client) => (await client.migrate(statements)).map(toNumbers)),
      executeMultiple: (sql) => use("write", (client) => client.executeMultiple(sql)),
      transaction: (mode: TransactionMode = "write") =>
        promise(
          Effect.zipRight(
            turn.take(1),
            Effect.either(transactions.own((client) => client.execute({ sql: begins[mode], args: [] })))
          )
        ).then((begun) => makeTransaction(promise, begun, once(turn.release(1)))),
      sync: () => Promise.reject(new LibsqlError("The database is no replica", "SYNC_NOT_SUPPORTED")),
      close: () => {
        over = true
      },
      get closed() {
        return over
      },
      protocol: "file"
    }
  })
