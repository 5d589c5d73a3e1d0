import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type { Health, Outage } from "../../QueueWorker.js"
import { type StoreError, StoreRejected, StoreUnavailable } from "../../StoreError.js"
import * as log from "../telemetry/log.js"
import * as fence from "../util/fence.js"
import { printable } from "../util/printable.js"

/**
 * What a fiber, and what runs beside it, met at the store. This is the one place that decides what an answer of the store means to them:
 * it is waited out, whatever it is, as long as that takes. No such answer ends a fiber.
 */
export interface StoreMonitor {
  /** How long to wait at most before the store is asked again, in milliseconds. */
  readonly longestBackoff: number
  lastError: Health["lastError"]
  /** The operations that the store does not let go on now. */
  readonly waiting: Set<Waiting>
  /** The last outage that was logged, until it is over. */
  logged: string | undefined
}

interface Waiting {
  outage: Outage | undefined
  failures: number
  /** Opened when the store has answered something else since the last failure. */
  readonly answered: Effect.Latch
}

const firstBackoff = 200
const growth = 1.5
const jitter = 0.2
// What the store does for others it may still refuse here: so it is not asked again at each of their writes.
const soonest = 1000
// The delay is limited, so that workers notice soon when the store works again.
const defaultLongestBackoff = 30_000

export const make = (longestBackoff = defaultLongestBackoff): StoreMonitor => ({
  longestBackoff,
  lastError: Option.none(),
  waiting: new Set(),
  logged: undefined
})

/** The store did something that was asked of it: what waits for it need not wait longer. */
export const answered = ({ waiting }: StoreMonitor): void => {
  for (const { answered } of waiting) answered.unsafeOpen()
}

/** Records a failure for `health`. */
export const report = (monitor: StoreMonitor, message: string): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    monitor.lastError = Option.some({ time: now / 1000, message: printable(message) })
  })

/** The outage that it waits for the end of, from the first operation that waits. */
export const outage = ({ waiting }: StoreMonitor): Health["outage"] => {
  let first: Outage | undefined
  for (const { outage } of waiting) {
    if (outage !== undefined && (first === undefined || outage.since < first.since)) first = outage
  }
  return Option.fromNullable(first)
}

const stateOfStore: ReadonlyArray<StoreRejected["reason"]> = [
  "disk-full",
  "read-only",
  "auth",
  "open",
  "schema",
  "exhausted"
]

/** Whether this is the state of the store, for which the work can do nothing, and which may pass. */
export const isOutage = (error: unknown): boolean =>
  error instanceof StoreUnavailable || (error instanceof StoreRejected && stateOfStore.includes(error.reason))

/** Asks the store again, whatever it answers, until it does what it is asked. */
export const waitOut = <A>(monitor: StoreMonitor, effect: Effect.Effect<A, StoreError>): Effect.Effect<A> =>
  // This runs for each effect, and few fail: so nothing is allocated before one does.
  Effect.catchAll(effect, (first) =>
    waitingWith(monitor, (waiting) =>
      Effect.zipRight(
        backOff(monitor, waiting, first),
        Effect.eventually(Effect.tapError(effect, (error) => backOff(monitor, waiting, error)))
      )
    )
  )

/** Asks the store again while what it answers is its own state; fails with what it has against this operation. */
export const waitOutOutage = <A>(
  monitor: StoreMonitor,
  effect: Effect.Effect<A, StoreError>
): Effect.Effect<A, StoreError> =>
  Effect.catchIf(effect, isOutage, (first) =>
    waitingWith(monitor, (waiting) => {
      const again = (error: StoreError): Effect.Effect<A, StoreError> =>
        Effect.zipRight(backOff(monitor, waiting, error), Effect.catchIf(effect, isOutage, again))
      return again(first)
    })
  )

/** {@link waitOut} of a write that a lease may fence: fails where the lease is lost, which does not pass. */
export const waitOutFenced = <A>(
  monitor: StoreMonitor,
  effect: Effect.Effect<A, StoreError>
): Effect.Effect<A, StoreRejected> =>
  Effect.catchAll(effect, (first) => {
    if (fence.isLeaseLost(first)) return Effect.fail(first)
    const unlessLost = Effect.catchIf(Effect.map(effect, Either.right), fence.isLeaseLost, (lost) =>
      Effect.succeed(Either.left(lost))
    )
    return Effect.flatten(waitOut(monitor, unlessLost))
  })

const waitingWith = <A, E>(
  monitor: StoreMonitor,
  use: (waiting: Waiting) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const waiting: Waiting = { outage: undefined, failures: 0, answered: Effect.unsafeMakeLatch(false) }
    monitor.waiting.add(waiting)
    return Effect.onExit(use(waiting), (exit) => ended(monitor, waiting, Exit.isInterrupted(exit)))
  })

const backOff = (monitor: StoreMonitor, waiting: Waiting, error: StoreError): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { message } = error
    const now = (yield* Clock.currentTimeMillis) / 1000
    monitor.lastError = Option.some({ time: now, message })
    waiting.outage = { since: waiting.outage?.since ?? now, message }
    if (monitor.logged !== message) {
      monitor.logged = message
      yield* log.warning(message, Cause.fail(error))
    }
    waiting.answered.unsafeClose()
    const longest = Math.min(firstBackoff * growth ** waiting.failures++, monitor.longestBackoff)
    const delay = longest * (yield* Random.nextRange(1 - jitter, 1 + jitter))
    yield* Effect.sleep(Math.min(delay, soonest))
    if (delay > soonest) yield* Effect.timeoutOption(waiting.answered.await, delay - soonest)
  })

const ended = (monitor: StoreMonitor, waiting: Waiting, interrupted: boolean): Effect.Effect<void> => {
  monitor.waiting.delete(waiting)
  if (!interrupted) answered(monitor)
  if (interrupted || monitor.waiting.size > 0 || monitor.logged === undefined) return Effect.void
  monitor.logged = undefined
  return log.info("the store answers again")
}
