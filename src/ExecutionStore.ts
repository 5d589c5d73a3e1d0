/**
 * The store of executions: one service, many backends.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type {
  Commit,
  Committed,
  Emit,
  Origin,
  OutboxEntry,
  SpawnEntry,
  Timer,
  TraceEntry,
  TraceStep,
  WorkItem
} from "./Commit.js"
import type { Burial, DeadLetter, Failure, Kind } from "./DeadLetter.js"
import type { Encoded } from "./EncodedStore.js"
import type { Execution, ExecutionPage, ExecutionSummary, Status } from "./Execution.js"
import * as internal from "./internal/store/store.js"
import * as log from "./internal/telemetry/log.js"
import type { Pool, Renewal } from "./Lease.js"
import type { PublishedDefinition } from "./PublishedDefinition.js"
import type { StoreConflict, StoreCorrupt, StoreError } from "./StoreError.js"
import type * as Time from "./Time.js"

/**
 * What to list. Without a filter, everything.
 *
 * - `status`: any of these; an empty list matches nothing.
 * - `rootsOnly`: only executions without a parent.
 * - `parentId`: only the children of this execution. Such a listing is never older than what was acknowledged before.
 * - `limit`: how many rows a page has, 1 to 1,000, by default 100.
 * - `cursor`: where the page begins: the `nextCursor` of the page before. It is opaque.
 *
 * @since 0.1.0
 * @category models
 */
