/**
 * What the workers, the two relays and the timer sweeper, have in common: how they are, and how they end.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { StoreError } from "./StoreError.js"

/**
 * How a worker is.
 *
 * - `lastRun`: when it last read its work from the store, in seconds since the epoch; none before the first time.
 * - `lastError`: the last thing that went wrong, and when, in seconds since the epoch. It stays when all is well again.
 * - `backlog`: how much work it has taken and not finished. What else waits, the store knows.
 * - `held`: how many lanes (targets, children, executions) it holds back because their work failed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Health {
  readonly lastRun: Option.Option<number>
  readonly lastError: Option.Option<{ readonly time: number; readonly message: string }>
  readonly backlog: number
  readonly held: number
}

/**
 * A worker: a fiber that runs until its scope closes. Then it takes no more work, finishes what it is doing and leaves the rest in the
 * store.
 *
 * - `awaitQuiet`: waits until it sleeps with nothing in hand. What its store still holds then failed and is tried again later, is not due,
 *   or was written by another process since.
 * - `awaitFatal`: waits for the failure that ended the worker: a store that refuses to be read, or a defect. It ends no other way.
 *
 * @since 0.1.0
 * @category models
 */
export interface Worker {
  readonly health: Effect.Effect<Health>
  readonly awaitQuiet: Effect.Effect<void>
  readonly awaitFatal: Effect.Effect<never, StoreError>
}

/**
 * What a delivery came to: `"Delivered"` leaves it to the worker to remove the row, `"Acknowledged"` says that the delivery has removed
 * it, as a commit with its `ack` does.
 *
 * @since 0.1.0
 * @category models
 */
export type Delivered = "Delivered" | "Acknowledged"
