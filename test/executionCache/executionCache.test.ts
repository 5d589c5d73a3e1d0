import { assert, describe, it } from "@effect/vitest"
import { ExecutionCache } from "holdfast/internal/executionCache/executionCache"

const row = (text: string, version = 1) => ({
  row: () => text,
  bytes: text.length * 2,
  version,
  token: text,
  fence: undefined
})

describe("What a store remembers", () => {
  it("is of so many executions, those written longest ago forgotten first", () => {
    const cache = new ExecutionCache({ capacity: 2, maxBytes: 1000 })
    for (const id of ["a", "b", "a", "c"]) cache.set(id, row(id))
    assert.deepStrictEqual(
      ["a", "b", "c"].map((id) => cache.get(id, undefined)?.token),
      ["a", undefined, "c"]
    )
  })

  it("takes so many bytes, also where one row has more than all may", () => {
    const cache = new ExecutionCache({ capacity: 100, maxBytes: 40 })
    cache.set("a", row("x".repeat(10)))
    cache.set("b", row("x".repeat(10)))
    cache.set("b", row("x".repeat(9)))
    assert.isDefined(cache.get("a", undefined))
    cache.set("c", row("xx"))
    assert.isUndefined(cache.get("a", undefined))
    cache.set("d", row("x".repeat(30)))
    assert.deepStrictEqual(
      ["a", "b", "c", "d"].map((id) => cache.get(id, undefined)),
      [undefined, undefined, undefined, undefined]
    )
    cache.set("e", row("x".repeat(20)))
    cache.forget("e")
    cache.set("f", row("x".repeat(20)))
    assert.isDefined(cache.get("f", undefined))
  })

  it("is what was read, unless something later is remembered", () => {
    const cache = new ExecutionCache({ capacity: 10, maxBytes: 1000 })
    cache.learn("a", row("read", 2))
    cache.set("a", row("written", 3))
    cache.learn("a", row("read before", 2))
    assert.strictEqual(cache.get("a", undefined)?.token, "written")
    cache.learn("a", row("read after", 4))
    assert.strictEqual(cache.get("a", undefined)?.token, "read after")
  })

  it("is given to whoever has a lease where it was read, also since an earlier one", () => {
    const fence = { pool: "p", name: "1", holder: "h", fence: 1 }
    const cache = new ExecutionCache({ capacity: 10, maxBytes: 1000 })
    cache.set("a", { ...row("written", 3), fence })
    const later = { ...fence, fence: 3 }
    assert.isUndefined(cache.get("a", later))
    cache.learn("a", row("written", 3))
    assert.strictEqual(cache.get("a", later)?.token, "written")
  })

  it("is told of those of last, and leaves a page an eighth of its room", () => {
    const cache = new ExecutionCache({ capacity: 8000, maxBytes: 160_000 })
    for (let i = 0; i < 500; i++) cache.set(`e${i}`, row("x"))
    cache.set("e0", row("x"))
    assert.deepStrictEqual(cache.known, [...Array.from({ length: 399 }, (_, i) => `e${i + 101}`), "e0"])
    assert.deepStrictEqual([cache.roomFor(1000), cache.roomFor(1001)], [10_000, 0])
  })
})