export interface ListQuery {
  readonly definitionId?: string | undefined
  readonly status?: ReadonlyArray<Status> | undefined
  readonly rootsOnly?: boolean | undefined
  readonly parentId?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/**
 * Which rows of a numbered table: those after the seq `after`, at most `limit` of them (1 to 1,000, by default 100).
 *
 * @since 0.1.0
 * @category models
 */
export interface PendingQuery {
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/**
 * What is taken from outside.
 *
 * - `reservedIds`: what becomes of an event whose id begins as those do that engines make for their own events (`Event.isReservedId`). By default it
 *   is refused: whoever sends such an id first makes a timer, or another's event, a repetition that is skipped. A bridge that carries on what
 *   an engine has emitted accepts it.
 *
 * @since 0.1.0
 * @category models
 */
export interface EnqueueOptions {
  readonly reservedIds?: "refuse" | "accept" | undefined
}

/**
 * One page of a numbered table, by seq. `corrupt` reports the rows of this page that do not decode, under their seq as `key` and as `work`;
 * `failures` are what was recorded of the rows of this page that failed before; `next` is the `after` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pending<A> {
  readonly entries: ReadonlyArray<A>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly failures: ReadonlyArray<Failure>
  readonly next: Option.Option<number>
}

/**
 * Which due timers: those after the timer `after` in the order of `fireAt`, `executionId` and `path`, at most `limit` of them (1 to 1,000,
 * by default 100).
 *
 * @since 0.1.0
 * @category models
 */
export interface DueQuery {
  readonly after?: Timer | undefined
  readonly limit?: number | undefined
}

/**
 * One page of timers, earliest first. `failures` are what was recorded of the timers of this page that failed before; `next` is the `after`
 * of the next page, none at the end.
 *
 * `corrupt` reports rows that are no timers, due or not, under `work`: at most `limit` of them, and on the first page only.
 *
 * @since 0.1.0
 * @category models
 */
export interface DueTimers {
  readonly entries: ReadonlyArray<Timer>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly failures: ReadonlyArray<Failure>
  readonly next: Option.Option<Timer>
}

/**
 * Which dead letters: those of a kind, those of an execution (see `DeadLetter.executionId`), those behind the id `after`, at most `limit` of
 * them (1 to 1,000, by default 100). Without a filter, all.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterQuery {
  readonly kind?: Kind | undefined
  readonly executionId?: string | undefined
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/**
 * One page of the dead letters, by id. `corrupt` reports those that do not decode as dead letters, under their id as `key`; `next` is the
 * `after` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterPage {
  readonly entries: ReadonlyArray<DeadLetter>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly next: Option.Option<number>
}

/**
 * How much work of one kind there is.
 *
 * - `count`: how many rows wait.
 * - `failing`: how many of them failed before and are to be tried again.
 * - `oldest`: since when the first of them waits, in seconds since the epoch; for a timer that is the time it is armed for. None where nothing
 *   waits or the row does not say.
 *
 * @since 0.1.0
 * @category models
 */
export interface Backlog {
  readonly count: number
  readonly failing: number
  readonly oldest: Option.Option<number>
}

/**
 * How much work there is. `due` counts the timers whose time has come, `corrupt` the delayed events that have no time and so are never due;
 * `oldest` of the delayed events is when the first of them is due, that of the dead letters when the first was given up.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stats {
  readonly outbox: Backlog
  readonly spawns: Backlog
  readonly timers: Backlog & { readonly due: number }
  readonly delayed: { readonly count: number; readonly corrupt: number; readonly oldest: Option.Option<number> }
  readonly deadLetters: { readonly count: number; readonly oldest: Option.Option<number> }
}

/**
 * Which page of a check of all rows: behind the one that gave the cursor, at most `limit` rows, 1 to 1,000, by default 100.
 *
 * @since 0.1.0
 * @category models
 */
export interface VerifyQuery {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

/**
 * A page of a check of all rows: how many were read, and which of them are corrupt. `nextCursor` is the `cursor` of the next page, none at the
 * end.
 *
 * @since 0.1.0
 * @category models
 */
export interface VerifyPage {
  readonly rows: number
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<string>
}

/**
 * A trace, oldest step first. `corrupt` reports the steps that do not decode, under their index as `key`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Trace {
  readonly entries: ReadonlyArray<TraceEntry>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
}

/**
 * What became of one page of the dedupe ledger: how many events were removed. `next` is the `after` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pruned {
  readonly removed: number
  readonly next: Option.Option<number>
}

/**
 * What a write of this process left to do: the commit, where it was one, and how much of each kind of work it added. `nextTimer` is the
 * earliest time that it armed a timer for, `nextDelayed` the earliest at which an event that it emitted is due; these are not among `emits`.
 * Both are in seconds since the epoch. `purged` is the id of an execution that it removed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Notice {
  readonly committed: Option.Option<Committed>
  readonly emits: number
  readonly spawns: number
  readonly nextTimer: Option.Option<number>
  readonly nextDelayed: Option.Option<number>
  readonly origin?: Origin | undefined
  readonly purged?: string | undefined
}

/**
 * The events that are emitted for later: they wait apart from the outbox until they are due.
 *
 * @since 0.1.0
 * @category models
 */
export interface Delayed {
  /**
   * Puts the events with `dueAt <= now` into the outbox, in the order in which they are due, at most `limit` of them (1 to 1,000, by default
   * 100); gives how many.
   */
  readonly release: (now: Time.Input, limit?: number) => Effect.Effect<number, StoreError>

  /** When the next event with `dueAt` is due, or was, in seconds since the epoch. */
  readonly next: Effect.Effect<Option.Option<number>, StoreError>
}

/**
 * What is known of the children to create.
 *
 * @since 0.1.0
 * @category models
 */
export interface Spawns {
  /** Whether there is any intent of this execution to create a child. */
  readonly isParent: (parentId: string) => Effect.Effect<boolean, StoreError>

  /** Whether there is an intent to create this child. */
  readonly isPending: (childId: string) => Effect.Effect<boolean, StoreError>

  /** Removes all intents of this execution to create children. */
  readonly drop: (parentId: string) => Effect.Effect<void, StoreError>
}

/**
 * What is known of the armed timers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Timers {
  /** The timer that is due next, or the one most overdue. */
  readonly next: Effect.Effect<Option.Option<Timer>, StoreError>

