import type * as Duration from "effect/Duration"
import type { SqlDriver } from "../../SqlDriver.js"
import type { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import type { Sql } from "../sql/statements.js"
import { explained } from "./rowNumbersExhausted.js"

export type Failure = StoreUnavailable | StoreRejected
export type Row = ReadonlyArray<unknown>

/** A write whose answer came: its key, and when that was. */
export interface Answered {
  readonly key: string
  readonly at: number
}

/** A database with the tables of a store, and what is known of the writes to it. */
export interface Database {
  readonly driver: SqlDriver
  readonly sql: Sql
  /** For how long it is found out what became of a write whose answer was lost. */
  readonly budget: Duration.Duration
  /** How many rows of an operation fitted into an answer the last time, where not all did. */
  readonly fitted: Map<string, number>
  /** Whose keys are still stored, in the order of time. Later writes remove them. */
  readonly answered: Array<Answered>
}

export const make = (driver: SqlDriver, sql: Sql, budget: Duration.Duration): Database => ({
  driver: explained(driver, sql),
  sql,
  budget,
  fitted: new Map(),
  answered: []
})
