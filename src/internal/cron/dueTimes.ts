import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { CatchUp } from "../../Cron.js"
import { lastUntil, nextAfter, type Schedule } from "./schedule.js"

/** What of the recurring work tells which of its times are due. All are seconds since the epoch. */
export interface Waiting {
  readonly catchUp: CatchUp
  readonly grace: number
  readonly limit: number
  /** Up to here nothing is to be done any more. */
  readonly from: number
  /** How many of the times that were missed have been caught up so far, one page after the other. */
  readonly caughtUp: number
}

/**
 * What comes of a timer: the times to fire for, the time to arm it for, and what is to be known then. `passedOver` says that more times were
 * missed than are caught up.
 */
export interface Due extends Pick<Waiting, "from" | "caughtUp"> {
  readonly fire: ReadonlyArray<number>
  readonly next: number
  readonly passedOver: boolean
}

/** How many times one commit fires for: each is an event that it writes. */
export const pageSize = 100

/** The times that are due when the timer for `time` fires at `now`. */
export const dueTimes = (
  schedule: Schedule,
  waiting: Waiting,
  time: number,
  now: number
): Either.Either<Due, string> => {
  // The clock of another process, which armed the timer, may be ahead.
  const until = Math.max(now, time)
  return waiting.catchUp === "all" ? each(schedule, waiting, time, until) : latest(schedule, waiting, time, until)
}

/** The last of the times alone. With `skip` only where it is not late. */
const latest = (
  schedule: Schedule,
  { catchUp, from, grace }: Waiting,
  time: number,
  until: number
): Either.Either<Due, string> =>
  Either.map(lastUntil(schedule, Math.max(time, from), until), ({ last, next }) => {
    const at = Option.getOrElse(last, () => time)
    const fire = catchUp === "once" || until - at <= grace ? [at] : []
    return { fire, next, from: Math.max(from, at), caughtUp: 0, passedOver: false }
  })

/** A page of the times, the earliest first; the timer is then armed for a time that is due, as long as there are more and may be. */
const each = (
  schedule: Schedule,
  { caughtUp, from, limit }: Waiting,
  time: number,
  until: number
): Either.Either<Due, string> =>
  Either.gen(function* () {
    const room = Math.min(pageSize, limit - caughtUp)
    const fire = [time]
    let next = yield* nextAfter(schedule, Math.max(time, from))
    while (next <= until && fire.length < room) {
      fire.push(next)
      next = yield* nextAfter(schedule, next)
    }
    const done = Math.max(from, ...fire.slice(-1))
    if (next > until) return { fire, next, from: done, caughtUp: 0, passedOver: false }
    const total = caughtUp + fire.length
    return total < limit
      ? { fire, next, from: done, caughtUp: total, passedOver: false }
      : { fire, next: yield* nextAfter(schedule, until), from: Math.max(from, until), caughtUp: 0, passedOver: true }
  })
