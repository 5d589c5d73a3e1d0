import type { Client, Value } from "@libsql/client"
import type { Statement } from "../../SqlDriver.js"
import { canWrap, unwrap, wrap } from "../sqliteDriver/nulSafeText.js"
import { plain, toStatement } from "./values.js"

const whole = (value: Value | undefined): unknown =>
  value instanceof ArrayBuffer ? unwrap(new Uint8Array(value)) : plain(value ?? null)

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
    if (!canWrap(sql)) return (await client.execute(toStatement(statement))).rows.map((row) => Array.from(row, plain))
    let text = wrapped.get(sql)
    if (text === undefined) {
      const { columns } = await client.execute(toStatement({ sql: `SELECT * FROM (${sql}) LIMIT 0`, params }))
      text = wrap(sql, columns.length)
      wrapped.set(sql, text)
    }
    const { rows } = await client.execute(toStatement({ sql: text, params }))
    return rows.map((row) => Array.from(row, whole))
  }
}
