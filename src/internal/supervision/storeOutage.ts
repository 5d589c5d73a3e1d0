import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { type StoreError, StoreRejected, StoreUnavailable } from "../../StoreError.js"
import * as retryOnFailure from "../util/retryOnFailure.js"

// Capped, so that a store that comes back is found soon enough.
const backoff = Schedule.exponential("200 millis", 1.5).pipe(
  Schedule.union(Schedule.spaced("30 seconds")),
  Schedule.jittered
)

const outages: ReadonlyArray<StoreRejected["reason"]> = ["disk-full", "read-only", "auth", "open"]

/** Whether this is the state of the store, for which the work can do nothing, and which may pass. */
export const isOutage = (error: unknown): boolean =>
  error instanceof StoreUnavailable || (error instanceof StoreRejected && outages.includes(error.reason))

/** Tries again until an outage is over. What a store refuses, it refuses for good. */
export const retryWhileUnavailable = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
  retryOnFailure.whereItFails(
    effect,
    Effect.retry({ schedule: backoff, while: (error: StoreError) => error._tag !== "StoreRejected" })
  )

/** Tries again until an outage is over, and says once that there is one, and that it is over. */
export const reportingOutages = (
  report: (message: string) => Effect.Effect<void>
): (<A>(effect: Effect.Effect<A, StoreError>) => Effect.Effect<A, StoreError>) => {
  let outage: string | undefined
  return (effect) =>
    effect.pipe(
      Effect.tapError((error) =>
        Effect.gen(function* () {
          yield* report(error.message)
          if (error.message === outage) return
          outage = error.message
          yield* Effect.logWarning(error.message, error)
        })
      ),
      retryWhileUnavailable,
      Effect.tap(() => {
        if (outage === undefined) return Effect.void
        outage = undefined
        return Effect.logInfo("the store answers again")
      })
    )
}

const messageOf = (error: unknown): string =>
  error instanceof Error && error.message !== "" ? error.message : Inspectable.toStringUnknown(error, 0)

/** What went wrong, on one line. */
export const describe = (cause: Cause.Cause<unknown>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterruptedOnly(cause) ? "it was interrupted" : `defect: ${messageOf(Cause.squash(cause))}`),
    onSome: messageOf
  })
