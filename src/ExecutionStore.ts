/**
 * The store of executions: one service, with a layer for each database.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type {
  ActivityEntry,
  Commit,
  Committed,
  Emit,
  Origin,
  OutboxEntry,
  SpawnEntry,
  Timer,
  TraceEntry,
  TraceStep,
  Work
} from "./Commit.js"
import type { Burial, DeadLetter, Failure, Kind, Reason } from "./DeadLetter.js"
import type { ActivityRun, Encoded, Rows } from "./EncodedStore.js"
import type { Event } from "./Event.js"
import type { Attributes, Execution, ExecutionPage, ExecutionSummary, Status } from "./Execution.js"
import * as internal from "./internal/store/store.js"
import * as log from "./internal/telemetry/log.js"
import type { FencingToken, NamedPool, Pool, Renewal } from "./Lease.js"
import type { PublishedDefinition } from "./PublishedDefinition.js"
import type { StoreConflict, StoreCorrupt, StoreError } from "./StoreError.js"
import type * as Time from "./Time.js"

/**
 * Which executions. Without a filter, all.
 *
 * - `definitionId`: only executions of this definition.
 * - `definitionVersion`: only executions of this version of that definition, of which `definitionId` says the id. There is no index of
 *   versions: each execution that the rest of the filter selects is looked at, in parts between which others have their turn.
 * - `status`: only executions in any of these; an empty list matches nothing.
 * - `rootsOnly`: only executions without a parent.
 * - `idPrefix`: only executions whose ids begin with exactly this text.
 * - `parentId`: only the children of this execution. Such a listing has every child that was acknowledged before it began, on replicas too.
 * - `attributes`: only executions that have all of these (see `Execution.Attributes`). They are sought by the first one, and each that has
 *   it is looked at: name that one first which the fewest have. A value that is undefined is refused, so that it does not select all.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecutionFilter {
  readonly definitionId?: string | undefined
  readonly definitionVersion?: number | undefined
  readonly status?: ReadonlyArray<Status> | undefined
  readonly rootsOnly?: boolean | undefined
  readonly idPrefix?: string | undefined
  readonly parentId?: string | undefined
  readonly attributes?: Attributes | undefined
}

/**
 * Which executions to list: see {@link ExecutionFilter}.
 *
 * - `limit`: how many rows a page has, 1 to 1,000, by default 100.
 * - `cursor`: where the page begins: the `nextCursor` of the page before. Its text has no meaning for callers.
 *
 * @since 0.1.0
 * @category models
 */
