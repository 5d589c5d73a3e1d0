/**
 * Shares the lanes of the workers (targets, children, executions) among the processes of one store.
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
 * How lanes are shared. All processes of a store must have the same `count`; those with another one share among themselves alone, and
 * then work is done twice.
 *
 * - `count`: into how many shards the lanes are divided, 1 to 1,024, by default 32. More processes than shards leave some without.
 * - `ttl`: how long a process holds its shards without renewing them, by default 10 seconds, at least 1 second. It renews them three times as
 *   often. The shards of one that crashed are another's when this and at most a third more has passed.
 * - `handover`: how long a shard that goes to another process is left alone before it is given back, so that what runs in it can end; by
 *   default half a second.
 * - `holder`: the name of this process, by default a new id. No other living process may have it. One that starts again under its name goes
 *   on with its shards at once, where under a new one it waits for `ttl`.
 * - `service`: which processes share, by default all of the store. Processes that do not have the same definitions must not: a shard would lie
 *   with one that cannot do its work. Give those with the same definitions one name, of at most 200 characters.
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
 * The shards, by number, that this process has gained and those that it has lost.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly gained: ReadonlyArray<number>
  readonly lost: ReadonlyArray<number>
}

/**
 * How sharing is.
 *
 * - `owned`: the shards of this process, in order.
 * - `members`: how many processes share, as far as is known; 0 before the first renewal.
 * - `lastRenewal`: when this process last renewed its shards, in seconds since the epoch; none before the first time.
 * - `lastError`: the last thing that went wrong, and when, in seconds since the epoch. It stays when all is well again.
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
 * This process's part of the lanes. What two processes believe to own at the same time, after a long pause of one of them, is worked on
 * twice; what comes of it is written by the one that holds the lease alone.
 *
 * - `owns`: whether a lane is this process's now. While the store cannot be reached for longer than `ttl`, none is.
 * - `fence`: the fencing number of the lane's shard, none where it is not owned. It grows each time that the shard changes hands.
 * - `token`: what the writes are fenced by that settle work of the lane (see `Lease.fencedBy`), none where it is not owned.
 * - `forfeit`: gives up the shard of a token that the store refused, until a renewal shows who has it.
 * - `onChange`: tells the listener of each change until the scope closes. The listener must be quick and must not throw.
 * - `awaitFatal`: dies with the defect that ended sharing. Then nothing is owned.
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
 * @since 0.1.0
 * @category tags
 */
export const Shards: Context.Tag<Shards, Shards> = Context.GenericTag<Shards>("holdfast/Shards")

/**
 * Takes part in the sharing until the scope closes; then the shards are given back. It waits for no renewal: at first nothing is owned.
 *
 * Fails with `StoreRejected` where an option is not one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (options?: Options) => Effect.Effect<Shards, StoreRejected, ExecutionStore | Scope.Scope> =
  internal.make

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<Shards, StoreRejected, ExecutionStore> =>
  Layer.scoped(Shards, make(options))

/**
 * The shard of a lane: the same in every process.
 *
 * @since 0.1.0
 * @category utils
 */
export const shardOf: (lane: string | null, count: number) => number = sharing.shardOf
