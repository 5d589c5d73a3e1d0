import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { DeliveryTimedOut } from "../../QueueWorker.js"
import type { MakeChild } from "../../SpawnRelay.js"
import { bounded } from "../processor/transitionTimeout.js"

/** For how long a transition may run, and what else a worker runs of the application. */
export interface Options {
  readonly transitionTimeout?: Duration.DurationInput | undefined
}

/** What is not a transition takes no longer than one: what never ends must not keep others from being delivered. */
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

/** What makes a child, within the time. */
export const child = <E, R>(
  options: Options,
  make: MakeChild<E, R> | undefined
): MakeChild<E | DeliveryTimedOut, R> | undefined =>
  make &&
  ((spawn, parent) => {
    const made = Effect.suspend(() => make(spawn, parent))
    return deliver(options, "child", made)
  })
