import * as vm from "node:vm"
import { describe, expect, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Generators from "holdfast/testing/Generators"
import { parse } from "../../src/internal/codec/json.js"
import { copyOf, stringify } from "../../src/internal/codec/stringify.js"

const written = (value: unknown) =>
  Either.match(stringify(value), {
    onLeft: ({ path, problem }) => expect.fail(`${path}: ${problem}`),
    onRight: (written) => written
  })

const text = (value: unknown): string => written(value).text

/** A class of another realm. */
const realm = (name: "Object" | "Array"): (new () => object) => vm.runInNewContext(name)

const doubles = FastCheck.double({ noNaN: true, noDefaultInfinity: true })
const runs = { fastCheck: { numRuns: 1000, seed: 1 } }

describe("stringify", () => {
  it("is JSON.stringify where that loses nothing", () => {
    const value = { a: [1, -2.5, true, null, 'x\u2028\u0000"\\ñ😀'], b: { c: {}, d: [] }, 5: "five" }
    expect(text(value)).toBe(JSON.stringify(value))
    expect(text(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}')
  })

  it("writes the digits of a bigint, and all else as it would without", () => {
    const value = { a: [1, -2.5, true, null, 'x\u2028"\\ñ😀'], b: { c: {}, d: [], u: undefined }, 5: "five" }
    expect(text({ ...value, n: 10n ** 30n })).toBe(
      `${JSON.stringify(value).slice(0, -1)},"n":1000000000000000000000000000000}`
    )
    expect(text([-1n])).toBe("[-1]")
    // keys that a library could take for its own
    expect(text({ isLosslessNumber: true, value: "7", n: 2n ** 64n })).toBe(
      '{"isLosslessNumber":true,"value":"7","n":18446744073709551616}'
    )
  })

  const numbers: ReadonlyArray<readonly [number | bigint, string]> = [
    [-0, "-0.0"],
    [0, "0"],
    [1.5, "1.5"],
    [1e-7, "1e-7"],
    [2 ** 53 - 1, "9007199254740991"],
    [2 ** 53, "9007199254740992.0"],
    [-(2 ** 53), "-9007199254740992.0"],
    [2 ** 60, "1.152921504606847e+18"],
    [1764457200123 * 1e6, "1.764457200123e+18"],
    [1e21, "1e+21"],
    [Number.MAX_VALUE, "1.7976931348623157e+308"],
    [5e-324, "5e-324"],
    [2n ** 53n, "9007199254740992"],
    [2n ** 60n, "1152921504606846976"],
    [-(2n ** 53n), "-9007199254740992"]
  ]
  it.each(numbers)("writes %s as %s, which reads back as the same", (number, expected) => {
    expect(text({ n: [number] })).toBe(`{"n":[${expected}]}`)
    deepStrictEqual(parse(text({ n: [number] })), { n: [number] })
  })

  it.prop(
    "writes any double so that it reads back as the same double",
    [doubles, FastCheck.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }).map(Number)],
    ([any, whole]) => {
      deepStrictEqual(parse(text([any, whole, { in: -whole }])), [any, whole, { in: -whole }])
      // an integer of Python would be another value: it has as many digits as it needs
      expect(/[.e]/.test(text(whole))).toBe(!Number.isSafeInteger(whole))
    },
    runs
  )

  it.prop(
    "writes any bigint so that it reads back as the same value, of 2^53 and more as a bigint",
    [FastCheck.bigInt(), FastCheck.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 2n })],
    ([any, edge]) => {
      for (const n of [any, edge, -edge]) {
        const small = Number.isSafeInteger(Number(n))
        deepStrictEqual(parse(text({ n })), { n: small ? Number(n) : n })
        expect(written({ n })).toEqual({ text: `{"n":${n}}`, readsBack: !small })
      }
    },
    runs
  )

  it("says whether all of it reads back as it is", () => {
    for (const value of [1, -0, 2 ** 60, 2n ** 60n, "1", null, [{ a: undefined }]]) {
      expect(written({ value }).readsBack).toBe(true)
    }
    expect(written({ list: [2 ** 60, 1n] }).readsBack).toBe(false)
    expect(written({ other: new (realm("Object"))(), n: 1n }).readsBack).toBe(false)
  })

  const copied = (value: unknown) =>
    Either.match(stringify(value, "", { copied: true }), {
      onLeft: ({ path, problem }) => expect.fail(`${path}: ${problem}`),
      onRight: (written) => written
    })

  const everyPart = (value: unknown): ReadonlyArray<object> =>
    typeof value === "object" && value !== null ? [value, ...Object.values(value).flatMap(everyPart)] : []

  it.prop(
    "makes the text of a copy that is what the text parses to, and shares no part with the value",
    [Generators.jsonObject],
    ([value]) => {
      const { copy, text } = copied(value)
      expect(text).toBe(written(value).text)
      // some numbers are read otherwise than by `JSON.parse`
      if (copy === undefined) return
      const parsed: unknown = JSON.parse(text)
      deepStrictEqual(copy.value, parsed)
      const parts = new Set(everyPart(value))
      expect(copy.parts).toBe(parts.size)
      expect(everyPart(copy.value).filter((part) => parts.has(part))).toEqual([])
      deepStrictEqual(copyOf(copy.value), parsed)
    },
    runs
  )

  it("copies what an assignment would not, and leaves out what JSON does", () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":[{}]},"10":1,"9":null}')
    const bare: unknown = Object.assign(Object.create(null), { value, none: undefined, list: [{ none: undefined }] })
    const { copy, text } = copied(bare)
    expect(text).toBe(JSON.stringify(bare))
    deepStrictEqual(copy?.value, JSON.parse(text))
    // what is written otherwise than by `JSON.stringify` is read otherwise
    for (const number of [-0, 2 ** 60, 1n]) expect(copied({ number }).copy).toBeUndefined()
  })

  it("takes the plain objects and arrays of another realm", () => {
    const [Objects, Arrays] = [realm("Object"), realm("Array")]
    const value = { o: Object.assign(new Objects(), { a: 1 }), l: Object.assign(new Arrays(), [1, 2 ** 60]) }
    expect(text(value)).toBe('{"o":{"a":1},"l":[1,1.152921504606847e+18]}')
  })

  it("takes a text that looks like an escaped surrogate for what it is, and a part that is there twice for two", () => {
    const part = { text: "\\ud800", path: "C:\\udd" }
    const value = { a: part, b: [part, part] }
    expect(text(value)).toBe(JSON.stringify(value))
  })

  it("leaves out a key whose value is undefined", () => {
    expect(text({ a: undefined, b: { c: undefined } })).toBe('{"b":{}}')
  })

  const cycle: { self?: unknown } = {}
  cycle.self = { again: cycle }
  const refused: ReadonlyArray<readonly [what: string, value: unknown, path: string, problem: string]> = [
    ["undefined", undefined, "", "JSON cannot carry undefined"],
    ["a function", () => 1, "", "JSON cannot carry a function"],
    ["a symbol", [Symbol.iterator], "[0]", "JSON cannot carry a symbol"],
    ["a key that is a symbol", { [Symbol.iterator]: 1 }, "", "JSON cannot carry a key that is a symbol"],
    ["NaN", { a: Number.NaN }, "a", "NaN is not a JSON number"],
    ["Infinity", [[Number.POSITIVE_INFINITY]], "[0][0]", "Infinity is not a JSON number"],
    ["a Date", { at: new Date(0) }, "at", "JSON cannot carry an instance of Date; convert it to a plain object first"],
    ["a Map", { m: new Map() }, "m", "JSON cannot carry an instance of Map"],
    ["an object without a named class", Object.create({ a: 1 }), "", "convert it to a plain object first"],
    ["toJSON", { o: { toJSON: () => 1 } }, "o", "an object with a toJSON method is not plain data"],
    ["a hole", new Array(2), "[0]", "JSON cannot carry undefined"],
    [
      "what a regular expression found",
      { m: /b(.)/.exec("abc") },
      "m.index",
      "an array's elements, not its other keys"
    ],
    [
      "an array with a name",
      [Object.assign([1, 2], { "a b": 3 })],
      '[0]["a b"]',
      "an array's elements, not its other keys"
    ],
    [
      "an array with a key that is a symbol",
      [Object.assign([1], { [Symbol.iterator]: 1 })],
      "[0]",
      "a key that is a symbol"
    ],
    ["an array of a class", { l: new (class Bag extends Array {})() }, "l", "JSON cannot carry an instance of Bag"],
    ["an integer of 4,301 digits", { n: 10n ** 4300n }, "n", "an integer of more than 4300 digits"],
    ["a negative one", { n: -(10n ** 4300n) }, "n", "an integer of more than 4300 digits"],
    ["a cycle", cycle, "self.again", "JSON cannot carry a cycle"],
    ["a lone surrogate", { "a b": ["\ud800"] }, '["a b"][0]', "a string with a lone surrogate is not Unicode"],
    ["a lone surrogate in a key", { o: { "\udc00": 1 } }, 'o["\\udc00"]', "a key with a lone surrogate is not Unicode"]
  ]
  it.each(refused)("refuses %s", (_, value, path, problem) => {
    const refusal = Either.flip(stringify(value))
    expect(Either.getOrThrow(refusal)).toEqual({ path, problem: expect.stringContaining(problem) })
    const within = Either.getOrThrow(Either.flip(stringify({ x: value === undefined ? [value] : value }, "context")))
    expect(within.path.startsWith("context.x")).toBe(true)
  })

  it("refuses more than 190 levels", () => {
    const nested = (levels: number) => {
      let value: unknown = 1
      for (let i = 0; i < levels; i++) value = [value]
      return value
    }
    expect(text(nested(190))).toHaveLength(381)
    const refusal = Either.flip(stringify(nested(191), "context"))
    expect(Either.getOrThrow(refusal)).toEqual({
      path: `context${"[0]".repeat(190)}`,
      problem: "more than 190 levels deep"
    })
  })

  it("takes an integer of 4,300 digits, and an array whose other keys are undefined", () => {
    deepStrictEqual(parse(text([10n ** 4300n - 1n, 1n - 10n ** 4300n])), [10n ** 4300n - 1n, 1n - 10n ** 4300n])
    expect(text([Object.assign([1], { groups: undefined })])).toBe("[[1]]")
  })

  it("takes the same object twice", () => {
    const shared = { a: [1] }
    expect(text([shared, { shared }])).toBe('[{"a":[1]},{"shared":{"a":[1]}}]')
  })

  it.prop(
    "and parse are inverse",
    [Generators.jsonObject],
    ([value]) => {
      deepStrictEqual(parse(text(value)), value)
      // SQLite and Python read it too: it is plain JSON
      expect(() => JSON.parse(text(value))).not.toThrow()
    },
    { fastCheck: { numRuns: 200, seed: 1 } }
  )
})
