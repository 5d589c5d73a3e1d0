import { assert, describe, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Time from "holdfast/Time"

describe("Time", () => {
  const utc = DateTime.unsafeMake("2026-09-21T10:00:00.250Z")
  const inputs: ReadonlyArray<Time.Input> = [
    1789984800.25,
    utc,
    DateTime.unsafeSetZoneNamed(utc, "Asia/Tokyo"),
    new Date("2026-09-21T12:00:00.250+02:00")
  ]

  it("takes seconds, a DateTime of any zone and a Date", () => {
    for (const input of inputs) {
      assert.strictEqual(Time.toSeconds(input), 1789984800.25)
      assert.isTrue(Schema.is(Time.Input)(input))
    }
  })

  it("has a schema that refuses what is no time", () => {
    for (const input of [Number.NaN, Number.POSITIVE_INFINITY, new Date(Number.NaN), "2026-09-21", 1n, null, {}]) {
      assert.isFalse(Schema.is(Time.Input)(input))
    }
  })

  it("keeps a double to the last bit", () => {
    assert.strictEqual(Time.toSeconds(1790000000.1234567), 1790000000.1234567)
  })

  it.each([-4481244321553470, 4481244321553470, -8.64e15, 8.64e15, -1, 0, 1])(
    "gives back %d milliseconds",
    (millis) => {
      const time = DateTime.unsafeMake(millis)
      assert.deepStrictEqual(Time.toDateTime(Time.toSeconds(time)), Option.some(time))
    }
  )

  it.prop(
    "gives back the milliseconds of a DateTime",
    [FastCheck.integer({ min: -8.64e15, max: 8.64e15 })],
    ([millis]) => {
      const time = DateTime.unsafeMake(millis)
      assert.deepStrictEqual(Time.toDateTime(Time.toSeconds(time)), Option.some(time))
    }
  )

  it("gives none for seconds outside of the calendar", () => {
    for (const seconds of [1e300, Number.NaN, Number.NEGATIVE_INFINITY]) {
      assert.isTrue(Option.isNone(Time.toDateTime(seconds)))
    }
  })
})
