/**
 * The control plane: what an operator does to executions. It needs the store alone, so it works from any process, with workers or without.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { ChildrenLive, ControlConflict, HasParent, NoSuchExecution, WrongStatus } from "./ControlError.js"
import type { DeadLetter } from "./DeadLetter.js"
import type { Event } from "./Event.js"
import type { ExecutionSummary } from "./Execution.js"
import type { DeadLetterFilter, ExecutionFilter, ExecutionStore } from "./ExecutionStore.js"
import * as internal from "./internal/control/control.js"
import type { JsonObject } from "./Json.js"
import type { StoreConflict, StoreCorrupt, StoreError, StoreRejected } from "./StoreError.js"

/**
 * What a command has done.
 *
 * - `changed`: the ids of the executions that it changed or, as `purge`, removed.
 * - `corrupt`: rows of the tree that do not decode. The command passed them over.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly changed: ReadonlyArray<string>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
}

/**
 * - `reason`: why the command is given, which is kept in the step that it leaves in the trace of each execution.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReasonOptions {
  readonly reason?: JsonObject | undefined
}

/**
 * - `reason`: the data of the `Cancel` event, by default nothing; it is kept in the trace too, as that of the other commands.
 * - `children`: what becomes of the children that exist when the command comes: `"terminate"`, the default, ends them at once; `"cancel"`
 *   cancels them too.
 *
 * @since 0.1.0
 * @category models
 */
export interface CancelOptions extends ReasonOptions {
  readonly children?: "terminate" | "cancel" | undefined
}

/**
 * - `activePath`: the state in which the execution goes on, by default the one in which it failed. Where it is given, the history of
 *   composite states is dropped.
 * - `event`: an event to send to the execution in the same commit, for example the one at which it failed. It needs an id that the
 *   execution has not consumed.
 *
 * @since 0.1.0
 * @category models
 */
export interface RedriveOptions extends ReasonOptions {
  readonly activePath?: string | undefined
  readonly event?: Event | undefined
}

/**
 * - `failed`: whether `FAILED` executions may be removed too, by default false: redrive or terminate them first.
 *
 * @since 0.1.0
 * @category models
 */
export interface PurgeOptions {
  readonly failed?: boolean | undefined
}

/**
 * Which page of those that a filter selects comes first, and how large pages are.
 *
 * - `limit`: how many executions a page has at most, 1 to 1,000, by default 100.
 * - `cursor`: where to go on: the `nextCursor` of the last page that was done.
 * - `dryRun`: whether to change nothing and only give what is selected, by default false.
 *
 * @since 0.1.0
 * @category models
 */
export interface BulkOptions {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly dryRun?: boolean | undefined
}

/**
 * An execution that could not be changed, and why.
 *
 * @since 0.1.0
 * @category models
 */
export interface BulkFailure {
  readonly executionId: string
  readonly error: ChildrenLive | ControlConflict | StoreCorrupt
}

/**
 * What became of one page of those that a filter selects.
 *
 * - `selected`: the executions of this page that the command is for, as they were before it.
 * - `changed`: those that it changed, each with the ids of all that were changed with it.
 * - `unchanged`: the ids of those that needed no change any more: they had moved on, or were changed with others.
 * - `failed`: those that could not be changed.
 * - `corrupt`: rows that do not decode, which were passed over.
 * - `nextCursor`: the `cursor` by which to go on behind this page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface BulkPage {
  readonly selected: ReadonlyArray<ExecutionSummary>
  readonly changed: ReadonlyArray<{ readonly executionId: string; readonly changed: ReadonlyArray<string> }>
  readonly unchanged: ReadonlyArray<string>
  readonly failed: ReadonlyArray<BulkFailure>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<string>
}

/**
 * A command on all executions that a filter selects, in the order of their ids, page after page.
 *
 * @since 0.1.0
 * @category models
 */
export type Bulk<Options> = (
  filter: ExecutionFilter,
  options?: Options & BulkOptions
) => Stream.Stream<BulkPage, StoreError>

