import type { InStatement, InValue, ResultSet, Row, Value } from "@libsql/client"
import type { Param, Statement, StatementResult } from "../../SqlDriver.js"

// What is bound as a number is a double to libSQL, also where it is whole.
const bound = (param: Param): InValue =>
  typeof param === "number" && Number.isSafeInteger(param) ? BigInt(param) : param

/** A statement as the client takes it: always with positional arguments, also where there are none. */
export const toStatement = ({ params, sql }: Statement): InStatement => ({ sql, args: params.map(bound) })

export const toResult = ({ lastInsertRowid, rowsAffected }: ResultSet): StatementResult => ({
  changes: rowsAffected,
  lastRowid: Number(lastInsertRowid ?? 0)
})

/** An integer as a number where that is the same one. */
export const plain = (value: Value): Value => {
  const number = Number(value)
  return typeof value === "bigint" && Number.isSafeInteger(number) ? number : value
}

const safeRow = (row: Row, columns: ReadonlyArray<string>): Row => {
  const copy: Row = Object.defineProperty({ length: 0 }, "length", { value: row.length, enumerable: false })
  for (const [i, column] of columns.entries()) {
    const value = plain(row[i] ?? null)
    Object.defineProperty(copy, i, { value })
    if (!Object.hasOwn(copy, column)) {
      Object.defineProperty(copy, column, { value, enumerable: true, configurable: true, writable: true })
    }
  }
  return copy
}

/** Results with integers as numbers where a double holds them, as an application expects them. */
export const toNumbers = (result: ResultSet): ResultSet => {
  const { columnTypes, columns, lastInsertRowid, rowsAffected } = result
  return {
    columns,
    columnTypes,
    lastInsertRowid,
    rowsAffected,
    rows: result.rows.map((row) => safeRow(row, columns)),
    toJSON: () => result.toJSON()
  }
}
