/**
 * Runs the activities that steps ask for.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Activity from "./Activity.js"
import type { ActivityRegistered, InvalidActivityHandler } from "./ActivityError.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import * as internal from "./internal/activity/worker.js"
import type { QueueWorker } from "./QueueWorker.js"
import type { StoreRejected } from "./StoreError.js"

/**
 * How activities are run.
 *
 * - `ttl`: after how long without a sign of life a process is taken for dead, and others run what it ran; by default 10 seconds, at least
 *   1. Each
 *   looks at its own clock alone.
 * - `pollInterval`: how often to look for what other processes asked for, by default 1 second. What this process writes is seen at once.
 * - `shutdownTimeout`: how long running activities may take when the scope closes, before they are interrupted and given back; by default
 *   10
 *   seconds.
 * - `name`: what people know this process by, of at most 200 characters: it is shown with what the process runs. Others may have the same.
 *   A runtime with leases gives the beginning of their `holder`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly ttl?: Duration.DurationInput | undefined
  readonly pollInterval?: Duration.DurationInput | undefined
  readonly shutdownTimeout?: Duration.DurationInput | undefined
  readonly name?: string | undefined
}

/**
 * An activity for which work waits, and that this worker does not have. `since` is when it saw such work first, in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface UnknownActivity {
  readonly name: string
  readonly since: number
}

/**
 * The worker of activities. Each is run by one process at a time, outside of its execution's lane: other events of the execution go on
 * meanwhile.
 * Its outcome is one event to its execution.
 *
 * - `register`: adds an activity to those that are run, until the scope closes; the services that the handler needs are taken here.
 *   `Activity.toLayer` does this.
 * - `unknown`: the activities that work waits for and that it does not have.
 *
 * @since 0.1.0
 * @category models
 */
export interface ActivityWorker extends QueueWorker {
  readonly register: <R>(
    activity: Activity.Any,
    handler: Activity.AnyHandler<R>
  ) => Effect.Effect<void, ActivityRegistered | InvalidActivityHandler, Scope.Scope | Exclude<R, Activity.CurrentRun>>
  readonly unknown: Effect.Effect<ReadonlyArray<UnknownActivity>>
}

/**
 * The service of the worker of activities.
 *
 * @since 0.1.0
 * @category tags
 */
export const ActivityWorker: Context.Tag<ActivityWorker, ActivityWorker> =
  Context.GenericTag<ActivityWorker>("holdfast/ActivityWorker")

/**
 * Starts a worker, which runs until the scope closes. Fails with `StoreRejected` where an option is none.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (options?: Options) => Effect.Effect<ActivityWorker, StoreRejected, ExecutionStore | Scope.Scope> =
  internal.make

/**
 * {@link make} as a layer. `ExecutionRuntime.layer` starts one.
 *
 * @example
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Activity, ActivityWorker, MemoryStore } from "holdfast"
 *
 * const Notify = Activity.make("notify")
 *
 * // A process that runs activities and no executions.
 * const Live = Layer.scopedDiscard(
 *   Effect.flatMap(ActivityWorker.ActivityWorker, (worker) => worker.register(Notify, () => Effect.log("notified")))
 * ).pipe(Layer.provideMerge(ActivityWorker.layer({ ttl: "30 seconds" })), Layer.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<ActivityWorker, StoreRejected, ExecutionStore> =>
  Layer.scoped(ActivityWorker, make(options))
