import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Call, SqlDriver, StatementResult } from "../../SqlDriver.js"
import { StoreRejected } from "../../StoreError.js"
import type { Sql } from "../sql/statements.js"
import type { Failure, Row } from "./database.js"

// What SQLite says of a number that is none: the statements give a text for one that must not be given.
const isMismatch = (error: Failure): boolean =>
  error._tag === "StoreRejected" && error.detail.includes("datatype mismatch")

const explain = ({ executionId, operation }: Call, tables: ReadonlyArray<Row>, { cause }: Failure): StoreRejected => {
  const named = tables.map(([table, seq]) => `${String(table)} (up to ${String(seq)})`).join(", ")
  return new StoreRejected({
    operation,
    executionId,
    reason: "exhausted",
    detail:
      `no numbers are left in ${named}: a row of another program has taken them up. ` +
      "Delete such rows, and set the table's seq in sqlite_sequence to the greatest number that is left",
    cause
  })
}

/** The failure of a transaction, or that a table has run out of numbers where that is what it failed for. */
const explanation = (driver: SqlDriver, sql: Sql, call: Call, error: Failure): Effect.Effect<never, Failure> =>
  isMismatch(error)
    ? Effect.flatMap(driver.query(call, { sql: sql.exhausted, params: [] }), (tables) =>
        Effect.fail(tables.length === 0 ? error : explain(call, tables, error))
      )
    : Effect.fail(error)

type Exits = ReadonlyArray<Exit.Exit<ReadonlyArray<StatementResult>, Failure>>

/** A driver that says so where a table has run out of numbers. */
export const explained = (driver: SqlDriver, sql: Sql): SqlDriver => {
  const { transactions } = driver
  const explainedExit = (exit: Exits[number], call: Call) =>
    Effect.exit(Effect.catchAll(exit, (error) => explanation(driver, sql, call, error)))
  return {
    ...driver,
    transaction: (call, statements) =>
      Effect.catchAll(driver.transaction(call, statements), (error) => explanation(driver, sql, call, error)),
    transactions:
      transactions &&
      ((given) =>
        Effect.flatMap(
          transactions(given),
          (exits): Effect.Effect<Exits> =>
            exits.every(Exit.isSuccess)
              ? Effect.succeed(exits)
              : Effect.forEach(exits, (exit, i) => explainedExit(exit, given[i]?.call ?? { operation: "commit" }))
        ))
  }
}
