import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Option from "effect/Option"
import type { Work as StoredWork, WorkItem } from "../../Commit.js"
import type { Burial, Failure, Reason } from "../../DeadLetter.js"
import type { BuryOptions, ExecutionStore } from "../../ExecutionStore.js"
import type { DefinitionNotFound, DefinitionVersionNotFound } from "../../ProcessorError.js"
import type { Elsewhere } from "../../QueueWorker.js"
import type { StoreError } from "../../StoreError.js"
import type { StoreMonitor } from "../supervision/storeMonitor.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import type { Outcome } from "../telemetry/delivery.js"
import * as log from "../telemetry/log.js"
import { describe } from "../util/causeText.js"
import { isLeaseLost } from "../util/fence.js"
import type { Decision } from "./failureDecision.js"
import type { FailureState, Work } from "./lane.js"
import * as retrySchedule from "./retrySchedule.js"

export interface Options<A> {
  readonly store: Pick<ExecutionStore, "deadLetters">
  readonly monitor: StoreMonitor
  readonly retry: retrySchedule.Policy
  readonly maxAttempts: number
  /** The row of the work. */
  readonly workItem: (item: A) => WorkItem
  readonly decide: (item: A, cause: Cause.Cause<unknown>) => Decision
  /** Removes the row. */
  readonly remove: (item: A) => Effect.Effect<unknown, StoreError>
  /** One more row was moved to the dead letters. */
  readonly buried: (reason: Reason) => void
  /** Counts what became of work that failed. */
  readonly settled: (outcome: Outcome) => Effect.Effect<void>
  /** Who is told of definitions that the process does not have. */
  readonly elsewhere: Elsewhere | undefined
  /** The work belongs to another process by now. */
  readonly lost: Effect.Effect<void>
}

/** What was recorded of work that failed, as the lanes know it. */
export const recorded = (failure: Failure | undefined): FailureState | undefined =>
  failure && {
    attempts: failure.attempts,
    retryAt: Math.round(failure.retryAt * 1000),
    waits: 0,
    logged: undefined,
    progress: undefined
  }

const fresh: FailureState = { attempts: 0, retryAt: 0, waits: 0, logged: undefined, progress: undefined }

/** A failure that is being handled: what failed, when, why, and what was known of the work before. */
interface Failed<A> {
  readonly options: Options<A>
  readonly work: Work<A>
  readonly item: WorkItem
  readonly cause: Cause.Cause<unknown>
  readonly error: string
  readonly before: FailureState
  readonly now: number
}

/** Decides what becomes of work that failed, and does it; gives what to remember of it, or nothing where its row is gone. */
export const handle = <A>(
  options: Options<A>,
  work: Work<A>,
  cause: Cause.Cause<unknown>,
  before: FailureState = fresh
): Effect.Effect<FailureState | undefined> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const item = options.workItem(work.item)
    const failed: Failed<A> = { options, work, item, cause, error: describe(cause), before, now }
    return Effect.suspend(() => carryOut(failed, options.decide(work.item, cause))).pipe(
      // It is tried again even where the store refuses to record the failure, or the user's schedule has a bug.
      Effect.catchAllCause((problem) => {
        if (Cause.isInterrupted(problem)) return Effect.interrupt
        if (Option.exists(Cause.failureOption(problem), isLeaseLost)) return leaveToOthers(failed, problem)
        const message = `${work.label()} failed, and is tried again although this failed too: ${describe(problem)}`
        return storeMonitor
          .report(options.monitor, message)
          .pipe(Effect.zipRight(log.warning(message, problem)), Effect.zipRight(wait(failed)))
      })
    )
  })

const carryOut = <A>(failed: Failed<A>, decision: Decision): Effect.Effect<FailureState | undefined, StoreError> => {
  switch (decision._tag) {
    case "Retry":
      return retry(failed)
    case "Wait":
      if (decision.outage === true) return waitForStore(failed)
      return wait(failed)
    case "Elsewhere":
      return leaveElsewhere(failed, decision.error)
    case "Lost":
      return leaveToOthers(failed, failed.cause)
    case "Drop":
      return drop(failed)
    case "Bury":
      return giveUp(failed, decision.reason, failed.before.attempts + 1, { emit: decision.emit })
  }
}

const drop = <A>({ error, options, work }: Failed<A>): Effect.Effect<undefined, StoreError> =>
  storeMonitor
    .waitOutFenced(options.monitor, options.remove(work.item))
    .pipe(
      Effect.zipRight(log.debug(`${work.label()} is dropped: ${error}`)),
      Effect.zipRight(options.settled("dropped")),
      Effect.as(undefined)
    )

