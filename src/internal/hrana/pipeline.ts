import * as Either from "effect/Either"
import type { JsonObject } from "../../Json.js"
import type { Param, Statement } from "../../SqlDriver.js"
import * as reader from "../codec/reader.js"
import { GuardFailed, StatementFailed, Unreadable } from "./errors.js"
import { exact } from "./exactDoubles.js"

/**
 * Requests of Hrana over HTTP, version 2 of the protocol with JSON, in which one request opens a connection, runs what it is given and
 * closes it.
 */

/** What a statement of a transaction did. */
export interface Result {
  readonly changes: number
  readonly lastRowid: number
}

/** What a request gave. `frame` is the last one of the server's log when it was answered, where the server tells. */
export interface Answered<A> {
  readonly value: A
  readonly frame: number | undefined
}

type Rows = ReadonlyArray<ReadonlyArray<unknown>>

type Answer<A> = Either.Either<A, Unreadable | StatementFailed>

const value = (param: Param) => {
  if (param === null) return { type: "null" }
  if (typeof param === "string") return { type: "text", value: param }
  return Number.isSafeInteger(param)
    ? { type: "integer", value: String(BigInt(param)) }
    : { type: "float", value: param }
}

type Text = { readonly sql: string } | { readonly sql_id: number }

const stmt = (text: Text, { params }: Statement, wantRows: boolean) => ({
  ...text,
  args: params.map(value),
  want_rows: wantRows
})

const body = (requests: ReadonlyArray<unknown>): string =>
  JSON.stringify({ baton: null, requests: [...requests, { type: "close" }] })

/** How many texts a connection keeps for its client, and how long each may be. */
const kept = { texts: 50, length: 4000 }

/** The texts that come more than once, which are sent once, by their numbers. */
const repeated = (statements: ReadonlyArray<Statement>): ReadonlyMap<string, number> => {
  const seen = new Set<string>()
  const numbers = new Map<string, number>()
  for (const { sql } of statements) {
    const again = seen.has(sql) && !numbers.has(sql)
    if (again && numbers.size < kept.texts && sql.length <= kept.length) numbers.set(sql, numbers.size)
    seen.add(sql)
  }
  return numbers
}

/** What a request begins with, and how its statements name their texts. */
const textsOf = (statements: ReadonlyArray<Statement>) => {
  const numbers = repeated(statements)
  return {
    stored: Array.from(numbers, ([sql, sql_id]) => ({ type: "store_sql", sql_id, sql })),
    text: (sql: string): Text => {
      const number = numbers.get(sql)
      return number === undefined ? { sql } : { sql_id: number }
    }
  }
}

/**
 * A request that runs statements in one transaction, of which it rolls back all where one fails. A guard is a statement that comes first,
 * and fails where the transaction must not be.
 */
export const transaction = (statements: ReadonlyArray<Statement>, guard?: Statement | undefined): string => {
  const exactly = [...(guard === undefined ? [] : [guard]), ...statements].map(exact)
  const { stored, text } = textsOf(exactly)
  const after = (step: number) => ({ type: "ok", step })
  const steps = [
    { stmt: { sql: "BEGIN IMMEDIATE" } },
    ...exactly.map((statement, i) => ({ condition: after(i), stmt: stmt(text(statement.sql), statement, false) })),
    { condition: after(exactly.length), stmt: { sql: "COMMIT" } },
    { condition: { type: "not", cond: after(exactly.length + 1) }, stmt: { sql: "ROLLBACK" } }
  ]
  return body([...stored, { type: "batch", batch: { steps } }])
}

/** A request that runs statements one after the other, each by itself: one that fails does not keep the next from running. */
export const queries = (statements: ReadonlyArray<Statement>): string => {
  const exactly = statements.map(exact)
  const { stored, text } = textsOf(exactly)
  const executes = exactly.map((each) => ({ type: "execute", stmt: stmt(text(each.sql), each, true) }))
  return body([...stored, ...executes])
}

/** A request that runs one statement. */
export const query = (statement: Statement): string => queries([statement])

const isLong = (digits: string): boolean => digits.length > 15

/** Integers beyond 2^53 stay what they are. */
const integer = (digits: string): number | bigint => {
  const number = Number(digits)
  return isLong(digits) && !Number.isSafeInteger(number) ? BigInt(digits) : number
}

const bytes = (base64: string): Uint8Array => Uint8Array.from(Buffer.from(base64, "base64"))

