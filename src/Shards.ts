/**
 * Shares the lanes of the workers (event targets, children, executions with timers) among the processes of one store.
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
import * as sharing from "./internal/shards/assignment.js"
import * as internal from "./internal/shards/shards.js"
import type { FencingToken } from "./Lease.js"
import type { Outage } from "./QueueWorker.js"
import type { StoreRejected } from "./StoreError.js"

/**
 * How lanes are shared. All processes of a store must have the same `count`: those with different ones do not know of each other, and do
 * the same work.
 *
 * - `count`: into how many shards the lanes are divided, 1 to 1,024, by default 32. With more processes than shards, some have none.
 * - `ttl`: how long a process keeps its shards without renewing them, by default 10 seconds, at least 1 second. It renews them three times
 *   as often. Other processes take over the shards of one that crashed within `ttl` and a third more.
 * - `handover`: how long a process stops working on a shard before it gives it to another, so that running work can end; by default half a
 *   second.
 * - `holder`: the name of this process, by default a new id. No two running processes may have the same. A process that starts again under
 *   its name goes on with its shards at once; under a new name it waits for `ttl`.
 * - `service`: the name of the group of processes that share, of at most 200 characters; by default all processes of the store are one
 *   group. Processes with different definitions must be in different groups: otherwise a shard could belong to a process that cannot do its
 *   work.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly count?: number | undefined
  readonly ttl?: Duration.DurationInput | undefined
  readonly handover?: Duration.DurationInput | undefined
  readonly holder?: string | undefined
  readonly service?: string | undefined
}

/**
 * The numbers of the shards that this process has gained and lost.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly gained: ReadonlyArray<number>
  readonly lost: ReadonlyArray<number>
}

/**
 * The state of sharing.
 *
 * - `owned`: the shards of this process, in order.
 * - `members`: how many processes share, as far as this one knows; 0 before the first renewal.
 * - `lastRenewal`: when this process last renewed its shards, in seconds since the epoch; none before the first time.
 * - `lastError`: the last failure and when it was, in seconds since the epoch. It is kept when later renewals succeed.
 * - `outage`: since when the shards cannot be renewed, and why; none while they can.
 *
 * @since 0.1.0
 * @category models
 */
export interface Health {
  readonly owned: ReadonlyArray<number>
  readonly members: number
  readonly lastRenewal: Option.Option<number>
  readonly lastError: Option.Option<{ readonly time: number; readonly message: string }>
  readonly outage: Option.Option<Outage>
}

/**
 * The shards of this process. After a long pause of one process, two may believe to own the same shard for a while. Then work is done
 * twice, but only the process that holds the lease writes what comes of it.
 *
 * - `holder`, `count`: see {@link Options}.
 * - `owns`: whether a lane belongs to this process now. While the store cannot be reached for longer than `ttl`, none does.
 * - `fence`: the fencing number of the lane's shard, none where it is not owned. It grows each time that the shard changes hands.
 * - `token`: the token by which the writes are fenced that settle work of the lane (see `Lease.fencedBy`), none where it is not owned.
 * - `forfeit`: gives up the shard of a token that the store refused, until a renewal shows who has it.
 * - `onChange`: calls the listener at each change until the scope closes. The listener must be quick and must not throw.
 * - `health`: the state of sharing.
 * - `awaitFatal`: waits for the defect that ends sharing, and dies with it. From then on nothing is owned.
 *
 * @since 0.1.0
 * @category models
 */
export interface Shards {
  readonly holder: string
  readonly count: number
  readonly owns: (lane: string | null) => boolean
  readonly fence: (lane: string | null) => Option.Option<number>
  readonly token: (lane: string | null) => Option.Option<FencingToken>
  readonly forfeit: (token: FencingToken) => Effect.Effect<void>
  readonly onChange: (listener: (change: Change) => void) => Effect.Effect<void, never, Scope.Scope>
  readonly health: Effect.Effect<Health>
  readonly awaitFatal: Effect.Effect<never>
}

/**
 * The service of the shards.
 *
 * @since 0.1.0
 * @category tags
 */
export const Shards: Context.Tag<Shards, Shards> = Context.GenericTag<Shards>("holdfast/Shards")

/**
 * Joins the processes that share, until the scope closes; then the shards are given back. It does not wait for the first renewal: at first
 * nothing is owned.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (options?: Options) => Effect.Effect<Shards, StoreRejected, ExecutionStore | Scope.Scope> =
  internal.make

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { MemoryStore, OutboxRelay, Shards } from "holdfast"
 *
 * // For workers that the application starts itself. `ExecutionRuntime.layer` has the option `leases`.
 * const Relay = Layer.unwrapEffect(
 *   Effect.map(Shards.Shards, (shards) =>
 *     OutboxRelay.layer({
 *       shards,
 *       deliver: ({ event }) => Effect.as(Effect.log(event.kind), "Delivered" as const)
 *     })
 *   )
 * ).pipe(Layer.provide(Shards.layer({ service: "orders" })), Layer.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<Shards, StoreRejected, ExecutionStore> =>
  Layer.scoped(Shards, make(options))

/**
 * The shard of a lane, 0 to `count - 1`: the same in every process.
 *
 * @since 0.1.0
 * @category utils
 */
export const shardOf: (lane: string | null, count: number) => number = sharing.shardOf
