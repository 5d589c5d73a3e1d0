/**
 * The control plane: what an operator does to executions. It needs the store alone, so it works from any process, with workers or without.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import type { ChildrenLive, ControlConflict, HasParent, NoSuchExecution, WrongStatus } from "./ControlError.js"
import type { Event } from "./Event.js"
import type { ExecutionStore } from "./ExecutionStore.js"
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
}

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
