/**
 * Free data: what JSON can carry comes back as it was, the rest is refused.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Event from "../../Event.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { JsonObject } from "../../Json.js"
import * as Generators from "../Generators.js"
import { refuses } from "../internal/assertions.js"
import { awkwardTexts, emit, order, spawn, step } from "../internal/samples.js"
import { loaded, outbox, spawns, trace, visible } from "../internal/state.js"
import type { Subject } from "../Subject.js"

/** Data at every place where a commit carries free data. */
const carry = (data: JsonObject) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const event = { ...emit("e").event, data }
    const child = {
      rootPath: "R",
      finished: true,
      outcome: null,
      result: data,
      submachine: false,
      key: "",
      extra: {}
    }
    yield* store.commit(order("a", { context: data, deferred: [event], children: { c: child }, extra: { data } }), {
      emits: [{ targetId: null, event }],
      spawns: [spawn("c", data)],
      trace: step("e", { eventData: data, contextOut: data, assigned: data, extra: { data } })
    })
    const execution = yield* loaded("a")
    const traced = (yield* trace("a"))[0]
    return [
      execution.context,
      execution.deferred[0]?.data,
      execution.children["c"]?.result,
      execution.extra["data"],
      (yield* outbox())[0]?.event.data,
      (yield* spawns())[0]?.context,
      traced?.eventData,
      traced?.contextOut,
      traced?.assigned,
      traced?.extra["data"]
    ]
  })

const nested = (levels: number): JsonObject => {
  let value: JsonObject = {}
  for (let level = 1; level < levels; level++) value = { in: value }
  return value
}

const cyclic = (): JsonObject => {
  const value: { self?: unknown } = {}
  value.self = [value]
  return { a: value }
}

class Money {
  readonly amount = 1
}

const refused: ReadonlyArray<readonly [what: string, path: string, context: JsonObject]> = [
  ["a function", "context.a.b[2]", { a: { b: [0, 1, () => 2] } }],
  ["a symbol", "context.s", { s: Symbol.for("s") }],
  ["a key that is a symbol", "context.o", { o: { [Symbol.for("s")]: 1 } }],
  ["undefined in an array", "context.list[1]", { list: [1, undefined] }],
  ["a hole in an array", "context.list[0]", { list: new Array(1) }],
  ["NaN", "context.n", { n: Number.NaN }],
  ["Infinity", "context.n[0]", { n: [Number.POSITIVE_INFINITY] }],
  ["-Infinity", "context.n", { n: Number.NEGATIVE_INFINITY }],
  ["a Map", "context.m", { m: new Map([["a", 1]]) }],
  ["a Set", "context.m", { m: new Set([1]) }],
  ["a Date", "context.d", { d: new Date(0) }],
  ["a RegExp", "context.r", { r: /x/ }],
  ["an Error", "context.e", { e: new Error("x") }],
  ["an instance of a class", "context.m", { m: new Money() }],
  ["bytes", "context.b", { b: new Uint8Array(2) }],
  ["a boxed number", "context.n", { n: Object(1) }],
  ["a boxed bigint", "context.n", { n: Object(1n) }],
  ["a toJSON method", "context.o", { o: { toJSON: () => 1 } }],
  ["an array with a toJSON method", "context.o", { o: Object.assign([1], { toJSON: () => 1 }) }],
  ["what a regular expression found", "context.found.index", { found: /b/.exec("abc") }],
  ["an array with a name", "context.list[0].total", { list: [Object.assign([1], { total: 1 })] }],
  ["an array of a class", "context.list", { list: new (class Bag extends Array {})() }],
  ["an integer of 4,301 digits", "context.n[1]", { n: [10n ** 4299n, 10n ** 4300n] }],
  ["a cycle", "context.a.self[0]", cyclic()],
  ["a lone surrogate in a text", "context.t[0].u", { t: [{ u: "a\ud83d" }] }],
  ["a lone surrogate in a key", 'context.o["\\ude00b"]', { o: { "\ude00b": 1 } }],
  ["a key that is no name", 'context["a b"]["__proto__ "]', { "a b": { "__proto__ ": () => 1 } }],
  ["a function as the context", "context", Object.assign(() => 1, {})],
  ["an array as the context", "context", Object.assign([1])],
  ["a date as the context", "context", Object.assign(new Date(0))]
]

/**
 * @since 0.1.0
 * @category tests
 */