const waitForStore = <A>(failed: Failed<A>): Effect.Effect<FailureState> =>
  Effect.zipRight(
    storeMonitor.report(failed.options.monitor, `${failed.work.label()} waits: ${failed.error}`),
    wait(failed)
  )

/** The work waits for a definition that this process does not have. */
const leaveElsewhere = <A>(
  failed: Failed<A>,
  error: DefinitionNotFound | DefinitionVersionNotFound
): Effect.Effect<FailureState> => {
  const { elsewhere } = failed.options
  const isElsewhere = elsewhere === undefined ? Effect.succeed(true) : elsewhere.found(error)
  return Effect.zipWith(isElsewhere, wait(failed), (elsewhere, state) => (elsewhere ? { ...state, elsewhere } : state))
}

/** The work waits for something, which does not count as an attempt. */
const wait = <A>({ before, error, now, options, work }: Failed<A>): Effect.Effect<FailureState> =>
  Effect.gen(function* () {
    const waits = before.waits + 1
    const waitedBefore = before.waits > 0 ? before.progress : undefined
    const { at, progress } = yield* retrySchedule.next(retrySchedule.waiting, undefined, waits, now, waitedBefore)
    yield* log.debug(`${work.label()} waits: ${error}`)
    yield* options.settled("postponed")
    return { ...before, waits, progress, retryAt: Option.getOrElse(at, () => now) }
  })

/**
 * The lane went to another process while the work ran: whoever has it now decides what becomes of the work, and nothing is written here.
 * Where this process finds the lane to be its own after all, it looks again.
 */
const leaveToOthers = <A>(
  { before, now, options, work }: Failed<A>,
  problem: Cause.Cause<unknown>
): Effect.Effect<FailureState> =>
  Effect.gen(function* () {
    yield* options.lost
    yield* log.debug(`${work.label()} is another process's by now: ${describe(problem)}`)
    yield* options.settled("lease-lost")
    const waits = before.waits + 1
    const { at, progress } = yield* retrySchedule.next(retrySchedule.waiting, undefined, waits, now, undefined)
    return { ...before, waits, progress, retryAt: Option.getOrElse(at, () => now) }
  })

const giveUp = <A>(
  { error, item, options, work }: Failed<A>,
  reason: Reason,
  attempts: number,
  beside: BuryOptions = {}
) =>
  Effect.zipLeft(
    bury(options, item, { reason, attempts, error }, `${work.label()} is a dead letter (${reason}): ${error}`, beside),
    options.settled("dead")
  )

/** The failure counts: it is recorded, and the work is tried again as the policy says, or given up where that ends. */
const retry = <A>(failed: Failed<A>): Effect.Effect<FailureState | undefined, StoreError> =>
  Effect.gen(function* () {
    const { before, error, item, now, options } = failed
    const attempts = before.attempts + 1
    const failure = { work: item, attempts, error, failedAt: now / 1000 }
    if (attempts >= options.maxAttempts) return yield* giveUp(failed, "attempts", attempts)
    const failedBefore = before.waits > 0 ? undefined : before.progress
    const { at, progress } = yield* retrySchedule.next(options.retry, failure, attempts, now, failedBefore)
    if (Option.isNone(at)) return yield* giveUp(failed, "attempts", attempts)
    const retryAt = at.value
    yield* storeMonitor.waitOutOutage(
      options.monitor,
      options.store.deadLetters.recordFailure({ work: item, attempts, error, retryAt: retryAt / 1000 })
    )
    yield* options.settled("retried")
    return { attempts, retryAt, waits: 0, logged: yield* logFailure(failed, attempts), progress }
  })

/** Logs a failure where it is news to people; gives the hash of the last error that was. */
const logFailure = <A>({ before, cause, error, options, work }: Failed<A>, attempts: number) =>
  Effect.gen(function* () {
    const message = `${work.label()} failed (attempt ${attempts}) and is tried again: ${error}`
    yield* storeMonitor.report(options.monitor, message)
    const hash = Hash.string(error)
    // The first failure may pass by itself, so it is no warning yet.
    if (attempts === 1 || before.logged === hash) {
      yield* log.debug(message, cause)
      return before.logged
    }
    yield* log.warning(message, cause)
    return hash
  })

/** Moves a row to the dead letters, and says so where it was there. */
export const bury = (
  { buried, monitor, store }: Pick<Options<never>, "store" | "monitor" | "buried">,
  item: StoredWork,
  why: Burial,
  message: string,
  beside: BuryOptions = {}
): Effect.Effect<undefined, StoreError> =>
  Effect.gen(function* () {
    if (yield* storeMonitor.waitOutOutage(monitor, store.deadLetters.bury(item, why, beside))) {
      buried(why.reason)
      yield* storeMonitor.report(monitor, message)
      yield* log.warning(message)
    }
    return undefined
  })