  /** Whether the timer is still armed for exactly this `fireAt`. */
  readonly isArmed: (timer: Timer) => Effect.Effect<boolean, StoreError>
}

/**
 * The work that failed, and the work that was given up: see `DeadLetter`. What is redriven here is one piece of work; `Control` redrives an
 * execution.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetters {
  /**
   * Remembers that work failed, from now on until its row is removed or, for a timer, armed again. Where the row is gone, and where more
   * attempts are recorded already, nothing changes. Of a long `error` the beginning is kept.
   */
  readonly recordFailure: (failure: Omit<Failure, "failedAt">) => Effect.Effect<void, StoreError>

  /**
   * Gives work up: moves its row to the dead letters, also one that does not decode. False where the row is gone, or the timer armed anew.
   * Of a long `error` the beginning is kept.
   */
  readonly bury: (work: WorkItem, why: Burial) => Effect.Effect<boolean, StoreError>

  /** One page of the dead letters, by id. */
  readonly list: (query?: DeadLetterQuery) => Effect.Effect<DeadLetterPage, StoreError>

  /**
   * Puts a dead letter back where it came from, to be tried afresh: an event or a spawn at the end, under a new seq; a timer at its time.
   * False where there is no such dead letter, and for a timer whose path was armed for another time meanwhile: the dead letter is left then.
   */
  readonly redrive: (id: number) => Effect.Effect<boolean, StoreError>

  /** Removes a dead letter for good; false where there is none. */
  readonly discard: (id: number) => Effect.Effect<boolean, StoreError>
}

/**
 * The upkeep of the dedupe ledger, which says what events each execution has consumed. `isProcessed` asks it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ledger {
  /**
   * Marks the youngest event of the dedupe ledger with the present time: it, and all before it, are at least that old from now on. See
   * {@link ExecutionStore.ledger.prune}.
   */
  readonly mark: Effect.Effect<void, StoreError>

  /**
   * One page of removing old events from the dedupe ledger: of those that were older than an event which was marked at the time `before` or
   * earlier. Those of an execution to which an event is pending, delayed ones among them, or of which there is a
   * dead letter, are kept.
   */
  readonly prune: (before: Time.Input, query?: PendingQuery) => Effect.Effect<Pruned, StoreError>
}

/**
 * Who shares the work of a store: see `Lease`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Leases {
  /** The members and the leases of a pool; those that nobody ever joined have none. */
  readonly load: (pool: string) => Effect.Effect<Pool, StoreError>

  /** Renews a member of a pool, gives leases back and takes some that are free, in one transaction; {@link Leases.load} shows what came of it. */
  readonly renew: (renewal: Renewal) => Effect.Effect<void, StoreError>

  /** Ends a membership: gives back all that the member holds. One that is none is no error. */
  readonly leave: (pool: string, holder: string) => Effect.Effect<void, StoreError>
}

