import { assert, describe, it } from "@effect/vitest"
import type { Asked, Entry, Told } from "./journal.js"
import * as Judge from "./judge.js"
import { needed } from "./order.js"
import type { Snapshot, Stored } from "./snapshot.js"

const done: Told = { _tag: "Done" }
const unknown: Told = { _tag: "Unknown", why: "the process ended" }

let clock = 0

/** One thing after the other. */
const entry = (asked: Asked, told: Told = done): Entry => {
  const began = ++clock
  return { by: "p0-1", began, asked, ended: told === unknown ? Number.POSITIVE_INFINITY : ++clock, told }
}

const started = (id: string, events = 1) => entry({ _tag: "Start", id, events })
const sent = (id: string, nth: number, told: Told = done) =>
  entry({ _tag: "Send", id, event: `${id}-${nth}`, client: id, nth }, told)
const committed = (id: string, from: number, processed?: string) => entry({ _tag: "Commit", id, from, processed })

const stored = (seen: ReadonlyArray<string>, over: Partial<Stored> = {}): Stored => ({
  version: 9,
  status: "DONE",
  value: "undefined",
  wrong: [],
  order: { events: 1, seen, last: {}, ticks: [1, 2, 3], parts: needed, wrong: [] },
  ...over
})

const snapshot = (executions: { readonly [id: string]: Stored }, pending: ReadonlyArray<string> = []): Snapshot => ({
  executions: new Map(Object.entries(executions)),
  pending: new Set(pending),
  corrupt: []
})

const judged = (entries: ReadonlyArray<Entry>, state: Snapshot) =>
  Judge.problems({ before: [], entries }, state).join("; ")

describe("The judge of a torture", () => {
  it("finds nothing where all was kept, and what is unknown may have happened or not", () => {
    assert.strictEqual(judged([started("a"), sent("a", 1)], snapshot({ a: stored(["a-1"]) })), "")
    const entries = [started("a", 0), sent("a", 1, unknown), sent("a", 2)]
    assert.strictEqual(judged(entries, snapshot({ a: stored(["a-2"]) })), "")
    assert.strictEqual(judged(entries, snapshot({ a: stored(["a-1", "a-2"]) })), "")
  })

  it("finds what was acknowledged and is not there", () => {
    assert.include(judged([started("a", 0), sent("a", 1)], snapshot({ a: stored([]) })), "lost: event a-1 to a")
    assert.include(judged([started("a")], snapshot({})), "lost: the start of a")
    assert.include(judged([committed("a", 9)], snapshot({ a: stored([]) })), "lost: version 10 of a")
  })

  it("finds no hole where something that was there long ago was asked for again after what is lost", () => {
    const there = started("s", 0)
    const lost = sent("a", 1)
    const again = started("s", 0)
    const state = snapshot({ s: stored([]) })
    assert.deepStrictEqual(Judge.holes([there, lost, again], state), [])
    assert.include(Judge.holes([lost, again], state).join(), "is there, and not event a-1 to a")
  })

  it("finds a list that lacked what its process had written, or what its copy should have had", () => {
    const lists = (_tag: "List" | "Copy", told: Told) =>
      judged([started("a", 0), entry({ _tag, id: "a" }, told)], snapshot({ a: stored([]) }))
    assert.strictEqual(lists("List", done), "")
    assert.include(lists("List", { _tag: "Lacking" }), "had started a, and then a list of its own lacked it")
    assert.include(lists("Copy", { _tag: "Lacking" }), "the copy of p0-1 did not come to have it")
  })

  it("finds one version, and one event, that two commits were acknowledged for", () => {
    const state = snapshot({ a: stored([]) })
    assert.include(judged([committed("a", 1), committed("a", 1)], state), "version 2 of a was acknowledged twice")
    assert.include(judged([committed("a", 1, "e"), committed("a", 2, "e")], state), "a consumed e twice")
  })

  it("finds what has not happened, what an execution itself found wrong, and what nobody sent", () => {
    const entries = [started("a"), sent("a", 1)]
    const order = { events: 1, seen: ["a-1"], last: {}, ticks: [1], parts: needed, wrong: [] }
    assert.include(judged(entries, snapshot({ a: stored([], { order }) })), "has come to rest with")
    assert.include(judged(entries, snapshot({ a: stored(["a-1"], { status: "RUNNING" }) })), "and is RUNNING")
    assert.include(judged(entries, snapshot({ a: stored(["a-1"], { wrong: ["a timer fired twice"] }) })), "fired twice")
    assert.include(judged(entries, snapshot({ a: stored(["a-1", "x"]) })), "a consumed x, which nobody sent")
  })

  it("finds a register that no order of what was asked explains", () => {
    const write = entry({ _tag: "Write", id: "r", from: 0, value: "one" })
    const register = (value: string) => snapshot({ r: stored([], { version: 1, value, order: undefined }) })
    assert.strictEqual(judged([write], register("one")), "")
    assert.include(judged([write], register("two")), "no order of what happened explains")
  })

  it("tells an end that is lost from a hole", () => {
    const entries = [started("a", 0), sent("a", 1), sent("a", 2)]
    assert.deepStrictEqual(Judge.holes(entries, snapshot({ a: stored(["a-1"]) })), [])
    assert.deepStrictEqual(Judge.holes(entries, snapshot({ a: stored(["a-1"]) }, ["a a-2"])), [])
    const [hole = ""] = Judge.holes(entries, snapshot({ a: stored([]) }, ["a a-2"]))
    assert.include(hole, "event a-2 to a, acknowledged to p0-1, is there, and not event a-1")
  })
})