export interface ListQuery extends ExecutionFilter {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/**
 * Which rows of the outbox or of the spawns: those with a seq above `after`, at most `limit` of them (1 to 1,000, by default 100).
 *
 * @since 0.1.0
 * @category models
 */
export interface PendingQuery {
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/**
 * Which work to pass over: that of executions whose definition is one of `except`, of which there may be 1,000. A child to create is of the
 * definition that `SpawnRelay.defaultChild` gives it. Work of an execution that does not exist is not passed over.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExceptQuery {
  readonly except?: ReadonlyArray<string> | undefined
}

/**
 * Which rows of the outbox.
 *
 * - `executions`: whether the store is to remember, as far as its option `executionCache` has room for them, the executions that the
 *   database brings along in the same request: see {@link ExecutionStore.recall}. By default false. A database in this process brings none.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutboxQuery extends PendingQuery, ExceptQuery {
  readonly executions?: boolean | undefined
}

/**
 * Which events are accepted from outside.
 *
 * - `reservedIds`: whether an event may have an id of the form that engines make for their own events (`Event.isReservedId`). By default it
 *   is refused, because the receiver would then skip the timer or the event whose id was taken. A bridge that passes on events of an engine
 *   gives `"accept"`.
 *
 * @since 0.1.0
 * @category models
 */
export interface EnqueueOptions {
  readonly reservedIds?: "refuse" | "accept" | undefined
}

/**
 * One page of the outbox or of the spawns, by seq.
 *
 * - `corrupt`: rows of this page that do not decode, with their seq as `key` and as `work`.
 * - `failures`: what is recorded of rows of this page that failed before.
 * - `next`: the `after` of the next page, none at the end.
 * - `reached`: the seq up to which all rows are in this page, in one before, or passed over; none where there is none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pending<A> {
  readonly entries: ReadonlyArray<A>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly failures: ReadonlyArray<Failure>
  readonly next: Option.Option<number>
  readonly reached: Option.Option<number>
}

/**
 * Which due timers: those behind the timer `after` in the order of `fireAt`, `executionId` and `path`, at most `limit` of them (1 to 1,000,
 * by default 100).
 *
 * @since 0.1.0
 * @category models
 */
export interface DueQuery extends ExceptQuery {
  readonly after?: Timer | undefined
  readonly limit?: number | undefined
}

/**
 * One page of due timers, earliest first.
 *
 * - `corrupt`: rows that are no timers, due or not, with `work`: at most `limit` of them, and on the first page only.
 * - `failures`: what is recorded of timers of this page that failed before.
 * - `next`: the `after` of the next page, none at the end.
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
 * Which dead letters. Without a filter, all.
 *
 * - `kind`: only those of this kind of work.
 * - `executionId`: only those of this execution, see `DeadLetter.executionId`; `executionIdPrefix`: of executions whose ids begin with
 *   exactly this text; `definitionId`: of executions of this definition.
 * - `reason`: only those given up for any of these; an empty list matches nothing.
 * - `diedBefore`: only those given up at this time or earlier.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterFilter {
  readonly kind?: Kind | undefined
  readonly executionId?: string | undefined
  readonly executionIdPrefix?: string | undefined
  readonly definitionId?: string | undefined
  readonly reason?: ReadonlyArray<Reason> | undefined
  readonly diedBefore?: Time.Input | undefined
}

/**
 * Which dead letters to list: see {@link DeadLetterFilter}; those with an id above `after`, at most `limit` of them (1 to 1,000, by default
 * 100).
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterQuery extends DeadLetterFilter {
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/**
 * One page of the dead letters, by id.
 *
 * - `corrupt`: rows that do not decode as dead letters, with their id as `key`.
 * - `next`: the `after` of the next page, none at the end.
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
 * How much work of one kind the store holds.
 *
 * - `count`: how many rows wait.
 * - `failing`: how many of them failed before and are tried again later.
 * - `oldest`: from when on the first of them waits, in seconds since the epoch; of timers, the earliest time for which one is armed. None
 *   where nothing waits, or the row does not say.
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
 * How much work the store holds.
 *
 * - `outbox`, `spawns`, `timers`: see {@link Backlog}; `timers.due` counts the timers whose time has come.
 * - `delayed`: events that wait until they are due. `oldest` is when the first of them is due; `corrupt` counts those without a time, which
 *   are never due.
 * - `activities`: activities that have not ended; `running` counts those that some process runs.
 * - `deadLetters`: work that was given up; `oldest` is when the first was.
 *
 * Times are in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stats {
  readonly outbox: Backlog
  readonly spawns: Backlog
  readonly timers: Backlog & { readonly due: number }
  readonly delayed: { readonly count: number; readonly corrupt: number; readonly oldest: Option.Option<number> }
  readonly activities: Backlog & { readonly running: number }
  readonly deadLetters: { readonly count: number; readonly oldest: Option.Option<number> }
}

/**
 * How many executions of a definition are in a status. `status` is none for rows that have no status which is known, as those that do not
 * decode.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecutionCount {
  readonly definitionId: string
  readonly status: Option.Option<Status>
  readonly count: number
}

/**
 * Which page of the work of an execution: the one behind `cursor`, at most `limit` of each kind (1 to 1,000, by default 100).
 *
 * @since 0.1.0
 * @category models
 */
export interface WorkQuery {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/**
 * One page of what is still to be done for one execution.
 *
 * - `events`: those in the outbox to it, in the order in which they are delivered.
 * - `delayed`: those to it that wait until they are due, at `dueAt` in seconds since the epoch; of this page, the earliest first.
 * - `timers`: its armed timers; of this page, the earliest first. One for an infinite time, as other programs may arm it, is left out.
 * - `spawns`: its children that are to be created.
 * - `failures`: what is recorded of these that failed before.
 * - `corrupt`: rows of it that do not decode.
 * - `nextCursor`: the `cursor` of the next page, none where there is no more of any kind.
 *
 * @since 0.1.0
 * @category models
 */
export interface PendingWork {
  readonly events: ReadonlyArray<OutboxEntry>
  readonly delayed: ReadonlyArray<{ readonly dueAt: number; readonly event: Event }>
  readonly timers: ReadonlyArray<Timer>
  readonly spawns: ReadonlyArray<SpawnEntry>
  readonly failures: ReadonlyArray<Failure>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<string>
}

/**
 * What a process has: the ids of definitions, and the names of activities.
 *
 * @since 0.1.0
 * @category models
 */
export interface Served {
  readonly definitions: ReadonlyArray<string>
  readonly activities: ReadonlyArray<string>
}

/**
 * Work for a definition that a process does not have: how many events, children to create and timers that are due, and since when the first
 * of them waits, in seconds since the epoch, where that is known. A child to create is of the definition that `SpawnRelay.defaultChild`
 * gives it.
 *
 * @since 0.1.0
 * @category models
 */
export interface UnservedDefinition {
  readonly definitionId: string
  readonly outbox: number
  readonly spawns: number
  readonly timers: number
  readonly oldest: Option.Option<number>
}

/**
 * Requests for an activity that a process does not have, and that nobody runs: how many, and since when the first of them waits, in seconds
 * since the epoch, where that is known.
 *
 * @since 0.1.0
 * @category models
 */
export interface UnservedActivity {
  readonly name: string
  readonly count: number
  readonly oldest: Option.Option<number>
}

/**
 * What waits for definitions and activities that a process does not have. The oldest 10,000 rows of each table are looked at, of the
 * children to create 1,000; `more` says whether there are more. At most 1,000 definitions of each kind of work, and activities, are told.
 *
 * @since 0.1.0
 * @category models
 */
export interface Unserved {
  readonly definitions: ReadonlyArray<UnservedDefinition>
  readonly activities: ReadonlyArray<UnservedActivity>
  readonly more: boolean
}

/**
 * Which page of the stored rows to check: the one behind `cursor`, at most `limit` rows (1 to 1,000, by default 100).
 *
 * @since 0.1.0
 * @category models
 */
export interface VerifyQuery {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

/**
 * One page of the check of all rows.
 *
 * - `rows`: how many rows were read.
 * - `corrupt`: those that do not decode.
 * - `nextCursor`: the `cursor` of the next page, none at the end.
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
 * The trace of an execution, oldest step first. `corrupt` has the steps that do not decode, with their index as `key`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Trace {
  readonly entries: ReadonlyArray<TraceEntry>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
}

/**
 * How many events one page of pruning removed from the dedupe ledger. `next` is the `after` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pruned {
  readonly removed: number
  readonly next: Option.Option<number>
}

/**
 * What a write of this process left to do. Workers that listen look at once for the work that it added.
 *
 * - `committed`: the commit, where the write was one; `origin`: what caused it.
 * - `emits`, `spawns`: how many events and children it added, without delayed events.
 * - `activities`: how many activities it asked for, took back, or made free to be run.
 * - `nextTimer`: the earliest time for which it armed a timer; `nextDelayed`: the earliest time at which an event that it emitted is due.
 *   Both are in seconds since the epoch.
 * - `purged`: the id of the execution that it removed.
 * - `outbox`: gives the events that it added, in the order of their seqs and as a read of the outbox would give them; nothing where only a
 *   read tells.
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
  readonly activities: number
  readonly origin?: Origin | undefined
  readonly purged?: string | undefined
  readonly outbox?: (() => ReadonlyArray<OutboxEntry> | undefined) | undefined
}

/**
 * The events that were emitted with a delay. They wait apart from the outbox until they are due.
 *
 * @since 0.1.0
 * @category models
 */
export interface Delayed {
  /**
   * Puts the events with `dueAt <= now` into the outbox, in the order in which they are due, at most `limit` of them (1 to 1,000, by
   * default 100); gives how many.
   */
  readonly release: (now: Time.Input, limit?: number) => Effect.Effect<number, StoreError>

