import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { extent, longer } from "../support/extent.js"
import * as Linearizability from "./linearizability.js"

type Operation = Linearizability.Operation
type Answer = Linearizability.Answer

const written: Answer = { _tag: "Written" }
const conflict: Answer = { _tag: "Conflict" }
const unknown: Answer = { _tag: "Unknown" }

const write = (
  [began, ended]: readonly [number, number],
  from: number,
  value: string,
  answer: Answer = written,
  event?: string
): Operation => ({ by: `writer of ${value}`, began, ended, call: { _tag: "Write", from, value, event }, answer })

/** A write that nothing was read for. */
const recalled = (operation: Operation): Operation => {
  const { call } = operation
  return call._tag === "Write" ? { ...operation, call: { ...call, remembered: true } } : operation
}

const read = (
  [began, ended]: readonly [number, number],
  version: number,
  value: string,
  event?: { readonly id: string; readonly processed: boolean }
): Operation => ({
  by: "a reader",
  began,
  ended,
  call: { _tag: "Read", event: event?.id },
  answer: { _tag: "Saw", version, value, processed: event?.processed }
})

const verdict = (...operations: ReadonlyArray<Operation>) => Linearizability.check(operations)._tag

const good: ReadonlyArray<readonly [name: string, history: ReadonlyArray<Operation>]> = [
  ["nothing", []],
  ["one after the other", [read([0, 1], 0, ""), write([2, 3], 0, "a"), read([4, 5], 1, "a"), write([6, 7], 1, "b")]],
  [
    "a read that overlaps a write and sees it, then one that began before that",
    [write([0, 10], 0, "a"), read([1, 9], 1, "a"), read([0, 8], 0, "")]
  ],
  [
    "of two writers from one version the loser is told of a conflict, whoever ends first",
    [write([0, 10], 0, "a"), write([1, 2], 0, "b", conflict), read([11, 12], 1, "a")]
  ],
  [
    "an unknown write that never took effect",
    [write([0, 1], 0, "a", unknown), read([2, 3], 0, ""), read([4, 5], 0, "")]
  ],
  [
    "an unknown write that takes effect much later",
    [write([0, 1], 0, "a", unknown), read([2, 3], 0, ""), read([4, 5], 1, "a")]
  ],
  [
    "an unknown write to which another one lost",
    [write([0, 1], 0, "a", unknown), write([2, 3], 0, "b", conflict), write([4, 5], 1, "c"), read([6, 7], 2, "c")]
  ],
  [
    "two unknown writes of which one took effect",
    [write([0, 1], 0, "a", unknown), write([0, 1], 0, "b", unknown), read([2, 3], 1, "b"), write([4, 5], 1, "c")]
  ],
  [
    "an event that was consumed",
    [
      write([0, 1], 0, "a", written, "e"),
      read([2, 3], 1, "a", { id: "e", processed: true }),
      read([2, 3], 1, "a", { id: "f", processed: false })
    ]
  ],
  [
    "a write that nothing was read for, and its conflict where the event alone is consumed",
    [
      recalled(write([0, 1], 0, "a", written, "e")),
      recalled(write([2, 3], 1, "b", conflict, "e")),
      recalled(write([4, 5], 1, "c", written, "f"))
    ]
  ]
]

