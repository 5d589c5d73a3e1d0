import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Option from "effect/Option"
import type { WorkItem } from "../../Commit.js"
import type { Burial, Failure, Reason } from "../../DeadLetter.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import type { Outcome } from "../telemetry/delivery.js"
import type { Verdict } from "./failureDecision.js"
import type { Trouble, Work } from "./lanes.js"
import * as retrySchedule from "./retrySchedule.js"
import { describe, sitOut } from "./storeOutage.js"

export interface Options<A> {
  readonly store: Pick<ExecutionStore, "deadLetters">
  readonly retry: retrySchedule.Policy
  readonly maxAttempts: number
  /** Which row this is. */
  readonly ackOf: (item: A) => WorkItem
  readonly judge: (item: A, cause: Cause.Cause<unknown>) => Verdict
  /** Removes the row. */
  readonly remove: (item: A) => Effect.Effect<unknown, StoreError>
  /** Keeps what went wrong for those who ask. */
  readonly report: (message: string) => Effect.Effect<void>
  /** One more row was moved to the dead letters. */
  readonly buried: (reason: Reason) => void
  /** It is decided what becomes of work that failed. */
  readonly settled: (outcome: Outcome) => Effect.Effect<void>
}

/** What was recorded of work that failed, as the lanes know it. */
export const recorded = (failure: Failure | undefined): Trouble | undefined =>
  failure && {
    attempts: failure.attempts,
    retryAt: Math.round(failure.retryAt * 1000),
    waits: 0,
    said: undefined,
    progress: undefined
  }

const fresh: Trouble = { attempts: 0, retryAt: 0, waits: 0, said: undefined, progress: undefined }

/** Moves a row to the dead letters, and says so where it was there. */
export const bury = (
  { buried, report, store }: Pick<Options<never>, "store" | "report" | "buried">,
  work: WorkItem,
  why: Burial,
  message: string
): Effect.Effect<undefined, StoreError> =>
  Effect.gen(function* () {
    if (yield* sitOut(store.deadLetters.bury(work, why))) {
      buried(why.reason)
      yield* report(message)
      yield* Effect.logWarning(message)
    }
    return undefined
  })

/** Decides what becomes of work that failed, and does it; gives what to remember of it, or nothing where its row is gone. */
export const make =
  <A>(options: Options<A>) =>
  (work: Work<A>, cause: Cause.Cause<unknown>, before: Trouble = fresh): Effect.Effect<Trouble | undefined> => {
    const error = describe(cause)
    const ack = options.ackOf(work.item)

    const wait = (now: number, outage = false) =>
      Effect.gen(function* () {
        if (outage) yield* options.report(`${work.label()} waits: ${error}`)
        const waits = before.waits + 1
        const waitedBefore = before.waits > 0 ? before.progress : undefined
        const { at, progress } = yield* retrySchedule.next(retrySchedule.waiting, undefined, waits, now, waitedBefore)
        yield* Effect.logDebug(`${work.label()} waits: ${error}`)
        yield* options.settled("postponed")
        return { ...before, waits, progress, retryAt: Option.getOrElse(at, () => now) }
      })

    const giveUp = (reason: Reason, attempts: number) =>
      Effect.zipLeft(
        bury(options, ack, { reason, attempts, error }, `${work.label()} is a dead letter (${reason}): ${error}`),
        options.settled("dead")
      )

    const tryAgain = (now: number) =>
      Effect.gen(function* () {
        const attempts = before.attempts + 1
        const failure = { work: ack, attempts, error, failedAt: now / 1000 }
        if (attempts >= options.maxAttempts) return yield* giveUp("attempts", attempts)
        const failedBefore = before.waits > 0 ? undefined : before.progress
        const { at, progress } = yield* retrySchedule.next(options.retry, failure, attempts, now, failedBefore)
        if (Option.isNone(at)) return yield* giveUp("attempts", attempts)
        const retryAt = at.value
        yield* sitOut(options.store.deadLetters.recordFailure({ work: ack, attempts, error, retryAt: retryAt / 1000 }))
        yield* options.settled("retried")
        const message = `${work.label()} failed (attempt ${attempts}) and is tried again: ${error}`
        yield* options.report(message)
        // The first failure may heal by itself.
        const said = Hash.string(error)
        if (attempts === 1 || before.said === said) {
          yield* Effect.logDebug(message, cause)
          return { attempts, retryAt, waits: 0, said: before.said, progress }
        }
        yield* Effect.logWarning(message, cause)
        return { attempts, retryAt, waits: 0, said, progress }
      })

    const decide = (verdict: Verdict, now: number): Effect.Effect<Trouble | undefined, StoreError> => {
      switch (verdict._tag) {
        case "Retry":
          return tryAgain(now)
        case "Wait":
          return wait(now, verdict.outage)
        case "Drop":
          return sitOut(options.remove(work.item)).pipe(
            Effect.zipRight(Effect.logDebug(`${work.label()} is dropped: ${error}`)),
            Effect.zipRight(options.settled("dropped")),
            Effect.as(undefined)
          )
        case "Bury":
          return giveUp(verdict.reason, before.attempts + 1)
      }
    }

    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      return yield* Effect.suspend(() => decide(options.judge(work.item, cause), now)).pipe(
        // Neither a store that refuses to remember it nor a bug in the user's schedule keep it from being tried again.
        Effect.catchAllCause((problem) => {
          if (Cause.isInterrupted(problem)) return Effect.interrupt
          const message = `${work.label()} failed, and is tried again although this failed too: ${describe(problem)}`
          return options
            .report(message)
            .pipe(Effect.zipRight(Effect.logWarning(message, problem)), Effect.zipRight(wait(now)))
        })
      )
    })
  }
