import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import type { Call, SqlDriver, Statement } from "../../SqlDriver.js"
import { StoreRejected, type StoreUnavailable } from "../../StoreError.js"
import * as retryOnFailure from "../util/retryOnFailure.js"

type Failure = StoreUnavailable | StoreRejected
type Row = ReadonlyArray<unknown>
type Rows = ReadonlyArray<Row>

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

/** The limit of a page that ends where the rows do. */
export const all = Number.POSITIVE_INFINITY

/** How many rows are asked for at most at once. */
const most = 10_000

/** Reads up to `limit` rows; fewer come only where there are no more. */
export type ReadPage = (call: Call, limit: number, page: Page) => Effect.Effect<Rows, Failure>

const isTooLarge = (error: Failure): boolean => error._tag === "StoreRejected" && error.reason === "too-large"

// A server may also limit what it answers to everybody at the same moment, which says nothing of this answer.
const again = Schedule.exponential("100 millis").pipe(Schedule.intersect(Schedule.recurs(3)))

/** Reads what cannot be asked for in parts. */
export const whole = <A>(read: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
  retryOnFailure.whereItFails(read, Effect.retry({ schedule: again, while: isTooLarge }))

/** How many rows of an operation fitted the last time, where not all did. */
type Fitted = Map<string, number>

const grew = (fitted: Fitted, operation: string, size: number): void => {
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

/**
 * Reads pages of a database that limits how much one answer holds: what does not fit is asked for in halves, down to a single row. How much
 * fitted is remembered for each operation, so that a backlog of large rows is not asked for in vain again and again.
 */
export const make = (driver: SqlDriver): ReadPage => {
  const fitted: Fitted = new Map()

  const part = (call: Call, { statement }: Page, after: Row | undefined, limit: number) => {
    const read = driver.query(call, statement(after, limit))
    return Effect.either(limit === 1 ? whole(read) : read)
  }

  return (call, limit, page) =>
    Effect.gen(function* () {
      const { counts = () => true } = page
      const rows: Array<Row> = []
      let missing = limit
      let after: Row | undefined
      let size = (fitted.get(call.operation) ?? limit) * 2
      while (missing > 0) {
        const asked = Math.min(size, missing, most)
        const found = yield* part(call, page, after, asked)
        if (Either.isLeft(found)) {
          if (asked === 1 || !isTooLarge(found.left)) return yield* named(found.left, after)
          size = Math.floor(asked / 2)
          fitted.set(call.operation, size)
          continue
        }
        grew(fitted, call.operation, asked)
        rows.push(...found.right)
        const counted = found.right.filter(counts)
        if (counted.length < asked) break
        missing -= counted.length
        after = counted.at(-1)
      }
      return rows
    })
}
