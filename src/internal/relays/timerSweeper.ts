import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Timer, WorkItem } from "../../Commit.js"
import * as Event from "../../Event.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { FencingToken } from "../../Lease.js"
import type { Delivered } from "../../QueueWorker.js"
import type { StoreError, StoreRejected } from "../../StoreError.js"
import type { Options, TimerSweeper } from "../../TimerSweeper.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { callable } from "../options/fields.js"
import { workerFields } from "../options/worker.js"
import * as pollSchedule from "../supervision/pollSchedule.js"
import { dueMillis } from "../supervision/wakeup.js"
import * as telemetryContext from "../telemetry/context.js"
import * as delayedRelease from "../worker/delayedRelease.js"
import * as failureDecision from "../worker/failureDecision.js"
import * as idempotencyKey from "../worker/idempotencyKey.js"
import type { Work } from "../worker/lane.js"
import { recorded } from "../worker/onDeliveryFailure.js"
import type { Page } from "../worker/reader.js"
import * as seqPages from "../worker/seqPages.js"
import * as worker from "../worker/worker.js"

/** A timer that is due, with its event. */
export interface Due {
  readonly timer: Timer
  readonly event: Event.Event
  /** What is fenced that settles it. */
  readonly fence: FencingToken | undefined
}

/** Fires timers of different executions at once: see `worker.Ends`. */
export type FireTogether = (due: ReadonlyArray<Due>, ends: worker.Ends) => Effect.Effect<void>

const decode = decoder(
  Schema.Struct({ ...workerFields, deliver: callable } satisfies Fields<Options>),
  refused("start", "TimerSweeper")
)

/** A sweeper; `together` fires several timers as `deliver` would each of them. */
export const make = <E = never, R = never>(
  options: Options<E, R>,
  together?: FireTogether
): Effect.Effect<TimerSweeper, StoreRejected, ExecutionStore | Scope.Scope | R> =>
  Effect.gen(function* () {
    yield* decode(options)
    const store = yield* ExecutionStore
    const provide = telemetryContext.provide(yield* Effect.context<R>())
    const interval = Duration.min(options.pollInterval ?? "5 seconds", "1 day")
    const millis = Math.max(1, Duration.toMillis(interval))
    const limit = worker.pageSize(options)
    const isTold = yield* pollSchedule.isTold(store)

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
          dueAt: upcoming && dueMillis(upcoming.fireAt),
          upcoming: upcoming?.fireAt
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
      run: (timer, attempt): Effect.Effect<Delivered, unknown> => {
        const event = eventOf(timer)
        const delivery = { attempt, idempotencyKey: idempotencyKey.make(timer.executionId, event.id) }
        return Effect.suspend(() => provide(options.deliver(timer, event, delivery)))
      },
      runTogether:
        together &&
        ((works, ends) =>
          together(
            works.map(({ fence, item }) => ({ timer: item, event: eventOf(item), fence })),
            ends
          )),
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

const eventOf = ({ executionId, fireAt, path }: Timer): Event.Event => Event.timeout(executionId, path, fireAt)

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
