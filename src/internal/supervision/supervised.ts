import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../../StoreError.js"
import * as telemetryContext from "../telemetry/context.js"
import { describe } from "./storeOutage.js"

/**
 * Runs a loop in a fiber of its own until the scope closes, and then what comes last. Gives an effect that waits for the failure that ended
 * the loop; it ends no other way.
 */
export const run = (
  loop: Effect.Effect<never, StoreError>,
  report: (message: string) => Effect.Effect<void>,
  last: Effect.Effect<void> = Effect.void
): Effect.Effect<Effect.Effect<never, StoreError>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fatal = yield* Deferred.make<never, StoreError>()

    const onExit = (exit: Exit.Exit<never, StoreError>) =>
      Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)
        ? Effect.gen(function* () {
            const message = `the worker ended: ${describe(exit.cause)}`
            yield* report(message)
            yield* Effect.logFatal(message, exit.cause)
            yield* Deferred.failCause(fatal, exit.cause)
          })
        : Effect.void

    yield* Effect.acquireRelease(
      loop.pipe(Effect.interruptible, Effect.onExit(onExit), telemetryContext.unparented, Effect.forkDaemon),
      (fiber) => Effect.zipRight(Fiber.interrupt(fiber), last)
    )
    return Deferred.await(fatal)
  })
