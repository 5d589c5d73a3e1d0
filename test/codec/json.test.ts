import { describe, expect, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Either from "effect/Either"
import * as Generators from "holdfast/testing/Generators"
import * as json from "../../src/internal/codec/json.js"

const text = (value: unknown): string =>
  Either.match(json.stringify(value), {
    onLeft: ({ path, problem }) => expect.fail(`${path}: ${problem}`),
    onRight: (text) => text
  })

describe("json", () => {
  describe("parse", () => {
    const same: ReadonlyArray<string> = [
      "{}",
      "[]",
      '""',
      "null",
      ' {"a" : [1, -2.5, 1e3, true, false, null, "x"]} ',
      '"\\u00f1\\ud83d\\ude00\\n\\u0000\\/"',
      '{"a":1,"a":2}',
      '{"__proto__":{"x":1},"constructor":2}'
    ]
    it.each(same)("is JSON.parse for %s", (text) => {
      const expected: unknown = JSON.parse(text)
      deepStrictEqual(json.parse(text), expected)
      // the same text on the way for long numbers
      deepStrictEqual(json.parse(`[1152921504606846976,${text}]`), [1152921504606846976n, expected])
    })

    const numbers: ReadonlyArray<readonly [string, number | bigint]> = [
      ["9007199254740991", 9007199254740991],
      ["9007199254740992", 9007199254740992n],
      ["-9007199254740991", -9007199254740991],
      ["-9007199254740993", -9007199254740993n],
      ["1152921504606846976", 1152921504606846976n],
      ["1000000000000000000000000000000", 10n ** 30n],
      ["1000000000000000000000000000000.5", 1e30],
      ["0.1234567890123456", 0.1234567890123456],
      ["1790000060.1234567", 1790000060.1234567],
      ["1e16", 1e16],
      ["1E+22", 1e22],
      ["-0", -0],
      ["-0.0", -0],
      ["5e-324", 5e-324]
    ]
    it.each(numbers)("reads %s as %s", (text, number) => {
      deepStrictEqual(json.parse(text), number)
      deepStrictEqual(json.parse(`{"n":[${text}],"long":"1234567890123456"}`), {
        n: [number],
        long: "1234567890123456"
      })
    })

    it("takes the last of a key that comes twice", () => {
      expect(json.parse('{"a":1152921504606846976,"a":2}')).toEqual({ a: 2 })
    })

    const broken = [
      "",
      "{",
      "[1,]",
      "{'a':1}",
      "NaN",
      "[Infinity]",
      "01",
      "1.",
      "tru",
      '"\n"',
      "[] []",
      '{"a"}',
      "\ufeff{}"
    ]
    it.each(broken)("throws a SyntaxError for %j", (text) => {
      expect(() => json.parse(text)).toThrow(SyntaxError)
      expect(() => json.parse(`[1152921504606846976,${text}]`)).toThrow(SyntaxError)
    })
  })

  describe("parsePython", () => {
    it("reads NaN and the infinities as null, but not in texts and keys", () => {
      expect(json.parsePython('{"a": NaN, "b": [Infinity, -Infinity, 1.0], "NaN": "Infinity \\" NaN \\\\"}')).toEqual({
        a: null,
        b: [null, null, 1],
        NaN: 'Infinity " NaN \\'
      })
      expect(json.parsePython("NaN")).toBe(null)
      expect(json.parsePython('{"big": 1152921504606846976, "n": NaN}')).toEqual({ big: 1152921504606846976n, n: null })
    })

    it.each(["{NaN", "[-NaN]", "[NaN NaN]", "nan", "{NaN: 1}", ""])("throws a SyntaxError for %j", (text) => {
      expect(() => json.parsePython(text)).toThrow(SyntaxError)
    })
  })

  describe("stringify", () => {
    it("is JSON.stringify where that loses nothing", () => {
      const value = { a: [1, -2.5, true, null, 'x\u2028\u0000"\\ñ😀'], b: { c: {}, d: [] }, 5: "five" }
      expect(text(value)).toBe(JSON.stringify(value))
      expect(text(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}')
    })

    it("writes the digits of a bigint, and all else as it would without", () => {
      const value = { a: [1, -2.5, true, null, 'x\u2028"\\ñ😀', -0], b: { c: {}, d: [], u: undefined }, 5: "five" }
      expect(text({ ...value, n: 10n ** 30n })).toBe(
        `${JSON.stringify(value).slice(0, -1)},"n":1000000000000000000000000000000}`
      )
      expect(text([-1n])).toBe("[-1]")
      // keys that a library could take for its own
      expect(text({ isLosslessNumber: true, value: "7", n: 2n ** 64n })).toBe(
        '{"isLosslessNumber":true,"value":"7","n":18446744073709551616}'
      )
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
      [
        "a Date",
        { at: new Date(0) },
        "at",
        "JSON cannot carry an instance of Date; convert it to a plain object first"
      ],
      ["a Map", { m: new Map() }, "m", "JSON cannot carry an instance of Map"],
      ["an object without a named class", Object.create({ a: 1 }), "", "convert it to a plain object first"],
      ["toJSON", { o: { toJSON: () => 1 } }, "o", "an object with a toJSON method is not plain data"],
      ["a hole", new Array(2), "[0]", "JSON cannot carry undefined"],
      ["a cycle", cycle, "self.again", "JSON cannot carry a cycle"],
      ["a lone surrogate", { "a b": ["\ud800"] }, '["a b"][0]', "a string with a lone surrogate is not Unicode"],
      [
        "a lone surrogate in a key",
        { o: { "\udc00": 1 } },
        'o["\\udc00"]',
        "a key with a lone surrogate is not Unicode"
      ]
    ]
    it.each(refused)("refuses %s", (_, value, path, problem) => {
      const refusal = Either.flip(json.stringify(value))
      expect(Either.getOrThrow(refusal)).toEqual({ path, problem: expect.stringContaining(problem) })
      const within = Either.getOrThrow(
        Either.flip(json.stringify({ x: value === undefined ? [value] : value }, "context"))
      )
      expect(within.path.startsWith("context.x")).toBe(true)
    })

    it("refuses more than 190 levels", () => {
      const nested = (levels: number) => {
        let value: unknown = 1
        for (let i = 0; i < levels; i++) value = [value]
        return value
      }
      expect(text(nested(190))).toHaveLength(381)
      const refusal = Either.flip(json.stringify(nested(191), "context"))
      expect(Either.getOrThrow(refusal)).toEqual({
        path: `context${"[0]".repeat(190)}`,
        problem: "more than 190 levels deep"
      })
    })

    it("takes the same object twice", () => {
      const shared = { a: [1] }
      expect(text([shared, { shared }])).toBe('[{"a":[1]},{"shared":{"a":[1]}}]')
    })

    it.prop(
      "and parse are inverse",
      [Generators.jsonObject],
      ([value]) => {
        deepStrictEqual(json.parse(text(value)), value)
        // SQLite and Python read it too: it is plain JSON
        expect(() => JSON.parse(text(value))).not.toThrow()
      },
      { fastCheck: { numRuns: 200, seed: 1 } }
    )
  })
})
