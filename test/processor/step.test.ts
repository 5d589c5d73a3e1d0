import { assert, describe, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { pipe } from "effect/Function"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as Step from "holdfast/Step"

const happened = Event.make({ id: "e1", kind: "Happened", data: { n: 1 } })

const stored = (options: { readonly [K in keyof Execution.Execution]?: Execution.Execution[K] } = {}) => ({
  ...Execution.make({
    id: "a",
    definitionId: "d",
    status: "RUNNING",
    createdAt: 1000.5,
    context: { qty: 2 },
    ...options
  }),
  version: 3
})

const begun = (options: Parameters<typeof stored>[0] = {}, event = happened) =>
  Step.makeAt(stored(options), event, 2000.25)

const child = { parentId: "p", childId: "a" }

/** What changed of an execution. */
const changes = ({ execution }: Step.Builder, before: Execution.Execution) =>
  Object.fromEntries(
    Object.entries(execution).filter(([key, value]) => value !== Object.entries(before).find(([k]) => k === key)?.[1])
  )

const finishedEvent = (childId: string, data: Event.Event["data"] = {}) =>
  Event.make({ id: `end-${childId}`, kind: "Finished", data: { child_id: childId, outcome: "success", ...data } })

class Declined extends Schema.TaggedError<Declined>()("Declined", { why: Schema.String }) {
  override get message(): string {
    return `declined: ${this.why}`
  }
}

describe("Step", () => {
  it.effect("leaves the execution as it is, and begins now", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("2000250 millis")
      const execution = stored()
      const step = yield* Step.make(execution, happened)
      assert.strictEqual(step.execution, execution)
      assert.strictEqual(step.event, happened)
      assert.strictEqual(step.now, 2000.25)
      assert.deepStrictEqual(step.commit, {})
      assert.isTrue(Step.isBuilder(step))
      assert.isFalse(Step.isBuilder({ execution }))
    })
  )

  it("is a value: what is made of it leaves it alone", () => {
    const step = begun()
    const first = step.pipe(Step.emit("b", { kind: "A" }), Step.armTimer("t", "1 second"), Step.spawn("k"))
    const left = first.pipe(Step.emit("b", { kind: "B" }), Step.cancelTimer("t"), Step.spawn("k"), Step.finish())
    assert.deepStrictEqual(step.commit, {})
    assert.deepStrictEqual(step.execution, stored())
    assert.strictEqual(first.commit.emits?.length, 1)
    assert.strictEqual(first.commit.timers?.length, 1)
    assert.strictEqual(first.commit.spawns?.length, 1)
    assert.strictEqual(first.execution.status, "RUNNING")
    assert.strictEqual(left.commit.emits?.length, 2)
    assert.strictEqual(left.commit.timers?.length, 2)
    assert.strictEqual(left.commit.spawns?.length, 2)
  })

  it("does the same with the step first or last", () => {
    const step = begun(child).pipe(Step.spawn("gone"))
    const joined = Step.makeAt(step.execution, finishedEvent("a:gone:0"), 5).pipe(Step.join)
    const pairs: ReadonlyArray<readonly [Step.Builder, Step.Builder]> = [
      [Step.advance(step, "A.B"), step.pipe(Step.advance("A.B"))],
      [Step.updateContext(step, () => ({ n: 1 })), step.pipe(Step.updateContext(() => ({ n: 1 })))],
      [Step.emit(step, "b", { kind: "A" }), step.pipe(Step.emit("b", { kind: "A" }))],
      [Step.emitAfter(step, "b", 5, { kind: "A" }), step.pipe(Step.emitAfter("b", 5, { kind: "A" }))],
      [Step.armTimer(step, "t", 5), step.pipe(Step.armTimer("t", 5))],
      [Step.armTimerAt(step, "t", 5), step.pipe(Step.armTimerAt("t", 5))],
      [Step.cancelTimer(step, "t"), step.pipe(Step.cancelTimer("t"))],
      [Step.spawn(step, "k"), step.pipe(Step.spawn("k"))],
      [Step.spawn(step, "k", { id: "c" }), step.pipe(Step.spawn("k", { id: "c" }))],
      [Step.forgetChildren(joined), joined.pipe(Step.forgetChildren())],
      [Step.forgetChildren(joined, "gone"), joined.pipe(Step.forgetChildren("gone"))],
      [Step.finish(step), step.pipe(Step.finish())],
      [Step.finish(step, "ok"), step.pipe(Step.finish("ok"))],
      [Step.cancel(step), step.pipe(Step.cancel())],
      [Step.cancel(step, { outcome: "no" }), step.pipe(Step.cancel({ outcome: "no" }))],
      [Step.fail(step, "broken"), step.pipe(Step.fail("broken"))],
      [Step.trace(step), step.pipe(Step.trace())],
      [Step.trace(step, { actions: ["x"] }), step.pipe(Step.trace({ actions: ["x"] }))]
    ]
    for (const [first, last] of pairs) {
      assert.deepStrictEqual(first, last)
      assert.notDeepEqual({ ...first }, { ...step })
    }
  })

  describe("advance", () => {
    it("takes a pending execution to a path, where it is running; its status otherwise stays", () => {
      const pending = begun({ status: "PENDING" }).pipe(Step.advance("A"))
      assert.strictEqual(pending.execution.status, "RUNNING")
      assert.strictEqual(pending.execution.activePath, "A")
      const cancelling = begun({ status: "CANCELLING" }).pipe(Step.advance("A"))
      assert.strictEqual(cancelling.execution.status, "CANCELLING")
    })

    it("takes the path, the status and the context that it is given, and leaves the others", () => {
      const step = begun({ activePath: "A" })
      assert.deepStrictEqual(changes(step.pipe(Step.advance({ status: "SUSPENDED" })), step.execution), {
        status: "SUSPENDED"
      })
      assert.deepStrictEqual(changes(step.pipe(Step.advance({ context: { qty: 3 } })), step.execution), {
        context: { qty: 3 }
      })
      assert.deepStrictEqual(changes(step.pipe(Step.advance({ path: "B" })), step.execution), {
        activePath: "B",
        history: { "": "B" }
      })
    })

    it("remembers the last active child of each state on the way, as the format has it", () => {
      const step = begun({ history: { "": "Cart", Work: "Work.Ship" } }).pipe(Step.advance("Work.Pick.Shelf"))
      assert.deepStrictEqual(step.execution.history, {
        "": "Work",
        Work: "Work.Pick",
        "Work.Pick": "Work.Pick.Shelf"
      })
    })

    it("remembers it from the root path on, and nothing of a path elsewhere", () => {
      const region = begun({ rootPath: "Verifying.Stock" })
      assert.deepStrictEqual(region.pipe(Step.advance("Verifying.Stock.Reserved")).execution.history, {
        "Verifying.Stock": "Verifying.Stock.Reserved"
      })
      assert.deepStrictEqual(region.pipe(Step.advance("Elsewhere")).execution.history, {})
      assert.deepStrictEqual(region.pipe(Step.advance("Verifying.Stock")).execution.history, {})
      assert.deepStrictEqual(region.pipe(Step.advance("Verifying.Stockpile")).execution.history, {})
    })

    it("makes the context another one", () => {
      const step = begun().pipe(Step.updateContext((context) => ({ ...context, paid: true })))
      assert.deepStrictEqual(step.execution.context, { qty: 2, paid: true })
    })
  })

  describe("finish, cancel and fail", () => {
    it("ends the execution with an outcome, and tells nobody where there is no parent", () => {
      const before = begun({ deferred: [happened] })
      const done = before.pipe(Step.finish("paid"))
      assert.deepStrictEqual(changes(done, before.execution), { status: "DONE", outcome: "paid" })
      assert.deepStrictEqual(done.commit, {})
      assert.deepStrictEqual(changes(before.pipe(Step.finish()), before.execution), { status: "DONE" })
      assert.deepStrictEqual(changes(before.pipe(Step.cancel("late")), before.execution), {
        status: "CANCELLED",
        outcome: "late"
      })
    })

    it("tells the parent as the format has it: child, outcome, then the result", () => {
      const { commit, execution } = begun(child).pipe(
        Step.finish({ outcome: "success", result: { score: 7, child_id: "x", outcome: "y", __deferred__: 1 } })
      )
      assert.strictEqual(execution.outcome, "success")
      assert.deepStrictEqual(commit.emits?.length, 1)
      const emit = commit.emits?.[0]
      assert.strictEqual(emit?.targetId, "p")
      assert.strictEqual(emit?.event.kind, "Finished")
      assert.strictEqual(JSON.stringify(emit?.event.data), '{"child_id":"a","outcome":"success","score":7}')
    })

    it("tells the parent of a child that gave up, and of one that has no outcome", () => {
      const told = (step: Step.Builder) => step.commit.emits?.map(({ event }) => event.data)
      assert.deepStrictEqual(told(begun(child).pipe(Step.cancel())), [{ child_id: "a", outcome: "cancelled" }])
      assert.deepStrictEqual(told(begun(child).pipe(Step.cancel("late"))), [{ child_id: "a", outcome: "late" }])
      assert.deepStrictEqual(told(begun(child).pipe(Step.finish())), [{ child_id: "a", outcome: null }])
      assert.strictEqual(begun(child).pipe(Step.cancel()).execution.outcome, null)
    })

    it("hands the events that a child held back to its parent, which holds them back then", () => {
      const held = Event.make({ id: "h", kind: "Confirmed", data: { ref: 9 }, createdTime: "2026-09-21T10:00:00Z" })
      const ended = begun({ ...child, deferred: [held] }).pipe(Step.finish("success"))
      assert.deepStrictEqual(ended.execution.deferred, [])
      const event = ended.commit.emits?.[0]?.event ?? happened
      assert.deepStrictEqual(event.data["__deferred__"], [
        { id: "h", kind: "Confirmed", created_time: "2026-09-21T10:00:00Z", received_time: null, data: { ref: 9 } }
      ])
      const parent = Step.makeAt(stored({ id: "p", deferred: [happened] }), event, 0).pipe(Step.join)
      assert.deepStrictEqual(parent.execution.deferred, [happened, held])
    })

    it("fails the execution with the error's text, tells no parent, and keeps what the step writes", () => {
      const before = begun(child)
      const failed = before.pipe(Step.emit("b", { kind: "A" }), Step.fail(new RangeError("no 7")))
      assert.deepStrictEqual(changes(failed, before.execution), { status: "FAILED", error: "RangeError: no 7" })
      assert.deepStrictEqual(
        failed.commit.emits?.map(({ targetId }) => targetId),
        ["b"]
      )
    })

    const texts: ReadonlyArray<readonly [what: string, error: unknown, text: string]> = [
      ["a text", "card declined", "card declined"],
      ["an error", new TypeError('card "declined" – código 7'), 'TypeError: card "declined" – código 7'],
      ["a tagged error", new Declined({ why: "limit" }), "Declined: declined: limit"],
      [
        "an error that another led to",
        new Error("no refund", { cause: new Declined({ why: "limit" }) }),
        "Error: no refund (while recovering from Declined: declined: limit)"
      ],
      ["a tagged value", { _tag: "Late", days: 3 }, 'Late: {"_tag":"Late","days":3}'],
      ["any value", 7, "Error: 7"],
      ["half of a surrogate pair", "a\ud800b", "a\ufffdb"],
      ["what is longer than a row should be", "x".repeat(5000), `${"x".repeat(4000)}…`],
      ["what is cut within a character", `${"x".repeat(3999)}😀`, `${"x".repeat(3999)}\ufffd…`]
    ]
    for (const [what, error, text] of texts) {
      it(`keeps ${what} as ${JSON.stringify(text.slice(0, 60))}`, () => {
        assert.strictEqual(begun().pipe(Step.fail(error)).execution.error, text)
      })
    }
  })

  describe("emit", () => {
    it("emits to an execution or to whoever relays, in order, at once or after a delay", () => {
      const { commit } = begun().pipe(
        Step.emit("b", Event.make({ id: "x", kind: "A", data: { n: 1 } })),
        Step.emitAfter("a", "90 seconds", { id: "y", kind: "B" }),
        Step.emitAt("a", DateTime.unsafeMake(3000_500), { id: "w", kind: "D" }),
        Step.emit(null, { id: "z", kind: "C" })
      )
      assert.deepStrictEqual(commit.emits, [
        { targetId: "b", event: Event.make({ id: "x", kind: "A", data: { n: 1 } }) },
        { targetId: "a", event: Event.make({ id: "y", kind: "B" }), dueAt: 2090.25 },
        { targetId: "a", event: Event.make({ id: "w", kind: "D" }), dueAt: 3000.5 },
        { targetId: null, event: Event.make({ id: "z", kind: "C" }) }
      ])
    })

    const emitTwice = (step: Step.Builder) =>
      step
        .pipe(Step.emit("b", { kind: "A" }), Step.emitAfter("b", 5, { kind: "B" }))
        .commit.emits?.map((e) => e.event.id)

    it("gives ids to events without one: the same where the step runs again, whenever that is", () => {
      const ids = emitTwice(begun())
      assert.deepStrictEqual(ids, ["emit:a:1000.5:3:0", "emit:a:1000.5:3:1"])
      assert.deepStrictEqual(emitTwice(Step.makeAt(stored(), happened, 9999)), ids)
    })

    it("gives other ids at another version, and to another life of the same execution", () => {
      const ids = new Set(
        [stored(), { ...stored(), version: 4 }, stored({ createdAt: 1000.75 }), stored({ id: "b" })].flatMap(
          (execution) => emitTwice(Step.makeAt(execution, happened, 9999)) ?? []
        )
      )
      assert.strictEqual(ids.size, 8)
    })
  })

  describe("timers", () => {
    it("arms by a delay from the beginning of the step, by a time, and cancels, in order", () => {
      const { commit } = begun().pipe(
        Step.armTimer("a", "1 hour"),
        Step.armTimerAt("b", 4000.125),
        Step.armTimerAt("c", DateTime.unsafeMake("2026-11-29T20:00:00.500Z")),
        Step.cancelTimer("a")
      )
      assert.deepStrictEqual(commit.timers, [
        { _tag: "Schedule", path: "a", fireAt: 5600.25 },
        { _tag: "Schedule", path: "b", fireAt: 4000.125 },
        { _tag: "Schedule", path: "c", fireAt: 1795982400.5 },
        { _tag: "Cancel", path: "a" }
      ])
    })

    it("arms years ahead without overflow", () => {
      const { commit } = begun().pipe(Step.armTimer("t", "36500 days"))
      assert.deepStrictEqual(commit.timers, [{ _tag: "Schedule", path: "t", fireAt: 2000.25 + 36500 * 86400 }])
    })
  })

  it("leaves a step in the trace, which it may add to", () => {
    const step = begun().pipe(Step.trace(), Step.trace({ actions: ["price"] }), Step.trace({ assigned: { total: 1 } }))
    assert.deepStrictEqual(step.commit.trace, { actions: ["price"], assigned: { total: 1 } })
    assert.deepStrictEqual(begun().pipe(Step.trace()).commit.trace, {})
  })

  it("says what the execution is found by, the last word counts", () => {
    const { commit, execution } = begun().pipe(
      Step.setAttributes({ customer: "c-1", number: 1 }),
      Step.setAttributes({ customer: "c-2" })
    )
    assert.deepStrictEqual(commit, { attributes: { customer: "c-2" } })
    assert.deepStrictEqual(execution, stored())
  })

  describe("children", () => {
    it("spawns a child that runs a part of its parent's definition, and waits for it", () => {
      const { commit, execution } = begun().pipe(Step.spawn("Verifying.Fraud", { context: { qty: 9 } }))
      assert.deepStrictEqual(commit.spawns, [
        { childId: "a:Verifying.Fraud:0", rootPath: "Verifying.Fraud", context: { qty: 9 } }
      ])
      assert.deepStrictEqual(execution.children, {
        "a:Verifying.Fraud:0": {
          rootPath: "Verifying.Fraud",
          finished: false,
          outcome: null,
          result: {},
          submachine: false,
          key: "Verifying.Fraud",
          extra: {}
        }
      })
    })

    it("spawns a child of another definition, named as the format names it", () => {
      const { commit, execution } = begun().pipe(Step.spawn("Charge", { definition: "payment", context: { n: 1 } }))
      assert.deepStrictEqual(commit.spawns, [
        { childId: "a:Charge:0", rootPath: "", context: { n: 1, __invoke_fqn__: "payment" } }
      ])
      assert.deepInclude(execution.children["a:Charge:0"], { rootPath: "", submachine: true, key: "Charge" })
    })

    it("numbers the children of a key, over steps too, whatever the key is called", () => {
      for (const key of ["k", "constructor", "__proto__"]) {
        const first = begun().pipe(Step.spawn(key), Step.spawn(key), Step.spawn("other"))
        const later = Step.makeAt(first.execution, happened, 0).pipe(Step.forgetChildren(), Step.spawn(key))
        assert.deepStrictEqual(
          [...(first.commit.spawns ?? []), ...(later.commit.spawns ?? [])].map(({ childId }) => childId),
          [`a:${key}:0`, `a:${key}:1`, "a:other:0", `a:${key}:2`]
        )
      }
    })

    it("takes an id and a root path that it is given, and spawns no child twice", () => {
      const once = begun().pipe(Step.spawn("k", { id: "mine", rootPath: "case" }))
      assert.deepStrictEqual(once.commit.spawns, [{ childId: "mine", rootPath: "case", context: {} }])
      assert.deepStrictEqual(once.execution.invokeSeq, {})
      assert.strictEqual(once.pipe(Step.spawn("k", { id: "mine" })), once)
    })

    const family = begun().pipe(
      Step.spawn("Verifying.Fraud"),
      Step.spawn("Verifying.Stock"),
      Step.spawn("Verifying:0"),
      Step.spawn("VerifyingElse"),
      Step.spawn("toString")
    ).execution

    const ended = (ids: ReadonlyArray<string>, execution = family) =>
      ids.reduce(
        (step, id) => Step.makeAt(step.execution, finishedEvent(id, { score: 7 }), 0).pipe(Step.join),
        Step.makeAt(execution, happened, 0)
      )

    it("writes down that a child has finished, with outcome and result, and nothing of the others", () => {
      const before = Step.makeAt(family, finishedEvent("a:Verifying.Fraud:0", { score: 7 }), 0)
      const { execution } = Step.join(before)
      assert.deepStrictEqual(
        Step.children({ execution }).map(({ finished, id, outcome, result }) => [id, finished, outcome, result]),
        [
          ["a:Verifying.Fraud:0", true, "success", { score: 7 }],
          ["a:Verifying.Stock:0", false, null, {}],
          ["a:Verifying:0:0", false, null, {}],
          ["a:VerifyingElse:0", false, null, {}],
          ["a:toString:0", false, null, {}]
        ]
      )
      assert.strictEqual(execution.status, "RUNNING")
    })

    it("changes nothing at other events, at strangers, and at a Finished that names nobody", () => {
      const same = (event: Event.Event) => {
        const step = Step.makeAt(family, event, 0)
        assert.deepStrictEqual(step.pipe(Step.join).execution, family)
      }
      same(happened)
      same(finishedEvent("stranger"))
      same(finishedEvent("constructor"))
      same(Event.make({ id: "x", kind: "Finished" }))
      same(Event.make({ id: "x", kind: "Finished", data: { child_id: 7 } }))
    })

    it("keeps what a child handed over and is no event", () => {
      const event = finishedEvent("a:toString:0", { __deferred__: [{ kind: 1 }] })
      const { execution } = Step.makeAt(family, event, 0).pipe(Step.join)
      assert.deepStrictEqual(execution.children["a:toString:0"]?.result, { __deferred__: [{ kind: 1 }] })
      assert.deepStrictEqual(execution.deferred, [])
    })

    it("says whether all have finished, or all of a key and below it", () => {
      assert.isTrue(Step.isJoined(begun()))
      assert.isFalse(Step.isJoined({ execution: family }))
      const some = ended(["a:Verifying.Fraud:0", "a:Verifying:0:0"])
      assert.isFalse(Step.isJoined(some, "Verifying"))
      assert.isTrue(Step.isJoined(some, "Verifying.Fraud"))
      const more = ended(["a:Verifying.Stock:0"], some.execution)
      assert.isTrue(Step.isJoined(more, "Verifying"))
      assert.isFalse(Step.isJoined(more))
      assert.isTrue(Step.isJoined(ended(["a:VerifyingElse:0", "a:toString:0"], more.execution)))
      assert.deepStrictEqual(
        Step.children(more, "Verifying").map(({ key }) => key),
        ["Verifying.Fraud", "Verifying.Stock", "Verifying:0"]
      )
      assert.deepStrictEqual(Step.children(more, "nobody"), [])
    })

    it("forgets those that have finished, or those of a key", () => {
      const some = ended(["a:Verifying.Fraud:0", "a:toString:0"])
      const keys = (step: Step.Builder) => Step.children(step).map(({ key }) => key)
      assert.deepStrictEqual(keys(some.pipe(Step.forgetChildren())), [
        "Verifying.Stock",
        "Verifying:0",
        "VerifyingElse"
      ])
      assert.deepStrictEqual(keys(Step.forgetChildren(some, "Verifying")), [
        "Verifying.Stock",
        "Verifying:0",
        "VerifyingElse",
        "toString"
      ])
    })

    it.prop(
      "is joined exactly when each of its children has said so, in whatever order and however often",
      {
        count: FastCheck.integer({ min: 1, max: 6 }),
        order: FastCheck.array(FastCheck.nat(7), { maxLength: 12 })
      },
      ({ count, order }) => {
        const parent = Array.from({ length: count }).reduce<Step.Builder>((step) => Step.spawn(step, "k"), begun())
        const joined = ended(
          order.map((i) => `a:k:${i}`),
          parent.execution
        )
        const told = new Set(order.filter((i) => i < count))
        assert.strictEqual(Step.isJoined(joined), told.size === count)
        assert.strictEqual(Step.children(joined).filter(({ finished }) => finished).length, told.size)
      }
    )
  })

  it("writes executions that the stored format carries, whatever the pipe", () => {
    const step = pipe(
      begun(child),
      Step.advance("A.B"),
      Step.spawn("k", { definition: "d" }),
      Step.fail(new Declined({ why: "x" })),
      Step.finish({ outcome: "ok", result: { n: 1 } })
    )
    const text = Schema.encodeSync(Execution.ExecutionFromText)(step.execution)
    assert.deepStrictEqual(Schema.decodeSync(Execution.ExecutionFromText)(text), step.execution)
  })
})
