import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as telemetryContext from "../telemetry/context.js"
import * as log from "../telemetry/log.js"
import { describe } from "../util/causeText.js"
import type { StoreMonitor } from "./storeMonitor.js"
import * as storeMonitor from "./storeMonitor.js"

/**
 * Runs a loop in a fiber of its own until the scope closes, and then what comes `last`. The loop fails with nothing: what the store answers
 * it waits out (see `storeMonitor`). Gives an effect that dies with the defect that ended the loop; it ends no other way.
 */
export const run = (
  monitor: StoreMonitor,
  loop: Effect.Effect<never>,
  last: Effect.Effect<void> = Effect.void
): Effect.Effect<Effect.Effect<never>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fatal = yield* Deferred.make<never>()

    const onExit = (exit: Exit.Exit<never>) =>
      Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)
        ? Effect.gen(function* () {
            const message = `the worker ended: ${describe(exit.cause)}`
            yield* storeMonitor.report(monitor, message)
            yield* log.fatal(message, exit.cause)
            yield* Deferred.failCause(fatal, exit.cause)
          })
        : Effect.void

    yield* Effect.acquireRelease(
      loop.pipe(Effect.interruptible, Effect.onExit(onExit), telemetryContext.unparented, Effect.forkDaemon),
      (fiber) => Effect.zipRight(Fiber.interrupt(fiber), last)
    )
    return Deferred.await(fatal)
  })
