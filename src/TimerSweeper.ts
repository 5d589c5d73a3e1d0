/**
 * The worker that fires timers when they are due.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Timer } from "./Commit.js"
import type * as Event from "./Event.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import * as internal from "./internal/relays/timerSweeper.js"
import type { Delivered, Delivery, QueueWorker, Options as WorkerOptions } from "./QueueWorker.js"
import type { StoreRejected } from "./StoreError.js"

/**
 * - `deliver`: gets the `Timeout` event of every timer that is due, at least once, with the same id each time. A timer can be cancelled
 *   after the sweeper read it: a delivery that must not fire a cancelled timer asks `ExecutionStore.timers.isArmed`, as the processor does.
 * - `pollInterval`: how often to look for timers that other processes armed; by default 5 seconds, at most a day. Meanwhile the sweeper
 *   sleeps until the next timer is due, and wakes when this process arms an earlier one.
 * - the others: see `QueueWorker.Options`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> extends WorkerOptions {
  readonly deliver: (timer: Timer, event: Event.Event, delivery: Delivery) => Effect.Effect<Delivered, E, R>
}

/**
 * The timer sweeper. Timers of one execution fire in the order of their times, different executions side by side. A timer is removed when
 * it is delivered, unless it was armed for another time meanwhile. The sweeper also puts delayed events into the outbox when they are due.
 *
 * A timer that fails is tried again as `retry` says; later timers of the same execution wait for it, others do not. The store remembers
 * attempts and error over restarts. After `maxAttempts` the timer is a dead letter. It is one at once where the delivery fails with
 * `QueueWorker.Refused` or `QueueWorker.TargetNotFound`, and where the row is no timer. `QueueWorker.Postponed`, a processor's
 * `ExecutionSuspended` and `StoreUnavailable` count as no attempt: the timer waits, and is tried at once when a commit of this process
 * advances the execution.
 *
 * The id of a `Timeout` event is made of execution, path and time. So a timer that fired and is armed again for exactly the same time makes
 * the same event, which its execution has consumed: it is removed without effect. Arm it for a later time.
 *
 * @since 0.1.0
 * @category models
 */
export interface TimerSweeper extends QueueWorker {}

/**
 * The service of the timer sweeper.
 *
 * @since 0.1.0
 * @category tags
 */
export const TimerSweeper: Context.Tag<TimerSweeper, TimerSweeper> =
  Context.GenericTag<TimerSweeper>("holdfast/TimerSweeper")

/**
 * Starts a sweeper, which runs until the scope closes. The services that `deliver` needs are taken from the context here.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: <E = never, R = never>(
  options: Options<E, R>
) => Effect.Effect<TimerSweeper, StoreRejected, ExecutionStore | Scope.Scope | R> = (options) => internal.make(options)

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { TimerSweeper } from "holdfast"
 *
 * // For an application that uses the store for its timers. `ExecutionRuntime.layer` starts a sweeper of its own.
 * const Sweeper = TimerSweeper.layer({
 *   pollInterval: "30 seconds",
 *   deliver: ({ executionId, path }) => Effect.as(Effect.log(`${executionId}: ${path} is due`), "Delivered" as const)
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  options: Options<E, R>
): Layer.Layer<TimerSweeper, StoreRejected, ExecutionStore | Exclude<R, Scope.Scope>> =>
  Layer.scoped(TimerSweeper, make(options))