const bad: ReadonlyArray<readonly [name: string, history: ReadonlyArray<Operation>]> = [
  [
    "a conflict that was told of a write that others have seen and followed",
    [write([0, 9], 0, "a", conflict), read([2, 3], 1, "a"), write([4, 5], 1, "b"), write([6, 7], 2, "c")]
  ],
  ["an acknowledged write that is not there", [write([0, 1], 0, "a"), read([2, 3], 0, "")]],
  [
    "a version that goes back",
    [write([0, 1], 0, "a"), write([2, 9], 1, "b"), read([3, 4], 2, "b"), read([5, 6], 1, "a")]
  ],
  ["two writers that both won", [write([0, 5], 0, "a"), write([1, 4], 0, "b")]],
  ["a value that nobody wrote", [write([0, 1], 0, "a"), read([2, 3], 1, "z")]],
  ["a conflict with nobody", [write([0, 1], 0, "a"), write([2, 3], 1, "b", conflict)]],
  [
    "an event that is consumed twice by a write that nothing was read for",
    [write([0, 1], 0, "a", written, "e"), recalled(write([2, 3], 1, "b", written, "e"))]
  ],
  [
    "the conflict with nobody of a write that nothing was read for",
    [write([0, 1], 0, "a", written, "e"), recalled(write([2, 3], 1, "b", conflict, "f"))]
  ],
  [
    "a write that took effect after it was said that it had not",
    [read([0, 1], 0, ""), write([2, 3], 0, "a"), read([4, 5], 1, "b")]
  ],
  [
    "an unknown write that took effect twice",
    [write([0, 1], 0, "a", unknown), read([2, 3], 1, "a"), write([4, 5], 1, "b"), read([6, 7], 3, "a")]
  ],
  [
    "an unknown write that took effect and was taken back",
    [write([0, 1], 0, "a", unknown), read([2, 3], 1, "a"), read([4, 5], 0, "")]
  ],
  ["an unknown write that was seen before it was asked for", [read([0, 1], 1, "a"), write([2, 3], 0, "a", unknown)]],
  [
    "an event that is forgotten",
    [write([0, 1], 0, "a", written, "e"), read([2, 3], 1, "a", { id: "e", processed: false })]
  ]
]

describe("A history of a register", () => {
  for (const [name, history] of good) {
    it(`is linearizable: ${name}`, () => assert.strictEqual(verdict(...history), "Linearizable"))
  }
  for (const [name, history] of bad) {
    it(`is not linearizable: ${name}`, () => assert.strictEqual(verdict(...history), "Violation"))
  }

  it("says which operation is wrong", () => {
    const found = Linearizability.check([write([0, 1], 0, "a"), read([2, 3], 0, "")])
    assert.strictEqual(found._tag, "Violation")
    if (found._tag === "Violation") {
      assert.include(Linearizability.explain(found), "a reader asked for")
      assert.include(Linearizability.explain(found), "version 1 with a")
    }
  })
})

interface Plan {
  readonly takes: number
  readonly writes: boolean
  readonly lost: boolean
  readonly stale: boolean
  readonly before: number
  readonly after: number
}

const plan = FastCheck.array(
  FastCheck.record({
    takes: FastCheck.integer({ min: 1, max: 4 }),
    writes: FastCheck.boolean(),
    lost: FastCheck.integer({ min: 0, max: 5 }).map((n) => n === 0),
    stale: FastCheck.boolean(),
    before: FastCheck.integer({ min: 0, max: 6 }),
    after: FastCheck.integer({ min: 0, max: 6 })
  }),
  { minLength: 1, maxLength: 40 }
)

/** What processes are told by a register that does one thing after the other, each at a moment between its beginning and its end. */
const played = (plans: ReadonlyArray<Plan>): ReadonlyArray<Operation> => {
  let version = 0
  let value = ""
  let now = 0
  return plans.map(({ after, before, lost, stale, takes, writes }, i) => {
    now += takes
    const times = [now - before, now + after] as const
    if (!writes) return read(times, version, value)
    const from = stale && version > 0 ? version - 1 : version
    const wins = from === version
    const own = `w${i}`
    if (wins) {
      version++
      value = own
    }
    return write(times, from, own, lost ? unknown : wins ? written : conflict)
  })
}

const reads = (history: ReadonlyArray<Operation>) =>
  history.flatMap((operation, index) => (operation.answer._tag === "Saw" ? [index] : []))

describe(longer("Any history"), () => {
  const runs = extent({ quick: 100, long: 2000 })

  it("that a register made is linearizable", () => {
    FastCheck.assert(
      FastCheck.property(plan, (plans) => verdict(...played(plans)) === "Linearizable"),
      { numRuns: runs, seed: 7 }
    )
  })

  it("with one read of a value that was never there is not", () => {
    FastCheck.assert(
      FastCheck.property(plan, FastCheck.nat(), (plans, nth) => {
        const history = played(plans)
        const among = reads(history)
        const index = among[nth % Math.max(1, among.length)]
        if (index === undefined) return true
        const wrong = history.map((operation, i) =>
          i === index && operation.answer._tag === "Saw"
            ? { ...operation, answer: { ...operation.answer, version: operation.answer.version + 1 } }
            : operation
        )
        return verdict(...wrong) === "Violation"
      }),
      { numRuns: runs, seed: 7 }
    )
  })
})
