import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Call } from "../../SqlDriver.js"
import type { Filter, Part } from "../sql/listingStatements.js"
import { turn } from "../util/nextTurn.js"
import type { Database, Failure } from "./database.js"
import * as pages from "./pages.js"

/** How many executions a part has: to look at each takes SQLite some milliseconds, in which nothing else runs in the process. */
export const size = 1_000

/** What is read, where it begins, and what it comes to before anything is read. */
interface From<A> {
  readonly filter: Filter
  readonly after: string | undefined
  readonly from: A
}

/** The id with which the part behind another ends; none for the last one. */
const endOf = (database: Database, call: Call, filter: Filter, after: string | undefined) => {
  const { params, sql } = database.sql.part.end({ ...filter, after, until: undefined, limit: size })
  return Effect.map(pages.first(database, call, sql, ...params), (row) => {
    const id = Option.getOrUndefined(row)?.[0]
    // What is no text comes behind all texts.
    return typeof id === "string" ? id : undefined
  })
}

/**
 * Reads what a filter selects: at once, as the indexes give it, or, where each row has to be looked at for its version, part after part
 * until it is enough.
 */
export const reduce = <A>(
  database: Database,
  call: Call,
  { after: first, filter, from }: From<A>,
  read: (value: A, part: Part) => Effect.Effect<{ readonly value: A; readonly enough: boolean }, Failure>
): Effect.Effect<A, Failure> =>
  Effect.gen(function* () {
    let value = from
    let after = first
    for (;;) {
      const until = filter.definitionVersion === undefined ? undefined : yield* endOf(database, call, filter, after)
      const done = yield* read(value, { after, until })
      value = done.value
      if (done.enough || until === undefined) return value
      after = until
      yield* turn
    }
  })
