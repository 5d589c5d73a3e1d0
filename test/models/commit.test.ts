import { describe, expect, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Commit from "holdfast/Commit"
import * as Generators from "holdfast/testing/Generators"

const decode = Schema.decodeUnknownEither(Commit.TraceStepFromText)
const encode = Schema.encodeEither(Commit.TraceStepFromText)

describe("Commit", () => {
  it("makes timer operations", () => {
    expect(Commit.scheduleTimer("p", 10.5)).toEqual({ _tag: "Schedule", path: "p", fireAt: 10.5 })
    expect(Commit.cancelTimer("p")).toEqual({ _tag: "Cancel", path: "p" })
  })

  it("makes a trace step with defaults", () => {
    expect(Commit.traceStep({ eventKind: "Pay", timestamp: 1.5, toPath: "Work" })).toEqual({
      eventKind: "Pay",
      eventData: {},
      fromPath: null,
      toPath: "Work",
      actions: [],
      contextOut: {},
      timestamp: 1.5,
      extra: {}
    })
  })

  it("is a schema of what a store takes", () => {
    const is = Schema.is(Commit.Commit)
    expect(is({})).toBe(true)
    expect(
      is({
        emits: [
          { targetId: null, event: { id: "e", kind: "K", createdTime: null, receivedTime: null, data: {}, extra: {} } }
        ],
        processed: "e",
        timers: [Commit.scheduleTimer("p", 1), Commit.cancelTimer("q")],
        spawns: [{ childId: "c", rootPath: "R", context: {} }],
        trace: Commit.traceStep({ eventKind: "K", timestamp: 1 }),
        ack: { _tag: "Timer", executionId: "a", path: "p", fireAt: 1 }
      })
    ).toBe(true)
    expect(is({ timers: [{ _tag: "Schedule", path: "p", fireAt: Number.NaN }] })).toBe(false)
    expect(is({ ack: { _tag: "Outbox" } })).toBe(false)
    expect(is({ processed: undefined, trace: undefined })).toBe(true)
  })

  it.prop(
    "random commits are commits",
    [Generators.commit],
    ([commit]) => {
      expect(Schema.is(Commit.Commit)(commit)).toBe(true)
    },
    { fastCheck: { numRuns: 50, seed: 1 } }
  )

  describe("the stored form of a trace step", () => {
    it("has its keys in the order of the format; assigned only where something was", () => {
      const step = Commit.traceStep({
        eventKind: "Pay",
        eventData: { amount: 39.98 },
        fromPath: "Cart",
        toPath: "Work.Pick",
        actions: ["price"],
        contextOut: { qty: 2 },
        timestamp: 1790000000.125
      })
      const text =
        '{"event_kind":"Pay","event_data":{"amount":39.98},"from_path":"Cart","to_path":"Work.Pick","actions":["price"],"context_out":{"qty":2},"timestamp":1790000000.125'
      expect(encode(step)).toEqual(Either.right(`${text}}`))
      expect(encode({ ...step, assigned: { paid: true }, extra: { took: 1 } })).toEqual(
        Either.right(`${text},"assigned":{"paid":true},"took":1}`)
      )
    })

    it("is read as Python writes it, its index left out", () => {
      const text =
        '{"event_kind": "Pay", "event_data": {"amount": NaN}, "from_path": null, "to_path": "W\\u00f1", "actions": [], "context_out": {"big": 1152921504606846976}, "timestamp": 1790000000.0, "index": 4}'
      const step = Commit.traceStep({
        eventKind: "Pay",
        eventData: { amount: null },
        toPath: "Wñ",
        contextOut: { big: 1152921504606846976n },
        timestamp: 1790000000
      })
      expect(decode(text)).toEqual(Either.right(step))
    })

    it("may leave out all but the kind and the time", () => {
      expect(decode('{"event_kind":"E","timestamp":"1.5"}')).toEqual(
        Either.right(Commit.traceStep({ eventKind: "E", timestamp: 1.5 }))
      )
      expect(decode('{"event_kind":"E","timestamp":1,"assigned":null}')).toEqual(
        Either.right(Commit.traceStep({ eventKind: "E", timestamp: 1 }))
      )
    })

    const refused: ReadonlyArray<readonly [text: string, problem: string]> = [
      ["{", "not JSON"],
      ["[NaN]", "expected an object, found an array"],
      ['{"timestamp":1}', "event_kind: is missing"],
      ['{"event_kind":"E"}', "timestamp: is missing"],
      ['{"event_kind":"E","timestamp":NaN}', "timestamp: expected a finite number, found null"],
      ['{"event_kind":"E","timestamp":1,"actions":{}}', "actions: expected an array, found an object"],
      ['{"event_kind":"E","timestamp":1,"actions":[1]}', "actions[0]: expected a string, found 1"],
      ['{"event_kind":"E","timestamp":1,"context_out":null}', "context_out: expected an object, found null"],
      ['{"event_kind":"E","timestamp":1,"from_path":7}', "from_path: expected a string, found 7"]
    ]
    it.each(refused)("refuses %s: %s", (text, expected) => {
      const problem = Either.match(decode(text), { onLeft: (error) => error.message, onRight: () => "it decodes" })
      expect(problem).toContain(expected)
    })

    it.prop(
      "comes back as it was",
      [Generators.traceStep],
      ([step]) => {
        const text = Either.getOrThrow(encode(step))
        deepStrictEqual(Either.getOrThrow(decode(text)), step)
      },
      { fastCheck: { numRuns: 100, seed: 1 } }
    )
  })
})
