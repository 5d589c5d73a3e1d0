import type { Client, InStatement, InValue, ResultSet, Row, Value } from "@libsql/client"
import type { Param, Statement, StatementResult } from "../../SqlDriver.js"
import { canWrap, unwrap, wrap } from "../sqliteDriver/nulSafeText.js"

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

const whole = (value: Value | undefined): unknown =>
  value instanceof ArrayBuffer ? unwrap(new Uint8Array(value)) : plain(value ?? null)

/**
 * Reads rows from a database of this process, whose client gives a text no further than its first U+0000, and ends the process at one that is
 * no Unicode, as another program can write it: so all texts come as bytes.
 */
export const makeRead = (): ((
  client: Client,
  statement: Statement
) => Promise<ReadonlyArray<ReadonlyArray<unknown>>>) => {
  // What is asked of a store are a few texts.
  const wrapped = new Map<string, string>()
  return async (client, statement) => {
    const { params, sql } = statement
    if (!canWrap(sql)) return (await client.execute(toStatement(statement))).rows.map((row) => Array.from(row, plain))
    let text = wrapped.get(sql)
    if (text === undefined) {
      const { columns } = await client.execute(toStatement({ sql: `SELECT * FROM (${sql}) LIMIT 0`, params }))
      text = wrap("all", sql, columns.length)
      wrapped.set(sql, text)
    }
    const { rows } = await client.execute(toStatement({ sql: text, params }))
    return rows.map((row) => Array.from(row, whole))
  }
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
