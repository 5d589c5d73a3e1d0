import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Metrics from "../../Metrics.js"
import type { Processed } from "../../Processor.js"
import { ExecutionNotFound, ExecutionSuspended } from "../../ProcessorError.js"
import * as metrics from "../telemetry/metrics.js"

/** What has been seen of an event on its way: whose execution it is for, and how often its step began. */
export interface Seen {
  definition: string
  attempts: number
}

const metricsOf = metrics.memoized((definition) => ({
  outcomes: metrics.memoized((outcome) => metrics.instrument(Metrics.events, { definition, outcome })),
  seconds: metrics.instrument(Metrics.eventDuration, { definition }),
  retries: metrics.instrument(Metrics.conflictRetries, { definition })
}))

const failureOf = (error: unknown): string => {
  if (error instanceof ExecutionSuspended) return "suspended"
  return error instanceof ExecutionNotFound ? "unknown" : "failed"
}

const outcomeOf = <E>(exit: Exit.Exit<Processed, E>): string => {
  if (Exit.isFailure(exit)) return failureOf(Option.getOrUndefined(Cause.failureOption(exit.cause)))
  return exit.value._tag === "Advanced" ? "advanced" : exit.value.reason
}

/** Counts and measures the event, and tells the span around what became of it. */
export const measured =
  (seen: Seen) =>
  <E>(processed: Effect.Effect<Processed, E>): Effect.Effect<Processed, E> =>
    metrics.timed(processed, (exit, time, labels, span) => {
      const { outcomes, retries, seconds } = metricsOf(seen.definition)
      const outcome = outcomeOf(exit)
      outcomes(outcome)(1, labels)
      seconds(time, labels)
      if (seen.attempts > 1) retries(seen.attempts - 1, labels)
      span?.attribute("outcome", outcome)
      span?.attribute("attempts", seen.attempts)
    })

const remembered = {
  hit: metrics.instrument(Metrics.executionCache, { outcome: "hit" }),
  stale: metrics.instrument(Metrics.executionCache, { outcome: "stale" }),
  miss: metrics.instrument(Metrics.executionCache, { outcome: "miss" })
}

/** Counts what came of what was remembered of the executions of events. */
export const countRemembered = (
  fiber: Fiber.RuntimeFiber<unknown, unknown>
): ((outcome: keyof typeof remembered) => void) => {
  const labels = metrics.labelsOf(fiber)
  return (outcome) => remembered[outcome](1, labels)
}

/** Begins to measure events that begin together; what it gives is told of each that advanced its execution at the first attempt. */
export const begin = (fiber: Fiber.RuntimeFiber<unknown, unknown>): ((definition: string) => void) => {
  const elapsed = metrics.begin(fiber)
  return (definition) => {
    const { labels, seconds } = elapsed()
    const known = metricsOf(definition)
    known.outcomes("advanced")(1, labels)
    known.seconds(seconds, labels)
  }
}
