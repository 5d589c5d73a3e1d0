import { assert, describe, it } from "@effect/vitest"
import * as EffectCron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as schedules from "../../src/internal/cron/schedule.js"

const read = (schedule: string | EffectCron.Cron, timeZone?: string): schedules.Schedule =>
  Either.getOrThrow(Either.flatMap(schedules.make(schedule, timeZone, 0), schedules.read))

const seconds = (text: string): number => Date.parse(text) / 1000

const iso = (at: number): string => new Date(at * 1000).toISOString().replace(":00.000Z", "Z")

/** The times after one, as long as they are not behind another. */
const times = (schedule: schedules.Schedule, after: number, until: number): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = next(schedule, after); at <= until; at = next(schedule, at)) found.push(at)
  return found
}

const next = (schedule: schedules.Schedule, after: number): number =>
  Either.getOrThrow(schedules.nextAfter(schedule, after))

const between = (expression: string, zone: string, from: string, to: string): ReadonlyArray<string> =>
  times(read(expression, zone), seconds(from), seconds(to)).map(iso)

describe("The times of a schedule in Europe/Berlin", () => {
  it("that the clock leaves out come as much later as it is put forward, once", () => {
    // On 29 March 2026 the clock goes from 02:00 to 03:00, at 01:00 UTC.
    assert.deepStrictEqual(between("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00Z", "2026-03-31T12:00Z"), [
      "2026-03-28T01:30Z",
      "2026-03-29T01:30Z",
      "2026-03-30T00:30Z",
      "2026-03-31T00:30Z"
    ])
    assert.deepStrictEqual(between("30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T12:00Z"), [
      "2026-03-29T01:30Z"
    ])
    assert.deepStrictEqual(between("10,30 2 * * *", "Europe/Berlin", "2026-03-29T01:10Z", "2026-03-29T12:00Z"), [
      "2026-03-29T01:30Z"
    ])
    assert.deepStrictEqual(between("45 2 29 3 *", "Europe/Berlin", "2025-12-01T00:00Z", "2027-04-01T00:00Z"), [
      "2026-03-29T01:45Z",
      "2027-03-29T00:45Z"
    ])
  })

  it("that the clock shows twice come once, the first time", () => {
    // On 25 October 2026 the clock goes from 03:00 to 02:00, at 01:00 UTC.
    assert.deepStrictEqual(between("30 2 * * *", "Europe/Berlin", "2026-10-23T12:00Z", "2026-10-26T12:00Z"), [
      "2026-10-24T00:30Z",
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z"
    ])
    assert.deepStrictEqual(between("*/20 2 * * *", "Europe/Berlin", "2026-10-25T01:10Z", "2026-10-26T01:10Z"), [
      "2026-10-26T01:00Z"
    ])
  })

  it("of every hour come every hour, also in the hour that the clock shows twice", () => {
    assert.deepStrictEqual(between("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:45Z", "2026-10-25T02:30Z"), [
      "2026-10-25T00:00Z",
      "2026-10-25T00:30Z",
      "2026-10-25T01:00Z",
      "2026-10-25T01:30Z",
      "2026-10-25T02:00Z",
      "2026-10-25T02:30Z"
    ])
    assert.deepStrictEqual(between("0 0-23 * * *", "Europe/Berlin", "2026-03-28T23:30Z", "2026-03-29T02:30Z"), [
      "2026-03-29T00:00Z",
      "2026-03-29T01:00Z",
      "2026-03-29T02:00Z"
    ])
  })
})

describe("The times of a schedule in America/New_York", () => {
  it("are right where the clock is put forward, and where it is put back", () => {
    // On 8 March 2026 the clock goes from 02:00 to 03:00, at 07:00 UTC; on 1 November back, at 06:00 UTC.
    assert.deepStrictEqual(between("15 2 * * *", "America/New_York", "2026-03-07T00:00Z", "2026-03-09T12:00Z"), [
      "2026-03-07T07:15Z",
      "2026-03-08T07:15Z",
      "2026-03-09T06:15Z"
    ])
    assert.deepStrictEqual(between("30 1 * * *", "America/New_York", "2026-10-31T00:00Z", "2026-11-02T12:00Z"), [
      "2026-10-31T05:30Z",
      "2026-11-01T05:30Z",
      "2026-11-02T06:30Z"
    ])
    assert.deepStrictEqual(between("30 * * * *", "America/New_York", "2026-11-01T04:45Z", "2026-11-01T08:00Z"), [
      "2026-11-01T05:30Z",
      "2026-11-01T06:30Z",
      "2026-11-01T07:30Z"
    ])
    assert.deepStrictEqual(between("0 9 * * mon", "America/New_York", "2026-03-01T00:00Z", "2026-03-10T00:00Z"), [
      "2026-03-02T14:00Z",
      "2026-03-09T13:00Z"
    ])
  })
})

/** Places where clocks change, in odd ways too: by half an hour, and by a day. */
const changes = [
  ["Europe/Berlin", "2026-03-29T01:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00Z"],
  ["America/New_York", "2026-03-08T07:00Z"],
  ["America/New_York", "2026-11-01T06:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30Z"],
  ["Pacific/Apia", "2011-12-30T10:00Z"],
  ["Asia/Kolkata", "2026-03-29T01:00Z"],
  ["+02:00", "2026-03-29T01:00Z"]
] as const

const minute = 60

