import type { Param, Statement } from "../../SqlDriver.js"

/**
 * How statements that insert a row each insert several as one. `texts` are for 1, 2, 4, 8 rows and so on; their parameters are those of the rows,
 * and then `last`.
 */
export interface Insert {
  readonly texts: ReadonlyArray<string>
  readonly row: ReadonlyArray<Param>
  readonly last: Param
}

/** A statement that inserts one row, and may do so together with others of the same texts that come next to it. */
export interface OneRow extends Statement {
  readonly insert: Insert
}

export const isOneRow = (statement: Statement): statement is OneRow => "insert" in statement
