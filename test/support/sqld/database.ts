import Sqlite from "better-sqlite3"
import { placeholders, split } from "../rqlite/sql.js"
import { type Answer, Locked, StatementError, type Stmt, type StmtResult, type Value } from "./protocol.js"

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

const fromSqlite = (value: unknown): Answer => {
  if (typeof value === "bigint") return { type: "integer", value: String(value) }
  if (typeof value === "number") return { type: "float", value: Number.isFinite(value) ? value : null }
  if (typeof value === "string") return { type: "text", value }
  if (!(value instanceof Uint8Array)) return { type: "null" }
  return { type: "blob", base64: Buffer.from(value).toString("base64").replace(/=+$/, "") }
}

const unsupported =
  /^\s*(VACUUM|ANALYZE|REINDEX|ATTACH|DETACH|CREATE\s+TEMP|PRAGMA\s+(?!user_version|table_info|foreign_key|journal_mode\s*$|synchronous\s*$))/i

/** No value and no row is larger, in bytes. */
const maxLength = 5_000_000

const lengthOf = (value: Value): number => {
  switch (value.type) {
    case "text":
      return Buffer.byteLength(value.value)
    case "blob":
      return Buffer.byteLength(value.base64, "base64")
    default:
      return 8
  }
}

// Where one row is inserted, its size is about that of the arguments.
const oneRow = /^\s*(INSERT|REPLACE)\b[^()]*(\([^()]*\))?\s*VALUES\s*\([^()]*\)\s*$/i

const checkSizes = (sql: string, args: ReadonlyArray<Value>): void => {
  const sizes = args.map(lengthOf)
  if (sizes.some((size) => size > maxLength)) {
    const message = "Arguments do not match SQL parameters: string or blob too big"
    throw new StatementError({ message, code: "ARGS_INVALID" })
  }
  if (oneRow.test(sql) && sizes.reduce((sum, size) => sum + size, 0) >= maxLength) {
    throw new StatementError({ message: "SQLite error: string or blob too big", code: "SQLITE_TOOBIG" })
  }
}

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
  /** Whether a text is one that a token which may only read does not allow: also a PRAGMA that changes nothing. */
  readonly writes: (sql: string) => boolean
  readonly run: (sql: string, stmt: Stmt) => StmtResult
  /** The same where the disk has no room: nothing that was written is committed. What a transaction writes waits in memory until then. */
  readonly runOnFullDisk: (sql: string, stmt: Stmt) => StmtResult
  /** Whether it is as it was when it was opened: nothing was changed by it, which its counters would tell. */
  readonly isNew: () => boolean
  readonly close: () => void
}

/** As a database is configured: whether it syncs each commit. */
export type Durability = "relaxed" | "strong"

/** The arguments of a statement as the library takes them. */
const bound = (sql: string, { args, named_args }: Stmt): ReadonlyArray<unknown> => {
  const wanted = placeholders(sql)
  if (named_args.length > 0) {
    return [Object.fromEntries(named_args.map(({ name, value }) => [name.replace(/^[:@$]/, ""), toSqlite(value)]))]
  }
  const count = wanted.reduce((most, { index }) => Math.max(most, index), 0)
  const invalid = (detail: string) =>
    new StatementError({ message: `Arguments do not match SQL parameters: ${detail}`, code: "ARGS_INVALID" })
  if (args.length < count) throw invalid(`value for parameter ${args.length + 1} not found`)
  if (args.length > count) throw invalid(`too many parameters, expected ${count} found ${args.length}`)
  checkSizes(sql, args)
  return args.map(toSqlite)
}

const check = (db: Sqlite.Database, sql: string): void => {
  if (unsupported.test(sql)) throw parseError(`unsupported statement: ${sql}`)
  // sqld has a parser of its own before SQLite's.
  if (/\bHAVING\b/i.test(sql) && !/\bGROUP\s+BY\b/i.test(sql)) throw parseError('near HAVING, "None": syntax error')
  const statements = split(sql)
  if (statements.length === 0) {
    throw new StatementError({ message: "SQL string does not contain any statement", code: "SQL_NO_STATEMENT" })
  }
  if (statements.length > 1 && !/^\s*CREATE\s+TRIGGER/i.test(sql)) {
    throw new StatementError({ message: "SQL string contains more than one statement", code: "SQL_MANY_STATEMENTS" })
  }
  try {
    db.prepare(sql)
  } catch (error) {
    if (/syntax error|incomplete input|unrecognized token/.test(messageOf(error))) throw parseError(messageOf(error))
  }
}

const writes = (db: Sqlite.Database, sql: string): boolean => {
  if (/^\s*PRAGMA\b/i.test(sql)) return true
  if (/^\s*(EXPLAIN|BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE)\b/i.test(sql)) return false
  try {
    return !db.prepare(sql).readonly
  } catch {
    return !/^\s*(SELECT|VALUES|WITH)\b/i.test(sql)
  }
}

const run = (db: Sqlite.Database, sql: string, args: ReadonlyArray<unknown>): StmtResult => {
  const counter = (sql: string): number => Number(db.prepare(sql).pluck().get())
  const statement = db.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql)
  const changes = /^\s*(WITH\b.*\b)?(INSERT|REPLACE|UPDATE|DELETE)\b/is.test(sql)
  const inserts = /^\s*(INSERT|REPLACE)\b/i.test(sql)
  const cols = statement.reader ? statement.columns().map(({ name, type }) => ({ name, decltype: type })) : []
  const rows = statement.reader
    ? statement
        .raw()
        .safeIntegers()
        .all(...args)
    : []
  if (!statement.reader) statement.run(...args)
  return {
    cols,
    rows: rows.map((row) => row.map(fromSqlite)),
    affected_row_count: changes ? counter("SELECT changes()") : 0,
    last_insert_rowid: inserts ? String(counter("SELECT last_insert_rowid()")) : null
  }
}

const diskFull = () => new StatementError({ message: "SQLite error: disk I/O error", code: "SQLITE_IOERR" })

/** Opens a connection to a database file. */
export const connect = (filename: string, durability: Durability): Connection => {
  const db = new Sqlite(filename)
  db.pragma("busy_timeout = 0")
  db.pragma("journal_mode = WAL")
  // A test's database need survive nothing, but says what a server's would.
  db.pragma("synchronous = OFF")
  const synchronous = durability === "strong" ? 2 : 1
  const told = (sql: string): string =>
    sql
      .replace(/^PRAGMA synchronous$/i, "SELECT synchronous FROM pragma_synchronous")
      .replace(/\bpragma_synchronous\b/i, `(SELECT ${synchronous} AS synchronous)`)

  const runStatement: Connection["run"] = (sql, stmt) => {
    try {
      return run(db, told(sql), bound(sql, stmt))
    } catch (error) {
      throw error instanceof StatementError ? error : sqliteError(error, sql)
    }
  }

  return {
    check: (sql) => check(db, sql),
    writes: (sql) => writes(db, sql),
    run: runStatement,
    runOnFullDisk: (sql, stmt) => {
      if (!db.inTransaction && writes(db, sql)) throw diskFull()
      if (db.inTransaction && /^\s*(COMMIT|END)\b/i.test(sql)) {
        db.exec("ROLLBACK")
        throw diskFull()
      }
      return runStatement(sql, stmt)
    },
    isNew: () => !db.inTransaction && db.prepare("SELECT total_changes()").pluck().get() === 0,
    close: () => db.close()
  }
}
