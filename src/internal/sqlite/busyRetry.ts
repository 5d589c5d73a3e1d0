import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Call } from "../../SqlDriver.js"
import type { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import { elapsed } from "../clock/elapsed.js"
import * as retryOnFailure from "../util/retryOnFailure.js"
import { type Problem, toStoreError } from "./error.js"
import { make as makeTurn, type Turn } from "./eventLoop.js"

/**
 * What an attempt failed with.
 *
 * - `committing`: whether the statement that failed was the transaction's COMMIT.
 * - `over`: whether there was no transaction left to roll back then.
 * - `began`: when the attempt began, by {@link elapsed}, where it may have waited for a lock itself.
 */
export interface Failure {
  readonly problem: Problem
  readonly committing: boolean
  readonly over?: boolean | undefined
  readonly began?: number | undefined
}

export const isBusy = (failure: Failure): boolean => failure.problem.kind === "busy"

/** How long to wait before looking at a locked database again. */
const backoff = Schedule.exponential("1 millis").pipe(
  Schedule.union(Schedule.spaced("25 millis")),
  Schedule.jitteredWith({ min: 0.5, max: 1.5 })
)

/** Tries again while the database is locked and there is time left. */
const whileBusy = <A>(attempt: Effect.Effect<A, Failure>, millis: number): Effect.Effect<A, Failure> =>
  Effect.suspend(() => {
    let since: number | undefined
    const hasTime = (failure: Failure) =>
      Effect.map(elapsed, (now) => {
        since ??= failure.began ?? now
        return now - since < millis
      })
    return Effect.retry(attempt, { schedule: backoff, while: (failure) => isBusy(failure) && hasTime(failure) })
  })

/** Runs attempts, in turn with the rest of the process, until one finds the database unlocked or there is no time left. */
export const make = (busyTimeout: Duration.Duration, turn: Turn = makeTurn()) => {
  const millis = Duration.toMillis(busyTimeout)
  const busy = `the database stayed locked for ${Duration.format(busyTimeout)}`
  return <A>(call: Call, attempt: Effect.Effect<A, Failure>): Effect.Effect<A, StoreUnavailable | StoreRejected> => {
    return retryOnFailure.whereItFails(Effect.zipRight(turn.wait, attempt), (each) =>
      Effect.mapError(whileBusy(each, millis), ({ problem, ...at }) => toStoreError(call, problem, { ...at, busy }))
    )
  }
}
