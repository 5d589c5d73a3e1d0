import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type { Call, Param, Statement } from "../../SqlDriver.js"
import { StoreRejected } from "../../StoreError.js"
import * as retryOnFailure from "../util/retryOnFailure.js"
import type { Database, Failure, Row } from "./database.js"

/**
 * Rows that are read in the order of a key.
 *
 * - `statement`: reads so many of those behind a row, or from the first one on.
 * - `counts`: which rows the limit is about; all of them unless said otherwise. Reading goes on behind the last of these.
 */
export interface Page {
  readonly statement: (after: Row | undefined, limit: number) => Statement
  readonly counts?: ((row: Row) => boolean) | undefined
}

/** The number of a row, by which it is compared: SQLite takes the digits of one that a double does not hold. */
export const numberOf = ([number]: Row): Param => (typeof number === "number" ? number : String(number))

/** A page of a numbered table, whose text takes a number and a limit behind its other parameters. */
export const numbered = (sql: string, after: Param, ...params: ReadonlyArray<Param>): Page => ({
  statement: (row, limit) => ({ sql, params: [...params, row === undefined ? after : numberOf(row), limit] })
})

/** The limit of a page that ends where the rows do. */
export const all = Number.POSITIVE_INFINITY

/** How many rows are asked for at most at once. */
const most = 10_000

const isTooLarge = (error: Failure): boolean => error._tag === "StoreRejected" && error.reason === "too-large"

// A server may also limit what it answers to everybody at the same moment, which says nothing of this answer.
const again = Schedule.exponential("100 millis").pipe(Schedule.intersect(Schedule.recurs(3)))

/** Reads what cannot be asked for in parts. */
const whole = <A>(read: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
  retryOnFailure.whereItFails(read, Effect.retry({ schedule: again, while: isTooLarge }))

/** The rows of a statement that gives few of them. */
export const rows = (
  { driver }: Database,
  call: Call,
  sql: string,
  ...params: ReadonlyArray<Param>
): Effect.Effect<ReadonlyArray<Row>, Failure> => whole(driver.query(call, { sql, params }))

/** The first row of a statement. */
export const first = (
  database: Database,
  call: Call,
  sql: string,
  ...params: ReadonlyArray<Param>
): Effect.Effect<Option.Option<Row>, Failure> =>
  Effect.map(rows(database, call, sql, ...params), ([row]) => Option.fromNullable(row))

const grew = ({ fitted }: Database, operation: string, size: number): void => {
  const before = fitted.get(operation)
  if (before !== undefined && size > before) fitted.set(operation, size)
}

/** That a single row does not fit, with which one it is. */
const named = (error: Failure, after: Row | undefined): Failure => {
  if (error._tag !== "StoreRejected" || !isTooLarge(error)) return error
  const { cause, detail, executionId, operation, reason } = error
  const row = after === undefined ? "the first row" : `the row behind ${JSON.stringify(String(after[0]))}`
  return new StoreRejected({ operation, executionId, reason, detail: `${row} does not fit: ${detail}`, cause })
}

const part = ({ driver }: Database, call: Call, { statement }: Page, after: Row | undefined, limit: number) => {
  const read = driver.query(call, statement(after, limit))
  return Effect.either(limit === 1 ? whole(read) : read)
}

/**
 * Reads up to `limit` rows; fewer come only where there are no more.
 *
 * Some databases limit how much one answer holds: what does not fit is asked for in halves, down to a single row. How much fitted is
 * remembered for each operation, so that a backlog of large rows is not asked for in vain again and again.
 */
export const read = (
  database: Database,
  call: Call,
  limit: number,
  page: Page
): Effect.Effect<ReadonlyArray<Row>, Failure> =>
  Effect.gen(function* () {
    const { fitted } = database
    const { counts = () => true } = page
    const rows: Array<Row> = []
    let missing = limit
    let after: Row | undefined
    let size = (fitted.get(call.operation) ?? limit) * 2
    while (missing > 0) {
      const asked = Math.min(size, missing, most)
      const found = yield* part(database, call, page, after, asked)
      if (Either.isLeft(found)) {
        if (asked === 1 || !isTooLarge(found.left)) return yield* named(found.left, after)
        size = Math.floor(asked / 2)
        fitted.set(call.operation, size)
        continue
      }
      grew(database, call.operation, asked)
      rows.push(...found.right)
      const counted = found.right.filter(counts)
      if (counted.length < asked) break
      missing -= counted.length
      after = counted.at(-1)
    }
    return rows
  })