export const json = ({ property, test }: Subject): void => {
  describe("free data", () => {
    for (const [what, path, context] of refused) {
      test(`a context with ${what} is refused by its path, and nothing is written`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const before = yield* visible(["a"], ["e"])
          yield* refuses(store.commit(order("a", { context }), { emits: [emit("e")], processed: "e" }), path)
          expect(yield* visible(["a"], ["e"])).toEqual(before)
        }))
    }

    test("it is refused at every place, by its path", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const data = { list: [1, Number.NaN] }
        const event = { ...emit("e").event, data }
        const before = yield* visible(["a"], ["e"])
        yield* refuses(
          store.commit(order("a"), { emits: [emit("1"), { targetId: null, event }] }),
          "emits[1].event.data.list[1]"
        )
        yield* refuses(store.commit(order("a"), { spawns: [spawn("c", data)] }), "spawns[0].context.list[1]")
        yield* refuses(
          store.commit(order("a"), { trace: step("e", { contextOut: data }) }),
          "trace.context_out.list[1]"
        )
        yield* refuses(store.save(order("a", { deferred: [event] })), "deferred[0].data.list[1]")
        yield* refuses(store.save(order("a", { extra: { own: data } })), "own.list[1]")
        yield* refuses(store.enqueue([{ targetId: null, event }]), "emits[0].event.data.list[1]")
        yield* refuses(store.appendTrace("a", step("e", { eventData: data })), "event_data.list[1]")
        yield* refuses(store.appendTrace("a", step("e", { extra: { index: 7 } })), "extra.index")
        expect(yield* visible(["a"], ["e"])).toEqual(before)
      }))

    test("an execution and a step of its trace nest 200 levels, themselves included, other rows 190, and not one more", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const deep = nested(199)
        yield* store.commit(order("a", { context: deep }), {
          spawns: [spawn("c", nested(190))],
          trace: step("1", { contextOut: deep })
        })
        expect((yield* loaded("a")).context).toEqual(deep)
        expect((yield* spawns())[0]?.context).toEqual(nested(190))
        expect((yield* trace("a"))[0]?.contextOut).toEqual(deep)
        yield* refuses(store.save(order("b", { context: nested(200) })), `context${".in".repeat(199)}`)
        const event = Event.make({ id: "e", kind: "K", data: nested(190) })
        yield* refuses(store.enqueue([{ targetId: null, event }]), `emits[0].event.data${".in".repeat(189)}`)
        yield* refuses(
          store.commit(order("b"), { spawns: [spawn("c", nested(191))] }),
          `spawns[0].context${".in".repeat(190)}`
        )
        yield* refuses(store.save(order("b", { context: nested(5000) })), `context${".in".repeat(199)}`)
      }))

    test("the same object twice is no cycle", () =>
      Effect.gen(function* () {
        const shared = { x: [1] }
        for (const data of yield* carry({ a: shared, b: [shared, shared] })) {
          expect(data).toEqual({ a: shared, b: [shared, shared] })
        }
      }))

    test("a member that is undefined counts as absent", () =>
      Effect.gen(function* () {
        for (const data of yield* carry({ a: undefined, b: { c: undefined, d: 1n, big: 2n ** 70n } })) {
          deepStrictEqual(data, { b: { d: 1, big: 2n ** 70n } })
        }
      }))

    test("a bigint keeps every digit, at every place", () =>
      Effect.gen(function* () {
        const data = {
          big: 1152921504606846976n,
          huge: [10n ** 30n, -(10n ** 30n)],
          edge: { above: 9007199254740993n, safe: 9007199254740991, negative: -9007199254740993n }
        }
        for (const read of yield* carry(data)) deepStrictEqual(read, data)
      }))

    test("a bigint that a double can hold is read as a number", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a", { context: { small: 5n, edge: -9007199254740991n } }))
        expect((yield* loaded("a")).context).toStrictEqual({ small: 5, edge: -9007199254740991 })
      }))

    test("doubles are kept exactly", () =>
      Effect.gen(function* () {
        const small = [0.1, 1e-7, 5e-324, 123456.78901234567, -1.5, 1790000060.1234567, 1.0, 0, -0]
        const large = [2 ** 53, 2 ** 53 + 2, -(2 ** 60), 1764457200123 * 1e6, 1e21, 1.7976931348623157e308]
        for (const read of yield* carry({ small, large })) deepStrictEqual(read, { small, large })
      }))

    test("a double and a bigint of the same value are told apart", () =>
      Effect.gen(function* () {
        const data = { double: 2 ** 60, bigint: 2n ** 60n, list: [2 ** 53, 2n ** 53n, -(2 ** 63), -(2n ** 63n)] }
        for (const read of yield* carry(data)) deepStrictEqual(read, data)
      }))

    test("what a commit answers is what is stored", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const contexts: ReadonlyArray<JsonObject> = [
          { zero: -0, list: [-0], large: 2 ** 60, big: 2n ** 60n },
          { counter: 5n, edge: [2n ** 53n - 1n, 2n ** 53n] },
          { none: {}, text: "\u00f1" }
        ]
        for (const [i, context] of contexts.entries()) {
          const { execution } = yield* store.commit(
            order(`o${i}`, { context, deferred: [{ ...emit("e").event, data: context }] })
          )
          deepStrictEqual(execution, yield* loaded(`o${i}`))
          deepStrictEqual(yield* store.save(execution), yield* loaded(`o${i}`))
        }
      }))

    test("any text is kept, as a value and as a key", () =>
      Effect.gen(function* () {
        const data: JsonObject = {
          values: awkwardTexts,
          keys: Object.fromEntries(awkwardTexts.map((text) => [text, text]))
        }
        for (const read of yield* carry(data)) deepStrictEqual(read, data)
      }))

    test("a text of a million bytes is kept", () =>
      Effect.gen(function* () {
        const long = "0123456789 'ñ😀'".repeat(52_700)
        const store = yield* ExecutionStore
        yield* store.commit(order("a", { context: { long } }), {
          emits: [{ targetId: null, event: { ...emit("e").event, data: { long } } }]
        })
        expect((yield* loaded("a")).context["long"] === long).toBe(true)
        expect((yield* outbox())[0]?.event.data["long"] === long).toBe(true)
      }))

    test("keys that objects have by nature are data like any other", () =>
      Effect.gen(function* () {
        const own: JsonObject = JSON.parse(
          '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"hasOwnProperty":1,"isLosslessNumber":true,"value":"7","length":0}'
        )
        for (const data of [own, { own, big: 2n ** 64n }]) {
          for (const read of yield* carry(data)) {
            deepStrictEqual(read, data)
          }
          yield* Effect.flatMap(ExecutionStore, (store) => store.purge("a", 1))
          yield* Effect.forEach(yield* outbox(), ({ seq }) => Effect.flatMap(ExecutionStore, (s) => s.ackOutbox(seq)))
          yield* Effect.forEach(yield* spawns(), ({ seq }) => Effect.flatMap(ExecutionStore, (s) => s.ackSpawn(seq)))
        }
        expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false)
        expect("polluted" in {}).toBe(false)
      }))

    test("such keys are kept in history, children and invokeSeq as well", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const child = {
          rootPath: "R",
          finished: false,
          outcome: null,
          result: {},
          submachine: false,
          key: "",
          extra: {}
        }
        const names = ["__proto__", "constructor", "toString"]
        const record = <A>(value: A) => Object.fromEntries(names.map((name) => [name, value]))
        yield* store.save(order("a", { history: record("A"), children: record(child), invokeSeq: record(3) }))
        const { children, history, invokeSeq } = yield* loaded("a")
        for (const [read, value] of [
          [history, "A"],
          [children, child],
          [invokeSeq, 3]
        ] as const) {
          expect(Object.keys(read).toSorted()).toEqual(names.toSorted())
          for (const name of names) expect(Object.getOwnPropertyDescriptor(read, name)?.value).toEqual(value)
        }
        const again = yield* store.save(yield* loaded("a"))
        expect(Object.keys(again.children).toSorted()).toEqual(names.toSorted())
      }))

    property(
      "any double and any bigint come back as they were, at every place",
      FastCheck.record({ numbers: FastCheck.array(Generators.number, { minLength: 20, maxLength: 40 }) }),
      10,
      (data) =>
        Effect.gen(function* () {
          for (const read of yield* carry(data)) deepStrictEqual(read, data)
        })
    )

    property("random data comes back as it was, at every place", Generators.jsonObject, 15, (data) =>
      Effect.gen(function* () {
        for (const read of yield* carry(data)) deepStrictEqual(read, data)
      })
    )
  })
}
