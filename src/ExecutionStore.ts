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
import type { Ack, Commit, Committed, Emit, OutboxEntry, SpawnEntry, Timer, TraceEntry, TraceStep } from "./Commit.js"
import type { Definition } from "./Definition.js"
import type { Execution, ExecutionPage, ExecutionSummary, Status } from "./Execution.js"
import * as internal from "./internal/store.js"
import type { StoreConflict, StoreCorrupt, StoreError } from "./StoreError.js"

/**
 * What to list. Without a filter, everything.
 *
 * - `status`: any of these; an empty list matches nothing.
 * - `rootsOnly`: only executions without a parent.
 * - `limit`: how many rows a page has, 1 to 1,000, by default 100.
 * - `cursor`: where the page begins: the `nextCursor` of the page before. It is opaque.
 *
 * @since 0.1.0
 * @category models
 */
export interface ListQuery {
  readonly definitionId?: string
  readonly status?: ReadonlyArray<Status>
  readonly rootsOnly?: boolean
  readonly limit?: number
  readonly cursor?: string
}

/**
 * Which rows of a numbered table: those after the seq `after`, at most `limit` of them (1 to 1,000, by default 100).
 *
 * @since 0.1.0
 * @category models
 */
export interface PendingQuery {
  readonly after?: number
  readonly limit?: number
}

/**
 * One page of a numbered table, by seq. `corrupt` reports the rows of this page that do not decode, under their seq as `key`; `next` is
 * the `after` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pending<A> {
  readonly entries: ReadonlyArray<A>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
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
  readonly after?: Timer
  readonly limit?: number
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
 * What a write of this process left to do: the commit, where it was one, and how much of each kind of work it added. `nextTimer` is the
 * earliest time that it armed a timer for, in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Notice {
  readonly committed: Option.Option<Committed>
  readonly emits: number
  readonly spawns: number
  readonly nextTimer: Option.Option<number>
}

/**
 * The store of executions.
 *
 * Ids (of executions, definitions and events) are not empty, well-formed Unicode and at most `maxIdBytes` long in UTF-8; what a store
 * cannot keep exactly it refuses with `StoreRejected` before anything is written, the same on every backend. Times are seconds since the
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

  /** Puts events into the outbox outside of any commit; gives their seqs, in order. */
  readonly enqueue: (emits: ReadonlyArray<Emit>) => Effect.Effect<ReadonlyArray<number>, StoreError>

  /** One page of the events to deliver, by seq. */
  readonly pendingOutbox: (query?: PendingQuery) => Effect.Effect<Pending<OutboxEntry>, StoreError>

  /** Removes a delivered event; one that is gone already is no error. */
  readonly ackOutbox: (seq: number) => Effect.Effect<void, StoreError>

  /** One page of the children to create, by seq. */
  readonly pendingSpawns: (query?: PendingQuery) => Effect.Effect<Pending<SpawnEntry>, StoreError>

  /** Removes the intent to create a child; one that is gone already is no error. */
  readonly ackSpawn: (seq: number) => Effect.Effect<void, StoreError>

  /** The timers with `fireAt <= now`, earliest first. */
  readonly dueTimers: (now: number, query?: DueQuery) => Effect.Effect<ReadonlyArray<Timer>, StoreError>

  /** The timer that is due next, or the one most overdue. */
  readonly nextTimer: Effect.Effect<Option.Option<Timer>, StoreError>

  /** Whether the timer is still armed for exactly this `fireAt`. */
  readonly isArmed: (timer: Timer) => Effect.Effect<boolean, StoreError>

  /** Removes the timer where it is still armed for exactly this `fireAt`; false where it is not. */
  readonly deleteTimer: (timer: Timer) => Effect.Effect<boolean, StoreError>

  /** Appends a step to the trace of an execution, which need not exist, outside of any commit. */
  readonly appendTrace: (executionId: string, step: TraceStep) => Effect.Effect<void, StoreError>

  /** The trace of an execution, oldest step first. */
  readonly readTrace: (executionId: string) => Effect.Effect<Trace, StoreError>

  /**
   * Removes an execution that is at the expected version, with its ledger, trace and timers, the events addressed to it and the spawns it
   * issued. False, and nothing touched, where it is at another version; false where there is none, but what it left behind is swept.
   */
  readonly purge: (id: string, expectedVersion: number) => Effect.Effect<boolean, StoreError>

  /** The ids that begin with exactly this text, in the order of their UTF-8 bytes. */
  readonly idsWithPrefix: (prefix: string) => Effect.Effect<ReadonlyArray<string>, StoreError>

  /** Stores a version of a definition unless that version is stored already; gives what is stored. */
  readonly publishDefinition: (definition: Definition) => Effect.Effect<Definition, StoreError>

  /** A version of a definition, or its highest. */
  readonly loadDefinition: (
    definitionId: string,
    version?: number
  ) => Effect.Effect<Option.Option<Definition>, StoreError>

  /**
   * Tells the listener of each write that succeeded through this store, until the scope closes: what wakes the workers of this process
   * at once. Writes of other processes are not told. The listener must be quick and must not throw.
   */
  readonly listen: (listener: (notice: Notice) => void) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * @since 0.1.0
 * @category tags
 */
