import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ActivityEntry, OutboxEntry, SpawnEntry, Timer, TraceEntry, WorkItem } from "../../Commit.js"
import type { DeadLetter, Failure } from "../../DeadLetter.js"
import type { Execution, ExecutionSummary } from "../../Execution.js"
import * as ExecutionStore from "../../ExecutionStore.js"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"

/** A time that no timer of a test lies behind. */
export const endOfTime = Number.MAX_VALUE

const store = ExecutionStore.ExecutionStore

type Read<A> = Effect.Effect<A, StoreError, ExecutionStore.ExecutionStore>

// A store whose pages do not go on must fail the test, not keep it from ending.
const goesOn = (what: string, forward: boolean): void => {
  if (!forward) throw new Error(`a page of the ${what} does not go on behind the one before`)
}

const allPending = <A extends { readonly seq: number }>(
  what: string,
  read: (query: ExecutionStore.PendingQuery) => Effect.Effect<Omit<ExecutionStore.Pending<A>, "reached">, StoreError>,
  limit: number
) =>
  Effect.gen(function* () {
    const entries: Array<A> = []
    const corrupt: Array<StoreCorrupt> = []
    let query: ExecutionStore.PendingQuery = { limit }
    for (;;) {
      const page = yield* read(query)
      goesOn(
        what,
        page.entries.every((entry) => entry.seq > (query.after ?? -1))
      )
      entries.push(...page.entries)
      corrupt.push(...page.corrupt)
      if (Option.isNone(page.next)) return { entries, corrupt }
      goesOn(what, page.next.value > (query.after ?? -1))
      query = { limit, after: page.next.value }
    }
  })

/** The whole outbox, read in pages. */
export const outboxEntries = (limit = 1000): Read<ReadonlyArray<OutboxEntry>> =>
  Effect.flatMap(store, (store) =>
    Effect.map(allPending("outbox", store.pendingOutbox, limit), ({ entries }) => entries)
  )

/** {@link outboxEntries} without when and in which span they were emitted. */
export const outbox = (limit?: number): Read<ReadonlyArray<Pick<OutboxEntry, "seq" | "targetId" | "event">>> =>
  Effect.map(outboxEntries(limit), (entries) => entries.map(({ event, seq, targetId }) => ({ seq, targetId, event })))

/** All spawns, read in pages. */
export const spawns = (limit = 1000): Read<ReadonlyArray<SpawnEntry>> =>
  Effect.flatMap(store, (store) =>
    Effect.map(allPending("spawns", store.pendingSpawns, limit), ({ entries }) => entries)
  )

/** All activities, read in pages. */
export const activities = (limit = 1000): Read<ReadonlyArray<ActivityEntry>> =>
  Effect.flatMap(store, (store) =>
    Effect.map(
      allPending(
        "activities",
        (query) => Effect.map(store.activities.list(query), (page) => ({ ...page, failures: [] })),
        limit
      ),
      ({ entries }) => entries
    )
  )

const isSame = (timer: Timer, other: Timer | undefined): boolean =>
  timer.executionId === other?.executionId && timer.path === other.path && timer.fireAt === other.fireAt

/** All armed timers, read in pages. */
export const timers = (limit = 1000): Read<ReadonlyArray<Timer>> =>
  Effect.gen(function* () {
    const all: Array<Timer> = []
    let query: ExecutionStore.DueQuery = { limit }
    for (;;) {
      const page = yield* Effect.flatMap(store, (store) => store.dueTimers(endOfTime, query))
      goesOn("due timers", !page.entries.some((timer) => isSame(timer, query.after)))
      all.push(...page.entries)
      if (Option.isNone(page.next)) return all
      query = { limit, after: page.next.value }
    }
  })

/** The first page of the timers that are due. */
export const due = (now: number, query?: ExecutionStore.DueQuery): Read<ReadonlyArray<Timer>> =>
  Effect.flatMap(store, (store) => Effect.map(store.dueTimers(now, query), ({ entries }) => entries))

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
      goesOn("listing", page.nextCursor.value !== next.cursor)
      next = { ...query, cursor: page.nextCursor.value }
    }
  })

/** The ids of a whole listing. */
export const listed = (query: ExecutionStore.ListQuery = {}) =>
  Effect.map(listing(query), ({ items }) => items.map((item) => item.id))

/** All dead letters, read in pages. */
export const deadLetters = (query: ExecutionStore.DeadLetterQuery = {}): Read<ReadonlyArray<DeadLetter>> =>
  Effect.gen(function* () {
    const all: Array<DeadLetter> = []
    let next = query
    for (;;) {
      const page = yield* Effect.flatMap(store, (store) => store.deadLetters.list(next))
      goesOn(
        "dead letters",
        page.entries.every((letter) => letter.id > (next.after ?? -1))
      )
      all.push(...page.entries)
      if (Option.isNone(page.next)) return all
      goesOn("dead letters", page.next.value > (next.after ?? -1))
      next = { ...query, after: page.next.value }
    }
  })

/** For each row of a page, what is recorded of it. */
const failuresOf = <A>(
  page: { readonly entries: ReadonlyArray<A>; readonly failures: ReadonlyArray<Failure> },
  isOf: (entry: A, work: WorkItem) => boolean
) =>
  page.entries.map((entry) =>
    page.failures.filter(({ work }) => isOf(entry, work)).map(({ work: _, ...failure }) => failure)
  )

/** What is recorded of failures, in the order of the rows. */
export const failures = Effect.gen(function* () {
  const self = yield* store
  const bySeq = (entry: { readonly seq: number }, work: WorkItem) => work._tag !== "Timer" && work.seq === entry.seq
  return {
    outbox: failuresOf(yield* self.pendingOutbox({ limit: 1000 }), bySeq),
    spawns: failuresOf(yield* self.pendingSpawns({ limit: 1000 }), bySeq),
    timers: failuresOf(
      yield* self.dueTimers(endOfTime, { limit: 1000 }),
      (timer, work) => work._tag === "Timer" && isSame(timer, work)
    )
  }
})

/** The execution, which must be there. */
export const loaded = (id: string): Effect.Effect<Execution, StoreError, ExecutionStore.ExecutionStore> =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(store, (store) => store.load(id))
    return Option.getOrThrowWith(found, () => new Error(`execution ${JSON.stringify(id)} is not stored`))
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
      emitted: (yield* outboxEntries()).map(({ emittedAt, traceparent }) => [emittedAt, traceparent]),
      spawns: yield* spawns(),
      timers: yield* timers(),
      activities: yield* activities(),
      nextTimer: Option.getOrNull(yield* self.timers.next),
      nextDelayed: Option.getOrNull(yield* self.delayed.next),
      failures: yield* failures,
      deadLetters: yield* deadLetters(),
      stats: yield* self.stats,
      traces: yield* Effect.forEach(ids, trace),
      attributes: yield* Effect.forEach(ids, self.attributes.of),
      processed: yield* Effect.forEach(ids, (id) => Effect.forEach(eventIds, (event) => self.isProcessed(id, event)))
    }
  })
