import * as Predicate from "effect/Predicate"
import type { Param } from "../../SqlDriver.js"
import { checkCount, type Database, exact, type Library, type Prepared } from "./database.js"
import { canWrap, unwrap, wrap } from "./nulSafeText.js"
import { nameOf } from "./resultCode.js"

type Row = ReadonlyArray<unknown> | { readonly [column: string]: unknown }

/** What is used of node:sqlite. The types of the oldest Node that Holdfast runs on know nothing of it. */
interface Statement {
  readonly all: (...params: ReadonlyArray<Param>) => ReadonlyArray<Row>
  readonly run: (...params: ReadonlyArray<Param>) => {
    readonly changes: number | bigint
    readonly lastInsertRowid: number | bigint
  }
  readonly setReadBigInts: (on: boolean) => void
  /** From 22.16 on. Before, a row is an object, in which of two columns of one name the last one is left. */
  readonly setReturnArrays?: (on: boolean) => void
}

interface Handle {
  readonly prepare: (sql: string) => Statement
  readonly close: () => void
}

interface Module {
  readonly DatabaseSync: new (filename: string, options?: { readonly readOnly: boolean }) => Handle
}

const isModule = (u: unknown): u is Module =>
  Predicate.hasProperty(u, "DatabaseSync") && Predicate.isFunction(u.DatabaseSync)

const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "errcode") ? nameOf(cause.errcode) : "")

// The library binds NULL where there is no value, and does not tell how many placeholders there are.
const placeholders = (sql: string): number => sql.replace(/'[^']*'|"[^"]*"/g, "").split("?").length - 1

const toArray = (row: Row): ReadonlyArray<unknown> => (Array.isArray(row) ? row : Object.values(row))

const makePrepared = (handle: Handle, sql: string): Prepared => {
  const statement = handle.prepare(sql)
  const count = placeholders(sql)
  statement.setReadBigInts(true)
  statement.setReturnArrays?.(true)
  return {
    run: (params) => {
      checkCount(params, count)
      const { changes, lastInsertRowid } = statement.run(...params)
      return { changes: Number(changes), lastRowid: Number(lastInsertRowid) }
    },
    all: (params) => {
      checkCount(params, count)
      return statement.all(...params).map((row) => toArray(row).map(exact))
    },
    // Closing the connection releases its statements, or else the garbage collector does.
    release: () => undefined
  }
}

/** How many columns a query has: a row of nulls stands in for the rows that it might not have. */
const columnsOf = (handle: Handle, sql: string, params: ReadonlyArray<Param>): number => {
  const text = `SELECT r.* FROM (SELECT 1) LEFT JOIN (SELECT * FROM (${sql}) LIMIT 0) r`
  return Object.keys(handle.prepare(text).all(...params)[0] ?? {}).length
}

const whole = (value: unknown): unknown => (value instanceof Uint8Array ? unwrap(value) : value)

// Before Node 24 a text ends at its first U+0000 when it is read.
const makeNulSafe = (handle: Handle, sql: string): Prepared => {
  const plain = makePrepared(handle, sql)
  if (!canWrap(sql)) return plain
  const count = placeholders(sql)
  let wrapped: Prepared | undefined
  return {
    ...plain,
    all: (params) => {
      checkCount(params, count)
      wrapped ??= makePrepared(handle, wrap("cut", sql, columnsOf(handle, sql, params)))
      return wrapped.all(params).map((row) => row.map(whole))
    }
  }
}

const endsAtNul = (handle: Handle): boolean => {
  const [row = []] = handle.prepare("SELECT 'a' || char(0) || 'b'").all()
  handle.close()
  return toArray(row)[0] !== "a\0b"
}

/** Node's own SQLite, in Node 22.13 and later. */
export const load = async (): Promise<Library> => {
  const module: unknown = process.getBuiltinModule("node:sqlite")
  if (!isModule(module)) throw new TypeError(`Node ${process.versions.node} has no node:sqlite`)
  const { DatabaseSync } = module
  const prepare = endsAtNul(new DatabaseSync(":memory:")) ? makeNulSafe : makePrepared
  return {
    name: "node:sqlite",
    codeOf,
    open: (filename, access): Database => {
      const handle = new DatabaseSync(filename, { readOnly: access === "read-only" })
      return { prepare: (sql) => prepare(handle, sql), close: () => handle.close() }
    }
  }
}
