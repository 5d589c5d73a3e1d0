import { assert, describe, it } from "@effect/vitest"
import { Memory } from "holdfast/internal/store/remembered"

const row = (text: string) => ({ text, token: text, fence: undefined })

describe("What a store remembers", () => {
  it("is of so many executions, those written longest ago forgotten first", () => {
    const memory = new Memory({ capacity: 2, maxBytes: 1000 })
    for (const id of ["a", "b", "a", "c"]) memory.set(id, row(id))
    assert.deepStrictEqual(
      ["a", "b", "c"].map((id) => memory.get(id, undefined)?.text),
      ["a", undefined, "c"]
    )
  })

  it("takes so many bytes, also where one row has more than all may", () => {
    const memory = new Memory({ capacity: 100, maxBytes: 40 })
    memory.set("a", row("x".repeat(10)))
    memory.set("b", row("x".repeat(10)))
    memory.set("b", row("x".repeat(9)))
    assert.isDefined(memory.get("a", undefined))
    memory.set("c", row("xx"))
    assert.isUndefined(memory.get("a", undefined))
    memory.set("d", row("x".repeat(30)))
    assert.deepStrictEqual(
      ["a", "b", "c", "d"].map((id) => memory.get(id, undefined)),
      [undefined, undefined, undefined, undefined]
    )
    memory.set("e", row("x".repeat(20)))
    memory.forget("e")
    memory.set("f", row("x".repeat(20)))
    assert.isDefined(memory.get("f", undefined))
  })
})
