import Sqlite from "better-sqlite3"
import { placeholders, split } from "../rqlite/sql.js"
import { Locked, StatementError, type Stmt, type StmtResult, type Value } from "./protocol.js"

const toSqlite = (value: Value): unknown => {
  switch (value.type) {
    case "null":
      return null
    case "integer":
      return BigInt(value.value)
    case "blob":
      return Buffer.from(value.base64, "base64")
    default:
      return value.value
  }
}

const fromSqlite = (value: unknown): Value => {
  if (typeof value === "bigint") return { type: "integer", value: String(value) }
  if (typeof value === "number") return { type: "float", value }
  if (typeof value === "string") return { type: "text", value }
  if (!(value instanceof Uint8Array)) return { type: "null" }
  return { type: "blob", base64: Buffer.from(value).toString("base64").replace(/=+$/, "") }
}

const unsupported =
  /^\s*(VACUUM|ANALYZE|REINDEX|ATTACH|DETACH|CREATE\s+TEMP|PRAGMA\s+(?!user_version|table_info|foreign_key|journal_mode\s*$|synchronous\s*$))/i

const parseError = (said: string) =>
  new StatementError({ message: `SQL string could not be parsed: ${said}`, code: "SQL_PARSE_ERROR" })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

const sqliteError = (error: unknown, sql: string): Error => {
  const code = codeOf(error)
  if (!code.startsWith("SQLITE_")) return error instanceof Error ? error : new Error(String(error))
  if (code.startsWith("SQLITE_BUSY")) return new Locked()
  const [, column] = /^no such column: (\S+)/.exec(messageOf(error)) ?? []
  if (column !== undefined) {
    const offset = Buffer.byteLength(sql.slice(0, sql.indexOf(column)))
    return new StatementError({
      message: `SQL input error: ${messageOf(error)} (at offset ${offset})`,
      code: "SQL_INPUT_ERROR"
    })
  }
  const primary = code.split("_").slice(0, 2).join("_")
  return new StatementError({
    message: `SQLite error: ${messageOf(error)}`,
    code: primary === "SQLITE_ERROR" ? "SQLITE_UNKNOWN" : primary
  })
}

/** A connection, which each stream has for itself. */
export interface Connection {
  /** Fails where a text is none that sqld would run. */
  readonly check: (sql: string) => void
  readonly run: (sql: string, stmt: Stmt) => StmtResult
  readonly close: () => void
}

/** Opens a connection to a database file. */
export const connect = (filename: string, durability: "relaxed" | "strong"): Connection => {
  const db = new Sqlite(filename)
  db.pragma("busy_timeout = 0")
  db.pragma("journal_mode = WAL")
  // A test's database need survive nothing, but says what a server's would.
  db.pragma("synchronous = OFF")
  const synchronous = durability === "strong" ? 2 : 1

  const args = (sql: string, { args, named_args }: Stmt): ReadonlyArray<unknown> => {
    const wanted = placeholders(sql)
    if (named_args.length > 0) {
      return [Object.fromEntries(named_args.map(({ name, value }) => [name.replace(/^[:@$]/, ""), toSqlite(value)]))]
    }
    const count = wanted.reduce((most, { index }) => Math.max(most, index), 0)
    const invalid = (detail: string) =>
      new StatementError({ message: `Arguments do not match SQL parameters: ${detail}`, code: "ARGS_INVALID" })
    if (args.length < count) throw invalid(`value for parameter ${args.length + 1} not found`)
    if (args.length > count) throw invalid(`too many parameters, expected ${count} found ${args.length}`)
    return args.map(toSqlite)
  }

  const counter = (sql: string): number => Number(db.prepare(sql).pluck().get())

  return {
    check: (sql) => {
      if (unsupported.test(sql)) throw parseError(`unsupported statement: ${sql}`)
      const statements = split(sql)
      if (statements.length === 0) {
        throw new StatementError({ message: "SQL string does not contain any statement", code: "SQL_NO_STATEMENT" })
      }
      if (statements.length > 1 && !/^\s*CREATE\s+TRIGGER/i.test(sql)) {
        throw new StatementError({
          message: "SQL string contains more than one statement",
          code: "SQL_MANY_STATEMENTS"
        })
      }
      try {
        db.prepare(sql)
      } catch (error) {
        if (/syntax error|incomplete input|unrecognized token/.test(messageOf(error)))
          throw parseError(messageOf(error))
      }
    },
    run: (sql, stmt) => {
      try {
        const text = /^PRAGMA synchronous$/i.test(sql) ? `SELECT ${synchronous}` : sql
        const statement = db.prepare<Array<unknown>, ReadonlyArray<unknown>>(text)
        const changes = /^\s*(WITH\b.*\b)?(INSERT|REPLACE|UPDATE|DELETE)\b/is.test(sql)
        const inserts = /^\s*(INSERT|REPLACE)\b/i.test(sql)
        const bound = args(sql, stmt)
        const cols = statement.reader ? statement.columns().map(({ name, type }) => ({ name, decltype: type })) : []
        const rows = statement.reader
          ? statement
              .raw()
              .safeIntegers()
              .all(...bound)
          : []
        if (!statement.reader) statement.run(...bound)
        return {
          cols,
          rows: rows.map((row) => row.map(fromSqlite)),
          affected_row_count: changes ? counter("SELECT changes()") : 0,
          last_insert_rowid: inserts ? String(counter("SELECT last_insert_rowid()")) : null
        }
      } catch (error) {
        throw error instanceof StatementError ? error : sqliteError(error, sql)
      }
    },
    close: () => db.close()
  }
}
