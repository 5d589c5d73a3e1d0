/**
 * What a backend implements: the semantics of the store on checked input and on stored texts. Write one to put executions into another
 * database.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Timer, Work, WorkItem } from "./Commit.js"
import type { Burial, Failure, Kind } from "./DeadLetter.js"
import type { Status } from "./Execution.js"
import type { FencingToken, NamedPool, Pool, Renewal } from "./Lease.js"
import type { PublishedDefinition } from "./PublishedDefinition.js"
import type { StoreError } from "./StoreError.js"

/**
 * A commit as a backend gets it: checked, stamped, and in stored form.
 *
 * - `version`: the version that the stored row must have, 0 for a new one.
 * - `data`: the text of the execution at `version + 1`, with `token` in it.
 * - `cancelled`, `armed`: the paths of timers to remove and to arm. A path is in one of them, once. Dead letters of the execution's timers
 *   at these paths go, and so do those of its activities with the keys that are `stopped` or `asked` for.
 * - `fence`: where it is given, the commit is written only while that lease is held.
 * - `remembered`: where it is given, nothing was read for the commit, and it is written only where a read within its own transaction would
 *   say what was remembered: see {@link EncodedRemembered}.
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
  readonly delayed: ReadonlyArray<EncodedDelayed>
  readonly processed: string | undefined
  readonly cancelled: ReadonlyArray<string>
  readonly armed: ReadonlyArray<{ readonly path: string; readonly fireAt: number }>
  readonly spawns: ReadonlyArray<{ readonly childId: string; readonly rootPath: string; readonly context: string }>
  /** The keys of activities that are taken back, before others are asked for. */
  readonly stopped: ReadonlyArray<string>
  /** The activities that are asked for, where there is none of the key, at this time in seconds since the epoch and in this span. */
  readonly asked: {
    readonly activities: ReadonlyArray<EncodedActivityOp>
    readonly askedAt: number
    readonly traceparent: string | null
  }
  /** What the execution is found by from now on; undefined where that stays as it is. */
  readonly attributes?: ReadonlyArray<EncodedAttribute> | undefined
  readonly trace: string | undefined
  readonly ack: WorkItem | undefined
  readonly fence?: FencingToken | undefined
  readonly remembered?: EncodedRemembered | undefined
}

/**
 * What must hold of a commit to an execution that was not read: the row of the expected version has a text that ends with `end`, the token of
 * the commit that wrote it; the outbox has row `seq` for the execution, which is what the commit acks; and the ledger does not have
 * `eventId`, which is what it consumes. Else nothing is written, and the outcome is `Stale`.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedRemembered {
  readonly end: string
  readonly seq: number
  readonly eventId: string
}

/**
 * An event for the outbox, as JSON text, and its target.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedEmit {
  readonly targetId: string | null
  readonly event: string
}

/**
 * An event that waits until it is due, in seconds since the epoch.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedDelayed extends EncodedEmit {
  readonly dueAt: number
}

/**
 * A renewal of a member with all its parts. `beat` is a text that no other renewal has; `renewedAt` is the time of the renewal, in seconds
 * since the epoch.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedRenewal extends Pick<Renewal, "pool" | "holder" | "ttl"> {
  readonly evict: NonNullable<Renewal["evict"]>
  readonly release: NonNullable<Renewal["release"]>
  readonly claim: NonNullable<Renewal["claim"]>
  readonly beat: string
  readonly renewedAt: number
}

/**
 * An activity that a commit asks for.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedActivityOp {
  readonly key: string
  readonly name: string
  readonly limitKey: string
  readonly payload: string
}

/**
 * An attribute: its name, and the JSON text of its value, of which each value has one.
 *
 * @since 0.1.0
 * @category encoded
 */
export type EncodedAttribute = readonly [name: string, value: string]

