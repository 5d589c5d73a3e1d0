import { type Client, type InStatement, LibsqlError, type TransactionMode } from "@libsql/client"
import * as Effect from "effect/Effect"
import type * as Runtime from "effect/Runtime"
import type { Connection } from "./localConnection.js"
import * as localTransaction from "./localTransaction.js"
import { toPromise } from "./remoteConnection.js"
import { toNumbers } from "./values.js"

const once = (effect: Effect.Effect<unknown>): Effect.Effect<void> => {
  let done = false
  return Effect.suspend(() => {
    if (done) return Effect.void
    done = true
    return Effect.asVoid(effect)
  })
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
    const promise: localTransaction.Promised = (effect) =>
      toPromise(
        runtime,
        Effect.mapError(effect, (failure) => failure.cause ?? failure)
      )
    const use = <A>(kind: "read" | "write", run: (client: Client) => Promise<A>): Promise<A> =>
      promise(connection.use(kind, run))
    const begin = localTransaction.makeBegin()
    let over = false
    return {
      execute: (statement) => use(kindOf(statement), async (client) => toNumbers(await client.execute(statement))),
      batch: (statements, mode) =>
        use("write", async (client) => (await client.batch(statements, mode)).map(toNumbers)),
      migrate: (statements) => use("write", async (client) => (await client.migrate(statements)).map(toNumbers)),
      executeMultiple: (sql) => use("write", (client) => client.executeMultiple(sql)),
      transaction: async (mode: TransactionMode = "write") => {
        const begun = await promise(Effect.zipRight(turn.take(1), Effect.either(transactions.own(begin(mode)))))
        return localTransaction.make({ promise, begun, done: once(turn.release(1)) })
      },
      sync: () => Promise.reject(new LibsqlError("The database is no replica", "SYNC_NOT_SUPPORTED")),
      close: () => {
        over = true
      },
      // Clients have it from 0.15 on.
      reconnect: () => {
        over = false
      },
      get closed() {
        return over
      },
      protocol: "file"
    }
  })
