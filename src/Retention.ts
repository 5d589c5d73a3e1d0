/**
 * Removes what is old: events from the dedupe ledger, and trees of executions that are finished. Without options it removes nothing.
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
 * - `processed`: for how long an execution remembers at least which events it has consumed. An event that comes again later than that takes
 *   effect again. So it must be longer than the time in which an event can be sent again with the same id: by relays that retry it (`retry`
 *   and `maxAttempts`; by default about 2 hours), from a dead letter that is redriven, and by other systems that repeat what they send.
 *   Events of an execution are kept while an event to it is pending, or it has a dead letter.
 * - `finished`: how long a tree of executions is kept after the last of them finished. Only whole trees are removed, with all that the
 *   store keeps of them: never one with an execution that is not finished, is still to be created, or does not decode.
 * - `failed`: whether `FAILED` executions count as finished, from the time of their last commit. By default they are kept, with the trees
 *   that they are in.
 * - `definitionId`: only trees whose root follows this definition; by default all.
 * - `interval`: how often to look, by default 1 hour, at most 1 day. What is old is removed up to that much later.
 * - `batchSize`: how many rows are read, and events removed, at most at once, 1 to 1,000, by default 500. For a database in this process
 *   they are fewer: as many as take about 3 milliseconds, because nothing else runs meanwhile.
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
 * The state of the removal.
 *
 * - `lastRun`: when it last went through the whole store, in seconds since the epoch; none before the first time.
 * - `lastError`: the last failure and when it was, in seconds since the epoch. It is kept when later runs succeed.
 * - `outage`: the outage of the store that it waits for the end of; none where there is none.
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
 * - `health`: its state.
 * - `awaitFatal`: waits for the defect that ends it, and dies with it. Nothing else ends it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Retention {
  readonly health: Effect.Effect<Health>
  readonly awaitFatal: Effect.Effect<never>
}

/**
 * The service of the removal.
 *
 * @since 0.1.0
 * @category tags
 */
export const Retention: Context.Tag<Retention, Retention> = Context.GenericTag<Retention>("holdfast/Retention")

/**
 * Goes through the store once, and gives what was removed. It removes events that were in the ledger at a run that is at least `processed`
 * ago: so the first runs remove none.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run: (options: Options) => Effect.Effect<Removed, StoreError, ExecutionStore> = internal.run

/**
 * Starts to remove what is old, until the scope closes.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (options: Options) => Effect.Effect<Retention, StoreRejected, ExecutionStore | Scope.Scope> =
  internal.make

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { MemoryStore, Retention } from "holdfast"
 *
 * // Beside workers that the application starts itself. `ExecutionRuntime.layer` has the option `retention`.
 * const Live = Retention.layer({ processed: "7 days", finished: "90 days" }).pipe(Layer.provideMerge(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Retention, StoreRejected, ExecutionStore> =>
  Layer.scoped(Retention, make(options))
