import { assert, describe, it } from "@effect/vitest"
import { ExecutionCache } from "holdfast/internal/executionCache/executionCache"

const row = (text: string) => ({ text, token: text, fence: undefined })

describe("What a store remembers", () => {
  it("is of so many executions, those written longest ago forgotten first", () => {
    const cache = new ExecutionCache({ capacity: 2, maxBytes: 1000 })
    for (const id of ["a", "b", "a", "c"]) cache.set(id, row(id))
    assert.deepStrictEqual(
      ["a", "b", "c"].map((id) => cache.get(id, undefined)?.text),
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
})
