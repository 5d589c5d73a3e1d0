import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"

/** How long a transition may run. The processor provides it to the policies around transitions. */
export class TransitionTimeout extends Context.Reference<TransitionTimeout>()("holdfast/TransitionTimeout", {
  defaultValue: (): Duration.Duration => Duration.minutes(1)
}) {}

/** Runs an effect for as long as a transition may run: see {@link bounded}. */
export const within = <A, E, R, E2>(
  effect: Effect.Effect<A, E, R>,
  onTimeout: (timeout: Duration.Duration) => E2
): Effect.Effect<A, E | E2, R> => Effect.flatMap(TransitionTimeout, (timeout) => bounded(effect, timeout, onTimeout))

/**
 * Runs an effect for so long at most. One that takes longer is interrupted and not waited for: it may be what never ends, and whoever runs
 * it has others to run.
 *
 * It runs in a fiber of its own, at once and as far as it goes without waiting. Most transitions are done then, and nothing has been spent
 * on a clock: `Effect.timeoutFail` takes four times as long.
 */
export const bounded = <A, E, R, E2>(
  effect: Effect.Effect<A, E, R>,
  timeout: Duration.Duration,
  onTimeout: (timeout: Duration.Duration) => E2
): Effect.Effect<A, E | E2, R> => (Duration.isFinite(timeout) ? inOwnFiber(effect, timeout, onTimeout) : effect)

/**
 * An effect in a fiber of its own, whose failure is its caller's: the fiber ends well with it. One that failed would log that itself, with the
 * application's texts as they are.
 */
export type Running<A, E> = Fiber.RuntimeFiber<Exit.Exit<A, E>>

/** Runs an effect in a fiber of its own, at once and as far as it goes without waiting. */
export const start = <A, E, R>(runtime: Runtime.Runtime<R>, effect: Effect.Effect<A, E, R>): Running<A, E> =>
  Runtime.runFork(runtime)(Effect.exit(effect))

/** How it ended; nothing while it waits. */
export const poll = <A, E>(running: Running<A, E>): Exit.Exit<A, E> | undefined => {
  const exit = running.unsafePoll()
  return exit === null ? undefined : Exit.flatten(exit)
}

/** Waits for its end; where the caller is interrupted, so is the effect. */
export const join = <A, E>(running: Running<A, E>): Effect.Effect<A, E> =>
  Effect.onInterrupt(Effect.flatMap(Fiber.await(running), Exit.flatten), () => Fiber.interrupt(running))

const inOwnFiber = <A, E, R, E2>(
  effect: Effect.Effect<A, E, R>,
  timeout: Duration.Duration,
  onTimeout: (timeout: Duration.Duration) => E2
): Effect.Effect<A, E | E2, R> =>
  Effect.uninterruptibleMask((restore) =>
    // what the effect runs under is not masked
    Effect.flatMap(restore(Effect.runtime<R>()), (runtime) => {
      const running = start(runtime, effect)
      const exit = poll(running)
      if (exit !== undefined) return exit
      const late = Effect.failSync(() => onTimeout(timeout))
      return restore(Effect.timeoutOption(Fiber.await(running), timeout)).pipe(
        Effect.onInterrupt(() => Fiber.interrupt(running)),
        Effect.flatMap(
          (ended): Effect.Effect<A, E | E2> =>
            Option.isSome(ended) ? Exit.flatten(ended.value) : Effect.zipRight(Fiber.interruptFork(running), late)
        )
      )
    })
  )