/**
 * Which executions are listed or counted; no `status` is any. An execution has all of the `attributes`.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedFilter {
  readonly definitionId: string | undefined
  readonly definitionVersion: number | undefined
  readonly status: ReadonlyArray<Status> | undefined
  readonly rootsOnly: boolean
  readonly idPrefix: string | undefined
  readonly parentId: string | undefined
  readonly attributes: ReadonlyArray<EncodedAttribute>
}

/**
 * A stored activity, by the names of an `ActivityEntry`.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedActivity {
  readonly seq: unknown
  readonly executionId: unknown
  readonly key: unknown
  readonly name: unknown
  readonly limitKey: unknown
  readonly payload: unknown
  readonly version: unknown
  readonly traceparent: unknown
  readonly askedAt: unknown
  readonly readyAt: unknown
  readonly attempts: unknown
  readonly error: unknown
  readonly owner: unknown
}

/**
 * Activities to be claimed with a token that no other claim has. `now` is in seconds since the epoch. `limits` is what limits them: how
 * many of one key may run at once, and their rate: while `limit` of them have begun after `since`, no more may; the first of these counts
 * for `window` seconds from its begin. `after` is the key behind which the turn of keys begins.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedClaim {
  readonly name: string
  readonly owner: string
  readonly claim: string
  readonly now: number
  readonly limit: number
  readonly limits:
    | {
        readonly concurrency: number
        readonly rate: { readonly limit: number; readonly window: number; readonly since: number } | undefined
        readonly after: string
      }
    | undefined
}

/**
 * What was claimed, with the status of each one's execution in the listing, null where there is none. `nextAt` is when the first of
 * those may run
 * that their rate holds back, in seconds since the epoch; `last` the key of the last one that was claimed.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedClaimed {
  readonly rows: ReadonlyArray<EncodedActivity & { readonly status: unknown }>
  readonly nextAt: number | undefined
  readonly last: string | undefined
}

/**
 * Which run of an activity: its row, and the token of the claim.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface ActivityRun {
  readonly seq: number
  readonly claim: string
}

/**
 * What became of a commit: applied, with the seqs of its emits, or in conflict. `found` is the stored version, none where no such execution
 * is stored. One with `remembered` need not find out what is stored: it is stale.
 *
 * @since 0.1.0
 * @category encoded
 */
export type CommitOutcome =
  | { readonly _tag: "Applied"; readonly seqs: ReadonlyArray<number> }
  | { readonly _tag: "Conflict"; readonly found: Option.Option<unknown> }
  | { readonly _tag: "Stale" }

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
 * What a page of the outbox brings along: the executions of its events that can be consumed next, each the first in the outbox for its
 * target and not in its ledger. `known` is of which executions nothing is needed; `characters` is how many the texts may have altogether,
 * and where one more would be too many, no further ones come.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedBrought {
  readonly known: ReadonlyArray<string>
  readonly characters: number
}

