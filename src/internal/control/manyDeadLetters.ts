import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { DeadLetterBulk, DeadLetterBulkOptions, DeadLetterBulkPage, ManyDeadLetters } from "../../Control.js"
import type { DeadLetterFilter, ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import * as Time from "../../Time.js"
import { finite } from "../codec/validate.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { flag, optional, whole } from "../options/fields.js"
import { problemOf } from "../shapes/shape.js"
import { selectedDeadLetters } from "../shapes/store.js"

const fields = {
  limit: optional(whole(1, 1000)),
  cursor: optional(whole(0)),
  dryRun: optional(flag)
} satisfies Fields<DeadLetterBulkOptions>

const decodeOf = (command: keyof ManyDeadLetters) =>
  decoder(Schema.Struct(fields), refused(command, `Control.many.deadLetters.${command}`))

/** How many are changed side by side: a store that shares transactions serves them together. */
const together = 8

const page = (
  store: ExecutionStore,
  command: keyof ManyDeadLetters,
  filter: DeadLetterFilter,
  { cursor, dryRun = false, limit }: DeadLetterBulkOptions
): Effect.Effect<DeadLetterBulkPage, StoreError> =>
  Effect.gen(function* () {
    const { corrupt, entries, next } = yield* store.deadLetters.list({ ...filter, after: cursor, limit })
    const outcomes = dryRun
      ? []
      : yield* Effect.forEach(
          entries,
          ({ id }) => Effect.map(store.deadLetters[command](id), (isChanged) => ({ id, isChanged })),
          { concurrency: together }
        )
    const ids = (changed: boolean) => outcomes.filter(({ isChanged }) => isChanged === changed).map(({ id }) => id)
    return { selected: entries, changed: ids(true), unchanged: ids(false), corrupt, nextCursor: next }
  })

/** The filter for what was given up by now: what is redriven and given up again would be met again, without an end. */
const untilNow = (filter: DeadLetterFilter): Effect.Effect<DeadLetterFilter> =>
  Effect.map(Clock.currentTimeMillis, (millis) => {
    const now = millis / 1000
    const given = filter.diedBefore === undefined ? now : Time.toSeconds(filter.diedBefore)
    // What is no time is refused by the store.
    return { ...filter, diedBefore: finite(given) === undefined ? Math.min(given, now) : given }
  })

const bulk = (store: ExecutionStore, command: keyof ManyDeadLetters): DeadLetterBulk => {
  const decode = decodeOf(command)
  const check = (filter: unknown) => problemOf(command, [["filter", selectedDeadLetters]], [filter])
  return (filter, options = {}) =>
    Stream.unwrap(
      Effect.map(Effect.zipRight(check(filter) ?? decode(options), untilNow(filter)), (selected) =>
        Stream.paginateEffect(options.cursor, (cursor) =>
          Effect.map(page(store, command, selected, { ...options, cursor }), (done) => [
            done,
            Option.map(done.nextCursor, (next): number | undefined => next)
          ])
        )
      )
    )
}

/** What is done to all dead letters that a filter selects, page after page, each when it is asked for. */
export const make = (store: ExecutionStore): ManyDeadLetters => ({
  redrive: bulk(store, "redrive"),
  discard: bulk(store, "discard")
})
