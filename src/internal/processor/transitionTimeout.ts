import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
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
 * Runs effects each in a fiber whose failure is its caller's: it must not log it itself, which it would do with the application's texts as
 * they are. Fibers that the effect forks log as ever. Each runs at once, as far as it goes without waiting.
 */
export const awaitedIn = <R>(
  runtime: Runtime.Runtime<R>
): (<A, E>(effect: Effect.Effect<A, E, R>) => Fiber.RuntimeFiber<A, E>) => {
  const level = FiberRefs.getOrDefault(runtime.fiberRefs, FiberRef.unhandledErrorLogLevel)
  const fork = Runtime.runFork(Runtime.setFiberRef(runtime, FiberRef.unhandledErrorLogLevel, Option.none()))
  return (effect) => fork(Effect.withUnhandledErrorLogLevel(effect, level))
}

/** Waits for a fiber that is its caller's; where the caller is interrupted, so is the fiber. */
export const join = <A, E>(fiber: Fiber.RuntimeFiber<A, E>): Effect.Effect<A, E> =>
  Effect.onInterrupt(Effect.flatten(Fiber.await(fiber)), () => Fiber.interrupt(fiber))

const inOwnFiber = <A, E, R, E2>(
  effect: Effect.Effect<A, E, R>,
  timeout: Duration.Duration,
  onTimeout: (timeout: Duration.Duration) => E2
): Effect.Effect<A, E | E2, R> =>
  Effect.uninterruptibleMask((restore) =>
    // what the effect runs under is not masked
    Effect.flatMap(restore(Effect.runtime<R>()), (runtime) => {
      const fiber = awaitedIn(runtime)(effect)
      const exit = fiber.unsafePoll()
      if (exit !== null) return exit
      const late = Effect.failSync(() => onTimeout(timeout))
      return restore(Effect.timeoutOption(Fiber.await(fiber), timeout)).pipe(
        Effect.onInterrupt(() => Fiber.interrupt(fiber)),
        Effect.flatMap(
          (ended): Effect.Effect<A, E | E2> =>
            Option.isSome(ended) ? ended.value : Effect.zipRight(Fiber.interruptFork(fiber), late)
        )
      )
    })
  )