/**
 * The store of executions.
 *
 * Ids (of executions, definitions and events) are not empty, well-formed Unicode and at most `maxIdBytes` long in UTF-8; those of events may
 * be twice as long and 64 bytes more, because some are made of an execution's id and a timer's path. What a store cannot keep exactly it
 * refuses with `StoreRejected` before anything is written, the same on every backend. Times are seconds since the
 * epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecutionStore {
  /** The execution as it is stored now. */
  readonly load: (id: string) => Effect.Effect<Option.Option<Execution>, StoreError>

  /** The execution, and whether it has consumed the event already, in one round trip. */
  readonly loadForEvent: (
    id: string,
    eventId: string
  ) => Effect.Effect<{ readonly execution: Option.Option<Execution>; readonly processed: boolean }, StoreError>

  /**
   * Advances an execution from its version to the next and writes what the step caused, all or nothing. Version 0 inserts, and only
   * where the id is free; version n updates where the stored row is at n, and never inserts. Fails with `StoreConflict`, having written
   * nothing, where the stored version is another.
   */
  readonly commit: (execution: Execution, commit?: Commit) => Effect.Effect<Committed, StoreConflict | StoreError>

  /** {@link commit} of the execution alone. */
  readonly save: (execution: Execution) => Effect.Effect<Execution, StoreConflict | StoreError>

  /** Whether the execution has consumed the event. */
  readonly isProcessed: (id: string, eventId: string) => Effect.Effect<boolean, StoreError>

  /** One page of the executions, in the order of the ids' UTF-8 bytes. */
  readonly listExecutions: (query?: ListQuery) => Effect.Effect<ExecutionPage, StoreError>

  /**
   * Puts events into the outbox outside of any commit; gives their seqs, in order. Those with `dueAt` have none yet. Fails with `StoreRejected`
   * where an id is one of those that engines make (`Event.isReservedId`), unless the options say otherwise.
   */
  readonly enqueue: (
    emits: ReadonlyArray<Emit>,
    options?: EnqueueOptions
  ) => Effect.Effect<ReadonlyArray<number>, StoreError>

  /** One page of the events to deliver, by seq. */
  readonly pendingOutbox: (query?: PendingQuery) => Effect.Effect<Pending<OutboxEntry>, StoreError>

  /** Removes a delivered event; one that is gone already is no error. */
  readonly ackOutbox: (seq: number) => Effect.Effect<void, StoreError>

  /** One page of the children to create, by seq. */
  readonly pendingSpawns: (query?: PendingQuery) => Effect.Effect<Pending<SpawnEntry>, StoreError>

  /** Removes the intent to create a child; one that is gone already is no error. */
  readonly ackSpawn: (seq: number) => Effect.Effect<void, StoreError>

  /** One page of the timers with `fireAt <= now`, earliest first. */
  readonly dueTimers: (now: Time.Input, query?: DueQuery) => Effect.Effect<DueTimers, StoreError>

  /** Removes the timer where it is still armed for exactly this `fireAt`; false where it is not. */
  readonly deleteTimer: (timer: Timer) => Effect.Effect<boolean, StoreError>

  /** How much work there is, counted. */
  readonly stats: Effect.Effect<Stats, StoreError>

  /**
   * Reads a page of all that is stored, table by table, and reports every row that does not decode, also those that no other operation would
   * meet: what another program, or a damaged file, left in a column. It changes nothing, and may run beside all others.
   */
  readonly verify: (query?: VerifyQuery) => Effect.Effect<VerifyPage, StoreError>

  /** Appends a step to the trace of an execution, which need not exist, outside of any commit. */
  readonly appendTrace: (executionId: string, step: TraceStep) => Effect.Effect<void, StoreError>

  /** The trace of an execution, oldest step first. */
  readonly readTrace: (executionId: string) => Effect.Effect<Trace, StoreError>

  /**
   * Removes an execution that is at the expected version, with its ledger, trace and timers, the events addressed to it, due or not, the spawns it
   * issued and its dead letters. False, and nothing touched, where it is at another version; false where there is none, but what it left behind is swept.
   */
  readonly purge: (id: string, expectedVersion: number) => Effect.Effect<boolean, StoreError>

  /** The ids that begin with exactly this text, in the order of their UTF-8 bytes. */
  readonly idsWithPrefix: (prefix: string) => Effect.Effect<ReadonlyArray<string>, StoreError>

  /** Stores a version of a definition unless that version is stored already; gives what is stored. */
  readonly publishDefinition: (definition: PublishedDefinition) => Effect.Effect<PublishedDefinition, StoreError>

  /** A version of a definition, or its highest. */
  readonly loadDefinition: (
    definitionId: string,
    version?: number
  ) => Effect.Effect<Option.Option<PublishedDefinition>, StoreError>

  /** The events that wait until they are due. */
  readonly delayed: Delayed

  /** What is known of the children to create. */
  readonly spawns: Spawns

  /** What is known of the armed timers. */
  readonly timers: Timers

  /** The work that failed, and the work that was given up. */
  readonly deadLetters: DeadLetters

  /** The upkeep of the dedupe ledger. */
  readonly ledger: Ledger

  /** Who shares the work. */
  readonly leases: Leases

  /**
   * Tells the listener of each write that succeeded through this store, until the scope closes: what wakes the workers of this process
   * at once. Writes of other processes are not told. The listener must be quick and must not throw. With an `executionId` it is told of the
   * commits and the purge of this execution alone.
   */
  readonly listen: (
    listener: (notice: Notice) => void,
    options?: { readonly executionId?: string | undefined }
  ) => Effect.Effect<void, never, Scope.Scope>

  /**
   * Whether nobody but this store can write what is in it, as in a database in memory: then {@link listen} tells of every write, and nobody
   * needs to look for those of others.
   */
  readonly exclusive: boolean
}

