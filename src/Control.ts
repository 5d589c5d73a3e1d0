/**
 * The control plane: what an operator does to executions, past their events. It needs the store alone, so that it works from any process,
 * with workers or without.
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
 * What a command came to.
 *
 * - `changed`: the ids of the executions that it changed or, purging, removed.
 * - `corrupt`: rows of the tree that do not decode, and were passed over.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly changed: ReadonlyArray<string>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
}

/**
 * - `reason`: becomes the data of the `Cancel` event.
 * - `children`: what becomes of the children that are there when the command comes: `"terminate"`, the default, ends them at once;
 *   `"cancel"` cancels them in the same way.
 *
 * @since 0.1.0
 * @category models
 */
export interface CancelOptions {
  readonly reason?: JsonObject | undefined
  readonly children?: "terminate" | "cancel" | undefined
}

/**
 * - `activePath`: where the execution goes on, by default where it failed. With it the history of composite states is dropped.
 * - `event`: an event to send to it in the same commit: what it failed at, under an id that it has not consumed.
 *
 * @since 0.1.0
 * @category models
 */
export interface RedriveOptions {
  readonly activePath?: string | undefined
  readonly event?: Event | undefined
}

/**
 * - `failed`: whether executions that are `FAILED` may be removed too; by default they are kept, to be redriven or terminated first.
 *
 * @since 0.1.0
 * @category models
 */
export interface PurgeOptions {
  readonly failed?: boolean | undefined
}

/**
 * The commands. Each is for an execution and all below it, except `redrive`. Each execution is changed in a commit of its own, with a step
 * of kind `Control` in its trace, and again from the start where another commit comes first. A command that is cut off leaves a part of the
 * tree changed, and goes on from there when it is repeated.
 *
 * @since 0.1.0
 * @category models
 */
export interface Control {
  /**
   * Keeps an execution, and all below it, from taking events: `PENDING` and `RUNNING` become `SUSPENDED`. Events and timers wait in the
   * store. An execution that is suspended already is no error.
   */
  readonly suspend: (
    executionId: string
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ControlConflict | StoreError>

  /**
   * Lets a suspended execution, and all below it that are, go on: `SUSPENDED` becomes what it was, `PENDING` or `RUNNING`. What waited is
   * delivered at once where the workers run in this process, elsewhere at the next poll. Those below come first.
   */
  readonly resume: (
    executionId: string
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ControlConflict | StoreError>

  /**
   * Asks an execution to end: it becomes `CANCELLING` and is sent a `Cancel` event, in one commit; its transition cleans up and finishes
   * it. Where there is nothing to clean up, because it never began or has failed, it is terminated. Its children are terminated, unless the
   * options say otherwise; children that the clean-up creates are left alone. An execution that is `CANCELLING` or `CANCELLED` already is
   * no error, and is not asked again.
   */
  readonly cancel: (
    executionId: string,
    options?: CancelOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ControlConflict | StoreError>

  /**
   * Ends an execution, and all below it, at once, without clean-up: what is not `DONE` becomes `CANCELLED`, and children still to be created
   * are not. Events to it are dropped as they come. A parent above it is sent a `Finished` event with the outcome `cancelled`. An execution
   * that is `CANCELLED` already is no error.
   */
  readonly terminate: (
    executionId: string
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ControlConflict | StoreError>

  /**
   * Gives a `FAILED` execution, and it alone, another chance: it becomes `RUNNING` and its error is cleared.
   *
   * Fails with `ChildrenLive` where it is to go on elsewhere while children of it live: it would lose them.
   */
  readonly redrive: (
    executionId: string,
    options?: RedriveOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ChildrenLive | ControlConflict | StoreError>

  /**
   * Removes a finished execution and all below it, with everything that the store keeps of them; children first, and each only where it is
   * as it was when the tree was looked at.
   *
   * Fails with `ChildrenLive` where one of them is not `DONE` or `CANCELLED` or is still to be created, with `HasParent` where the parent is
   * stored, and with `StoreCorrupt` where a row of the tree does not decode.
   */
  readonly purge: (
    executionId: string,
    options?: PurgeOptions
  ) => Effect.Effect<Report, NoSuchExecution | WrongStatus | ChildrenLive | HasParent | ControlConflict | StoreError>
}

/**
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
 * The control plane of a store. Fails with `StoreRejected` where an option is not one.
 *
 * @example
 * import { Control } from "holdfast"
 * import * as Effect from "effect/Effect"
 *
 * const stop = Effect.flatMap(Control.make(), (control) => control.suspend("order-17"))
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