/**
 * A stored execution that was loaded for an event: see `ExecutionStore.Loaded`.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedLoaded extends EncodedExecution {
  readonly processed: boolean
  readonly armed?: boolean | undefined
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
 * What is recorded of a row that failed before; undefined where it did not.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface Failed {
  readonly failed: Omit<Failure, "work"> | undefined
}

/**
 * Rows of a numbered table, by their numbers. Where they are fewer than asked for, `reached` is the greatest number that the table holds,
 * also of a row that was passed over, behind the place from which they were read; it may be left out where that is the last row's.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface Numbered<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly reached?: unknown
}

/**
 * A row of the timers table that is no timer, because a column holds a value of another type. `bury` finds it by `executionId`, `path` and
 * `fireAt`; `problem` says what is wrong.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface BrokenTimer extends Timer {
  readonly problem: string
}

/**
 * A stored dead letter.
 *
 * - `executionId`: the `target_id` of the outbox, the `parent_id` of a spawn or the `execution_id` of a timer.
 * - `path`: the `root_path` of a spawn or the `path` of a timer.
 * - `body`: the `event` of the outbox or the `context` of a spawn.
 * - `broken`: whether a column of texts holds something else, which then comes as the text of its SQL literal.
 *
 * What the kind of work does not have is null.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedDeadLetter {
  readonly id: unknown
  readonly kind: unknown
  readonly seq: unknown
  readonly executionId: unknown
  readonly childId: unknown
  readonly path: unknown
  readonly fireAt: unknown
  readonly body: unknown
  readonly broken: boolean
  readonly reason: unknown
  readonly attempts: unknown
  readonly error: unknown
  readonly diedAt: unknown
}

/**
 * Counts of rows, and what is needed to find the age of the oldest; null where there is no row.
 *
 * - `outbox.event`: the text of the first event.
 * - `timers.earliest`: the time of the first timer.
 * - `delayed.dueAt`: the time of the first delayed event; `corrupt` counts those without a time.
 * - `activities.askedAt`: when the first activity was asked for.
 * - `deadLetters.diedAt`: the time of the first dead letter.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedStats {
  readonly outbox: { readonly count: number; readonly failing: number; readonly event: unknown }
  readonly spawns: { readonly count: number; readonly failing: number }
  readonly timers: {
    readonly count: number
    readonly failing: number
    readonly due: number
    readonly earliest: unknown
  }
  readonly delayed: { readonly count: number; readonly corrupt: number; readonly dueAt: unknown }
  readonly activities: {
    readonly count: number
    readonly failing: number
    readonly running: number
    readonly askedAt: unknown
  }
  readonly deadLetters: { readonly count: number; readonly diedAt: unknown }
}

/**
 * The rows that are work for one execution, each with what is recorded of its failures: events to it by seq; those that are delayed by
 * time; its timers by time, without those that are none or for an infinite time; and its spawns by seq.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedWork {
  readonly next: WorkPosition | undefined
  readonly events: ReadonlyArray<
    { readonly seq: unknown; readonly targetId: unknown; readonly event: unknown } & Failed
  >
  readonly delayed: ReadonlyArray<{ readonly seq: unknown; readonly dueAt: number; readonly event: unknown }>
  readonly timers: ReadonlyArray<Timer & Failed>
  readonly spawns: ReadonlyArray<
    {
      readonly seq: unknown
      readonly parentId: unknown
      readonly childId: unknown
      readonly rootPath: unknown
      readonly context: unknown
    } & Failed
  >
}

/**
 * Where a page of the work of an execution begins: behind which number, or path of a timer, of each kind. Of a kind that is left out there is
 * no more.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface WorkPosition {
  readonly events?: string | number | undefined
  readonly delayed?: string | number | undefined
  readonly timers?: string | undefined
  readonly spawns?: string | number | undefined
}

/**
 * The tables that `verify` reads, without their prefix: those of the format that is shared with harel, and those of this library beside
 * them. A backend that keeps something elsewhere gives no rows for that table.
 *
 * @since 0.1.0
 * @category encoded
 */
export type StoredTable =
  | "executions"
  | "outbox"
  | "processed_events"
  | "timers"
  | "spawns"
  | "trace"
  | "definitions"
  | "holdfast_meta"
  | "holdfast_listing"
  | "holdfast_marks"
  | "holdfast_delayed"
  | "holdfast_members"
  | "holdfast_leases"
  | "holdfast_outbox_failures"
  | "holdfast_spawn_failures"
  | "holdfast_timer_failures"
  | "holdfast_dead_letters"
  | "holdfast_activities"
  | "holdfast_attributes"
  | "holdfast_activity_starts"

/**
 * What waits for definitions and activities of others. A row for each of them and each kind of work: `id` is the definition or the
 * activity, `count` how much there is, `oldest` since when the first waits, in seconds since the epoch, where that is known.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedUnserved {
  readonly rows: ReadonlyArray<{
    readonly kind: Kind
    readonly id: string
    readonly count: number
    readonly oldest: unknown
  }>
  readonly more: boolean
}

/**
 * A row as `verify` reads it, by the names of its columns. Integers of 2^53 and more come as their digits, infinite numbers and bytes as
 * texts. `problem` is what the backend itself finds wrong with the row: a column that holds another type, or something that disagrees with
 * other rows.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface StoredRow {
  readonly columns: { readonly [column: string]: unknown }
  readonly problem: string | undefined
}

/**
 * Where a page of `verify` begins, as the backend gave it with the page before.
 *
 * @since 0.1.0
 * @category encoded
 */