/**
 * Which page of the dead letters that a filter selects comes first, and how large pages are.
 *
 * - `limit`: how many a page has at most, 1 to 1,000, by default 100.
 * - `cursor`: where to go on: the `nextCursor` of the last page that was done.
 * - `dryRun`: whether to change nothing and only give what is selected, by default false.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterBulkOptions {
  readonly limit?: number | undefined
  readonly cursor?: number | undefined
  readonly dryRun?: boolean | undefined
}

/**
 * What became of one page of the dead letters that a filter selects.
 *
 * - `selected`: those of this page, as they were before it.
 * - `changed`: the ids of those that were redriven or discarded.
 * - `unchanged`: the ids of those that were gone already, and of those that stay because their work is there again: the path of the timer
 *   is armed for another time, or there is another activity of the key.
 * - `corrupt`: rows that do not decode as dead letters, which were passed over.
 * - `nextCursor`: the `cursor` by which to go on behind this page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterBulkPage {
  readonly selected: ReadonlyArray<DeadLetter>
  readonly changed: ReadonlyArray<number>
  readonly unchanged: ReadonlyArray<number>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<number>
}

/**
 * What is done to all dead letters that a filter selects, in the order of their ids, page after page.
 *
 * @since 0.1.0
 * @category models
 */
export type DeadLetterBulk = (
  filter: DeadLetterFilter,
  options?: DeadLetterBulkOptions
) => Stream.Stream<DeadLetterBulkPage, StoreError>

/**
 * What is done to dead letters: `redrive` puts their work back, `discard` removes them for good. Those are meant that were given up before
 * it began: what is given up again meanwhile is no part of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ManyDeadLetters {
  readonly redrive: DeadLetterBulk
  readonly discard: DeadLetterBulk
}

/**
 * The commands on all that a filter selects: by definition, status, attributes and what else `ExecutionStore.ExecutionFilter` has.
 *
 * Of what the filter selects, a command is for those in a status in which it changes something; a filter that names another status is
 * refused. Where an execution and its parent are both selected the child is left to its parent, which the command changes with all below
 * it; `redrive` is for each by itself, and `purge` for roots.
 *
 * A page is read, and changed, when the stream is asked for it. What ends the stream, as a store that is down, leaves the pages before as
 * they are done: go on behind the last one by its `nextCursor`, or begin anew, which finds less to do. One execution that cannot be
 * changed does not end it.
 *
 * `deadLetters` are changed by a filter of their own, in the same manner: by definition, kind of work, reason, age and execution.
 *
 * @since 0.1.0
 * @category models
 */
export interface Many {
  readonly suspend: Bulk<ReasonOptions>
  readonly resume: Bulk<ReasonOptions>
  readonly cancel: Bulk<CancelOptions>
  readonly terminate: Bulk<ReasonOptions>
  readonly redrive: Bulk<RedriveOptions>
  readonly purge: Bulk<PurgeOptions>
  readonly deadLetters: ManyDeadLetters
}

/**
 * How many executions, or dead letters, a command on many has selected, changed, found to need no change, and could not change; and how many
 * rows did not decode.
 *
 * @since 0.1.0
 * @category models
 */
export interface Totals {
  readonly selected: number
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
  readonly corrupt: number
}

/**
 * The commands. Each is for an execution and all below it in its tree, except `redrive`, which is for one execution.
 *
 * Each execution is changed in a commit of its own, which leaves a step of kind `Control` in its trace. Where another commit comes first,
 * the command loads the execution and decides again. A command that is interrupted leaves a part of the tree changed; repeat it, and it
 * changes the rest.
 *
 * @since 0.1.0
 * @category models
 */
