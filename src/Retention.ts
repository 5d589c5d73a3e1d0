/**
 * Removes what is old: events from the dedupe ledger, and trees of executions that are finished. Nothing is removed unless it is asked for.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { ExecutionStore } from "./ExecutionStore.js"
import * as internal from "./internal/control/retention.js"
import type { Outage } from "./QueueWorker.js"
import type { StoreError, StoreRejected } from "./StoreError.js"

/**
 * What is removed, and when. Without `processed` and `finished`, nothing is.
 *
 * - `processed`: how long an execution remembers at least which events it has consumed. It must be longer than an event can be sent again
 *   with the same id: than relays retry it (`retry` and `maxAttempts`; by default about 2 hours), than a dead letter may wait before it is
 *   redriven, and than other systems repeat what they send. An event that comes again later than that takes effect again. What belongs to
 *   executions to which an event is pending, or of which there is a dead letter, is kept.
 * - `finished`: how long a tree of executions is kept after the last of them finished. Only whole trees are removed, from their root, with
 *   all that the store keeps of them: never one with an execution that lives, that is still to be created, or that does not decode.
 * - `failed`: whether executions that are `FAILED` count as finished, by the time of their last commit; by default they are kept, with the
 *   trees that they are in.
 * - `definitionId`: only trees whose root follows this definition; by default all.
 * - `interval`: how often to look, by default 1 hour, at most 1 day. What is removed is older than asked for by up to that long.
 * - `batchSize`: how many rows are read, and events removed, at most at once, 1 to 1,000, by default 500. A database in this process gets
 *   fewer: as many as keep the process for about 3 milliseconds. Between batches others have their turn.
 * - `pause`: how long to rest between batches of that size, by default 100 milliseconds; between smaller ones accordingly less.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly processed?: Duration.DurationInput | undefined
  readonly finished?: Duration.DurationInput | undefined
  readonly failed?: boolean | undefined
  readonly definitionId?: string | undefined
  readonly interval?: Duration.DurationInput | undefined
  readonly batchSize?: number | undefined
  readonly pause?: Duration.DurationInput | undefined
}

/**
 * How many events and executions were removed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Removed {
  readonly processed: number
  readonly executions: number
}

/**
 * How it is.
 *
 * - `lastRun`: when it last was through, in seconds since the epoch; none before the first time.
 * - `lastError`: the last thing that went wrong, and when, in seconds since the epoch. It stays when all is well again.
 * - `outage`: what it waits out now, where the store does not let it go on; none otherwise.
 * - `removed`: what it has removed since it began.
 *
 * @since 0.1.0
 * @category models
 */
export interface Health {
  readonly lastRun: Option.Option<number>
  readonly lastError: Option.Option<{ readonly time: number; readonly message: string }>
  readonly outage: Option.Option<Outage>
  readonly removed: Removed
}

/**
 * Removes what is old at each `interval`, until the scope closes. Where the store fails, it begins again as soon as the store answers.
 * Several processes may do so on one store.
 *
 * - `health`: how it is.
 * - `awaitFatal`: dies with the defect that ended it. It ends no other way.
 *
 * @since 0.1.0
 * @category models
 */
export interface Retention {
  readonly health: Effect.Effect<Health>
  readonly awaitFatal: Effect.Effect<never>
}

/**
 * @since 0.1.0
 * @category tags
 */
export const Retention: Context.Tag<Retention, Retention> = Context.GenericTag<Retention>("holdfast/Retention")

/**
 * Goes through the store once. Events are removed that were in the ledger when a run of `processed` ago, or longer, began: the first runs
 * remove none.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run: (options: Options) => Effect.Effect<Removed, StoreError, ExecutionStore> = internal.run

/**
 * Begins to remove what is old. Fails with `StoreRejected` where an option is not one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (options: Options) => Effect.Effect<Retention, StoreRejected, ExecutionStore | Scope.Scope> =
  internal.make

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Retention, StoreRejected, ExecutionStore> =>
  Layer.scoped(Retention, make(options))