export type Position = ReadonlyArray<string | number>

/**
 * The tables whose rows are moved from one store to another, without their prefix, and `sequences`, which has the greatest number that each
 * numbered table has given so far. What a process keeps of itself while it runs, as leases, is not among them, nor what is made of other
 * rows.
 *
 * @since 0.1.0
 * @category encoded
 */
export type TransferTable =
  | Exclude<StoredTable, "holdfast_meta" | "holdfast_listing" | "holdfast_members" | "holdfast_leases">
  | "sequences"

/**
 * What a column holds, exactly: nothing, a text, or an integer below 2^53. A greater integer comes as its digits, a real number as one, or
 * as `"Infinity"` or `"-Infinity"`, and bytes in hexadecimal digits. So does a text that is no UTF-8.
 *
 * @since 0.1.0
 * @category encoded
 */
export type StoredValue =
  | null
  | string
  | number
  | { readonly integer: string }
  | { readonly real: number | "Infinity" | "-Infinity" }
  | { readonly bytes: string }
  | { readonly text: string }

/**
 * A row as it is moved, by the names of its columns.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface TransferRow {
  readonly table: TransferTable
  readonly columns: { readonly [column: string]: StoredValue }
}

/**
 * Some rows of a table, in its order. `next` is behind which of them the following ones are; undefined where there are no more.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface TransferPage {
  readonly rows: ReadonlyArray<TransferRow>
  readonly next: ReadonlyArray<StoredValue> | undefined
}

/**
 * Reads the rows of a table behind a position: at least one where there is any, no more than `rows`, and no more than `bytes` but for the
 * last. A table that is not there has no rows.
 *
 * @since 0.1.0
 * @category encoded
 */
export type ReadRows = (
  table: TransferTable,
  after: ReadonlyArray<StoredValue> | undefined,
  limit: { readonly rows: number; readonly bytes: number }
) => Effect.Effect<TransferPage, StoreError>

/**
 * The rows of a store as they are, for `Transfer`: whatever they hold, in an order that stays what it was when they are written in it.
 *
 * - `schema`: the version of the tables that this library knows.
 * - `tables`: the tables and their columns, in the order in which they are moved.
 * - `anyText`: whether a text that is no UTF-8 can be written. Where it is false, the client could not read it again.
 * - `read`: sees what is there at each time.
 * - `snapshot`: reads the rows as they are at one moment, until the scope closes; undefined where a backend cannot.
 * - `isEmpty`: whether there is no row in any of these tables.
 * - `mark`: the text that was written last.
 * - `write`: in one transaction, removes all rows where `clear` is `"all"`, adds rows where there is none of their key, and keeps the mark.
 *   Written again it does nothing more. With `"numbers"` empty tables begin to number their rows at 1. Gives false, and does nothing, where
 *   the mark that is there is neither the `expected` one nor this one.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface Rows {
  readonly schema: number
  readonly tables: ReadonlyArray<{ readonly name: TransferTable; readonly columns: ReadonlyArray<string> }>
  readonly anyText: boolean
  readonly read: ReadRows
  readonly snapshot: Effect.Effect<ReadRows, StoreError, Scope.Scope> | undefined
  readonly isEmpty: Effect.Effect<boolean, StoreError>
  readonly mark: Effect.Effect<Option.Option<string>, StoreError>
  readonly write: (page: {
    readonly clear: "all" | "numbers" | "nothing"
    readonly rows: ReadonlyArray<TransferRow>
    readonly expected: Option.Option<string>
    readonly mark: string
  }) => Effect.Effect<boolean, StoreError>
}

/**
 * What a backend implements to read activities. See {@link Encoded}.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedActivityReads {
  readonly listActivities: (after: number, limit: number) => Effect.Effect<ReadonlyArray<EncodedActivity>, StoreError>
  /** Those of an execution behind a key, in the order of the keys' UTF-8 bytes. */
  readonly activitiesOf: (
    executionId: string,
    after: string | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<EncodedActivity>, StoreError>
  readonly findActivity: (executionId: string, key: string) => Effect.Effect<Option.Option<EncodedActivity>, StoreError>
  /** The names under which activities wait with when the first of each may run, and whether any is run by another owner. */
  readonly waitingActivities: (owner: string) => Effect.Effect<
    {
      readonly names: ReadonlyArray<{ readonly name: string; readonly readyAt: number }>
      readonly foreign: boolean
    },
    StoreError
  >
  readonly ownedActivities: (owner: string) => Effect.Effect<ReadonlyArray<ActivityRun>, StoreError>
  /** At most so many who run activities, and how many each. */
  readonly activityOwners: (
    limit: number
  ) => Effect.Effect<ReadonlyArray<{ readonly owner: string; readonly count: number }>, StoreError>
}

