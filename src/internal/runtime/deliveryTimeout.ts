import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { DeliveryTimedOut } from "../../QueueWorker.js"
import type { MakeChild } from "../../SpawnRelay.js"
import { bounded } from "../processor/transitionTimeout.js"

/** How long a transition may run, and the other code of the application that a worker runs. */
export interface Options {
  readonly transitionTimeout?: Duration.DurationInput | undefined
}

/**
 * Limits code of the application that is no transition to the same time. Code that never ends would hold a place of the worker for ever.
 */
export const deliver = <A, E, R>(
  { transitionTimeout = "1 minute" }: Options,
  work: DeliveryTimedOut["work"],
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | DeliveryTimedOut, R> =>
  bounded(
    effect,
    Duration.decode(transitionTimeout),
    (timeout) => new DeliveryTimedOut({ work, after: Duration.toSeconds(timeout) })
  )

/** The function that makes a child, limited to the time. */
export const child = <E, R>(
  options: Options,
  make: MakeChild<E, R> | undefined
): MakeChild<E | DeliveryTimedOut, R> | undefined =>
  make &&
  ((spawn, parent) => {
    const made = Effect.suspend(() => make(spawn, parent))
    return deliver(options, "child", made)
  })
