import * as EffectCron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { quoted } from "../util/printable.js"
import * as wallClock from "./wallClock.js"

/** A schedule as it is stored. `and` says that both the day of the month and the day of the week must fit, where both are restricted. */
export interface Stored {
  readonly expression: string
  readonly timeZone: string
  readonly and: boolean
}

/** A schedule that can be asked for its times. */
export interface Schedule {
  readonly zone: DateTime.TimeZone
  /** The times on the wall clock, as if that were UTC. */
  readonly onWall: EffectCron.Cron
  /** Whether it is for every hour: then it goes by the time that passes, and not by what the clock shows. */
  readonly everyHour: boolean
}

const field = (values: ReadonlySet<number>): string => (values.size === 0 ? "*" : Array.from(values).join(","))

/** The text of a schedule that was given as a value. */
const expressionOf = ({ days, hours, minutes, months, seconds, weekdays }: EffectCron.Cron): string =>
  [seconds, minutes, hours, days, months, weekdays].map(field).join(" ")

/** Whether both the day of the month and the day of the week must fit. The value keeps that to itself, and says whether it equals another. */
const isAnd = (cron: EffectCron.Cron): boolean => {
  const { days, hours, minutes, months, seconds, weekdays } = cron
  return EffectCron.equals(cron, EffectCron.make({ seconds, minutes, hours, days, months, weekdays, and: true }))
}

const utc = DateTime.zoneMakeOffset(0)

const parsed = (expression: string): Either.Either<EffectCron.Cron, string> =>
  Either.mapLeft(
    EffectCron.parse(expression, utc),
    ({ message }) => `its schedule ${quoted(expression)} is no cron expression (${message})`
  )

const zoneOf = (timeZone: string): Either.Either<DateTime.TimeZone, string> =>
  Either.fromOption(
    DateTime.zoneFromString(timeZone),
    () => `there is no time zone ${quoted(timeZone)}: give one like "Europe/Berlin" or "UTC"`
  )

/** The schedule that is stored so, or what is wrong with it. */
export const read = ({ and, expression, timeZone }: Stored): Either.Either<Schedule, string> =>
  Either.gen(function* () {
    const cron = yield* parsed(expression)
    const zone = yield* zoneOf(timeZone)
    const { days, hours, minutes, months, seconds, weekdays } = cron
    return {
      zone,
      onWall: EffectCron.make({
        seconds,
        minutes,
        hours,
        days,
        months,
        weekdays,
        and,
        tz: DateTime.zoneUnsafeMakeNamed("UTC")
      }),
      everyHour: hours.size === 0 || hours.size === 24
    }
  })

const zoneText = (
  schedule: string | EffectCron.Cron,
  timeZone: string | DateTime.TimeZone | undefined
): Either.Either<string, string> => {
  if (typeof timeZone === "string") return Either.right(timeZone)
  const zone = timeZone ?? (EffectCron.isCron(schedule) ? Option.getOrUndefined(schedule.tz) : undefined)
  // That of the process would make the times depend on where it runs.
  return zone === undefined
    ? Either.left('it has no time zone: give one, as timeZone: "UTC"')
    : Either.right(DateTime.zoneToString(zone))
}

/** A schedule as it is to be stored: one that is a cron expression, in a zone that there is, and that comes some time. */
export const make = (
  schedule: string | EffectCron.Cron,
  timeZone: string | DateTime.TimeZone | undefined,
  now: number
): Either.Either<Stored, string> =>
  Either.gen(function* () {
    const zone = yield* zoneText(schedule, timeZone)
    const stored =
      typeof schedule === "string"
        ? { expression: schedule, timeZone: zone, and: isAnd(yield* parsed(schedule)) }
        : { expression: expressionOf(schedule), timeZone: zone, and: isAnd(schedule) }
    yield* nextAfter(yield* read(stored), now)
    return stored
  })

export const isSame = (a: Stored, b: Stored): boolean =>
  a.expression === b.expression && a.timeZone === b.timeZone && a.and === b.and

/** The times that a schedule has where the wall clock is ahead by an offset, as far as they were asked for. */
interface Times {
  readonly offset: number
  millis: number
}

// What is looked at in vain, at most: each second of some hours that the clock shows twice.
const most = 100_000

/**
 * The first time of a schedule after a time, both in seconds since the epoch.
 *
 * Effect's own `next` leaves out the hour that a clock shows twice, and within it goes back in time. Here the times are taken from the wall
 * clock with each offset that counts, and of those that the clock shows so the first is the answer:
 *
 * - A time that is left out where the clock is put forward comes as much later as the clock was put forward.
 * - A time that the clock shows twice comes once, the first time, unless the schedule is for every hour.
 */
export const nextAfter = (schedule: Schedule, seconds: number): Either.Either<number, string> =>
  Either.try({
    try: () => first(schedule, seconds * 1000) / 1000,
    catch: () => "its schedule never comes: no day has this date"
  })

const first = ({ everyHour, onWall, zone }: Schedule, after: number): number => {
  const offset = wallClock.offsetOf(zone)
  const streams: Array<Times> = []
  const follow = (offsets: ReadonlyArray<number>): void => {
    for (const offset of offsets) {
      if (streams.some((times) => times.offset === offset)) continue
      streams.push({ offset, millis: later(onWall, after, offset) })
    }
  }
  follow(wallClock.offsetsAround(offset, after))
  for (let i = 0; i < most; i++) {
    const earliest = streams.reduce((a, b) => (b.millis < a.millis ? b : a))
    const shown = wallClock.shown(offset, earliest.millis, earliest.offset)
    if (shown === "first" || shown === "leftOut" || (shown === "again" && everyHour)) return earliest.millis
    follow(wallClock.offsetsAround(offset, earliest.millis))
    earliest.millis = later(onWall, earliest.millis, earliest.offset)
  }
  throw new Error("no time was found")
}

const later = (onWall: EffectCron.Cron, millis: number, offset: number): number =>
  EffectCron.next(onWall, millis + offset).getTime() - offset

/**
 * The last time of a schedule in `(after, until]`, and the first behind it; `last` is none where there is no time in between. It is found by
 * bisection: what lies between may be millions of times.
 */
export const lastUntil = (
  schedule: Schedule,
  after: number,
  until: number
): Either.Either<{ readonly last: Option.Option<number>; readonly next: number }, string> =>
  Either.gen(function* () {
    const next = yield* nextAfter(schedule, until)
    let last = yield* nextAfter(schedule, after)
    if (last > until) return { last: Option.none(), next }
    // The last time is `last` or behind it, and before `end`.
    let end = Math.floor(until) + 1
    while (end - last > 1) {
      const middle = Math.floor((last + end) / 2)
      const found = yield* nextAfter(schedule, middle - 1)
      if (found < end) last = found
      else end = middle
    }
    return { last: Option.some(last), next }
  })