/**
 * What a backend implements of activities: who runs them, and how they end. See {@link Encoded}.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface EncodedActivities extends EncodedActivityReads {
  /** Gives nothing to an owner that is no member of the pool of activities. */
  readonly claimActivities: (claim: EncodedClaim) => Effect.Effect<EncodedClaimed, StoreError>
  /** Without a claim, whoever runs it. */
  readonly endActivity: (
    run: Omit<ActivityRun, "claim"> & { readonly claim: string | undefined },
    event: string
  ) => Effect.Effect<boolean, StoreError>
  readonly failActivity: (
    run: ActivityRun,
    failure: { readonly attempts: number; readonly error: string; readonly readyAt: number }
  ) => Effect.Effect<boolean, StoreError>
  readonly releaseActivity: (
    run: ActivityRun,
    readyAt: number,
    whileHalted: boolean
  ) => Effect.Effect<boolean, StoreError>
  readonly dropActivity: (run: ActivityRun) => Effect.Effect<boolean, StoreError>
  readonly releaseActivities: (owner: string) => Effect.Effect<void, StoreError>
  /** Frees what is run by whom is no member of the pool of activities. */
  readonly releaseOrphans: Effect.Effect<number, StoreError>
}

/**
 * What a backend implements: the semantics of `ExecutionStore` on checked input and on stored texts. What comes out of a database is
 * `unknown`: `ExecutionStore.make` decodes it, and reports what does not decode, for all backends alike. `limit` counts rows. Rows of
 * executions whose definition is one of `except` are passed over, see `ExecutionStore.ExceptQuery`.
 *
 * A write that is given a `fence` checks in its own transaction that the lease is held by this holder with this number. Where it is not, it
 * writes nothing and fails with `StoreRejected` and the reason `"lease-lost"`; a commit to another version is a conflict all the same.
 *
 * @since 0.1.0
 * @category encoded
 */
