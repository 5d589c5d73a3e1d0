import { assert, describe, it } from "@effect/vitest"
import { Asking } from "holdfast/internal/executionCache/asking"
import { ExecutionCache } from "holdfast/internal/executionCache/executionCache"

const remembering = (...ids: ReadonlyArray<string>) => {
  const cache = new ExecutionCache({ capacity: 10_000, maxBytes: 2 ** 25 })
  for (const id of ids) cache.set(id, { row: () => id, bytes: 2, version: 1, token: id, fence: undefined })
  return cache
}

const room = 2 ** 21
const rows = (...seqs: ReadonlyArray<number>) => seqs.map((seq) => ({ seq, targetId: `e${seq}` }))

describe("What a request for a page says of what is remembered", () => {
  it("is nothing before a page has brought anything, and where nothing is remembered there is all the room", () => {
    assert.deepStrictEqual(new Asking(remembering()).forPage(100), { known: [], characters: room })
    assert.deepStrictEqual(new Asking(remembering("e1")).forPage(100), { known: [], characters: room / 8 })
  })

  it("is all where the last page had new events, and nothing behind an empty one", () => {
    const asking = new Asking(remembering("e1", "e2", "e3"))
    for (const page of [[1], [2, 3], [3, 7]]) {
      asking.got(rows(...page))
      assert.deepStrictEqual(asking.forPage(100), { known: ["e1", "e2", "e3"], characters: room })
    }
    asking.got([])
    assert.deepStrictEqual(asking.forPage(100), { known: [], characters: room / 8 })
    asking.got(rows(8))
    assert.lengthOf(asking.forPage(100).known, 3)
  })

  it("is what the last page was about, as far as it is remembered, where that had only events that were read before", () => {
    const asking = new Asking(remembering("e1", "e2", "e3"))
    asking.got([...rows(2, 3, 4), { seq: 5, targetId: null }])
    asking.got([...rows(2, 4), { seq: 2, targetId: "e2" }])
    assert.deepStrictEqual(asking.forPage(100), { known: ["e2"], characters: room / 8 })
    asking.got([{ seq: "nonsense", targetId: "e3" }])
    assert.deepStrictEqual(asking.forPage(100).known, ["e3"])
  })

  it("is nothing for a page that would bring too many", () => {
    assert.strictEqual(new Asking(remembering("e1")).forPage(10_000).characters, 0)
  })
})
