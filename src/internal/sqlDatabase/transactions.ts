import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { SqlDriver, StatementResult, Transaction } from "../../SqlDriver.js"
import type { Failure } from "./database.js"

/** Runs transactions, each of which is applied or fails by itself; gives what became of each. */
export const run = (
  driver: SqlDriver,
  given: ReadonlyArray<Transaction>
): Effect.Effect<ReadonlyArray<Exit.Exit<ReadonlyArray<StatementResult>, Failure>>> =>
  driver.transactions?.(given) ??
  Effect.forEach(given, ({ call, statements }) => Effect.exit(driver.transaction(call, statements)), {
    concurrency: "unbounded"
  })