export interface Encoded extends EncodedActivities {
  /** Whether only this backend can write to its data, as in memory. By default false: other processes may write too. */
  readonly exclusive?: boolean | undefined
  /** Whether its commits heed `remembered`. By default false: then nothing is remembered. */
  readonly remembers?: boolean | undefined
  /** Tells a listener, until the scope closes, soon after somebody else has written; without it nobody is told. */
  readonly otherWrites?: ((listener: () => void) => Effect.Effect<void, never, Scope.Scope>) | undefined
  /** The rows as they are stored; without it they cannot be exported or imported. */
  readonly rows?: Rows | undefined
  readonly load: (id: string) => Effect.Effect<Option.Option<EncodedExecution>, StoreError>
  readonly loadForEvent: (id: string, eventId: string) => Effect.Effect<Option.Option<EncodedLoaded>, StoreError>
  /**
   * `loadForEvent` of several at once, in their order; without it each is loaded by itself. Where one has a `timer`, `armed` says whether its
   * execution has that timer, as of the same moment; of a backend that leaves it out, each is asked for by `isArmed`.
   */
  readonly loadForEvents?:
    | ((
        queries: ReadonlyArray<{
          readonly id: string
          readonly eventId: string
          readonly timer?: Omit<Timer, "executionId"> | undefined
        }>
      ) => Effect.Effect<ReadonlyArray<Option.Option<EncodedLoaded>>, StoreError>)
    | undefined
  readonly commit: (commit: EncodedCommit) => Effect.Effect<CommitOutcome, StoreError>
  /** Several commits, in their order, each of which is applied or not by itself; without it each is run by `commit`. */
  readonly commitEach?:
    | ((commits: ReadonlyArray<EncodedCommit>) => Effect.Effect<ReadonlyArray<Exit.Exit<CommitOutcome, StoreError>>>)
    | undefined
  readonly isProcessed: (id: string, eventId: string) => Effect.Effect<boolean, StoreError>
  readonly list: (
    query: EncodedFilter & { readonly after: string | undefined; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<EncodedSummary>, StoreError>
  readonly count: (filter: EncodedFilter) => Effect.Effect<number, StoreError>
  readonly attributesOf: (
    executionId: string
  ) => Effect.Effect<ReadonlyArray<{ readonly name: unknown; readonly value: unknown }>, StoreError>
  /** Writes nothing where the execution is at another version. */
  readonly setAttributes: (
    executionId: string,
    expectedVersion: number,
    attributes: ReadonlyArray<EncodedAttribute>
  ) => Effect.Effect<void, StoreError>
  readonly enqueue: (emits: {
    readonly emits: ReadonlyArray<EncodedEmit>
    readonly delayed: ReadonlyArray<EncodedDelayed>
  }) => Effect.Effect<ReadonlyArray<number>, StoreError>
  readonly releaseDelayed: (now: number, limit: number) => Effect.Effect<number, StoreError>
  readonly nextDelayed: Effect.Effect<Option.Option<number>, StoreError>
  readonly pendingOutbox: (
    after: number | undefined,
    limit: number,
    except: ReadonlyArray<string>
  ) => Effect.Effect<
    Numbered<{ readonly seq: unknown; readonly targetId: unknown; readonly event: unknown } & Failed>,
    StoreError
  >
  /**
   * `pendingOutbox` together with the executions that go with its events, read in the same request; without it they are loaded by
   * themselves. What it brings is only a guess to whoever commits: it may leave out any, and need not be of the same moment.
   */
  readonly pendingOutboxWithExecutions?:
    | ((
        after: number | undefined,
        limit: number,
        except: ReadonlyArray<string>,
        brought: EncodedBrought
      ) => Effect.Effect<
        Numbered<{ readonly seq: unknown; readonly targetId: unknown; readonly event: unknown } & Failed> & {
          readonly executions: ReadonlyArray<EncodedExecution & { readonly id: unknown }>
        },
        StoreError
      >)
    | undefined
  readonly ackOutbox: (seq: number, fence: FencingToken | undefined) => Effect.Effect<void, StoreError>
  readonly pendingSpawns: (
    after: number | undefined,
    limit: number,
    except: ReadonlyArray<string>
  ) => Effect.Effect<
    Numbered<
      {
        readonly seq: unknown
        readonly parentId: unknown
        readonly childId: unknown
        readonly rootPath: unknown
        readonly context: unknown
      } & Failed
    >,
    StoreError
  >
  readonly ackSpawn: (seq: number, fence: FencingToken | undefined) => Effect.Effect<void, StoreError>
  readonly isSpawning: (childId: string) => Effect.Effect<boolean, StoreError>
  readonly isSpawnParent: (parentId: string) => Effect.Effect<boolean, StoreError>
  readonly dropSpawns: (parentId: string) => Effect.Effect<void, StoreError>
  readonly dueTimers: (
    now: number,
    after: Timer | undefined,
    limit: number,
    except: ReadonlyArray<string>
  ) => Effect.Effect<
    {
      readonly timers: ReadonlyArray<Timer>
      readonly failures: ReadonlyArray<Failure>
      readonly broken: ReadonlyArray<BrokenTimer>
    },
    StoreError
  >
  readonly nextTimer: Effect.Effect<Option.Option<Timer>, StoreError>
  readonly isArmed: (timer: Timer) => Effect.Effect<boolean, StoreError>
  readonly deleteTimer: (timer: Timer, fence: FencingToken | undefined) => Effect.Effect<boolean, StoreError>
  readonly recordFailure: (failure: Failure, fence: FencingToken | undefined) => Effect.Effect<void, StoreError>
  readonly bury: (
    work: Work,
    why: Burial & { readonly diedAt: number },
    fence: FencingToken | undefined,
    /** What goes into the outbox with it, in order, where the row is there. */
    emits: ReadonlyArray<EncodedEmit>
  ) => Effect.Effect<boolean, StoreError>
  readonly listDeadLetters: (query: {
    readonly kind: Kind | undefined
    readonly executionId: string | undefined
    readonly executionIdPrefix: string | undefined
    readonly definitionId: string | undefined
    readonly reason: ReadonlyArray<string> | undefined
    readonly diedBefore: number | undefined
    readonly after: number | undefined
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<EncodedDeadLetter>, StoreError>
  readonly redrive: (
    id: number
  ) => Effect.Effect<Option.Option<{ readonly kind: unknown; readonly fireAt: unknown }>, StoreError>
  readonly discard: (id: number) => Effect.Effect<boolean, StoreError>
  readonly stats: (now: number) => Effect.Effect<EncodedStats, StoreError>
  /** How many rows of each definition and status the listing has, in the order of the definitions' UTF-8 bytes. */
  readonly counts: Effect.Effect<
    ReadonlyArray<{ readonly definitionId: unknown; readonly status: unknown; readonly count: number }>,
    StoreError
  >
  /** At most `limit` rows of each kind, from the first one on or behind a position; each kind in the order of its number or path. */
  readonly workOf: (
    executionId: string,
    limit: number,
    after: WorkPosition | undefined
  ) => Effect.Effect<EncodedWork, StoreError>
  /** What waits for definitions and activities that are not among these: see `ExecutionStore.unserved`. */
  readonly unserved: (
    now: number,
    served: { readonly definitions: ReadonlyArray<string>; readonly activities: ReadonlyArray<string> }
  ) => Effect.Effect<EncodedUnserved, StoreError>
  /** At most `limit` rows of a table, from its beginning or after a position. `next` is the position for the following page. */
  readonly verify: (
    table: StoredTable,
    after: Position | undefined,
    limit: number
  ) => Effect.Effect<{ readonly rows: ReadonlyArray<StoredRow>; readonly next: Position | undefined }, StoreError>
  readonly appendTrace: (executionId: string, entry: string) => Effect.Effect<void, StoreError>
  readonly readTrace: (
    executionId: string
  ) => Effect.Effect<ReadonlyArray<{ readonly index: unknown; readonly entry: unknown }>, StoreError>
  readonly purge: (id: string, expectedVersion: number) => Effect.Effect<boolean, StoreError>
  readonly idsWithPrefix: (prefix: string) => Effect.Effect<ReadonlyArray<string>, StoreError>
  readonly markProcessed: (now: number) => Effect.Effect<void, StoreError>
  readonly pruneProcessed: (
    before: number,
    after: number | undefined,
    limit: number
  ) => Effect.Effect<{ readonly removed: number; readonly next: number | undefined }, StoreError>
  readonly leases: (pool: string) => Effect.Effect<Pool, StoreError>
  /** Those that have members or leases. */
  readonly leasePools: Effect.Effect<ReadonlyArray<NamedPool>, StoreError>
  readonly renewLeases: (renewal: EncodedRenewal) => Effect.Effect<void, StoreError>
  readonly leaveLeases: (pool: string, holder: string) => Effect.Effect<void, StoreError>
  readonly publishDefinition: (definition: PublishedDefinition) => Effect.Effect<void, StoreError>
  readonly loadDefinition: (
    definitionId: string,
    version: number | undefined
  ) => Effect.Effect<Option.Option<PublishedDefinition>, StoreError>
}
