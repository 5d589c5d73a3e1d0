import Sqlite from "better-sqlite3"
import type { Cell } from "./json.js"
import { placeholders, split } from "./sql.js"
import type { Bound, Param, Statement } from "./statements.js"
import { convert, typeOf } from "./values.js"

export type Result =
  | { readonly _tag: "Done" }
  | { readonly _tag: "Counts"; readonly lastInsertId: bigint; readonly rowsAffected: bigint }
  | {
      readonly _tag: "Rows"
      readonly columns: ReadonlyArray<string>
      readonly types: ReadonlyArray<string>
      readonly values: ReadonlyArray<ReadonlyArray<Cell>>
    }
  | { readonly _tag: "Failed"; readonly error: string }

/** An error about a whole request, which is told beside its results. */
export class RequestFailed extends Error {}

export interface Database {
  readonly execute: (statements: ReadonlyArray<Statement>, options: Options) => ReadonlyArray<Result>
  readonly query: (statements: ReadonlyArray<Statement>) => ReadonlyArray<Result>
  readonly request: (statements: ReadonlyArray<Statement>, options: Options) => ReadonlyArray<Result>
  readonly rows: (sql: string) => ReadonlyArray<ReadonlyArray<unknown>>
  readonly close: () => void
}

export interface Options {
  readonly transaction: boolean
  readonly noparse: boolean
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const breaking =
  /^\s*PRAGMA\s+(?:(?:\w+\.)?(?:journal_mode|synchronous|query_only)\s*=|wal_autocheckpoint\s*=|(?:\w+\.)?wal_checkpoint)/i

const wanted = (sql: string): number => placeholders(sql).reduce((most, { index }) => Math.max(most, index), 0)

/** What is bound, in the two ways in which better-sqlite3 takes it: a parameter that has a name by it, the others in order. */
const bind = (sql: string, params: ReadonlyArray<Param>): ReadonlyArray<unknown> => {
  const names = new Map<number, string>()
  for (const { index, text } of placeholders(sql)) if (text !== "?") names.set(index, text.slice(1))
  const given = new Map(params.filter(({ name }) => name !== "").map((param) => [param.name, param]))
  const bare: Array<Bound> = []
  const named: Array<readonly [string, Bound]> = []
  const count = wanted(sql)
  for (let index = 1; index <= count; index++) {
    const name = names.get(index)
    const value = (name === undefined ? undefined : given.get(name)) ?? params[index - 1]
    if (name === undefined) bare.push(value?.value ?? null)
    else named.push([name, value?.value ?? null])
  }
  return named.length === 0 ? bare : [...bare, Object.fromEntries(named)]
}

type Prepared = Sqlite.Statement<Array<unknown>, ReadonlyArray<unknown>>

/**
 * One connection for all writes, whose counters of affected rows and of the last rowid every statement reports, also one that changes none.
 */
interface Handle {
  readonly db: Sqlite.Database
  readonly counters: Prepared
}

const counts = ({ counters }: Handle): Result => {
  const [row] = counters.all()
  return { _tag: "Counts", lastInsertId: BigInt(String(row?.[0])), rowsAffected: BigInt(String(row?.[1])) }
}

const prepare = ({ db }: Handle, sql: string): Prepared | undefined => {
  try {
    return db.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql)
  } catch (error) {
    if (error instanceof RangeError && /no statements/.test(error.message)) return undefined
    throw error
  }
}

const check = (sql: string, params: ReadonlyArray<Param>): void => {
  const want = wanted(sql)
  if (params.length < want) throw new Error(`not enough args to execute query: want ${want} got ${params.length}`)
}

const rows = (statement: Prepared, { params, sql }: Statement): Result => {
  check(sql, params)
  const columns = statement.columns()
  const types = columns.map(({ type }) => (type ?? "").toLowerCase())
  const values = statement
    .raw()
    .safeIntegers()
    .all(...bind(sql, params))
    .map((row, at) => {
      const cells = row.map((value, i) => convert(value, types[i] ?? ""))
      if (at === 0) for (const [i, cell] of cells.entries()) if (types[i] === "") types[i] = typeOf(cell)
      return cells
    })
  return { _tag: "Rows", columns: columns.map(({ name }) => name), types, values }
}