export interface Control {
  /**
   * Stops an execution, and all below it, from taking events: `PENDING` and `RUNNING` become `SUSPENDED`. Events and timers wait in the
   * store. An execution that is suspended already is no error.
   */
  readonly suspend: (
    executionId: string,
    options?: ReasonOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ControlConflict | StoreError>

  /**
   * Lets a suspended execution, and the suspended ones below it, go on: `SUSPENDED` becomes `PENDING` or `RUNNING`, as it was before.
   * Children are resumed before their parent. What waited is delivered at once by workers of this process, and by others at their next
   * poll.
   */
  readonly resume: (
    executionId: string,
    options?: ReasonOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ControlConflict | StoreError>

  /**
   * Asks an execution to end: it becomes `CANCELLING` and is sent a `Cancel` event, in one commit. Its transition cleans up and finishes
   * it. An execution that never began, or has failed, has nothing to clean up and is terminated. Children are terminated, unless the
   * options say otherwise; children that the clean-up creates are left alone. An execution that is `CANCELLING` or `CANCELLED` already is
   * no error, and gets no second event.
   */
  readonly cancel: (
    executionId: string,
    options?: CancelOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ControlConflict | StoreError>

  /**
   * Ends an execution, and all below it, at once and without clean-up: each that is not `DONE` becomes `CANCELLED`, and children that are
   * still to be created never are. Events to them are dropped. The parent of the execution is sent a `Finished` event with the outcome
   * `cancelled`. An execution that is `CANCELLED` already is no error.
   */
  readonly terminate: (
    executionId: string,
    options?: ReasonOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ControlConflict | StoreError>

  /**
   * Puts a `FAILED` execution, without those below it, back to work: it becomes `RUNNING` and its error is cleared.
   *
   * Fails with `ChildrenLive` where `activePath` is given while children of the execution are not finished: it would lose them.
   */
  readonly redrive: (
    executionId: string,
    options?: RedriveOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ChildrenLive | ControlConflict | StoreError>

  /**
   * Removes a finished execution and all below it, with everything that the store keeps of them. Children are removed first, and each only
   * where it is still at the version at which the command read it.
   *
   * Fails with `ChildrenLive` where one of them is not `DONE` or `CANCELLED` or is still to be created, with `HasParent` where the parent
   * is stored, and with `StoreCorrupt` where a row of the tree does not decode.
   */
  readonly purge: (
    executionId: string,
    options?: PurgeOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ChildrenLive | HasParent | ControlConflict | StoreError>

  /** The same on all executions that a filter selects. */
  readonly many: Many
}

/**
 * Runs a command on many to its end, and counts.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Control, Definition, MemoryStore } from "holdfast"
 *
 * const Order = Definition.make("order", {
 *   context: Schema.Struct({ customer: Schema.String }),
 *   attributes: { customer: (order) => order.customer }
 * })
 *
 * const program = Effect.gen(function* () {
 *   yield* Order.start("order-17", { customer: "c-1" })
 *   const control = yield* Control.make()
 *   const orders = yield* Order.filter({ where: { customer: "c-1" } })
 *   const { changed } = yield* Control.total(control.many.cancel(orders, { reason: { text: "the account was closed" } }))
 *   return changed // 1
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category accessors
 */
export const total = <E, R>(pages: Stream.Stream<BulkPage | DeadLetterBulkPage, E, R>): Effect.Effect<Totals, E, R> =>
  Stream.runFold(pages, { selected: 0, changed: 0, unchanged: 0, failed: 0, corrupt: 0 }, (sum, page) => ({
    selected: sum.selected + page.selected.length,
    changed: sum.changed + page.changed.length,
    unchanged: sum.unchanged + page.unchanged.length,
    failed: sum.failed + ("failed" in page ? page.failed.length : 0),
    corrupt: sum.corrupt + page.corrupt.length
  }))

/**
 * The service of the control plane.
 *
 * @since 0.1.0
 * @category tags
 */
export const Control: Context.Tag<Control, Control> = Context.GenericTag<Control>("holdfast/Control")

/**
 * - `conflictRetry`: when to run a command on an execution again where another commit came first; by default exponential from 5
 *   milliseconds, jittered, up to 10 attempts.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly conflictRetry?: Schedule.Schedule<unknown, StoreConflict> | undefined
}

/**
 * The control plane of the store in context. It needs no workers: an operator's script may use it beside the processes that run the
 * executions.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Control, Execution, ExecutionStore, MemoryStore } from "holdfast"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* ExecutionStore.ExecutionStore
 *   yield* store.save(Execution.make({ id: "order-17", definitionId: "order" }))
 *
 *   const control = yield* Control.make()
 *   const { changed } = yield* control.suspend("order-17") // changed: ["order-17"]
 *   yield* control.resume("order-17")
 *   return changed
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (options?: Options) => Effect.Effect<Control, StoreRejected, ExecutionStore> = internal.make

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<Control, StoreRejected, ExecutionStore> =>
  Layer.effect(Control, make(options))
