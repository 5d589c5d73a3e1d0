import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { DeadLetter } from "../../DeadLetter.js"
import type { ExecutionSummary } from "../../Execution.js"
import type { DeadLetterQuery, ExecutionFilter, ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import type * as models from "../monitorApi/models.js"

export type Filter = Schema.Schema.Type<typeof models.Filter>
export type LetterFilter = Schema.Schema.Type<typeof models.LetterFilter>
type Total = Schema.Schema.Type<typeof models.Total>

const pageSize = 1000
/** For how long is counted, in milliseconds, and how far. */
const countingTime = 1500
const countingMost = 100_000

/** Executions, or dead letters: one page behind a cursor. */
export interface Selected<A> {
  readonly items: ReadonlyArray<A>
  readonly next: Option.Option<string>
}

export type Select<A> = (cursor: string | undefined) => Effect.Effect<Selected<A>, StoreError>

export const queryOf = (filter: Filter): ExecutionFilter => ({
  definitionId: filter.definition,
  status: filter.status,
  rootsOnly: filter.roots,
  parentId: filter.parent,
  idPrefix: filter.prefix,
  attributes: filter.attributes
})

export const letterQueryOf = (filter: LetterFilter): DeadLetterQuery => ({
  kind: filter.kind,
  executionId: filter.execution
})

/** The executions that a filter selects, in the order of their ids, so that what changes meanwhile is met once. */
export const executions =
  (store: ExecutionStore, filter: Filter): Select<ExecutionSummary> =>
  (cursor) =>
    Effect.map(store.listExecutions({ ...queryOf(filter), cursor, limit: pageSize }), ({ items, nextCursor }) => ({
      items,
      next: nextCursor
    }))

/** The dead letters that a filter selects, in the order of their ids. */
export const deadLetters =
  (store: ExecutionStore, filter: LetterFilter): Select<DeadLetter> =>
  (cursor) => {
    const after = cursor === undefined ? undefined : Number(cursor)
    return Effect.map(
      store.deadLetters.list({ ...letterQueryOf(filter), after, limit: pageSize }),
      ({ entries, next }) => ({ items: entries, next: Option.map(next, String) })
    )
  }

/** How many a selection has, as far as that can be counted in a moment. */
const counted = <A>(select: Select<A>): Effect.Effect<Total, StoreError> =>
  Effect.gen(function* () {
    const until = (yield* Clock.currentTimeMillis) + countingTime
    let count = 0
    let cursor: string | undefined
    do {
      const page = yield* select(cursor)
      count += page.items.length
      cursor = Option.getOrUndefined(page.next)
    } while (cursor !== undefined && count < countingMost && (yield* Clock.currentTimeMillis) < until)
    return { count, exact: cursor === undefined }
  })

/** How many executions a filter selects. */
export const countExecutions = (store: ExecutionStore, filter: Filter): Effect.Effect<Total, StoreError> =>
  Effect.map(store.countExecutions(queryOf(filter)), (count) => ({ count, exact: true }))

export const countDeadLetters = (store: ExecutionStore, filter: LetterFilter): Effect.Effect<Total, StoreError> =>
  filter.kind === undefined && filter.execution === undefined
    ? Effect.map(store.stats, ({ deadLetters }) => ({ count: deadLetters.count, exact: true }))
    : counted(deadLetters(store, filter))