/** The times of a schedule between two, by a look at the clock each minute. */
const watched = (expression: string, zone: string, from: number, to: number): ReadonlyArray<number> => {
  const timeZone = Option.getOrThrow(DateTime.zoneFromString(zone))
  const inZone = EffectCron.unsafeParse(expression, timeZone)
  const inUtc = EffectCron.unsafeParse(expression, "UTC")
  const wall = (at: number) => {
    const zoned = DateTime.unsafeMakeZoned(at * 1000, { timeZone })
    return at + DateTime.zonedOffset(zoned) / 1000
  }
  const seen = new Set<number>()
  const found = new Set<number>()
  const everyHour = inZone.hours.size === 0 || inZone.hours.size === 24
  const begin = from - 2 * 24 * 60 * minute
  let showed = wall(begin - minute)
  for (let at = begin; at <= to; at += minute) {
    const shows = wall(at)
    for (let leftOut = showed + minute, late = at; leftOut < shows; leftOut += minute, late += minute) {
      if (EffectCron.match(inUtc, leftOut * 1000)) found.add(late)
    }
    if (EffectCron.match(inZone, at * 1000) && (everyHour || !seen.has(shows))) found.add(at)
    seen.add(shows)
    showed = shows
  }
  return Array.from(found)
    .filter((at) => at > from && at <= to)
    .toSorted((a, b) => a - b)
}

const field = (...texts: ReadonlyArray<string>) => FastCheck.constantFrom(...texts)

const expression = FastCheck.tuple(
  field("*/10", "0", "30", "7,45", "*/15"),
  field("*", "0-23", "*/2", "1", "2", "2,3", "1-3", "0", "10"),
  field("*", "*", "29", "25", "1-8"),
  field("*"),
  field("*", "*", "sun", "sat,sun")
).map((fields) => fields.join(" "))

describe("The times of any schedule", () => {
  it("are those at which the clock shows them, where clocks change", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom(...changes),
        expression,
        FastCheck.integer({ min: -30 * 60, max: 4 * 60 }),
        ([zone, change], expression, minutes) => {
          const from = seconds(change) + minutes * minute
          const to = from + 50 * 60 * minute
          assert.deepStrictEqual(
            times(read(expression, zone), from, to).map(iso),
            watched(expression, zone, from, to).map(iso)
          )
        }
      ),
      { numRuns: 25 }
    )
  })

  it("are found from behind as from the front", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom(...changes),
        expression,
        FastCheck.integer({ min: 0, max: 60 * 60 }),
        ([zone, change], expression, length) => {
          const schedule = read(expression, zone)
          const from = seconds(change) - 3 * 60 * minute
          const until = from + length * 2.5
          const { last, next: after } = Either.getOrThrow(schedules.lastUntil(schedule, from, until))
          assert.deepStrictEqual(Option.toArray(last), times(schedule, from, until).slice(-1))
          assert.strictEqual(after, next(schedule, until))
        }
      ),
      { numRuns: 40 }
    )
  })

  it("that is given as a value are those of the value, with and without its zone", () => {
    // A Friday that is the first day of a month too, or the 14th, or the 27th.
    const friday = EffectCron.unsafeParse("0 0 */13 * fri", "Europe/Berlin")
    const stored = Either.getOrThrow(schedules.make(friday, undefined, 0))
    assert.deepStrictEqual(stored, { expression: "0 0 0 1,14,27 * 5", timeZone: "Europe/Berlin", and: true })
    const found = times(
      Either.getOrThrow(schedules.read(stored)),
      seconds("2026-01-01T00:00Z"),
      seconds("2026-12-31T00:00Z")
    )
    assert.deepStrictEqual(found.map(iso), [
      "2026-02-26T23:00Z",
      "2026-03-26T23:00Z",
      "2026-04-30T22:00Z",
      "2026-08-13T22:00Z",
      "2026-11-26T23:00Z"
    ])
    assert.strictEqual(Either.getOrThrow(schedules.make(friday, "UTC", 0)).timeZone, "UTC")
  })

  it("of each second are as many as there are seconds", () => {
    const schedule = read("* * * * * *", "Europe/Berlin")
    const at = seconds("2026-10-25T00:59Z")
    assert.strictEqual(times(schedule, at, at + 120).length, 120)
    assert.strictEqual(next(schedule, at + 0.25), at + 1)
  })
})

describe("What is no schedule", () => {
  const problem = (schedule: string, timeZone?: string) => Either.flip(schedules.make(schedule, timeZone, 0))

  it("is refused with what is wrong", () => {
    const texts = [
      problem("0 2 * *", "UTC"),
      problem("61 2 * * *", "UTC"),
      problem("0 2 * * *", "Europe/Atlantis"),
      problem("0 2 * * *"),
      problem("0 2 30 2 *", "UTC")
    ].map(Either.getOrThrow)
    assert.deepStrictEqual(texts, [
      'its schedule "0 2 * *" is no cron expression (Invalid number of segments in cron expression)',
      'its schedule "61 2 * * *" is no cron expression (Expected a value between 0 and 59)',
      'there is no time zone "Europe/Atlantis": give one like "Europe/Berlin" or "UTC"',
      'it has no time zone: give one, as timeZone: "UTC"',
      "its schedule never comes: no day has this date"
    ])
  })

  it("is refused as a value too", () => {
    const never = EffectCron.make({ minutes: [99], hours: [], days: [], months: [], weekdays: [] })
    assert.isTrue(Either.isLeft(schedules.make(never, "UTC", 0)))
  })
})
