import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Tracer from "effect/Tracer"
import * as Metrics from "../../Metrics.js"
import * as metrics from "./metrics.js"

/** What became of work that failed. */
export type Outcome = "retried" | "postponed" | "dropped" | "dead" | "failed" | "lease-lost"

/** How one piece of work looks from outside. */
export interface Described {
  /** Since when it waits, in seconds since the epoch, where that is known. */
  readonly since: number | null
  /** What logs and spans say of it. */
  readonly annotations: { readonly [name: string]: string | number }
  /** What spans say beside. */
  readonly span?: (() => Tracer.SpanOptions) | undefined
}

/** What a worker tells of itself: metrics under its name, and a span for each attempt. */
export const make = (worker: string, spanName: string) => {
  const outcomes = metrics.memoized((outcome) => metrics.instrument(Metrics.deliveries, { worker, outcome }))
  const done = outcomes("done")
  const seconds = metrics.instrument(Metrics.deliveryDuration, { worker })
  const lag = metrics.instrument(Metrics.deliveryLag, { worker })
  const lastRun = metrics.instrument(Metrics.lastRun, { worker })

  return {
    /** One attempt. */
    attempt: <A, E>(effect: Effect.Effect<A, E>, attempt: number, described: Described): Effect.Effect<A, E> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { annotations, since, span } = described
        return metrics
          .timed(effect, (exit, time, labels) => {
            seconds(time, labels)
            if (since !== null) lag(Math.max(0, now / 1000 - since), labels)
            if (Exit.isSuccess(exit)) done(1, labels)
          })
          .pipe(
            metrics.withSpan(spanName, () => {
              const options = span?.()
              return { ...options, attributes: { ...options?.attributes, ...annotations, attempt } }
            })
          )
      }),

    /** Begins to measure attempts that begin together; what it gives is told of each that went well, and since when its work waited. */
    together: (fiber: Fiber.RuntimeFiber<unknown, unknown>) => {
      const now = metrics.clockOf(fiber).unsafeCurrentTimeMillis() / 1000
      const elapsed = metrics.begin(fiber)
      return (since: Described["since"]): void => {
        const { labels, seconds: time } = elapsed()
        seconds(time, labels)
        if (since !== null) lag(Math.max(0, now - since), labels)
        done(1, labels)
      }
    },

    /** An attempt failed, and this became of its work. */
    settled: (outcome: Outcome): Effect.Effect<void> => metrics.update(outcomes(outcome), 1),

    /** What a read would have told is known, at this time in seconds since the epoch. */
    knew: (now: number, labels: metrics.Labels): void => lastRun(now, labels),

    /** The store was read, at this time in seconds since the epoch. */
    read: (now: number): Effect.Effect<void> => metrics.update(lastRun, now)
  }
}

export interface DeliveryTelemetry extends ReturnType<typeof make> {}
