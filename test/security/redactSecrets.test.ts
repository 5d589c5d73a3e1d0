import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { redact, redactErrors } from "holdfast/internal/http/redactSecrets"

const secret = "k33p/th1s&s3crét"

const hex = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, "0")

const units = (text: string): ReadonlyArray<string> => text.split("")

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

const all = (text: string): string =>
  units(text)
    .map((unit) => `\\u${hex(unit)}`)
    .join("")

const escapedSlashes = (text: string): string => text.replaceAll("/", "\\/")

const ascii = (text: string): string => text.replace(/[^ -~]/g, (unit) => `\\u${hex(unit)}`)

const entities = (text: string): string => Array.from(text, (character) => `&#${character.codePointAt(0)};`).join("")

const bytes = (text: string): string =>
  Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")

const ways: ReadonlyArray<readonly [name: string, write: (text: string) => string]> = [
  ["each character by its number", all],
  ["by its number in large letters", (text) => all(text).toUpperCase().replaceAll("\\U", "\\u")],
  ["slashes", escapedSlashes],
  ["what is no ASCII", ascii],
  ["both", (text) => ascii(escapedSlashes(text))],
  ["as HTML-safe JSON", (text) => inJson(text).replaceAll("&", "\\u0026")],
  ["a text of JSON in JSON", (text) => inJson(all(text))],
  ["and once more", (text) => inJson(inJson(ascii(escapedSlashes(text))))],
  ["entities of a page", entities],
  ["a page in JSON", (text) => inJson(entities(text)).replaceAll("&", "\\u0026")],
  ["all bytes of a URL", bytes],
  ["a URL in JSON", (text) => escapedSlashes(`/${bytes(text)}/`)]
]

describe("A secret that is repeated with escapes", () => {
  for (const [name, write] of ways) {
    it(`is recognised: ${name}`, () => {
      const text = `before ${write(secret)} after ${write(secret)}.`
      const shown = redact(text, ["another secret", secret])
      assert.isTrue(shown.startsWith("before ") && shown.endsWith("."), shown)
      assert.strictEqual(shown.split("<redacted>").length, 3, shown)
      assert.notInclude(shown, write(secret))
    })
  }

  it("is recognised in the errors of an answer of success, whose data stay as they are", () => {
    const body = `{"results":[{"error":"no ${all(secret)}"},{"data":"${all(secret)}"}]}`
    assert.strictEqual(
      redactErrors(body, [secret]),
      `{"results":[{"error":"no <redacted>"},{"data":"${all(secret)}"}]}`
    )
    assert.strictEqual(redactErrors(`<p>${entities(secret)}</p>`, [secret]), "<p><redacted></p>")
  })

  it("is recognised where any of its characters is escaped, and what is before and behind it stays", () => {
    const text = FastCheck.string({ unit: "grapheme", maxLength: 10 })
    const long = FastCheck.string({ unit: "grapheme", minLength: 8, maxLength: 16 })
    const property = FastCheck.property(text, long, text, FastCheck.infiniteStream(FastCheck.boolean()), (...args) => {
      const [before, secret, after, choices] = args
      if (before.includes(secret.slice(0, 1)) || after.includes(secret.slice(-1))) return true
      const written = units(secret).map((unit) => (choices.next().value === true ? `\\u${hex(unit)}` : inJson(unit)))
      const found: unknown = JSON.parse(redact(`"${inJson(before)}${written.join("")}${inJson(after)}"`, [secret]))
      return found === `${before}<redacted>${after}`
    })
    FastCheck.assert(property, { numRuns: 200, seed: 5 })
  })

  it("leaves a text of the same escapes that has none", () => {
    for (const [, write] of ways) {
      const text = `before ${write("k33p/th1s&other")} after`
      assert.strictEqual(redact(text, [secret]), text)
    }
  })

  it("costs each character of a long answer the same", () => {
    // What looked at all behind each escape anew would take minutes.
    const times = 60_000
    for (const piece of ["\\u006b", "\\\\", "\\/", "%6b", "&#107;", "\\"]) {
      const text = piece.repeat(times)
      assert.strictEqual(redact(text, [secret]), text)
    }
  })
})
