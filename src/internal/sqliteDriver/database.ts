import type { Param, StatementResult } from "../../SqlDriver.js"

/** Rows as arrays of columns. */
export type Rows = ReadonlyArray<ReadonlyArray<unknown>>

/**
 * A statement of a connection. What fails throws, and so does a number of parameters that is not that of the placeholders.
 *
 * - `all`: the rows, none for a statement that gives none. Integers are numbers where a double holds them exactly and bigints beyond,
 *   blobs are bytes, and texts are whole, whatever is in them.
 * - `run`: what a statement that gives no rows did.
 * - `release`: it is not used any more.
 */
export interface Prepared {
  readonly all: (params: ReadonlyArray<Param>) => Rows
  readonly run: (params: ReadonlyArray<Param>) => StatementResult
  readonly release: () => void
}

/** A connection, which waits for no lock. Everything on it runs at once, and what fails throws. */
export interface Database {
  readonly prepare: (sql: string) => Prepared
  readonly close: () => void
}

/** Whether a connection may write. One that may not opens no file that is not there. */
export type Access = "read-write" | "read-only"

/**
 * A library that brings SQLite into this process.
 *
 * - `codeOf`: the name of SQLite's result code that something thrown carries, without `SQLITE_`, as in `CONSTRAINT_UNIQUE`; empty for one
 *   that did not come from SQLite.
 */
export interface Library {
  readonly name: string
  readonly open: (filename: string, access?: Access) => Database
  readonly codeOf: (cause: unknown) => string
}

/** An integer as a number where that is the same one. */
export const exact = (value: unknown): unknown => {
  if (typeof value !== "bigint") return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Throws where a library would bind NULL, or what was bound before, to the placeholders that are left. */
export const checkCount = (params: ReadonlyArray<Param>, placeholders: number): void => {
  if (params.length === placeholders) return
  const problem = params.length < placeholders ? "Too few" : "Too many"
  throw new RangeError(`${problem} parameter values were provided: ${params.length} for ${placeholders} placeholders`)
}
