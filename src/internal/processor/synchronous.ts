import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Event } from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { Transition } from "../../Processor.js"
import type { Step } from "../../Step.js"

/**
 * A transition that is told the time, in seconds since the epoch. Where it needs nothing else it gives an `Exit`, which needs no fiber: making one
 * takes as long as all the rest of an event. It runs the code of the definition, and so is called once for each attempt.
 */
export type Synchronous<E, R> = (execution: Execution, event: Event, now: number) => Effect.Effect<Step, E, R>

/** What is known of transitions, which a `WeakMap` could not say in types. */
const known = new WeakMap<object, object>()

const isOf = <E, R>(_: Transition<E, R>, found: object | undefined): found is Synchronous<E, R> => found !== undefined

/** The transition as one that is told the time. */
export const of = <E, R>(transition: Transition<E, R>): Synchronous<E, R> => {
  const found = known.get(transition)
  return isOf(transition, found) ? found : transition
}

/** Says how a transition is run by who knows the time. */
export const mark = <E, R>(transition: Transition<E, R>, synchronous: Synchronous<E, R>): Transition<E, R> => {
  known.set(transition, synchronous)
  return transition
}

/** Whether it is done, and well. */
export const isDone = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

/** Changes what a transition gives, unless it is done: then there is nothing left to change in how it runs. */
export const mapRunning = <E, R, E2, R2>(
  transition: Transition<E, R>,
  change: (made: Effect.Effect<Step, E, R>, execution: Execution, event: Event) => Effect.Effect<Step, E2, R2>
): Transition<E2, R2> =>
  mark<E2, R2>(
    (execution, event) => change(transition(execution, event), execution, event),
    (execution, event, now) => {
      const made = of(transition)(execution, event, now)
      return isDone(made) ? Exit.succeed(made.value) : change(made, execution, event)
    }
  )

/** What code gives that may throw: it dies then. */
export const called = <A, E, R>(code: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    return code()
  } catch (defect) {
    return Exit.die(defect)
  }
}
