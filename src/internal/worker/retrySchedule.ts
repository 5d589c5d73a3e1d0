import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleIntervals from "effect/ScheduleIntervals"
import type { Failure } from "../../DeadLetter.js"

/** A wait that nothing outlasts, in milliseconds: a hundred years. A time that far away is still a number that a store can keep. */
export const longestWait = 100 * 366 * 86_400_000

/** When to try again what failed. */
export type Policy = Schedule.Schedule<unknown, Omit<Failure, "retryAt">>

/** How far a schedule has been stepped. */
export interface Progress {
  readonly attempts: number
  readonly state: unknown
}

const capped =
  (most: Duration.DurationInput) =>
  <Out, In>(schedule: Schedule.Schedule<Out, In>): Schedule.Schedule<Out, In> =>
    Schedule.modifyDelay(schedule, (_, delay) => Duration.min(delay, most))

const slowing: Schedule.Schedule<unknown> = Schedule.exponential("1 second").pipe(
  Schedule.union(Schedule.spaced("10 minutes")),
  Schedule.jittered,
  capped("10 minutes")
)

/** How work is tried again that failed. */
export const defaultPolicy: Policy = slowing

/** How an activity is tried again that failed: as often as other work, and then it has failed. */
export const activityPolicy: Schedule.Schedule<unknown> = Schedule.intersect(slowing, Schedule.recurs(19))

/** How work is tried again that waits for something. */
export const waiting: Schedule.Schedule<unknown> = Schedule.exponential("250 millis").pipe(
  Schedule.union(Schedule.spaced("30 seconds")),
  Schedule.jittered,
  capped("30 seconds")
)

// What failed more often than that is past any cap. It bounds the work after a restart.
const mostSteps = 1000

/**
 * Steps the schedule up to the given number of attempts, from where it was, or else from its beginning. Gives when to try again, in
 * milliseconds since the epoch, none where the schedule ends.
 */
export const next = <In>(
  schedule: Schedule.Schedule<unknown, In>,
  input: In,
  attempts: number,
  now: number,
  known: Progress | undefined
): Effect.Effect<{ readonly at: Option.Option<number>; readonly progress: Progress }> =>
  Effect.gen(function* () {
    const from = known !== undefined && known.attempts < attempts ? known : { attempts: 0, state: schedule.initial }
    let { state } = from
    let at = now
    for (let n = Math.max(from.attempts, attempts - mostSteps); n < attempts; n++) {
      const [stepped, , decision] = yield* schedule.step(now, input, state)
      const progress = { attempts, state: stepped }
      if (ScheduleDecision.isDone(decision)) return { at: Option.none(), progress }
      state = stepped
      at = ScheduleIntervals.start(decision.intervals)
    }
    return { at: Option.some(together(now, at)), progress: { attempts, state } }
  })

/** Times that are close together, made one, so that one reading of the store serves many. */
const together = (now: number, at: number): number => {
  const delay = Math.min(Math.max(1, at - now), longestWait)
  const grain = Math.max(1, Math.min(100, Math.floor(delay / 10)))
  return Math.ceil((now + delay) / grain) * grain
}
