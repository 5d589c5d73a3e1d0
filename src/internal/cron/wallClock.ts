import * as DateTime from "effect/DateTime"

/** What the wall clocks of a zone show, in milliseconds: for how long a zone is ahead of UTC. */
export type Offset = (millis: number) => number

export const offsetOf = (zone: DateTime.TimeZone): Offset => {
  if (DateTime.isTimeZoneOffset(zone)) return () => zone.offset
  return (millis) => DateTime.zonedOffset(DateTime.unsafeMakeZoned(millis, { timeZone: zone }))
}

// More than clocks were ever put forward or back at once: Samoa left out a whole day.
const reach = 26 * 60 * 60 * 1000

/** The offsets that count around a point in time, that of the time itself first. */
export const offsetsAround = (offset: Offset, millis: number): ReadonlyArray<number> => [
  ...new Set([offset(millis), offset(millis - reach), offset(millis + reach)])
]

/**
 * What a time is on the wall clock, taken with an offset that need not be the one of that time.
 *
 * - `first`: the clock shows it, and shows it for the first time.
 * - `again`: the clock was put back, and shows it once more.
 * - `leftOut`: the clock was put forward over it. The time is as much later as the clock was put forward.
 * - `other`: the clock shows something else.
 */
export type Shown = "first" | "again" | "leftOut" | "other"

export const shown = (offset: Offset, millis: number, taken: number): Shown => {
  const wall = millis + taken
  const actual = offset(millis)
  const before = offset(millis - reach)
  const isShownWith = (other: number) => offset(wall - other) === other
  if (actual === taken) return before > taken && isShownWith(before) ? "again" : "first"
  if (taken !== before || actual < before) return "other"
  return isShownWith(actual) || isShownWith(before) ? "other" : "leftOut"
}
