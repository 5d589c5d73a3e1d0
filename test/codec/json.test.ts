import { describe, expect, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as json from "../../src/internal/codec/json.js"

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

    const digits = "1234567890123456789"
    it.each([
      `"${digits}"`,
      `{"${digits}":1,"b":"e999 ${digits}"}`,
      `["a\\\\",${digits.slice(0, 15)},"\\"${digits}","\\\\\\"${digits}\\\\",0.${digits},-1e-${digits}]`,
      `{"token":"${digits}e400","at":1790000060.1234567,"n":[1.${digits}E2,${digits}.5,${digits}e1]}`,
      `[ -1.${digits} ,\n0.${digits}]`
    ])("reads digits in texts and in fractions as JSON.parse does: %s", (text) => {
      const expected: unknown = JSON.parse(text)
      deepStrictEqual(json.parse(text), expected)
    })

    it.each([
      `[${digits}]`,
      `{"a":\n-${digits}}`,
      `["${digits}", ${digits}]`,
      `{"\\"":${digits},"b":1}`,
      `["\\\\",${digits}]`
    ])("reads an integer behind texts and white space with all its digits: %s", (text) => {
      const read = JSON.stringify(json.parse(text), (_, value: unknown) =>
        typeof value === "bigint" ? `${value}n` : value
      )
      expect(read).toContain(`${digits}n`)
    })

    it("keeps the digits of a long integer wherever in the text it stands", () => {
      for (let before = 0; before < 40; before++) {
        for (const digits of ["999999999999999", "9007199254740993", "90071992547409931", "-9007199254740993"]) {
          const number = BigInt(digits)
          const expected = Number.isSafeInteger(Number(number)) ? Number(number) : number
          deepStrictEqual(json.parse(`["${"x".repeat(before)}",${digits}]`), ["x".repeat(before), expected])
          deepStrictEqual(json.parse(`[${" ".repeat(before)}${digits}]`), [expected])
        }
      }
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

  describe("an integer of more digits than Python reads", () => {
    it("is no JSON here either", () => {
      const digits = "9".repeat(4300)
      deepStrictEqual(json.parse(`[${digits},-${digits}]`), [BigInt(digits), -BigInt(digits)])
      for (const sign of ["", "-"]) {
        expect(() => json.parse(`{"a":${sign}9${digits}}`)).toThrow(
          "an integer of 4301 digits, of which Python reads 4300"
        )
      }
      // a double of as many digits is none
      expect(json.parse(`[0.${digits}9]`)).toEqual([1])
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

    // steps rather than time, which on a busy machine says nothing
    it("looks at each character a bounded number of times", () => {
      const steps = (text: string): number => {
        let looked = 0
        const counted = new Proxy(Object(text), {
          get: (target, key) => {
            looked++
            const value: unknown = Reflect.get(target, key, target)
            return typeof value === "function" ? value.bind(target) : value
          }
        })
        json.withoutPythonNumbers(counted)
        return looked
      }
      for (const part of ['"', '\\"', '"\\', "NaN", "-", "I", '"NaN', '{"a": NaN, "b": "']) {
        const [once, twice] = [steps(part.repeat(2000)), steps(part.repeat(4000))]
        expect(twice / once).toBeLessThan(2.1)
      }
    })
  })
})
