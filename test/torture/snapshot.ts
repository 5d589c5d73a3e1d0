/** What a store holds at a moment at which nobody writes. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type { StoreError } from "holdfast/StoreError"
import { Order, Part } from "./order.js"
import * as Watched from "./watched.js"

type Context = typeof Order.schemas.context.Type

/** An execution. `noted` is what an order noted, `part` what a child did. */
export interface Stored {
  readonly version: number
  readonly status: string
  readonly value: string
  readonly order: Context | undefined
  readonly wrong: ReadonlyArray<string>
}

/**
 * - `pending`: the ids of the events that are still to be delivered, also later.
 * - `corrupt`: what does not decode.
 */
export interface Snapshot {
  readonly executions: ReadonlyMap<string, Stored>
  readonly pending: ReadonlySet<string>
  readonly corrupt: ReadonlyArray<string>
}

const orderOf = Schema.decodeUnknownOption(Order.schemas.context)
const partOf = Schema.decodeUnknownOption(Part.schemas.context)

const stored = (store: ExecutionStore.ExecutionStore, id: string) =>
  Effect.map(store.load(id), (execution): Stored | undefined => {
    if (Option.isNone(execution)) return undefined
    const { context, definitionId, status } = execution.value
    const order = definitionId === "order" ? Option.getOrUndefined(orderOf(context)) : undefined
    const part = definitionId === "part" ? Option.getOrUndefined(partOf(context)) : undefined
    const wrong = order?.wrong ?? part?.wrong ?? (definitionId === "register" ? [] : ["its context does not decode"])
    return { ...Watched.valueOf(execution), status, order, wrong }
  })

const pendingEvents = (store: ExecutionStore.ExecutionStore, id: string) =>
  Effect.map(store.workOf(id, { limit: 1000 }), ({ delayed, events }) =>
    [...delayed, ...events].map(({ event }) => event.id)
  )

/** All corrupt rows of a store. */
const corrupt = (store: ExecutionStore.ExecutionStore) =>
  Effect.gen(function* () {
    const found: Array<string> = []
    let cursor: Option.Option<string> = Option.none()
    do {
      const page: ExecutionStore.VerifyPage = yield* store.verify({
        cursor: Option.getOrUndefined(cursor),
        limit: 1000
      })
      found.push(...page.corrupt.map(({ message }) => message))
      cursor = page.nextCursor
    } while (Option.isSome(cursor))
    return found
  })

/** The executions with these ids, and those that begin with one of them and a colon, which are their children. */
export const take = (ids: ReadonlyArray<string>): Effect.Effect<Snapshot, StoreError, ExecutionStore.ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const executions = new Map<string, Stored>()
    const pending = new Set<string>()
    for (const id of ids) {
      const found = yield* stored(store, id)
      if (found !== undefined) executions.set(id, found)
      for (const event of yield* pendingEvents(store, id)) pending.add(`${id} ${event}`)
      for (const child of yield* store.idsWithPrefix(`${id}:`)) {
        const part = yield* stored(store, child)
        if (part !== undefined) executions.set(child, part)
      }
    }
    return { executions, pending, corrupt: yield* corrupt(store) }
  })

/** How much is still to be done, in words; empty where all has come to rest. */
export const left: Effect.Effect<ReadonlyArray<string>, StoreError, ExecutionStore.ExecutionStore> = Effect.flatMap(
  ExecutionStore.ExecutionStore,
  (store) =>
    Effect.map(store.stats, ({ activities, delayed, outbox, spawns, timers }) =>
      [
        ["events", outbox.count],
        ["delayed events", delayed.count + delayed.corrupt],
        ["children", spawns.count],
        ["timers", timers.count],
        ["activities", activities.count]
      ].flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]))
    )
)

/** Work that was given up. There must be none: nothing that is asked for here fails for good. */
export const deadLetters: Effect.Effect<
  ReadonlyArray<string>,
  StoreError,
  ExecutionStore.ExecutionStore
> = Effect.flatMap(ExecutionStore.ExecutionStore, (store) =>
  Effect.map(store.deadLetters.list({ limit: 100 }), ({ entries }) =>
    entries.map(({ error, executionId, text }) => `dead letter of ${executionId}: ${error} ${text}`)
  )
)
