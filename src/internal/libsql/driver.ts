import * as Effect from "effect/Effect"
import type { Statement, StatementResult } from "../../SqlDriver.js"
import type { LazyDriver } from "../groupCommit/lazyDriver.js"
import { type Failure, toStoreError } from "./error.js"

export type Rows = ReadonlyArray<ReadonlyArray<unknown>>

/**
 * A libSQL database.
 *
 * - `write`: runs statements in one transaction. It asks for them when it is about to send them, once.
 * - `read`: runs a query for an operation of the store.
 *
 * Either may run again what is certain to have done nothing.
 */
export interface Database {
  readonly write: (statements: () => ReadonlyArray<Statement>) => Effect.Effect<ReadonlyArray<StatementResult>, Failure>
  readonly read: (statement: Statement, operation: string) => Effect.Effect<Rows, Failure>
}

/** The driver of a database. */
export const make = ({ read, write }: Database): LazyDriver => ({
  transaction: (call, statements) => Effect.mapError(write(statements), (failure) => toStoreError(call, failure, true)),
  query: (call, statement) =>
    Effect.mapError(read(statement, call.operation), (failure) => toStoreError(call, failure, false))
})

/** Makes a list at its first use, and keeps it: a statement that is run again must be the same. */
export const askedOnce = <A>(list: () => ReadonlyArray<A>): (() => ReadonlyArray<A>) => {
  let taken: ReadonlyArray<A> | undefined
  return () => {
    taken ??= list()
    return taken
  }
}
