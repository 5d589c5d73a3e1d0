import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Run } from "../../Activity.js"
import type { Reason } from "../../DeadLetter.js"
import type { ClaimedActivity, ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import type { StoreMonitor } from "../supervision/storeMonitor.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import type { DeliveryTelemetry } from "../telemetry/delivery.js"
import * as log from "../telemetry/log.js"
import * as traceContext from "../telemetry/traceContext.js"
import { describe } from "../util/causeText.js"
import * as idempotencyKey from "../worker/idempotencyKey.js"
import * as onDeliveryFailure from "../worker/onDeliveryFailure.js"
import type { Implementation, Verdict } from "./attempt.js"
import { type Ending, eventOf } from "./outcome.js"

/** What runs of activities have in common. */
export interface Runs {
  readonly store: ExecutionStore
  readonly monitor: StoreMonitor
  readonly telemetry: DeliveryTelemetry
  /** How often an activity in a row was held because of its execution. */
  readonly held: Map<number, number>
  readonly buried: (reason: Reason) => void
}

/** One run: the activity as it was claimed, and which attempt it is. */
interface One {
  readonly runs: Runs
  readonly activity: ClaimedActivity
  readonly attempt: number
}

const label = ({ executionId, key, name }: ClaimedActivity): string =>
  `activity ${JSON.stringify(name)} (key ${JSON.stringify(key)}) of execution ${JSON.stringify(executionId)}`

const longestHold = 30_000
const firstHold = 250
const mostHeld = 1000

/**
 * Gives it back for a while, longer each time; no attempt counts. When its execution goes on that was suspended, or failed and was redriven, it
 * is ready at once. With `whileHalted` that is all it waits for, which may have come already.
 */
const hold = ({ activity, runs }: One, whileHalted: boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { held, monitor, store, telemetry } = runs
    const times = held.get(activity.seq) ?? 0
    if (held.size >= mostHeld) held.clear()
    held.set(activity.seq, times + 1)
    const now = yield* Clock.currentTimeMillis
    const readyAt = now + Math.min(longestHold, firstHold * 2 ** times)
    const isOurs = yield* storeMonitor.waitOut(
      monitor,
      store.activities.release(activity, readyAt / 1000, { whileHalted })
    )
    yield* log.debug(`${label(activity)} ${isOurs ? "waits for its execution" : "is not this process's any more"}`)
    yield* telemetry.settled("postponed")
  })

const drop = ({ activity, runs }: One): Effect.Effect<void> =>
  Effect.zipRight(
    storeMonitor.waitOut(runs.monitor, runs.store.activities.drop(activity)),
    runs.telemetry.settled("dropped")
  )

/** Writes the outcome. Where it is refused, as one that is too large, that is the outcome. */
const end = (one: One, ending: Ending): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { activity, attempt, runs } = one
    const { monitor, store } = runs
    const write = (ending: Ending) =>
      storeMonitor.waitOutOutage(
        monitor,
        store.activities.complete(activity, activity.executionId, eventOf(activity, attempt, ending))
      )
    const refused = (error: StoreError) =>
      Effect.zipRight(
        log.warning(`the outcome of ${label(activity)} is refused: ${error.message}`),
        write({ outcome: "died", message: `its outcome cannot be stored: ${error.message}` })
      )
    const written = yield* write(ending).pipe(Effect.catchAll(refused), Effect.either)
    if (Either.isLeft(written)) yield* storeMonitor.report(monitor, written.left.message)
    // The claim is lost, or its execution failed and takes no events.
    if (Either.isLeft(written) || !written.right) yield* hold(one, Either.isRight(written))
  })

const bury = (one: One, problem: string): Effect.Effect<void> => {
  const { activity, attempt, runs } = one
  const why = { reason: "rejected", attempts: attempt, error: problem } as const
  return onDeliveryFailure
    .bury(runs, { _tag: "Activity", seq: activity.seq }, why, `${label(activity)} is a dead letter: ${problem}`)
    .pipe(
      Effect.zipRight(runs.telemetry.settled("dead")),
      Effect.catchAll((error) => Effect.zipRight(storeMonitor.report(runs.monitor, error.message), hold(one, false)))
    )
}

type Failed = Extract<Verdict, { readonly _tag: "Failed" }>

/** When what failed is tried again; none where it has failed for good. A bug in the user's schedule does not end it. */
const retryAt = (one: One, failed: Failed, now: number): Effect.Effect<Option.Option<number>> =>
  Effect.catchAllDefect(failed.retryAt(now), (defect) =>
    Effect.as(
      log.warning(`the retry schedule of ${label(one.activity)} died: ${String(defect)}`),
      Option.some(now + longestHold)
    )
  )

const logFailure = ({ activity, attempt }: One, cause: Cause.Cause<unknown>, then: string): Effect.Effect<void> => {
  const message = `${label(activity)} failed (attempt ${attempt}) and ${then}: ${describe(cause)}`
  // The first failure may heal by itself.
  return attempt === 1 ? log.debug(message, cause) : log.warning(message, cause)
}

const fail = (one: One, failed: Failed): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { activity, attempt, runs } = one
    const { monitor, store, telemetry } = runs
    yield* storeMonitor.report(monitor, `${label(activity)} failed: ${failed.error}`)
    const at = yield* retryAt(one, failed, yield* Clock.currentTimeMillis)
    if (Option.isNone(at)) {
      yield* logFailure(one, failed.cause, "has failed for good")
      yield* telemetry.settled("failed")
      return yield* end(one, failed.ending)
    }
    yield* logFailure(one, failed.cause, "is tried again")
    const failure = { attempts: attempt, error: failed.error, retryAt: at.value / 1000 }
    yield* storeMonitor.waitOut(monitor, store.activities.fail(activity, failure))
    yield* telemetry.settled("retried")
  })

const described = ({ executionId, key, name, readyAt, traceparent }: ClaimedActivity) => ({
  since: readyAt,
  annotations: { executionId, activity: name, key },
  span: () => ({ kind: "consumer" as const, links: traceContext.links(traceparent) })
})

/** Runs an attempt, and does what it comes to. */
const attempt = (one: One, implementation: Implementation): Effect.Effect<void> => {
  const { activity, runs } = one
  const { executionId, key, payload } = activity
  const run: Run = { executionId, key, attempt: one.attempt, idempotencyKey: idempotencyKey.make(executionId, key) }
  const attempted = Effect.flatMap(implementation.attempt(payload, run), (verdict) =>
    verdict._tag === "Ended" && verdict.ending.outcome === "success" ? Effect.succeed(verdict) : Effect.fail(verdict)
  )
  return Effect.flatMap(
    Effect.merge(runs.telemetry.attempt(attempted, one.attempt, described(activity))),
    (verdict) => {
      switch (verdict._tag) {
        case "Refused":
          return bury(one, verdict.problem)
        case "Ended":
          return end(one, verdict.ending)
        case "Failed":
          return fail(one, verdict)
      }
    }
  )
}

/** Runs an activity that was claimed, unless its execution is not there to wait for it. */
export const run = (runs: Runs, implementation: Implementation, activity: ClaimedActivity): Effect.Effect<void> => {
  const one = { runs, activity, attempt: activity.attempts + 1 }
  const { executionId, key, name } = activity
  const status = Option.getOrUndefined(activity.status)
  const isHeld = status === "SUSPENDED" || status === "FAILED"
  const isLive = status === "RUNNING" || status === "PENDING"
  if (!isHeld) runs.held.delete(activity.seq)
  const work = isHeld ? hold(one, true) : isLive ? attempt(one, implementation) : drop(one)
  return log.annotate({ executionId, activity: name, key })(work)
}
