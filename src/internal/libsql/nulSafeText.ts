import type { Client, Value } from "@libsql/client"
import type { Statement } from "../../SqlDriver.js"
import { plain, toStatement } from "./values.js"

const column = (name: string): string =>
  `CASE WHEN typeof(${name}) = 'blob' THEN CAST('B' || ${name} AS BLOB) WHEN instr(${name}, char(0)) > 0 THEN CAST('T' || ${name} AS BLOB) ELSE ${name} END`

const wrap = (sql: string, count: number): string => {
  const names = Array.from({ length: count }, (_, i) => `c${i}`)
  return `WITH r (${names.join(", ")}) AS (${sql}) SELECT ${names.map(column).join(", ")} FROM r`
}

const unwrap = (value: Value | undefined): unknown => {
  if (!(value instanceof ArrayBuffer)) return plain(value)
  const bytes = new Uint8Array(value)
  return bytes[0] === 0x54 ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(1)) : bytes.slice(1)
}

const isSelect = /^SELECT\b/

/**
 * Reads rows from a database of this process, whose client gives a text no further than its first U+0000: a text that has one comes as bytes,
 * with a mark in front that tells it from what is stored as bytes.
 */
export const makeRead = (): ((
  client: Client,
  statement: Statement
) => Promise<ReadonlyArray<ReadonlyArray<unknown>>>) => {
  // What is asked of a store are a few texts.
  const wrapped = new Map<string, string>()
  return async (client, statement) => {
    const { params, sql } = statement
    if (!isSelect.test(sql))
      return (await client.execute(toStatement(statement))).rows.map((row) => Array.from(row, plain))
    let text = wrapped.get(sql)
    if (text === undefined) {
      const { columns } = await client.execute(toStatement({ sql: `SELECT * FROM (${sql}) LIMIT 0`, params }))
      text = wrap(sql, columns.length)
      wrapped.set(sql, text)
    }
    const { rows } = await client.execute(toStatement({ sql: text, params }))
    return rows.map((row) => Array.from(row, unwrap))
  }
}
