import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type { Call, SqlDriver, Statement, StatementResult } from "../../SqlDriver.js"
import type { StoreRejected, StoreUnavailable } from "../../StoreError.js"

export type Failure = StoreUnavailable | StoreRejected
export type Results = ReadonlyArray<StatementResult>

/** A driver that asks for the statements of a transaction when it has begun it; where it begins anew, it asks again. */
export interface LazyDriver extends Omit<SqlDriver, "transaction"> {
  readonly transaction: (call: Call, statements: () => ReadonlyArray<Statement>) => Effect.Effect<Results, Failure>
  /**
   * Runs a transaction on the spot, which needs no fiber. Gives nothing where that cannot be, or where it fails and nothing is written:
   * then `transaction` is to be run. Where it fails and may be applied, it must not run again: that is the failure.
   */
  readonly attempt?: (
    call: Call,
    statements: () => ReadonlyArray<Statement>
  ) => Either.Either<Results, Failure> | undefined
  /** Runs a task in this turn of the event loop where there is time left, and else in one of the next; none where nobody waits for turns. */
  readonly inTurn?: ((task: () => void) => void) | undefined
}

/** A driver whose transactions need no beginning of their own: one request, or one batch. */
export const lazy = (driver: SqlDriver): LazyDriver => ({
  ...driver,
  transaction: (call, statements) => Effect.suspend(() => driver.transaction(call, statements()))
})