  /** When the first delayed event is due, in seconds since the epoch; a time in the past where it waits to be released. */
  readonly next: Effect.Effect<Option.Option<number>, StoreError>
}

/**
 * Questions about the children that are still to be created.
 *
 * @since 0.1.0
 * @category models
 */
export interface Spawns {
  /** Whether any child of this execution is still to be created. */
  readonly isParent: (parentId: string) => Effect.Effect<boolean, StoreError>

  /** Whether this child is still to be created. */
  readonly isPending: (childId: string) => Effect.Effect<boolean, StoreError>

  /** Removes all spawns of this execution: their children are not created. */
  readonly drop: (parentId: string) => Effect.Effect<void, StoreError>
}

/**
 * An execution to load for an event, and the timer that the event is of, where it is of one.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoadQuery {
  readonly id: string
  readonly eventId: string
  readonly timer?: Omit<Timer, "executionId"> | undefined
}

/**
 * An execution as it was at one moment, whether it had consumed the event already, and where a timer was asked for and the execution is there,
 * whether that timer was armed for exactly this `fireAt`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Loaded {
  readonly execution: Option.Option<Execution>
  readonly processed: boolean
  readonly armed?: boolean | undefined
}

/**
 * An execution as this process has written or read it last, which may not be the last that was written. `token` is that of the commit that
 * wrote it: a commit that goes on from here says it as `Commit.remembered`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Recalled {
  readonly execution: Execution
  readonly token: string
}

/**
 * Questions about the armed timers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Timers {
  /** The timer with the earliest time, in the past or in the future. */
  readonly next: Effect.Effect<Option.Option<Timer>, StoreError>

