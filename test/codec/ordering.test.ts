import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Generators from "holdfast/testing/Generators"
import { decode, encode } from "../../src/internal/codec/cursor.js"
import { compareUtf8, prefixEnd } from "../../src/internal/codec/utf8Order.js"
import { Ordered } from "../../src/internal/memory/sortedArray.js"

const fastCheck = { numRuns: 300, seed: 1 }

const sign = (n: number): number => Math.sign(n)

// any code points, most of them at the edges where the orders of UTF-8 and UTF-16 part
const unicode = FastCheck.array(
  FastCheck.oneof(
    FastCheck.constantFrom(
      "a",
      "\u007f",
      "\u0080",
      "\u07ff",
      "\u0800",
      "\ud7ff",
      "\ue000",
      "\uffff",
      "\u{10000}",
      "\u{10ffff}"
    ),
    FastCheck.string({ unit: "binary", minLength: 1, maxLength: 1 })
  ),
  { maxLength: 4 }
).map((characters) => characters.join(""))

describe("the order of UTF-8 bytes", () => {
  it.prop(
    "compareUtf8 orders as the bytes do",
    [unicode, unicode],
    ([a, b]) => {
      expect(sign(compareUtf8(a, b))).toBe(sign(Buffer.compare(Buffer.from(a), Buffer.from(b))))
      expect(sign(compareUtf8(a, a + b))).toBe(b === "" ? 0 : -1)
    },
    { fastCheck }
  )

  it.prop(
    "prefixEnd is above all texts with the prefix, and no text without it lies below",
    [unicode, unicode],
    ([prefix, text]) => {
      const end = prefixEnd(prefix)
      const below = (text: string) => end === undefined || compareUtf8(text, end) < 0
      expect(below(prefix + text)).toBe(true)
      const within = compareUtf8(text, prefix) >= 0 && below(text)
      expect(within).toBe(text.startsWith(prefix))
    },
    { fastCheck }
  )

  it("prefixEnd knows the edges", () => {
    expect(prefixEnd("")).toBe(undefined)
    expect(prefixEnd("\u{10ffff}")).toBe(undefined)
    expect(prefixEnd("a\u{10ffff}\u{10ffff}")).toBe("b")
    expect(prefixEnd("a\ud7ff")).toBe("a\ue000")
    expect(prefixEnd("a\uffff")).toBe("a\u{10000}")
    expect(prefixEnd("a_")).toBe("a`")
  })
})

describe("cursors", () => {
  it.prop("decode gives the id that encode took", [Generators.id], ([id]) => {
    expect(decode(encode(id))).toBe(id)
  })

  it.prop(
    "decode takes nothing but what encode gives",
    [FastCheck.string({ unit: "binary" })],
    ([text]) => {
      const id = decode(text)
      expect(id === undefined || encode(id) === text).toBe(true)
    },
    { fastCheck }
  )

  it("garbage is no cursor", () => {
    for (const text of ["", "Nw==", `${encode("a")}=`, ` ${encode("a")}`, undefined, null, 7, {}]) {
      expect(decode(text)).toBe(undefined)
    }
  })
})

describe("Ordered", () => {
  const operations = FastCheck.array(
    FastCheck.record({
      set: FastCheck.boolean(),
      key: FastCheck.integer({ min: 0, max: 12 }),
      value: FastCheck.nat(9)
    }),
    { maxLength: 40 }
  )

  it.prop(
    "it is a map whose items are read in the order of their keys",
    [operations, FastCheck.integer({ min: -1, max: 13 })],
    ([operations, key]) => {
      type Item = { readonly key: number; readonly value: number }
      const ordered = new Ordered<number, Item>(
        (item) => item.key,
        (a, b) => a - b
      )
      const map = new Map<number, Item>()
      for (const { key, set, value } of operations) {
        if (set) {
          ordered.set({ key, value })
          map.set(key, { key, value })
        } else {
          expect(ordered.delete(key)).toBe(map.delete(key))
        }
      }
      const items = Array.from(map.values()).toSorted((a, b) => a.key - b.key)
      expect(Array.from(ordered.from())).toEqual(items)
      expect(Array.from(ordered.after())).toEqual(items)
      expect(Array.from(ordered.from(key))).toEqual(items.filter((item) => item.key >= key))
      expect(Array.from(ordered.after(key))).toEqual(items.filter((item) => item.key > key))
      expect(ordered.get(key)).toEqual(map.get(key))
    },
    { fastCheck }
  )
})
