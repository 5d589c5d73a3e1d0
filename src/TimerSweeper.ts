/**
 * The worker that fires timers when they are due.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Timer, WorkItem } from "./Commit.js"
import * as Event from "./Event.js"
import { ExecutionStore } from "./ExecutionStore.js"
import { decoder, type Fields, refused } from "./internal/options/decode.js"
import { callable } from "./internal/options/fields.js"
import { workerFields } from "./internal/options/worker.js"
import * as looks from "./internal/supervision/looks.js"
import { dueMillis } from "./internal/supervision/wakeup.js"
import * as telemetryContext from "./internal/telemetry/context.js"
import * as delayedRelease from "./internal/worker/delayedRelease.js"
import * as failureDecision from "./internal/worker/failureDecision.js"
import * as idempotencyKey from "./internal/worker/idempotencyKey.js"
import type { Work } from "./internal/worker/lane.js"
import { recorded } from "./internal/worker/onDeliveryFailure.js"
import type { Page } from "./internal/worker/reader.js"
import * as seqPages from "./internal/worker/seqPages.js"
import * as worker from "./internal/worker/worker.js"
import type { Delivered, Delivery, QueueWorker, Options as WorkerOptions } from "./QueueWorker.js"
import type { StoreError, StoreRejected } from "./StoreError.js"

/**
 * - `deliver`: gets the `Timeout` event of every timer that is due, at least once, with the same id each time. A timer can be cancelled
 *   after the sweeper read it: a delivery that must not fire a cancelled timer asks `ExecutionStore.timers.isArmed`, as the processor does.
 * - `pollInterval`: how often to look for timers that other processes armed; by default 5 seconds, at most a day. Meanwhile the sweeper
 *   sleeps until the next timer is due, and wakes when this process arms an earlier one.
 * - the others: see `QueueWorker.Options`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> extends WorkerOptions {
  readonly deliver: (timer: Timer, event: Event.Event, delivery: Delivery) => Effect.Effect<Delivered, E, R>
}

/**
 * The timer sweeper. Timers of one execution fire in the order of their times, different executions side by side. A timer is removed when
 * it is delivered, unless it was armed for another time meanwhile. The sweeper also puts delayed events into the outbox when they are due.
 *
 * A timer that fails is tried again as `retry` says; later timers of the same execution wait for it, others do not. The store remembers
 * attempts and error over restarts. After `maxAttempts` the timer is a dead letter. It is one at once where the delivery fails with
 * `QueueWorker.Refused` or `QueueWorker.TargetNotFound`, and where the row is no timer. `QueueWorker.Postponed`, a processor's
 * `ExecutionSuspended` and `StoreUnavailable` count as no attempt: the timer waits, and is tried at once when a commit of this process
 * advances the execution.
 *
 * The id of a `Timeout` event is made of execution, path and time. So a timer that fired and is armed again for exactly the same time makes
 * the same event, which its execution has consumed: it is removed without effect. Arm it for a later time.
 *
 * @since 0.1.0
 * @category models
 */
export interface TimerSweeper extends QueueWorker {}

/**
 * The service of the timer sweeper.
 *
 * @since 0.1.0
 * @category tags
 */
export const TimerSweeper: Context.Tag<TimerSweeper, TimerSweeper> =
  Context.GenericTag<TimerSweeper>("holdfast/TimerSweeper")

const decode = decoder(
  Schema.Struct({ ...workerFields, deliver: callable } satisfies Fields<Options>),
  refused("start", "TimerSweeper")
)