  /** Whether the timer is still armed for exactly this `fireAt`. */
  readonly isArmed: (timer: Timer) => Effect.Effect<boolean, StoreError>
}

/**
 * What executions are found by. A commit writes it ({@link ExecutionStore.commit}, `Commit.attributes`); it goes with its execution,
 * whoever removes that.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoredAttributes {
  /** What an execution is found by, nothing where there is no such execution. */
  readonly of: (executionId: string) => Effect.Effect<Attributes, StoreError>

  /**
   * Replaces what an execution is found by, without a commit: its version stays. Nothing is written where it is at another version than
   * this, as a commit came first, which has the attributes of its own state.
   */
  readonly set: (
    executionId: string,
    expectedVersion: number,
    attributes: Attributes
  ) => Effect.Effect<void, StoreError>
}

/**
 * Which activities to take: those of this name that may run now, at most `limit` of them (1 to 1,000).
 *
 * - `owner`: who runs them: a member of the pool `activities` (see {@link Leases}).
 * - `concurrency`: how many of one `limitKey` may run at once, by all owners.
 * - `rate`: how many of one `limitKey` may begin in any `window` seconds.
 * - `after`: the `limitKey` behind which the turn of keys begins, where there are limits.
 *
 * @since 0.1.0
 * @category models
 */
export interface ActivityClaim {
  readonly name: string
  readonly owner: string
  readonly limit: number
  readonly concurrency?: number | undefined
  readonly rate?: { readonly limit: number; readonly window: number } | undefined
  readonly after?: string | undefined
}

/**
 * An activity that was taken. `claim` tells this run of it from others; `status` is where its execution stands, none where there is none.
 *
 * @since 0.1.0
 * @category models
 */
export interface ClaimedActivity extends ActivityEntry {
  readonly claim: string
  readonly status: Option.Option<Status>
}

/**
 * The activities that were taken. `corrupt` reports those that do not decode, under their seq as `key` and as `work`. `nextAt` is when
 * the first
 * of those may run that are held back by their rate, in seconds since the epoch; `last` is the `after` of the next claim.
 *
 * @since 0.1.0
 * @category models
 */
export interface ClaimedActivities {
  readonly entries: ReadonlyArray<ClaimedActivity>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextAt: Option.Option<number>
  readonly last: Option.Option<string>
}

/**
 * One page of the activities, by seq. `corrupt` reports those that do not decode, under their seq as `key` and as `work`; `next` is the
 * `after` of
 * the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface ActivityPage {
  readonly entries: ReadonlyArray<ActivityEntry>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly next: Option.Option<number>
}

/**
 * The names under which activities wait, with when the first of each may run, in seconds since the epoch; and whether any activity is
 * run by
 * somebody else.
 *
 * @since 0.1.0
 * @category models
 */
export interface WaitingActivities {
  readonly names: ReadonlyArray<{ readonly name: string; readonly readyAt: number }>
  readonly foreign: boolean
}

/**
 * The activities that have not ended: what steps have asked for, and who runs it. An activity goes when its outcome is written, when a
 * step takes it
 * back, and with its execution where that is `DONE`, `CANCELLED` or being cancelled, whoever writes that.
 *
 * Whoever runs one has claimed it. What it writes counts only while that claim stands: an owner who has lost it, because it was taken
 * for dead,
 * writes nothing.
 *
 * @since 0.1.0
 * @category models
 */
export interface Activities {
  /** One page of all, by seq. */
  readonly list: (query?: PendingQuery) => Effect.Effect<ActivityPage, StoreError>

  /** Those of an execution, in the order of their keys. Rows that do not decode are left out. */
  readonly of: (executionId: string) => Effect.Effect<ReadonlyArray<ActivityEntry>, StoreError>

  /** What waits, as far as an owner is to know. */
  readonly waiting: (owner: string) => Effect.Effect<WaitingActivities, StoreError>

  /** Takes activities that may run, those first that are ready the longest; in turn by key where they have limits. */
  readonly claim: (claim: ActivityClaim) => Effect.Effect<ClaimedActivities, StoreError>