const execute = (handle: Handle, statement: Statement, options: Options): Result => {
  const { params, sql } = statement
  let prepared: Prepared | undefined
  try {
    prepared = prepare(handle, sql)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return executeAll(handle, statement, options)
  }
  if (prepared === undefined) return { _tag: "Done" }
  const returning = prepared.reader && !prepared.readonly && /returning /i.test(sql) && !options.noparse
  if (returning) return rows(prepared, statement)
  // A statement without any parameter is run at once, and what is not bound is null.
  if (params.length > 0) check(sql, params)
  if (prepared.reader) prepared.raw().all(...bind(sql, params))
  else prepared.run(...bind(sql, params))
  return counts(handle)
}

/** Several statements in one text: each takes its share of the parameters, the last one's result stands for all. */
const executeAll = (handle: Handle, { params, sql }: Statement, options: Options): Result => {
  let rest = params
  return split(sql).reduce<Result>(
    (_, part) => {
      const result = execute(handle, { sql: part, params: rest.slice(0, wanted(part)) }, options)
      rest = rest.slice(wanted(part))
      return result
    },
    { _tag: "Done" }
  )
}

const query = (handle: Handle, statement: Statement): Result => {
  const prepared = prepare(handle, statement.sql)
  if (prepared === undefined) return { _tag: "Done" }
  if (!prepared.readonly) throw new Error("attempt to change database via query operation")
  return rows(prepared, statement)
}

const attempt = (run: () => Result): Result => {
  try {
    return run()
  } catch (error) {
    return { _tag: "Failed", error: messageOf(error) }
  }
}

const whole = ({ db }: Handle, sql: string): void => {
  try {
    db.exec(sql)
  } catch (error) {
    throw new RequestFailed(messageOf(error))
  }
}

const rollback = ({ db }: Handle): void => {
  try {
    db.exec("ROLLBACK")
  } catch {
    // SQLite has rolled back by itself.
  }
}

const write = (
  handle: Handle,
  statements: ReadonlyArray<Statement>,
  { transaction }: Options,
  run: (statement: Statement) => Result,
  aborts: (statement: Statement) => boolean
): ReadonlyArray<Result> => {
  if (statements.some(({ sql }) => breaking.test(sql))) throw new RequestFailed("disallowed pragma")
  if (transaction) whole(handle, "BEGIN")
  const results: Array<Result> = []
  for (const statement of statements) {
    if (statement.sql === "") continue
    const aborting = aborts(statement)
    const result = attempt(() => run(statement))
    results.push(result)
    if (result._tag === "Failed" && transaction && aborting) {
      rollback(handle)
      return results
    }
  }
  if (!transaction) return results
  try {
    whole(handle, "COMMIT")
  } catch (error) {
    rollback(handle)
    throw error
  }
  return results
}

const prepares = (handle: Handle, { sql }: Statement): boolean => {
  try {
    prepare(handle, sql)
    return true
  } catch (error) {
    return error instanceof RangeError
  }
}

/** A database as rqlite keeps it, which begins as the one of these bytes, or empty. */
export const open = (initial?: Buffer): Database => {
  const db = new Sqlite(initial ?? ":memory:")
  db.pragma("foreign_keys = OFF")
  const handle = {
    db,
    counters: db
      .prepare<Array<unknown>, ReadonlyArray<unknown>>("SELECT last_insert_rowid(), changes()")
      .raw()
      .safeIntegers()
  }
  return {
    execute: (statements, options) =>
      write(
        handle,
        statements,
        options,
        (statement) => execute(handle, statement, options),
        () => true
      ),
    // Here a statement that cannot even be prepared does not end the transaction.
    request: (statements, options) =>
      write(
        handle,
        statements,
        options,
        (statement) =>
          prepare(handle, statement.sql)?.readonly === true
            ? query(handle, statement)
            : execute(handle, statement, options),
        (statement) => prepares(handle, statement)
      ),
    query: (statements) => {
      if (statements.some(({ sql }) => breaking.test(sql))) throw new RequestFailed("disallowed pragma")
      return statements.filter(({ sql }) => sql !== "").map((statement) => attempt(() => query(handle, statement)))
    },
    rows: (sql) => db.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql).raw().all(),
    close: () => db.close()
  }
}