const cell = (u: unknown): unknown => {
  const { base64, type, value } = reader.object(u, "rows")
  switch (type) {
    case "null":
      return null
    case "text":
      return reader.string(value, "rows")
    case "integer":
      return integer(reader.string(value, "rows"))
    case "float":
      return value
    case "blob":
      return bytes(reader.string(base64, "rows"))
    default:
      throw new reader.Invalid("rows", "expected a value of SQLite's")
  }
}

const list = (u: unknown, path: string): ReadonlyArray<unknown> => reader.array((item) => item)(u, path)

const result = (u: unknown): Result => {
  const row = reader.object(u, "step_results")
  return {
    changes: reader.optional(row, "", "affected_row_count", reader.integer, 0),
    lastRowid: Number(row["last_insert_rowid"] ?? 0)
  }
}

const frame = (row: JsonObject): number | undefined =>
  reader.orNull(row, "", "replication_index", reader.integer) ?? undefined

const failure = (u: unknown): StatementFailed => {
  const { code, message } = reader.object(u, "error")
  return new StatementFailed({ code: typeof code === "string" ? code : "", detail: reader.string(message, "error") })
}

/** What the server answered, a result for each of the requests. */
const resultsOf = (text: string): ReadonlyArray<JsonObject> =>
  list(reader.object(JSON.parse(text), "answer")["results"], "results").map((each) => reader.object(each, "results"))

const resultOf = (answered: JsonObject | undefined): unknown =>
  reader.object(answered?.["response"], "response")["result"]

/** What the server answered to the last request but the one that closes; or to the first that failed. */
const answered = (text: string): Either.Either<unknown, StatementFailed> => {
  const results = resultsOf(text)
  const failed = results.find(({ type }) => type === "error")
  return failed === undefined ? Either.right(resultOf(results.at(-2))) : Either.left(failure(failed["error"]))
}

/** What is wrong with an answer is said without quoting it, for it may hold data. */
const reading = <A, E>(decode: () => Either.Either<A, E>): Either.Either<A, E | Unreadable> => {
  try {
    return decode()
  } catch (error) {
    const detail = error instanceof reader.Invalid ? `${error.path} is not as it must be` : "it is not JSON"
    return Either.left(new Unreadable({ detail }))
  }
}

const read = <A, E = never>(
  text: string,
  decode: (result: unknown) => Either.Either<A, StatementFailed | Unreadable | E>
): Either.Either<A, StatementFailed | Unreadable | E> => reading(() => Either.flatMap(answered(text), decode))

const rowsOf = (row: JsonObject): Rows => list(row["rows"], "rows").map((cells) => list(cells, "rows").map(cell))

/** Reads what the server says to a {@link query}. */
export const queryResult = (text: string): Answer<Answered<Rows>> =>
  read(text, (u) => {
    const row = reader.object(u, "result")
    return Either.right({ value: rowsOf(row), frame: frame(row) })
  })

/** Reads what the server says to so many {@link queries}: of each its rows, or why it failed. */
export const queriesResults = (text: string, count: number): Either.Either<ReadonlyArray<Answer<Rows>>, Unreadable> =>
  reading(() => {
    // Texts are stored before them, and closing comes after them.
    const results = resultsOf(text).slice(0, -1).slice(-count)
    if (results.length < count) throw new reader.Invalid("results", "are too few")
    return Either.right(
      results.map((each) =>
        reading(() =>
          each["type"] === "error"
            ? Either.left(failure(each["error"]))
            : Either.right(rowsOf(reader.object(resultOf(each), "result")))
        )
      )
    )
  })

/** How many statements a {@link transaction} has, and whether there is a guard before them. */
interface Shape {
  readonly count: number
  readonly guarded: boolean
}

/** Reads what the server says to a {@link transaction}. */
export const transactionResults = (
  text: string,
  { count, guarded }: Shape
): Either.Either<Answered<ReadonlyArray<Result>>, Unreadable | StatementFailed | GuardFailed> => {
  // BEGIN and the guard come before them, COMMIT after them.
  const before = guarded ? 2 : 1
  const commit = before + count
  return read<Answered<ReadonlyArray<Result>>, GuardFailed>(text, (u) => {
    const batch = reader.object(u, "result")
    const errors = list(batch["step_errors"], "step_errors")
    // The rollback that follows a failure may fail too: SQLite has rolled back by itself.
    const failed = errors.findIndex((error, step) => error !== null && step <= commit)
    if (failed >= 0) return Either.left(guarded && failed === 1 ? new GuardFailed() : failure(errors[failed]))
    const results = list(batch["step_results"], "step_results").slice(before, commit + 1)
    if (results.length <= count || results.includes(null)) throw new reader.Invalid("step_results", "are too few")
    return Either.right({ value: results.slice(0, count).map(result), frame: frame(batch) })
  })
}
