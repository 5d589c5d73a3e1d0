import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { elapsed } from "../clock/elapsed.js"
import { Failure, isBusy } from "./error.js"

/** How long to wait before trying a database that is locked again. */
const backoff = Schedule.exponential("1 millis").pipe(
  Schedule.union(Schedule.spaced("25 millis")),
  Schedule.jitteredWith({ min: 0.5, max: 1.5 })
)

/** Tries again while the database is busy, for at most `busyTimeout`. */
export const retryWhileBusy =
  (busyTimeout: Duration.Duration) =>
  <A>(attempt: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
    Effect.flatMap(elapsed, (since) =>
      Effect.retry(attempt, {
        schedule: backoff,
        while: (failure) =>
          isBusy(failure) && Effect.map(elapsed, (now) => now - since < Duration.toMillis(busyTimeout))
      })
    ).pipe(
      Effect.mapError((failure) =>
        isBusy(failure)
          ? new Failure({
              ...failure,
              detail: `it stayed so for ${Duration.format(busyTimeout)}: ${failure.detail}`
            })
          : failure
      )
    )
