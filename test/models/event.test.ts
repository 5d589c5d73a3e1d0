import { describe, expect, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as Event from "holdfast/Event"
import * as Generators from "holdfast/testing/Generators"
import { pythonFloat } from "../../src/internal/codec/number.js"
import { derived } from "../../src/internal/util/eventIds.js"

const decode = Schema.decodeUnknownEither(Event.EventFromText)
const encode = Schema.encodeEither(Event.EventFromText)

describe("Event", () => {
  it("is made without times and data", () => {
    expect(Event.make({ id: "e", kind: "Paid" })).toEqual({
      id: "e",
      kind: "Paid",
      createdTime: null,
      receivedTime: null,
      data: {},
      extra: {}
    })
    const full = {
      id: "e",
      kind: "Paid",
      createdTime: "2026-09-21T10:00:00Z",
      receivedTime: "2026-09-21T10:00:01Z",
      data: { n: 1 },
      extra: { hop: 1 }
    }
    expect(Event.make(full)).toEqual(full)
  })

  it("of a timer has a stable id, and the path and time as data", () => {
    expect(Event.timeout("order-1", "Work.Pick", 1790000060)).toEqual({
      id: "timeout:order-1:Work.Pick:1790000060.0",
      kind: "Timeout",
      createdTime: null,
      receivedTime: null,
      data: { path: "Work.Pick", fire_at: 1790000060 },
      extra: {}
    })
    expect(Event.timeoutId("a", "@ttl", 1762397297.767609)).toBe("timeout:a:@ttl:1762397297.767609")
  })

  describe("ids", () => {
    it("of what an engine makes are reserved", () => {
      const made = (["start", "timeout", "emit", "finished", "cancel"] as const).map((purpose) =>
        derived(purpose, "a", 1)
      )
      for (const id of [...made, Event.start("a").id, Event.timeoutId("a", "", 0)]) {
        expect([id, Event.isReservedId(id)]).toEqual([id, true])
      }
      for (const id of ["", "start", "restart:a", "START:a", "ext:start:a", "evt_1"]) {
        expect([id, Event.isReservedId(id)]).toEqual([id, false])
      }
    })

    it("from outside have a namespace", () => {
      expect(Event.externalId("stripe", "evt_1")).toBe("ext:stripe:evt_1")
      expect(Event.externalId("a:b", "c")).toBe("ext:a%3Ab:c")
      expect(Event.externalId("a", "b:c")).toBe("ext:a:b:c")
      expect(Event.externalId("a%3Ab", "c")).toBe("ext:a%253Ab:c")
    })

    const part = FastCheck.string({ unit: FastCheck.constantFrom(..."a:%3A2 5start") })

    it.prop(
      "of two namespaces are never alike, nor reserved",
      [part, part, part, part],
      ([namespace, id, otherNamespace, otherId]) => {
        const one = Event.externalId(namespace, id)
        const other = Event.externalId(otherNamespace, otherId)
        expect(one === other).toBe(namespace === otherNamespace && id === otherId)
        expect(Event.isReservedId(one)).toBe(false)
      },
      { fastCheck: { numRuns: 1000, seed: 1 } }
    )
  })

  describe("stored form", () => {
    it("has its keys in the order of the format, unknown ones last", () => {
      const event = Event.make({ id: "e", kind: "Paid", data: { amount: 39.98, who: "ñ" }, extra: { hop: 1 } })
      expect(encode(event)).toEqual(
        Either.right(
          '{"id":"e","kind":"Paid","created_time":null,"received_time":null,"data":{"amount":39.98,"who":"ñ"},"hop":1}'
        )
      )
    })

    it("may leave out times and data", () => {
      expect(decode('{"kind":"Paid","id":"e"}')).toEqual(Either.right(Event.make({ id: "e", kind: "Paid" })))
      expect(decode('{"kind":"Paid","id":"e","created_time":null}')).toEqual(
        Either.right(Event.make({ id: "e", kind: "Paid" }))
      )
    })

    it.each([
      "2026-09-21T10:00:00.123456Z",
      "2026-09-21T10:00:00Z",
      "2026-09-21T10:00:00",
      "2026-09-21T10:00:00.5",
      "2026-09-21T10:00:00+02:00",
      "2026-09-21T10:00:00.123456-0530",
      "2026-09-21 10:00:00",
      "2026-09-21T10:00",
      "2026-09-21"
    ])("keeps the time %s as it is", (time) => {
      const text = `{"id":"e","kind":"K","created_time":"${time}","received_time":"${time}","data":{}}`
      const event = Either.getOrThrow(decode(text))
      expect([event.createdTime, event.receivedTime]).toEqual([time, time])
      expect(encode(event)).toEqual(Either.right(text))
    })

    // each as harel 0.9.0 reads it and as it does not, by its own answers
    it.each([
      "2024-02-29",
      "2000-02-29",
      "0001-01-01T00:00:00+23:59",
      "9999-12-31T23:59:59.999999-23:59",
      "2026-09-21t10:00:00,5z",
      "2026-09-21T10:00Z",
      "2026-09-21T10:00:00.123456789-00:00"
    ])("takes %s for a time", (time) => {
      expect(Either.isRight(decode(`{"id":"e","kind":"K","created_time":"${time}"}`))).toBe(true)
    })

    it.each([
      "2026-02-30T10:00:00Z",
      "2026-02-29",
      "1900-02-29",
      "2026-04-31",
      "2026-13-01",
      "2026-00-10",
      "2026-01-00",
      "0000-01-01T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T23:60:00Z",
      "2026-01-01T23:59:60Z",
      "2026-01-01T23:59:59.Z",
      "2026-01-01T10:00:00+24:00",
      "2026-01-01T10:00:00+99:99",
      "2026-01-01T10:00:00+02:60",
      "2026-01-01T10:00:00+02",
      "2026-01-01T10:00:00 +02:00",
      "2026-01-01T",
      "2026-01-01T10",
      "2026-01-01Z",
      "20260101T100000Z",
      "+2026-01-01T10:00:00Z",
      "2026-1-1",
      "2026-W01-1",
      " 2026-01-01",
      "2026-01-01T10:00:00Z\\n"
    ])("refuses %s as a time", (time) => {
      const decoded = decode(`{"id":"e","kind":"K","received_time":"${time}"}`)
      const problem = Either.match(decoded, { onLeft: (error) => error.message, onRight: () => "it decodes" })
      expect(problem).toContain("received_time: expected an ISO 8601 date and time")
      expect(Either.isLeft(encode(Event.make({ id: "e", kind: "K", createdTime: time })))).toBe(true)
    })

    const refused: ReadonlyArray<readonly [text: string, problem: string]> = [
      ["", "not JSON"],
      ["[]", "expected an object, found an array"],
      ["{}", "id: is missing"],
      ['{"id":"e"}', "kind: is missing"],
      ['{"id":1,"kind":"K"}', "id: expected a string, found 1"],
      ['{"id":"e","kind":null}', "kind: expected a string, found null"],
      ['{"id":"e","kind":"K","data":null}', "data: expected an object, found null"],
      ['{"id":"e","kind":"K","data":[]}', "data: expected an object, found an array"],
      ['{"id":"e","kind":"K","created_time":"noon"}', "created_time: expected an ISO 8601 date and time"],
      ['{"id":"e","kind":"K","created_time":1790000000}', "created_time: expected an ISO 8601 date and time"],
      ['{"id":"e","kind":"K","received_time":""}', "received_time: expected an ISO 8601 date and time"]
    ]
    it.each(refused)("refuses %s: %s", (text, expected) => {
      const problem = Either.match(decode(text), { onLeft: (error) => error.message, onRight: () => "it decodes" })
      expect(problem).toContain(expected)
    })

    it.prop(
      "comes back as it was",
      [Generators.event],
      ([event]) => {
        const text = Either.getOrThrow(encode(event))
        deepStrictEqual(Either.getOrThrow(decode(text)), event)
      },
      { fastCheck: { numRuns: 100, seed: 1 } }
    )
  })

  describe("a float as Python prints it", () => {
    // each as python3 answers repr(float(n))
    const printed: ReadonlyArray<readonly [number, string]> = [
      [0, "0.0"],
      [-0, "-0.0"],
      [0.1, "0.1"],
      [100, "100.0"],
      [-2.5, "-2.5"],
      [1790000060, "1790000060.0"],
      [1790000060.125, "1790000060.125"],
      [1790000060.1234567, "1790000060.1234567"],
      [1762397297.767609, "1762397297.767609"],
      [0.0001, "0.0001"],
      [0.00012345, "0.00012345"],
      [2 ** -10, "0.0009765625"],
      [1e-5, "1e-05"],
      [9.999e-5, "9.999e-05"],
      [1.2345e-5, "1.2345e-05"],
      [1e-10, "1e-10"],
      [5e-324, "5e-324"],
      [1e15, "1000000000000000.0"],
      [123456789012345.6, "123456789012345.6"],
      [9999999999999998, "9999999999999998.0"],
      [2 ** 53, "9007199254740992.0"],
      [1e16, "1e+16"],
      [123456789012345680, "1.2345678901234568e+17"],
      [1e21, "1e+21"],
      [1e22, "1e+22"],
      [-1e100, "-1e+100"],
      [1.7976931348623157e308, "1.7976931348623157e+308"],
      [Number.POSITIVE_INFINITY, "inf"],
      [Number.NEGATIVE_INFINITY, "-inf"],
      [Number.NaN, "nan"]
    ]
    it.each(printed)("%d is %s", (number, text) => {
      expect(pythonFloat(number)).toBe(text)
    })

    it.prop(
      "of any timer reads back as the same double, and always shows that it is one",
      [Generators.fireAt],
      ([time]) => {
        expect(Number(pythonFloat(time))).toBe(time)
        expect(pythonFloat(time)).toMatch(/^-?\d+(\.\d+)?e[+-]\d\d+$|^-?\d+\.\d+$/)
      },
      { fastCheck: { numRuns: 500, seed: 1 } }
    )
  })
})
