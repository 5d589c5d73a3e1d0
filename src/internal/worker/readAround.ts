import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ExceptQuery, Pending, PendingQuery } from "../../ExecutionStore.js"
import { StoreCorrupt, type StoreError } from "../../StoreError.js"
import { isOutage } from "../supervision/storeMonitor.js"

type Read<A> = (query: PendingQuery & ExceptQuery) => Effect.Effect<Pending<A>, StoreError>

interface Page {
  readonly after: number | undefined
  readonly limit: number
  readonly except?: ReadonlyArray<string>
}

const end = Number.MAX_SAFE_INTEGER
// Rows that cannot be read are few: each of the next numbers is tried before larger steps are taken.
const closeSteps = 64

/**
 * Reads a page of a numbered table in which a row may be that cannot be read at all. The rows before it come as a shorter page, then the
 * row by itself as a corrupt one, and the next page begins behind it: so one broken row does not stop those after it. A store that refuses
 * every read fails as ever.
 */
export const readAround =
  <A>(table: string, read: Read<A>) =>
  (page: Page): Effect.Effect<Pending<A>, StoreError> =>
    Effect.catchAll(read(page), (error) =>
      isOutage(error) || (page.after ?? 0) >= end
        ? Effect.fail(error)
        : Effect.matchEffect(read({ after: end, limit: 1 }), {
            onFailure: () => Effect.fail(error),
            onSuccess: () => narrow(table, read, page, error)
          })
    )

const narrow = <A>(
  table: string,
  read: Read<A>,
  page: Page,
  error: StoreError
): Effect.Effect<Pending<A>, StoreError> => {
  const { after, limit } = page
  if (limit === 1)
    return Effect.map(firstReadable(read, after), (seq) => unreadable(table, (after ?? -1) + 1, seq, error))
  const half = { ...page, limit: Math.floor(limit / 2) }
  return Effect.catchAll(read(half), (error) =>
    isOutage(error) ? Effect.fail(error) : narrow(table, read, half, error)
  )
}

const unreadable = (table: string, first: number, last: number, error: StoreError): Pending<never> => ({
  entries: [],
  failures: [],
  corrupt: [
    new StoreCorrupt({
      operation: error._tag === "StoreCorrupt" ? "read" : error.operation,
      table,
      key: String(last),
      problem: `${first === last ? "it" : `what lies from ${first} on`} cannot be read, and stays: ${error.message}`
    })
  ],
  next: Option.some(last),
  reached: Option.some(last)
})

/** The least number behind which the store reads again, where behind `after` it does not: that of the row that cannot be read. */
const firstReadable = <A>(read: Read<A>, after = -1): Effect.Effect<number, StoreError> =>
  Effect.gen(function* () {
    const reads = (seq: number) =>
      Effect.catchAll(Effect.as(read({ after: seq, limit: 1 }), true), (error) =>
        isOutage(error) ? Effect.fail(error) : Effect.succeed(false)
      )
    let fails = after
    let step = 1
    let found = fails + step
    while (found < end && !(yield* reads(found))) {
      fails = found
      if (found - after >= closeSteps) step *= 2
      found = Math.min(end, found + step)
    }
    while (found - fails > 1) {
      const middle = fails + Math.floor((found - fails) / 2)
      if (yield* reads(middle)) found = middle
      else fails = middle
    }
    return found
  })