export const ExecutionStore: Context.Tag<ExecutionStore, ExecutionStore> =
  Context.GenericTag<ExecutionStore>("holdfast/ExecutionStore")

/**
 * A commit as a backend gets it: checked, stamped, and in stored form.
 *
 * `version` is the expected one; `data` is the execution's text at `version + 1` with `token` in it. Of the timers each path comes once:
 * it is either cancelled or armed.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedCommit {
  readonly executionId: string
  readonly definitionId: string
  readonly version: number
  readonly token: string
  readonly data: string
  readonly emits: ReadonlyArray<EncodedEmit>
  readonly processed: string | undefined
  readonly cancelled: ReadonlyArray<string>
  readonly armed: ReadonlyArray<{ readonly path: string; readonly fireAt: number }>
  readonly spawns: ReadonlyArray<{ readonly childId: string; readonly rootPath: string; readonly context: string }>
  readonly trace: string | undefined
  readonly ack: Ack | undefined
}

/**
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedEmit {
  readonly targetId: string | null
  readonly event: string
}

/**
 * What became of a commit. `found` is the stored version, none where there is no such execution.
 *
 * @since 0.1.0
 * @category encoded
 */
export type CommitOutcome =
  | { readonly _tag: "Applied"; readonly seqs: ReadonlyArray<number> }
  | { readonly _tag: "Conflict"; readonly found: Option.Option<number> }

/**
 * A stored execution: its text, and the version that the compare-and-swap compares.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedExecution {
  readonly data: unknown
  readonly version: unknown
}

/**
 * The rows of a listing as a backend gives them. `parts` is the JSON text of an array of the row's `status`, `outcome`, `active_path`,
 * `parent_id` and `finished_at`, or null where the row's data is not a JSON object.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedSummary {
  readonly id: unknown
  readonly definitionId: unknown
  readonly version: unknown
  readonly parts: unknown
}

/**
 * What a backend implements: the semantics of {@link ExecutionStore} on checked input and on texts in stored form. What comes out of a
 * database is `unknown`: decoding it, and reporting what does not decode, is done once, by {@link make}. `limit` counts rows.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface Encoded {
  readonly load: (id: string) => Effect.Effect<Option.Option<EncodedExecution>, StoreError>
  readonly loadForEvent: (
    id: string,
    eventId: string
  ) => Effect.Effect<Option.Option<EncodedExecution & { readonly processed: boolean }>, StoreError>
  readonly commit: (commit: EncodedCommit) => Effect.Effect<CommitOutcome, StoreError>
  readonly isProcessed: (id: string, eventId: string) => Effect.Effect<boolean, StoreError>
  readonly list: (query: {
    readonly definitionId: string | undefined
    readonly status: ReadonlyArray<Status> | undefined
    readonly rootsOnly: boolean
    readonly after: string | undefined
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<EncodedSummary>, StoreError>
  readonly enqueue: (emits: ReadonlyArray<EncodedEmit>) => Effect.Effect<ReadonlyArray<number>, StoreError>
  readonly pendingOutbox: (
    after: number | undefined,
    limit: number
  ) => Effect.Effect<
    ReadonlyArray<{ readonly seq: number; readonly targetId: unknown; readonly event: unknown }>,
    StoreError
  >
  readonly ackOutbox: (seq: number) => Effect.Effect<void, StoreError>
  readonly pendingSpawns: (
    after: number | undefined,
    limit: number
  ) => Effect.Effect<
    ReadonlyArray<{
      readonly seq: number
      readonly parentId: unknown
      readonly childId: unknown
      readonly rootPath: unknown
      readonly context: unknown
    }>,
    StoreError
  >
  readonly ackSpawn: (seq: number) => Effect.Effect<void, StoreError>
  readonly dueTimers: (
    now: number,
    after: Timer | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Timer>, StoreError>
  readonly nextTimer: Effect.Effect<Option.Option<Timer>, StoreError>
  readonly isArmed: (timer: Timer) => Effect.Effect<boolean, StoreError>
  readonly deleteTimer: (timer: Timer) => Effect.Effect<boolean, StoreError>
  readonly appendTrace: (executionId: string, entry: string) => Effect.Effect<void, StoreError>
  readonly readTrace: (
    executionId: string
  ) => Effect.Effect<ReadonlyArray<{ readonly index: number; readonly entry: unknown }>, StoreError>
  readonly purge: (id: string, expectedVersion: number) => Effect.Effect<boolean, StoreError>
  readonly idsWithPrefix: (prefix: string) => Effect.Effect<ReadonlyArray<string>, StoreError>
  readonly publishDefinition: (definition: Definition) => Effect.Effect<void, StoreError>
  readonly loadDefinition: (
    definitionId: string,
    version: number | undefined
  ) => Effect.Effect<Option.Option<Definition>, StoreError>
}

/**
 * What is the same for every backend.
 *
 * - `maxIdBytes`: how long an id may be, in bytes of UTF-8; by default 1,024.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly maxIdBytes?: number
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
      yield* Effect.forEach(page.corrupt, (corrupt) => Effect.logWarning(corrupt.message), { discard: true })
      const next = Option.map(page.nextCursor, (cursor) => ({ ...query, cursor }))
      return [Chunk.fromIterable(page.items), next]
    })
  )