  /**
   * Ends an activity: its row goes, and the event to its execution is in the outbox, in one transaction. False, and nothing written,
   * where the claim does
   * not stand any more, and while the execution is `FAILED`, which would not take the event.
   */
  readonly complete: (run: ActivityRun, executionId: string, event: Event) => Effect.Effect<boolean, StoreError>

  /**
   * Writes down that a run failed, and when to try again; whoever claims it then runs it. False where the claim does not stand any more.
   */
  readonly fail: (
    run: ActivityRun,
    failure: { readonly attempts: number; readonly error: string; readonly retryAt: Time.Input }
  ) => Effect.Effect<boolean, StoreError>

  /**
   * Gives an activity back, to be run from this time on, or from when its execution goes on that is suspended or has failed; no attempt
   * counts. With `whileHalted` it waits for nothing but its execution: where that has gone on since the claim, it may run at once. False where
   * the claim does not stand any more.
   */
  readonly release: (
    run: ActivityRun,
    readyAt: Time.Input,
    options?: { readonly whileHalted?: boolean | undefined }
  ) => Effect.Effect<boolean, StoreError>

  /** Removes an activity of which no event is to come. False where the claim does not stand any more. */
  readonly drop: (run: ActivityRun) => Effect.Effect<boolean, StoreError>

  /** Gives back all that an owner has claimed. */
  readonly releaseAll: (owner: string) => Effect.Effect<void, StoreError>

  /** Gives back what is claimed by whom is no member of the pool `activities`; gives how many. */
  readonly releaseOrphans: Effect.Effect<number, StoreError>

  /** The claims of an owner that stand. */
  readonly owned: (owner: string) => Effect.Effect<ReadonlyArray<ActivityRun>, StoreError>

  /** Who runs activities now and how many, in the order of their names; 1,000 of them at most. */
  readonly owners: Effect.Effect<ReadonlyArray<{ readonly owner: string; readonly count: number }>, StoreError>

  /**
   * Ends the activity of a key, whoever runs it: what `event` makes of it goes to its execution, in one transaction. False where there
   * is none.
   */
  readonly cancel: (
    executionId: string,
    key: string,
    event: (activity: ActivityEntry) => Event
  ) => Effect.Effect<boolean, StoreError>
}

/**
 * Work that failed, and work that was given up: see `DeadLetter`. `redrive` here puts one piece of work back; `Control.redrive` is for a
 * failed execution.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetters {
  /**
   * Records that work failed. The record is kept until the row of the work is removed or, for a timer, armed again. Nothing changes where
   * the row is gone, or where more attempts are recorded already. Only the beginning of a long `error` is kept.
   */
  readonly recordFailure: (failure: Omit<Failure, "failedAt">) => Effect.Effect<void, StoreError>

  /**
   * Gives work up: moves its row to the dead letters, whether it decodes or not. False where the row is gone, or the timer is armed for
   * another time. Only the beginning of a long `error` is kept.
   * With `emit` an event goes into the outbox in the same transaction, where the row was there.
   */
  readonly bury: (work: Work, why: Burial, options?: BuryOptions) => Effect.Effect<boolean, StoreError>

  /** One page of the dead letters, by id. */
  readonly list: (query?: DeadLetterQuery) => Effect.Effect<DeadLetterPage, StoreError>

  /**
   * Puts a dead letter back to work, with no failed attempts: an event or a spawn at the end of its table, under a new seq; a timer at its
   * time. False where there is no such dead letter: that of a timer or an activity goes when its execution cancels it or asks for it anew.
   * False too where another program has armed the path of the timer for another time, or asked for the activity: then the dead letter stays.
   */
  readonly redrive: (id: number) => Effect.Effect<boolean, StoreError>

  /** Removes a dead letter for good; false where there is none. */
  readonly discard: (id: number) => Effect.Effect<boolean, StoreError>
}

/**
 * What goes with work that is given up.
 *
 * - `emit`: an event for whoever waits for the work; `notice`: one for whoever is to know. They are put into the outbox where the row was
 *   there.
 *
 * @since 0.1.0
 * @category models
 */
export interface BuryOptions {
  readonly emit?: Pick<Emit, "targetId" | "event"> | undefined
  readonly notice?: Pick<Emit, "targetId" | "event"> | undefined
}

/**
 * The upkeep of the dedupe ledger, which holds the ids of the events that each execution has consumed. `isProcessed` reads it, `Retention`
 * prunes it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ledger {
  /**
   * Marks the youngest event of the ledger with the present time, so that {@link Ledger.prune} knows later that this event and all before
   * it were there by then.
   */
  readonly mark: Effect.Effect<void, StoreError>