/**
 * Starts a sweeper, which runs until the scope closes. The services that `deliver` needs are taken from the context here.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(
  options: Options<E, R>
): Effect.Effect<TimerSweeper, StoreRejected, ExecutionStore | Scope.Scope | R> =>
  Effect.gen(function* () {
    yield* decode(options)
    const store = yield* ExecutionStore
    const provide = telemetryContext.provide(yield* Effect.context<R>())
    const interval = Duration.min(options.pollInterval ?? "5 seconds", "1 day")
    const millis = Math.max(1, Duration.toMillis(interval))
    const limit = worker.pageSize(options)
    const isTold = yield* looks.isTold(store)

    /**
     * What comes before the horizon tells when to look next; what comes behind it, the next poll finds. Where there is no regular poll, there
     * is no horizon.
     */
    const page = (after: Timer | undefined): Effect.Effect<Page<Timer>, StoreError> =>
      Effect.gen(function* () {
        const now = (yield* Clock.currentTimeMillis) / 1000
        const except = yield* seqPages.passed(options.elsewhere)
        const timers = yield* store.dueTimers(isTold ? Number.MAX_SAFE_INTEGER : now + millis / 1000, {
          after,
          limit,
          except
        })
        const due = timers.entries.filter((timer) => timer.fireAt <= now)
        const upcoming = timers.entries[due.length]
        const failures = new Map(
          timers.failures.map((failure) => [failure.work._tag === "Timer" ? idOf(failure.work) : "", failure])
        )
        return {
          works: due.map((timer) => work(timer, recorded(failures.get(idOf(timer))))),
          corrupt: timers.corrupt,
          end: due.at(-1)?.fireAt,
          next: upcoming === undefined ? Option.map(timers.next, page) : Option.none(),
          dueAt: upcoming && dueMillis(upcoming.fireAt)
        }
      })

    const sweeper = yield* worker.make<Timer>({
      module: "TimerSweeper",
      settings: options,
      // Others may arm timers for times that have been swept already.
      polling: { shortest: millis, longest: millis, rescan: millis },
      heed: { every: delayedRelease.heeds, position: Number.NEGATIVE_INFINITY },
      from: (position) => page(before(position)),
      noticed: (notice) =>
        Option.getOrUndefined(Option.map(notice.nextTimer, (fireAt) => ({ at: dueMillis(fireAt), position: fireAt }))),
      run: (timer, attempt) => {
        const event = Event.timeout(timer.executionId, timer.path, timer.fireAt)
        const delivery = { attempt, idempotencyKey: idempotencyKey.make(timer.executionId, event.id) }
        return Effect.suspend(() => provide(options.deliver(timer, event, delivery)))
      },
      spanName: "TimerSweeper.fire",
      described,
      since: ({ fireAt }) => fireAt,
      workItem,
      remove: store.deleteTimer,
      decide: ({ executionId }, cause) =>
        failureDecision.decide(cause, executionId, { _tag: "Bury", reason: "no-target" })
    })
    const releaser = yield* delayedRelease.make({ module: "TimerSweeper", pageSize: limit, interval: millis })
    return delayedRelease.joined(sweeper, releaser)
  })

const described = ({ executionId, fireAt, path }: Timer) => ({
  annotations: { executionId, path, fireAt }
})

const idOf = ({ executionId, fireAt, path }: Timer): string => JSON.stringify([executionId, path, fireAt])

const workItem = ({ executionId, fireAt, path }: Timer): WorkItem => ({ _tag: "Timer", executionId, path, fireAt })

const work = (timer: Timer, recorded: Work<Timer>["recorded"]): Work<Timer> => ({
  lane: timer.executionId,
  id: idOf(timer),
  position: timer.fireAt,
  label: () => `timer ${JSON.stringify(timer.path)} of execution ${JSON.stringify(timer.executionId)}`,
  item: timer,
  recorded,
  waitsFor: undefined
})

/** A place in the order of timers before all that are due at this time or later, and behind almost all that are due earlier. */
const before = (fireAt: number): Timer | undefined =>
  Number.isFinite(fireAt)
    ? {
        executionId: "\u{10ffff}",
        path: "",
        fireAt: fireAt - Math.max(Math.abs(fireAt) * Number.EPSILON, Number.MIN_VALUE)
      }
    : undefined

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { TimerSweeper } from "holdfast"
 *
 * // For an application that uses the store for its timers. `ExecutionRuntime.layer` starts a sweeper of its own.
 * const Sweeper = TimerSweeper.layer({
 *   pollInterval: "30 seconds",
 *   deliver: ({ executionId, path }) => Effect.as(Effect.log(`${executionId}: ${path} is due`), "Delivered" as const)
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  options: Options<E, R>
): Layer.Layer<TimerSweeper, StoreRejected, ExecutionStore | Exclude<R, Scope.Scope>> =>
  Layer.scoped(TimerSweeper, make(options))
