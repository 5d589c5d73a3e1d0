/**
 * Points in time. The store keeps them, and gives them back, as seconds since the epoch: a double with its fraction. Functions also take a
 * `DateTime` or a `Date`.
 *
 * Mind the unit: a number is in seconds here, where `Date` and Effect's `DateTime` count milliseconds.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/**
 * A point in time as functions of this library take it: a `DateTime`, a `Date`, or a number of seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export type Input = number | DateTime.DateTime | Date

/**
 * The schema of a point in time that is given.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Input: Schema.Schema<Input> = Schema.Union(
  Schema.Finite,
  Schema.DateTimeUtcFromSelf,
  Schema.DateTimeZonedFromSelf,
  Schema.ValidDateFromSelf
).annotations({ identifier: "Time.Input" })

/**
 * A point in time in seconds since the epoch.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { DateTime } from "effect"
 * import { Time } from "holdfast"
 *
 * assert.strictEqual(Time.toSeconds(DateTime.unsafeMake("2026-09-21T10:00:00Z")), 1789984800)
 * assert.strictEqual(Time.toSeconds(new Date("2026-09-21T10:00:00.250Z")), 1789984800.25)
 * ```
 *
 * @since 0.1.0
 * @category conversions
 */
export const toSeconds = (time: Input): number => {
  if (DateTime.isDateTime(time)) return DateTime.toEpochMillis(time) / 1000
  // What is none of these goes on as it is, so that whoever checks it can say what was given.
  return time instanceof Date ? time.getTime() / 1000 : time
}

/**
 * The `DateTime` of a number of seconds since the epoch, such as an execution's `createdAt`, to the millisecond; none outside of the years
 * that a `DateTime` can hold.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toDateTime = (seconds: number): Option.Option<DateTime.Utc> => {
  // Far from the epoch `seconds * 1000` can round to the next millisecond. The two parts do not: the first is exact, and the second is
  // small.
  const whole = Math.trunc(seconds)
  return DateTime.make(whole * 1000 + Math.round((seconds - whole) * 1000))
}