/**
 * @since 0.1.0
 * @category tags
 */
export const ExecutionStore: Context.Tag<ExecutionStore, ExecutionStore> =
  Context.GenericTag<ExecutionStore>("holdfast/ExecutionStore")

/**
 * What is the same for every backend: how large what it is given may be, in bytes of UTF-8 of the stored text. What is larger is refused with
 * `StoreRejected`, before anything is written, and the error names the limit. Each is a whole number of 1 or more.
 *
 * - `maxIdBytes`: how long an id may be, by default 1,024. Ids of events may be twice as long and 64 bytes more.
 * - `maxEventBytes`: an event, by default 1 MiB.
 * - `maxContextBytes`: the context of an execution, or of a child to create, by default 4 MiB. It is read and written again at each step.
 * - `maxResultBytes`: what a child tells its parent at its end (a `Finished` event), by default 1 MiB. It stays in the parent's row.
 * - `maxCommitBytes`: all that a commit writes, the execution's row included, and what any other call writes; by default 8 MiB.
 * - `maxCommitItems`: how many events, children and timer operations a commit may have, of each kind, and how many events `enqueue` takes; by
 *   default 10,000.
 *
 * While a text is made, read or bound, nothing else runs in the process. A database may have lower limits of its own.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly maxIdBytes?: number | undefined
  readonly maxEventBytes?: number | undefined
  readonly maxContextBytes?: number | undefined
  readonly maxResultBytes?: number | undefined
  readonly maxCommitBytes?: number | undefined
  readonly maxCommitItems?: number | undefined
}

/**
 * A store on a backend: checks and encodes what goes in, stamps times from `Clock` and tokens from `Ids`, decodes what comes out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (encoded: Encoded, options?: Options) => ExecutionStore = internal.make

/**
 * All executions that a query selects, page after page, each page read when it is needed. A row that does not decode is passed over with
 * a warning in the log; {@link ExecutionStore.listExecutions} reports it as a value.
 *
 * `limit` is the size of a page.
 *
 * @since 0.1.0
 * @category accessors
 */
export const streamExecutions = (query: ListQuery = {}): Stream.Stream<ExecutionSummary, StoreError, ExecutionStore> =>
  Stream.paginateChunkEffect(query, (query) =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const page = yield* store.listExecutions(query)
      yield* Effect.forEach(page.corrupt, (corrupt) => log.warning(corrupt.message), { discard: true })
      const next = Option.map(page.nextCursor, (cursor) => ({ ...query, cursor }))
      return [Chunk.fromIterable(page.items), next]
    })
  )

/**
 * Every row of a store that does not decode, read page after page by {@link ExecutionStore.verify}. `limit` is the size of a page.
 *
 * @example
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 * import { streamCorrupt } from "holdfast/ExecutionStore"
 *
 * const corrupt = Stream.runCollect(streamCorrupt())
 *
 * @since 0.1.0
 * @category accessors
 */
export const streamCorrupt = (query: VerifyQuery = {}): Stream.Stream<StoreCorrupt, StoreError, ExecutionStore> =>
  Stream.paginateChunkEffect(query, (query) =>
    Effect.map(
      Effect.flatMap(ExecutionStore, (store) => store.verify(query)),
      ({ corrupt, nextCursor }) => [
        Chunk.fromIterable(corrupt),
        Option.map(nextCursor, (cursor) => ({ ...query, cursor }))
      ]
    )
  )