  /**
   * Removes one page of old events from the ledger: those that were there when an event was marked at the time `before` or earlier. Events
   * of an execution are kept while an event to it is pending, delayed ones included, or it has a dead letter.
   */
  readonly prune: (before: Time.Input, query?: PendingQuery) => Effect.Effect<Pruned, StoreError>
}

/**
 * The members and leases of the processes that share the work of a store: see `Lease`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Leases {
  /** The members and the leases of a pool. A pool without any is empty, and no error. */
  readonly load: (pool: string) => Effect.Effect<Pool, StoreError>

  /** All pools that have members or leases, in the order of their names: who shares the work of this store, for people to see. */
  readonly pools: Effect.Effect<ReadonlyArray<NamedPool>, StoreError>

  /**
   * Renews a member of a pool, gives leases back and takes leases that are free, in one transaction. {@link Leases.load} shows which leases
   * it got.
   */
  readonly renew: (renewal: Renewal) => Effect.Effect<void, StoreError>

  /** Ends a membership and gives back all leases of the member. Without such a member nothing happens. */
  readonly leave: (pool: string, holder: string) => Effect.Effect<void, StoreError>
}

/**
 * The store of executions.
 *
 * Ids of executions, definitions and events are well-formed Unicode, not empty, and at most `maxIdBytes` long in UTF-8. Ids of events may
 * be twice as long and 64 bytes more, because some are made of the id of an execution and the path of a timer. What a store cannot keep
 * exactly it refuses with `StoreRejected` before anything is written, in the same way on every backend. Times are in seconds since the
 * epoch.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Option } from "effect"
 * import { Execution, ExecutionStore, MemoryStore } from "holdfast"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* ExecutionStore.ExecutionStore
 *   const created = yield* store.save(Execution.make({ id: "order-17", definitionId: "order" })) // version 1
 *   yield* store.save({ ...created, status: "RUNNING" }) // version 2
 *
 *   // Version 1 is not the stored one any more: nothing is written.
 *   const found = yield* store.save({ ...created, status: "DONE" }).pipe(
 *     Effect.as(Option.none<number>()),
 *     Effect.catchTag("StoreConflict", (conflict) => Effect.succeed(conflict.found))
 *   )
 *   assert.deepStrictEqual(found, Option.some(2))
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecutionStore {
  /** The execution as it is stored now. */
  readonly load: (id: string) => Effect.Effect<Option.Option<Execution>, StoreError>

  /** The execution, and whether it has consumed the event already, in one round trip to the database. */
  readonly loadForEvent: (id: string, eventId: string) => Effect.Effect<Loaded, StoreError>

  /**
   * {@link loadForEvent} of several at once, in their order; what is wrong with one of them is its own failure. A query with a `timer` is
   * also told whether the timer is armed.
   */
  readonly loadForEvents: (
    queries: ReadonlyArray<LoadQuery>
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<Loaded, StoreError>>>

  /**
   * The execution as this process has written it last, or as a page of the outbox has brought it since, without a read; none where it is not
   * remembered, or has ended. `fence` is what the work is fenced by that it is for: what was written under an earlier lease is not given.
   * See the option `executionCache`.
   */
  readonly recall: (id: string, fence?: FencingToken | undefined) => Option.Option<Recalled>

  /**
   * Advances an execution from its version to the next and writes what the step caused, all or nothing. Version 0 inserts, where no
   * execution of this id is stored; version n updates, where the stored row is at version n. Otherwise it fails with `StoreConflict` and
   * writes nothing.
   */
  readonly commit: (execution: Execution, commit?: Commit) => Effect.Effect<Committed, StoreConflict | StoreError>

  /**
   * Several commits, in their order, of which each is applied or fails by itself as by {@link commit}: they share a transaction where the
   * store can, and what one of them fails with is no matter to the others. `fence` is what one is fenced by, where that is not what all
   * are by `Lease.fencedBy`.
   */
  readonly commitEach: (
    commits: ReadonlyArray<{
      readonly execution: Execution
      readonly commit?: Commit | undefined
      readonly fence?: FencingToken | undefined
    }>
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<Committed, StoreConflict | StoreError>>>

  /** Commits the execution and nothing beside it. Gives it at its new version. */
  readonly save: (execution: Execution) => Effect.Effect<Execution, StoreConflict | StoreError>

  /** Whether the execution has consumed the event. */
  readonly isProcessed: (id: string, eventId: string) => Effect.Effect<boolean, StoreError>

  /** One page of the executions, in the order of the ids' UTF-8 bytes. */
  readonly listExecutions: (query?: ListQuery) => Effect.Effect<ExecutionPage, StoreError>

  /** How many executions a filter selects, those included that do not decode. It looks at each of them. */
  readonly countExecutions: (filter?: ExecutionFilter) => Effect.Effect<number, StoreError>

  /**
   * Puts events into the outbox, without a commit; gives their seqs, in order. Those with `dueAt` have none yet. Fails with `StoreRejected`
   * where an id is one that only engines make (`Event.isReservedId`), unless the options accept it.
   */
  readonly enqueue: (
    emits: ReadonlyArray<Emit>,
    options?: EnqueueOptions
  ) => Effect.Effect<ReadonlyArray<number>, StoreError>

  /** One page of the events to deliver, by seq. */
  readonly pendingOutbox: (query?: OutboxQuery) => Effect.Effect<Pending<OutboxEntry>, StoreError>

  /** Removes an event from the outbox. That it is gone already is no error. */
  readonly ackOutbox: (seq: number) => Effect.Effect<void, StoreError>

  /** One page of the children to create, by seq. */
  readonly pendingSpawns: (query?: PendingQuery & ExceptQuery) => Effect.Effect<Pending<SpawnEntry>, StoreError>

  /** Removes a spawn. That it is gone already is no error. */
  readonly ackSpawn: (seq: number) => Effect.Effect<void, StoreError>

  /** One page of the timers with `fireAt <= now`, earliest first. */
  readonly dueTimers: (now: Time.Input, query?: DueQuery) => Effect.Effect<DueTimers, StoreError>

  /** Removes the timer where it is still armed for exactly this `fireAt`; false where it is not. */
  readonly deleteTimer: (timer: Timer) => Effect.Effect<boolean, StoreError>

  /** How much work the store holds. It counts rows, so it costs more as there are more. */
  readonly stats: Effect.Effect<Stats, StoreError>

  /** What waits for definitions and activities that are not among these, see {@link Unserved}. It looks at the oldest rows alone. */
  readonly unserved: (served: Served) => Effect.Effect<Unserved, StoreError>

  /**
   * How many executions there are, by definition and status, in the order of the definitions' UTF-8 bytes. An index is read from one end to
   * the other, in parts of 50,000 between which others have their turn: a million executions take SQLite some 400 milliseconds in all.
   * What changes meanwhile may be counted as it was or as it is.
   */
  readonly counts: Effect.Effect<ReadonlyArray<ExecutionCount>, StoreError>

  /** One page of what is still to be done for an execution, which need not exist. */
  readonly workOf: (executionId: string, query?: WorkQuery) => Effect.Effect<PendingWork, StoreError>

  /**
   * Reads a page of all stored rows, table by table, and reports every row that does not decode, also rows that no other operation reads.
   * It changes nothing, and may run beside all other operations.
   */
  readonly verify: (query?: VerifyQuery) => Effect.Effect<VerifyPage, StoreError>

  /** Appends a step to the trace of an execution, without a commit. The execution need not exist. */
  readonly appendTrace: (executionId: string, step: TraceStep) => Effect.Effect<void, StoreError>

  /** The trace of an execution, oldest step first. */
  readonly readTrace: (executionId: string) => Effect.Effect<Trace, StoreError>

  /**
   * Removes an execution that is at the expected version, with everything that the store keeps of it: its ledger, trace, timers, spawns,
   * activities and dead letters, and the events to it, due or not. False, and nothing changed, where it is at another version. False
   * also where there is
   * no such execution; what is left of it is removed all the same.
   */
  readonly purge: (id: string, expectedVersion: number) => Effect.Effect<boolean, StoreError>

  /** The ids that begin with exactly this text, in the order of their UTF-8 bytes. */
  readonly idsWithPrefix: (prefix: string) => Effect.Effect<ReadonlyArray<string>, StoreError>

  /** Stores a version of a definition, unless that version is stored already. Gives the stored one. */
  readonly publishDefinition: (definition: PublishedDefinition) => Effect.Effect<PublishedDefinition, StoreError>

  /** A version of a published definition, by default the highest; none where it is not stored. */
  readonly loadDefinition: (
    definitionId: string,
    version?: number
  ) => Effect.Effect<Option.Option<PublishedDefinition>, StoreError>

  /** The events that wait until they are due. */
  readonly delayed: Delayed

  /** Questions about the children that are still to be created. */
  readonly spawns: Spawns

  /** Questions about the armed timers. */
  readonly timers: Timers

  /** What executions are found by. */
  readonly attributes: StoredAttributes

  /** The work that failed, and the work that was given up. */
  readonly deadLetters: DeadLetters

  /** The activities that have not ended. */
  readonly activities: Activities

  /** The upkeep of the dedupe ledger. */
  readonly ledger: Ledger

  /** The members and leases of the processes that share the work. */
  readonly leases: Leases

  /**
   * Calls the listener after each write that succeeded through this store, until the scope closes. It wakes the workers of this process.
   * Writes of other processes are not told. The listener must be quick and must not throw. With an `executionId` it is called for the
   * commits and the purge of this execution alone.
   */
  readonly listen: (
    listener: (notice: Notice) => void,
    options?: { readonly executionId?: string | undefined }
  ) => Effect.Effect<void, never, Scope.Scope>

  /**
   * Calls the listener, until the scope closes, within some 10 milliseconds of a write of another process; not with what it wrote. Only a
   * store that can find that out at hardly any cost does so, as `SqliteStore` on a file. Others never call it. Under `TestClock` each store
   * whose data others can write calls it at once when another store of this process has written, to whatever data, and for nothing else. The
   * listener must be quick and must not throw.
   */
  readonly listenToOthers: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>

  /**
   * Whether only this store can write to its data, as in a database in memory. Then {@link listen} tells of every write, and workers do not
   * poll for writes of other processes.
   */
  readonly exclusive: boolean

  /** The rows as they are stored, for `Transfer`; none where the store has no tables, as in memory. */
  readonly rows: Option.Option<Rows>
}

/**
 * The service of the store. The layers of `MemoryStore`, `SqliteStore`, `SqlStore`, `LibsqlStore` and `RqliteStore` provide it.
 *
 * @since 0.1.0
 * @category tags
 */
export const ExecutionStore: Context.Tag<ExecutionStore, ExecutionStore> =
  Context.GenericTag<ExecutionStore>("holdfast/ExecutionStore")

/**
 * The options that every backend has: limits of what it accepts, in bytes of UTF-8 of the stored text. What is larger is refused with
 * `StoreRejected` before anything is written, and the error names the limit. Each is a whole number of 1 or more.
 *
 * - `maxIdBytes`: an id, by default 1,024. Ids of events may be twice as long and 64 bytes more.
 * - `maxEventBytes`: an event, by default 1 MiB.
 * - `maxContextBytes`: the context of an execution, or of a child to create, by default 4 MiB. It is read and written again at each step.
 * - `maxResultBytes`: what an execution ends with (its `result`), and what a child tells its parent at its end (a `Finished` event), by
 *   default 1 MiB. It stays in the row, and in the parent's.
 * - `maxCommitBytes`: all that a commit writes, the execution's row included, and what any other call writes; by default 8 MiB.
 * - `maxCommitItems`: how many events, children and timer operations a commit may have, of each kind, and how many events `enqueue` takes;
 *   by default 10,000.
 *
 * `executionCache` is about speed. A store remembers the executions that its own process wrote last, so that the next event of one needs
 * no read: its commit checks in its own transaction that the execution is still as that process left it. On a server a page of the outbox
 * brings the executions along that it is about and that are not remembered, as many as have room in an eighth of that memory. `capacity` is
 * how many are remembered, by default 10,000, and `maxBytes` how much memory they may take, roughly, by default 32 MiB; `false` turns all of
 * it off.
 *
 * While a text is encoded, decoded or bound, nothing else runs in the process. A database may have lower limits of its own.
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
  readonly executionCache?:
    | { readonly capacity?: number | undefined; readonly maxBytes?: number | undefined }
    | false
    | undefined
}

/**
 * A store on a backend. It checks and encodes what goes in, stamps times from `Clock` and tokens from `Ids`, and decodes what comes out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (encoded: Encoded, options?: Options) => ExecutionStore = internal.make

/**
 * All executions that a query selects, page after page, each read when it is needed. `limit` is the size of a page. A row that does not
 * decode is left out with a warning in the log; {@link ExecutionStore.listExecutions} gives it as a value.
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
 * All stored rows that do not decode, page after page of {@link ExecutionStore.verify}. `limit` is the size of a page.
 *
 * @example
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { ExecutionStore, MemoryStore } from "holdfast"
 *
 * const program = ExecutionStore.streamCorrupt().pipe(
 *   Stream.runForEach((row) => Effect.logWarning(row.message)),
 *   Effect.provide(MemoryStore.layer)
 * )
 * ```
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
