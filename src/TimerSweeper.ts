/**
 * Fires the timers that are due.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Timer } from "./Commit.js"
import * as Event from "./Event.js"
import { ExecutionStore } from "./ExecutionStore.js"
import * as captured from "./internal/captured.js"
import * as worker from "./internal/worker.js"
import type { StoreError } from "./StoreError.js"
import type { Delivered, Worker } from "./Worker.js"

/**
 * How timers are fired.
 *
 * - `deliver`: gets the `Timeout` event of every timer that is due, at least once, with the same id each time. A timer can be cancelled
 *   between the sweep's reading and the delivery: a delivery that must not fire it then asks the store's `isArmed`, as the processor does.
 * - `concurrency`: how many executions are served side by side, by default 16.
 * - `pageSize`: how many timers are read at once, 1 to 1,000, by default 100.
 * - `pollInterval`: how often to look for what other processes armed, and when to try an execution again whose timer failed; by default
 *   5 seconds, at most a day. Between these the sweeper sleeps until the next timer is due, and wakes when this process arms an earlier one.
 * - `shutdownTimeout`: how long running deliveries may take when the scope closes, before they are interrupted; by default 10 seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> {
  readonly deliver: (timer: Timer, event: Event.Event) => Effect.Effect<Delivered, E, R>
  readonly concurrency?: number
  readonly pageSize?: number
  readonly pollInterval?: Duration.DurationInput
  readonly shutdownTimeout?: Duration.DurationInput
}

/**
 * The timer sweeper. Timers of one execution fire in the order of their times, executions side by side. A timer is removed when it is
 * delivered, and only where it was not armed anew meanwhile. One that fails holds back those of its own execution alone, until the next
 * poll or until a commit of this process advances the execution.
 *
 * @since 0.1.0
 * @category models
 */
export interface TimerSweeper extends Worker {}

/**
 * @since 0.1.0
 * @category tags
 */
export const TimerSweeper: Context.Tag<TimerSweeper, TimerSweeper> =
  Context.GenericTag<TimerSweeper>("holdfast/TimerSweeper")

/**
 * Starts a sweeper, which runs until the scope closes. The services that `deliver` needs are taken once, here.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(
  options: Options<E, R>
): Effect.Effect<TimerSweeper, never, ExecutionStore | Scope.Scope | R> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const provide = captured.provide(yield* Effect.context<R>())
    const interval = Duration.min(options.pollInterval ?? "5 seconds", "1 day")
    const limit = options.pageSize ?? 100
    const horizon = Duration.toSeconds(interval)

    /** What comes before the horizon tells when to look next; what comes behind it, the next poll finds. */
    const page = (after: Timer | undefined): Effect.Effect<worker.Page<Timer>, StoreError> =>
      Effect.gen(function* () {
        const now = (yield* Clock.currentTimeMillis) / 1000
        const timers = yield* store.dueTimers(now + horizon, after === undefined ? { limit } : { after, limit })
        const due = timers.filter((timer) => timer.fireAt <= now)
        const upcoming = timers[due.length]
        const last = due.at(-1)
        return {
          works: due.map(work),
          corrupt: [],
          end: last?.fireAt,
          // A page may be short because the store passed over rows that do not decode; only an empty one is the last.
          next: upcoming === undefined ? Option.map(Option.fromNullable(last), page) : Option.none(),
          ...(upcoming === undefined ? undefined : { dueAt: dueMillis(upcoming.fireAt) })
        }
      })

    return yield* worker.make({
      module: "TimerSweeper",
      concurrency: options.concurrency ?? 16,
      depth: limit,
      interval,
      // Others may arm timers for times that have been swept already.
      rescanInterval: interval,
      shutdownTimeout: options.shutdownTimeout ?? "10 seconds",
      from: (position) => page(before(position)),
      noticed: (notice) =>
        Option.getOrUndefined(Option.map(notice.nextTimer, (fireAt) => ({ at: dueMillis(fireAt), position: fireAt }))),
      run: (timer) =>
        Effect.flatMap(
          provide(options.deliver(timer, Event.timeout(timer.executionId, timer.path, timer.fireAt))),
          (delivered) => (delivered === "Delivered" ? worker.sitOut(store.deleteTimer(timer)) : Effect.succeed(false))
        )
    })
  })

const work = (timer: Timer) => ({
  lane: timer.executionId,
  id: JSON.stringify([timer.executionId, timer.path, timer.fireAt]),
  position: timer.fireAt,
  label: `timer ${JSON.stringify(timer.path)} of execution ${JSON.stringify(timer.executionId)}`,
  item: timer
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

/** The first whole millisecond at which a timer is due; a time of a far future has no fraction to round. */
const dueMillis = (fireAt: number): number => {
  const millis = Math.ceil(fireAt * 1000)
  if ((millis - 1) / 1000 >= fireAt) return millis - 1
  return millis / 1000 < fireAt ? millis + 1 : millis
}

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  options: Options<E, R>
): Layer.Layer<TimerSweeper, never, ExecutionStore | Exclude<R, Scope.Scope>> =>
  Layer.scoped(TimerSweeper, make(options))
