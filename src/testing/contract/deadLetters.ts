/**
 * Work that was given up: moved aside, listed, discarded.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { WorkItem } from "../../Commit.js"
import { scheduleTimer } from "../../Commit.js"
import { type DeadLetterQuery, ExecutionStore } from "../../ExecutionStore.js"
import { refuses } from "../internal/assertions.js"
import { buried, bury, outboxWork, timer, timerWork, why } from "../internal/deadLetters.js"
import { awkwardTexts, emit, order, spawn } from "../internal/samples.js"
import { timers as armed, deadLetters as letters, outbox, outboxEntries, spawns } from "../internal/state.js"
import type { Subject } from "../Subject.js"

/**
 * @since 0.1.0
 * @category tests
 */
export const deadLetters = ({ hasRaw, rawTest, test }: Subject): void => {
  describe("dead letters", () => {
    test("an event that is given up leaves the outbox and is kept whole", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [first = 0, second = 0] = yield* store.enqueue([emit("1"), emit("2", null)])
        const [entry] = yield* outboxEntries()
        yield* store.deadLetters.recordFailure({
          work: outboxWork(first),
          attempts: 19,
          error: "no answer",
          retryAt: 100
        })
        yield* TestClock.adjust("90500 millis")
        expect(yield* bury(outboxWork(first))).toBe(true)
        expect((yield* outbox()).map((entry) => entry.seq)).toEqual([second])
        const [letter, ...others] = yield* letters()
        expect(others).toEqual([])
        expect(letter).toEqual({
          _tag: "Outbox",
          id: letter?.id,
          work: outboxWork(first),
          executionId: "target",
          row: Option.fromNullable(entry),
          text: letter?.text,
          ...why,
          diedAt: 90.5
        })
        expect(JSON.parse(letter?.text ?? "")).toMatchObject({ seq: first, target_id: "target" })
        expect(JSON.parse(JSON.parse(letter?.text ?? "").event)).toMatchObject({ id: "1", kind: "Happened" })
        expect((yield* store.stats).outbox.failing).toBe(0)
        yield* bury(outboxWork(second), { reason: "no-target", attempts: 1, error: "" })
        expect((yield* letters())[1]).toMatchObject({ executionId: null, reason: "no-target", attempts: 1, error: "" })
      }))

    test("an event goes out with work that is given up, where that was there", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* TestClock.setTime(5_000)
        const told = { emit: emit("told", "waiting") }
        yield* store.commit(order("a"), { spawns: [spawn("c")], timers: [scheduleTimer("p", 60)] })
        const [child] = yield* spawns()
        const [event = 0] = yield* store.enqueue([emit("1")])
        const due = timerWork(timer("p", 60))
        const notices: Array<number> = []
        yield* store.listen(({ emits }) => notices.push(emits))
        for (const work of [outboxWork(event), { _tag: "Spawn", seq: child?.seq ?? 0 } as const, due]) {
          expect(yield* store.deadLetters.bury(work, why, told)).toBe(true)
          expect(yield* store.deadLetters.bury(work, why, told)).toBe(false)
        }
        expect(yield* letters()).toHaveLength(3)
        const entries = yield* outboxEntries()
        expect(entries.map(({ emittedAt, event, targetId }) => [event.id, targetId, emittedAt])).toEqual(
          Array.from({ length: 3 }, () => ["told", "waiting", 5])
        )
        expect(notices).toEqual([1, 1, 1])
        const refused = { emit: emit("", "waiting") }
        yield* refuses(store.deadLetters.bury(outboxWork(entries[0]?.seq ?? 0), why, refused), "emits[0].event.id")
        expect(yield* letters()).toHaveLength(3)
      }))

    test("a notice goes out behind that event, or by itself, where the work was there", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [first = 0, second = 0] = yield* store.enqueue([emit("1"), emit("2")])
        const notices: Array<number> = []
        yield* store.listen(({ emits }) => notices.push(emits))
        const notice = emit("notice", null)
        expect(yield* store.deadLetters.bury(outboxWork(first), why, { emit: emit("told"), notice })).toBe(true)
        expect(yield* store.deadLetters.bury(outboxWork(first), why, { notice })).toBe(false)
        expect(yield* store.deadLetters.bury(outboxWork(second), why, { notice })).toBe(true)
        expect((yield* outboxEntries()).map(({ event, targetId }) => [event.id, targetId])).toEqual([
          ["told", "target"],
          ["notice", null],
          ["notice", null]
        ])
        expect(notices).toEqual([2, 1])
        yield* refuses(
          store.deadLetters.bury(outboxWork(1e6), why, { notice: { ...notice, targetId: "" } }),
          "emits[0].targetId"
        )
      }))

    test("a spawn that is given up is kept whole, and its child is not on its way any more", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { spawns: [spawn("c", { n: [1, { x: null }], big: 2n ** 60n })] })
        const [entry] = yield* spawns()
        expect(yield* store.spawns.isPending("c")).toBe(true)
        const work: WorkItem = { _tag: "Spawn", seq: entry?.seq ?? 0 }
        expect(yield* bury(work, { reason: "rejected", attempts: 3, error: "no" })).toBe(true)
        expect(yield* spawns()).toEqual([])
        expect(yield* store.spawns.isPending("c")).toBe(false)
        const [letter] = yield* letters()
        expect(letter).toMatchObject({ _tag: "Spawn", work, executionId: "a", reason: "rejected", attempts: 3 })
        expect(letter?.row).toEqual(Option.fromNullable(entry))
        expect(JSON.parse(letter?.text ?? "")).toMatchObject({ parent_id: "a", child_id: "c", root_path: "Root" })
      }))

    test("a timer that is given up is kept, and one that was armed anew is not given up", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const fireAt = 1790000060.1234567
        yield* store.commit(order("a"), { timers: [scheduleTimer("p", fireAt), scheduleTimer("", 20)] })
        for (const other of [fireAt + 1, fireAt - 1]) {
          expect(yield* bury(timerWork(timer("p", other)))).toBe(false)
        }
        expect(yield* bury(timerWork(timer("q", fireAt)))).toBe(false)
        expect(yield* bury(timerWork(timer("p", fireAt, "b")))).toBe(false)
        expect(yield* letters()).toEqual([])
        expect(yield* bury(timerWork(timer("p", fireAt)))).toBe(true)
        expect(yield* armed()).toEqual([timer("", 20)])
        const [letter] = yield* letters()
        expect(letter).toMatchObject({ _tag: "Timer", work: timerWork(timer("p", fireAt)), executionId: "a" })
        expect(letter?.row).toEqual(Option.some(timer("p", fireAt)))
        expect(JSON.parse(letter?.text ?? "")).toEqual({ execution_id: "a", path: "p", fire_at: fireAt })
        expect(yield* bury(timerWork(timer("", 20)))).toBe(true)
      }))

    test("what is gone cannot be given up", () =>
      Effect.gen(function* () {
        const [id = 0] = yield* buried(emit("1"))
        const [letter] = yield* letters()
        expect(letter?.id).toBe(id)
        expect(yield* bury(letter?.work ?? outboxWork(0))).toBe(false)
        expect(yield* bury(outboxWork(99))).toBe(false)
        expect(yield* bury({ _tag: "Spawn", seq: 1 })).toBe(false)
        expect(yield* letters()).toHaveLength(1)
      }))

    test("a discarded one is gone for good, and its id is not used again", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [first = 0, second = 0] = yield* buried(emit("1"), emit("2"))
        expect(yield* store.deadLetters.discard(second)).toBe(true)
        expect(yield* store.deadLetters.discard(second)).toBe(false)
        expect(yield* store.deadLetters.redrive(second)).toBe(false)
        expect((yield* letters()).map((letter) => letter.id)).toEqual([first])
        expect(yield* outbox()).toEqual([])
        const [third = 0] = yield* buried(emit("3"))
        expect(third).toBeGreaterThan(second)
      }))

    test("they are listed by id, by kind and by execution, in pages", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const id of ["a", "b"]) {
          const { seqs } = yield* store.commit(order(id), {
            emits: [emit(`${id}1`, "a"), emit(`${id}2`, "b"), emit(`${id}3`, null)],
            spawns: [spawn(`${id}-child`)],
            timers: [scheduleTimer("p", 10)]
          })
          yield* Effect.forEach(seqs, (seq) => bury(outboxWork(seq)))
          yield* bury(timerWork(timer("p", 10, id)))
        }
        for (const { seq } of yield* spawns()) yield* bury({ _tag: "Spawn", seq })
        const all = yield* letters()
        expect(all.map((letter) => [letter._tag, letter.executionId])).toEqual([
          ...["a", "b", null].map((target) => ["Outbox", target]),
          ["Timer", "a"],
          ...["a", "b", null].map((target) => ["Outbox", target]),
          ["Timer", "b"],
          ["Spawn", "a"],
          ["Spawn", "b"]
        ])
        expect(all.map((letter) => letter.id)).toEqual(all.map((letter) => letter.id).toSorted((a, b) => a - b))
        for (const limit of [1, 2, 3, 9, 10, 1000]) {
          expect(yield* letters({ limit })).toEqual(all)
          for (const kind of ["Outbox", "Spawn", "Timer"] as const) {
            const ofKind = all.filter((letter) => letter._tag === kind)
            expect(yield* letters({ kind, limit })).toEqual(ofKind)
            const ofBoth = ofKind.filter((letter) => letter.executionId === "a")
            expect(yield* letters({ kind, executionId: "a", limit })).toEqual(ofBoth)
          }
          const ofExecution = all.filter((letter) => letter.executionId === "b")
          expect(yield* letters({ executionId: "b", limit })).toEqual(ofExecution)
        }
        const page = yield* store.deadLetters.list({ limit: 9 })
        expect(page.next).toEqual(Option.fromNullable(all[8]?.id))
        expect((yield* store.deadLetters.list({ limit: 10 })).next).toEqual(Option.none())
        expect(yield* letters({ executionId: "nobody" })).toEqual([])
        expect(yield* letters({ after: all[4]?.id ?? 0 })).toEqual(all.slice(5))
      }))

    test("they are listed by the reason, the age, and the definition and the id of their execution", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a-1"))
        yield* store.save(order("a-2", { definitionId: "refund" }))
        const reasons = ["attempts", "rejected", "no-target"] as const
        const targets = ["a-1", "a-2", "b", "a\u{10ffff}", null]
        for (const [i, target] of targets.entries()) {
          const [seq = 0] = yield* store.enqueue([emit(String(i), target)])
          yield* bury(outboxWork(seq), { ...why, reason: reasons[i % 3] ?? "attempts" })
          yield* TestClock.adjust("1 seconds")
        }
        const targetsOf = (query: DeadLetterQuery) =>
          Effect.map(letters({ ...query, limit: 2 }), (found) => found.map(({ executionId }) => executionId))
        expect(yield* targetsOf({ reason: ["attempts"] })).toEqual(["a-1", "a\u{10ffff}"])
        expect(yield* targetsOf({ reason: ["rejected", "no-target"] })).toEqual(["a-2", "b", null])
        expect(yield* targetsOf({ reason: [] })).toEqual([])
        expect(yield* targetsOf({ diedBefore: 1 })).toEqual(["a-1", "a-2"])
        expect(yield* targetsOf({ diedBefore: 0.5 })).toEqual(["a-1"])
        expect(yield* targetsOf({ definitionId: "order" })).toEqual(["a-1"])
        expect(yield* targetsOf({ definitionId: "refund", kind: "Outbox" })).toEqual(["a-2"])
        expect(yield* targetsOf({ definitionId: "refund", kind: "Timer" })).toEqual([])
        expect(yield* targetsOf({ executionIdPrefix: "a" })).toEqual(["a-1", "a-2", "a\u{10ffff}"])
        expect(yield* targetsOf({ executionIdPrefix: "a-" })).toEqual(["a-1", "a-2"])
        expect(yield* targetsOf({ executionIdPrefix: "" })).toEqual(targets)
        expect(yield* targetsOf({ executionIdPrefix: "a", reason: ["rejected"], diedBefore: 9 })).toEqual(["a-2"])
        expect(yield* targetsOf({ executionId: "a-1", reason: ["rejected"] })).toEqual([])
        yield* refuses(store.deadLetters.list({ definitionId: "" }), "definitionId")
        yield* refuses(store.deadLetters.list({ executionIdPrefix: "\ud800" }), "executionIdPrefix")
        yield* refuses(store.deadLetters.list({ diedBefore: Number.NaN }), "diedBefore")
      }))

    test("a page has 100 of them where nothing is said", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* buried(...Array.from({ length: 101 }, (_, i) => emit(String(i))))
        expect((yield* store.deadLetters.list()).entries).toHaveLength(100)
      }))

    test("a purge takes those that were addressed to the execution or issued by it", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const id of ["a", "b"]) {
          const { seqs } = yield* store.commit(order(id), {
            emits: [emit(`to ${id}`, id), emit("to x", "x")],
            spawns: [spawn(`${id}-child`)],
            timers: [scheduleTimer("p", 10)]
          })
          yield* Effect.forEach(seqs, (seq) => bury(outboxWork(seq)))
          yield* bury(timerWork(timer("p", 10, id)))
        }
        for (const { seq } of yield* spawns()) yield* bury({ _tag: "Spawn", seq })
        const all = yield* letters()
        expect(all).toHaveLength(8)
        expect(yield* store.purge("a", 2)).toBe(false)
        expect(yield* letters()).toEqual(all)
        expect(yield* store.purge("a", 1)).toBe(true)
        expect(yield* letters()).toEqual(all.filter((letter) => letter.executionId !== "a"))
        // there is no such execution: what is left of it is swept
        expect(yield* store.purge("x", 0)).toBe(false)
        expect((yield* letters()).map((letter) => letter.executionId)).toEqual(["b", "b", "b"])
      }))

    test("any text comes back, a long error in part", () =>
      Effect.gen(function* () {
        for (const text of awkwardTexts) {
          const [id] = yield* buried(emit(text, text))
          const letter = (yield* letters()).find((letter) => letter.id === id)
          expect(letter).toMatchObject({ executionId: text })
          expect(JSON.parse(letter?.text ?? "")).toMatchObject({ target_id: text })
          expect(yield* letters({ executionId: text })).toEqual([letter])
        }
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: awkwardTexts.map((path) => scheduleTimer(path, 1)) })
        for (const path of awkwardTexts) {
          expect(yield* bury(timerWork(timer(path, 1)), { ...why, error: path })).toBe(true)
          const letter = (yield* letters({ kind: "Timer" })).at(-1)
          expect(letter).toMatchObject({ error: path, row: Option.some(timer(path, 1)) })
          expect(yield* store.deadLetters.redrive(letter?.id ?? 0)).toBe(true)
          expect(yield* bury(timerWork(timer(path, 1)), { ...why, error: "x".repeat(20_000) })).toBe(true)
        }
        expect((yield* letters({ kind: "Timer" })).every((letter) => letter.error === "x".repeat(10_000))).toBe(true)
      }))

    test("of several that give up the same work one does", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [seq = 0] = yield* store.enqueue([emit("1")])
        const all = Effect.all(
          Array.from({ length: 5 }, () => bury(outboxWork(seq))),
          { concurrency: "unbounded" }
        )
        expect((yield* all).filter((done) => done)).toHaveLength(1)
        const [letter, ...others] = yield* letters()
        expect(others).toEqual([])
        const redriven = yield* Effect.all(
          Array.from({ length: 5 }, () => store.deadLetters.redrive(letter?.id ?? 0)),
          { concurrency: "unbounded" }
        )
        expect(redriven.filter((done) => done)).toHaveLength(1)
        expect(yield* outbox()).toHaveLength(1)
      }))

    test("what cannot be is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [id = 0] = yield* buried(emit("1"))
        yield* refuses(store.deadLetters.bury(outboxWork(-1), why), "work.seq")
        yield* refuses(store.deadLetters.bury(timerWork(timer("p", Number.NaN)), why), "work.fireAt")
        yield* refuses(store.deadLetters.bury(outboxWork(1), { ...why, attempts: -1 }), "attempts")
        for (const wrong of [-1, 0.5, 2 ** 53, Number.NaN]) {
          yield* refuses(store.deadLetters.redrive(wrong), "id")
          yield* refuses(store.deadLetters.discard(wrong), "id")
          yield* refuses(store.deadLetters.list({ after: wrong }), "after")
        }
        for (const limit of [0, -1, 1.5, 1001]) yield* refuses(store.deadLetters.list({ limit }), "limit")
        yield* refuses(store.deadLetters.list({ executionId: "\ud800" }), "executionId")
        yield* refuses(store.spawns.isPending("\ud800"), "childId")
        expect((yield* letters()).map((letter) => letter.id)).toEqual([id])
      }))

    if (!hasRaw) return

    rawTest("an event that does not decode is given up as it is, and redriven as it is", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("outbox", { seq: 1, target_id: "x", event: '{"id": ' })
        yield* store.enqueue([emit("fine")])
        const [corrupt] = (yield* store.pendingOutbox()).corrupt
        expect(corrupt?.work).toEqual(outboxWork(1))
        yield* bury(corrupt?.work ?? outboxWork(0), { reason: "corrupt", attempts: 0, error: corrupt?.message ?? "" })
        const page = yield* store.pendingOutbox()
        expect(page.corrupt).toEqual([])
        expect(page.entries.map((entry) => entry.event.id)).toEqual(["fine"])
        const [letter] = yield* letters()
        expect(letter).toMatchObject({ reason: "corrupt", row: Option.none(), executionId: "x", work: outboxWork(1) })
        expect(JSON.parse(letter?.text ?? "")).toEqual({ seq: 1, target_id: "x", event: '{"id": ' })
        expect(yield* store.deadLetters.redrive(letter?.id ?? 0)).toBe(true)
        const again = yield* store.pendingOutbox()
        expect(again.corrupt).toHaveLength(1)
        expect(again.corrupt[0]?.problem).toBe(corrupt?.problem)
      })
    )

    rawTest("a spawn that does not decode is given up as it is, and redriven as it is", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("spawns", { seq: 1, parent_id: "a", child_id: "c", root_path: "R", context: "[1]" })
        const [corrupt] = (yield* store.pendingSpawns()).corrupt
        const work: WorkItem = { _tag: "Spawn", seq: 1 }
        expect(corrupt?.work).toEqual(work)
        expect(yield* bury(work, { reason: "corrupt", attempts: 0, error: "" })).toBe(true)
        const [letter] = yield* letters({ executionId: "a" })
        expect(letter).toMatchObject({ _tag: "Spawn", row: Option.none() })
        expect(JSON.parse(letter?.text ?? "")).toMatchObject({ context: "[1]" })
        expect(yield* store.deadLetters.redrive(letter?.id ?? 0)).toBe(true)
        expect((yield* store.pendingSpawns()).corrupt).toHaveLength(1)
      })
    )

    rawTest("work under an id that this library refuses can fail and be given up", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const executionId = "x".repeat(2000)
        yield* insert("timers", { execution_id: executionId, path: "p", fire_at: 10 })
        const [due] = (yield* store.dueTimers(10)).entries
        expect(due).toEqual(timer("p", 10, executionId))
        const work = timerWork(timer("p", 10, executionId))
        yield* store.deadLetters.recordFailure({ work, attempts: 1, error: "", retryAt: 1 })
        expect((yield* store.dueTimers(10)).failures).toHaveLength(1)
        expect(yield* bury(work)).toBe(true)
        expect(yield* armed()).toEqual([])
      })
    )
  })
}
