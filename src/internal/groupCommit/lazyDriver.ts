import * as Effect from "effect/Effect"
import type { Call, SqlDriver, Statement, StatementResult } from "../../SqlDriver.js"
import type { StoreRejected, StoreUnavailable } from "../../StoreError.js"

export type Failure = StoreUnavailable | StoreRejected
export type Results = ReadonlyArray<StatementResult>

/** A driver that asks for the statements of a transaction when it has begun it; where it begins anew, it asks again. */
export interface LazyDriver extends Omit<SqlDriver, "transaction"> {
  readonly transaction: (call: Call, statements: () => ReadonlyArray<Statement>) => Effect.Effect<Results, Failure>
  /**
   * Runs a transaction on the spot, which needs no fiber. Gives nothing where that cannot be, or where it fails: then nothing is written, and
   * `transaction` is to be run.
   */
  readonly attempt?: (statements: () => ReadonlyArray<Statement>) => Results | undefined
}

/** A driver whose transactions need no beginning of their own: one request, or one batch. */
export const lazy = (driver: SqlDriver): LazyDriver => ({
  ...driver,
  transaction: (call, statements) => Effect.suspend(() => driver.transaction(call, statements()))
})
