import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { OutboxEntry, SpawnEntry, Timer, TraceEntry } from "../../Commit.js"
import type { Execution, ExecutionSummary } from "../../Execution.js"
import * as ExecutionStore from "../../ExecutionStore.js"
import type { StoreConflict, StoreCorrupt, StoreError } from "../../StoreError.js"

/** A time that no timer of a test lies behind. */
export const endOfTime = Number.MAX_VALUE

const store = ExecutionStore.ExecutionStore

type Read<A> = Effect.Effect<A, StoreError, ExecutionStore.ExecutionStore>

const allPending = <A>(
  read: (query: ExecutionStore.PendingQuery) => Effect.Effect<ExecutionStore.Pending<A>, StoreError>,
  limit: number
) =>
  Effect.gen(function* () {
    const entries: Array<A> = []
    const corrupt: Array<StoreCorrupt> = []
    let query: ExecutionStore.PendingQuery = { limit }
    for (;;) {
      const page = yield* read(query)
      entries.push(...page.entries)
      corrupt.push(...page.corrupt)
      if (Option.isNone(page.next)) return { entries, corrupt }
      query = { limit, after: page.next.value }
    }
  })

/** The whole outbox, read in pages. */
export const outbox = (limit = 1000): Read<ReadonlyArray<OutboxEntry>> =>
  Effect.flatMap(store, (store) => Effect.map(allPending(store.pendingOutbox, limit), ({ entries }) => entries))

/** All spawns, read in pages. */
export const spawns = (limit = 1000): Read<ReadonlyArray<SpawnEntry>> =>
  Effect.flatMap(store, (store) => Effect.map(allPending(store.pendingSpawns, limit), ({ entries }) => entries))

/** All armed timers, read in pages. */
export const timers = (limit = 1000): Read<ReadonlyArray<Timer>> =>
  Effect.gen(function* () {
    const all: Array<Timer> = []
    for (;;) {
      const after = all.at(-1)
      const query = after === undefined ? { limit } : { limit, after }
      const page = yield* Effect.flatMap(store, (store) => store.dueTimers(endOfTime, query))
      all.push(...page)
      if (page.length < limit) return all
    }
  })

/** A whole listing, read in pages. */
export const listing = (query: ExecutionStore.ListQuery = {}) =>
  Effect.gen(function* () {
    const items: Array<ExecutionSummary> = []
    const corrupt: Array<StoreCorrupt> = []
    const sizes: Array<number> = []
    let next = query
    for (;;) {
      const page = yield* Effect.flatMap(store, (store) => store.listExecutions(next))
      items.push(...page.items)
      corrupt.push(...page.corrupt)
      sizes.push(page.items.length + page.corrupt.length)
      if (Option.isNone(page.nextCursor)) return { items, corrupt, sizes }
      next = { ...query, cursor: page.nextCursor.value }
    }
  })

/** The ids of a whole listing. */
export const listed = (query: ExecutionStore.ListQuery = {}) =>
  Effect.map(listing(query), ({ items }) => items.map((item) => item.id))

/** The execution, which must be there. */
export const loaded = (id: string): Effect.Effect<Execution, StoreError, ExecutionStore.ExecutionStore> =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(store, (store) => store.load(id))
    if (Option.isNone(found)) return expect.fail(`execution ${JSON.stringify(id)} is not stored`)
    return found.value
  })

export const trace = (id: string): Read<ReadonlyArray<TraceEntry>> =>
  Effect.flatMap(store, (store) => Effect.map(store.readTrace(id), ({ entries }) => entries))

/** All that a store shows of these ids and, for each of them, of these events. */
export const visible = (ids: ReadonlyArray<string>, eventIds: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const self = yield* store
    return {
      ids: yield* self.idsWithPrefix(""),
      listing: (yield* listing()).items,
      executions: yield* Effect.forEach(ids, (id) => Effect.map(self.load(id), Option.getOrNull)),
      outbox: yield* outbox(),
      spawns: yield* spawns(),
      timers: yield* timers(),
      nextTimer: Option.getOrNull(yield* self.nextTimer),
      traces: yield* Effect.forEach(ids, trace),
      processed: yield* Effect.forEach(ids, (id) => Effect.forEach(eventIds, (event) => self.isProcessed(id, event)))
    }
  })

/** Checks that the effect fails because the store is at another version, and at which. */
export const conflicts = <A, R>(
  effect: Effect.Effect<A, StoreConflict | StoreError, R>,
  expected: { readonly executionId: string; readonly expected: number; readonly found: number | null }
) =>
  Effect.map(Effect.flip(effect), (error) => {
    expect(error._tag).toBe("StoreConflict")
    if (error._tag !== "StoreConflict") return
    expect({
      executionId: error.executionId,
      expected: error.expected,
      found: Option.getOrNull(error.found)
    }).toEqual(expected)
  })

/** Checks that the effect is refused as invalid input, and for which part of it. */
export const refuses = <A, R>(effect: Effect.Effect<A, StoreConflict | StoreError, R>, path: string) =>
  Effect.map(Effect.flip(effect), (error) => {
    expect(error).toMatchObject({ _tag: "StoreRejected", reason: "invalid-input", path })
    // the part is named in what a person reads too
    expect(error.message).toContain(path)
  })

/** Checks that the effect fails on a row that does not decode, which row, and what is wrong with it. */
export const corrupts = <A, R>(
  effect: Effect.Effect<A, StoreConflict | StoreError, R>,
  table: string,
  key: string,
  problem: string
) => Effect.map(Effect.flip(effect), (error) => reports(error, table, key, problem))

/** Checks one report of a row that does not decode. */
export const reports = (error: unknown, table: string, key: string, problem: string): void => {
  expect(error).toMatchObject({ _tag: "StoreCorrupt", table, key })
  expect(error).toHaveProperty("problem", expect.stringContaining(problem))
}
