import type { Client, InStatement } from "@libsql/client"
import * as Effect from "effect/Effect"
import type { Statement } from "../../SqlDriver.js"
import type { LazyDriver } from "../groupCommit/lazyDriver.js"
import { type Failure, toStoreError } from "./error.js"
import { toResult } from "./values.js"

/** Runs a use of a client. It may run it again, where the first is certain to have done nothing. */
export type Use = <A>(kind: "read" | "write", run: (client: Client) => Promise<A>) => Effect.Effect<A, Failure>

/** Reads rows with a client. */
export type Read = (client: Client, statement: Statement) => Promise<ReadonlyArray<ReadonlyArray<unknown>>>

/**
 * - `write`: makes of a statement one that the client takes.
 * - `read`: how rows are read.
 */
export interface Options {
  readonly use: Use
  readonly write: (statement: Statement) => InStatement
  readonly read: Read
}

/**
 * A driver on a client: a transaction is one batch.
 *
 * A batch is the one transaction of libSQL that holds everywhere: one round trip, all or nothing, and no connection of its own that is
 * left behind.
 */
export const make = ({ read, use, write }: Options): LazyDriver => ({
  transaction: (call, statements) =>
    Effect.suspend(() => {
      let taken: Array<InStatement> | undefined
      return use("write", async (client) => {
        taken ??= statements().map(write)
        return (await client.batch(taken, "write")).map(toResult)
      })
    }).pipe(Effect.mapError((failure) => toStoreError(call, failure, true))),
  query: (call, statement) =>
    Effect.mapError(
      use("read", (client) => read(client, statement)),
      (failure) => toStoreError(call, failure, false)
    )
})
