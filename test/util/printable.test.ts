import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { printable, printableMembers, quoted } from "../../src/internal/util/printable.js"
import { halved, unprintable } from "../support/hostileText.js"

const anyText = FastCheck.string({ unit: "binary", maxLength: 20 })

describe("printable", () => {
  it("escapes what ends a line, drives a terminal, turns writing or is not seen", () => {
    expect(printable("a\nb\r\tc")).toBe("a\\nb\\r\\tc")
    expect(printable("\u0000\u001b[2J\u007f\u0085\u009b")).toBe("\\u0000\\u001b[2J\\u007f\\u0085\\u009b")
    expect(printable("\u061c\u200f\u202e\u2066\u2028\u2029\ufeff")).toBe(
      "\\u061c\\u200f\\u202e\\u2066\\u2028\\u2029\\ufeff"
    )
    expect(printable("\u{e0041}")).toBe("\\udb40\\udc41")
    expect(printable("\ud800x\udc00")).toBe("\\ud800x\\udc00")
  })

  it("leaves all else as it is", () => {
    const text = 'order-17 "ñ" \\n 日本語 עברית 😀 \u00a0'
    expect(printable(text)).toBe(text)
  })

  it("puts a text in quotes that reads back as the text", () => {
    expect(quoted('a"\n\u009b')).toBe('"a\\"\\n\\u009b"')
    expect(JSON.parse(quoted(halved))).toBe(halved)
  })

  it("does so for each text among members", () => {
    expect(printableMembers({ id: "a\n", n: 1, none: null })).toEqual({ id: "a\\n", n: 1, none: null })
  })

  it.prop("leaves nothing unprintable in any text, and is done once", [anyText], ([text]) => {
    expect(unprintable(printable(text))).toEqual([])
    expect(printable(printable(text))).toBe(printable(text))
    expect(JSON.parse(quoted(text))).toBe(text)
  })
})
