/**
 * Work that was given up, and is put back where it came from.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { cancelTimer, scheduleTimer } from "../../Commit.js"
import { ExecutionStore, type Notice } from "../../ExecutionStore.js"
import { conflicts } from "../internal/assertions.js"
import { buried, bury, outboxWork, timer, timerWork, why } from "../internal/deadLetters.js"
import { emit, order, spawn } from "../internal/samples.js"
import { timers as armed, deadLetters as letters, outbox, outboxEntries, spawns } from "../internal/state.js"
import type { Subject } from "../Subject.js"

/**
 * @since 0.1.0
 * @category tests
 */
export const redrives = ({ test }: Subject): void => {
  describe("redrives", () => {
    test("a redriven event is a new one at the end, with the text that it had", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [first = 0] = yield* store.enqueue([emit("1"), emit("2")])
        const [entry] = yield* outboxEntries()
        yield* TestClock.adjust("1 minute")
        yield* bury(outboxWork(first))
        const [letter] = yield* letters()
        expect(yield* store.deadLetters.redrive(letter?.id ?? 0)).toBe(true)
        expect(yield* letters()).toEqual([])
        expect(yield* store.deadLetters.redrive(letter?.id ?? 0)).toBe(false)
        const entries = yield* outboxEntries()
        expect(entries.map((entry) => entry.event.id)).toEqual(["2", "1"])
        expect(entries[1]).toEqual({ ...entry, seq: entries[1]?.seq })
        expect(entries[1]?.seq).toBeGreaterThan(entries[0]?.seq ?? 0)
      }))

    test("what was redriven may be given up again, under a new id", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const ids = yield* buried(emit("1"))
        for (let i = 0; i < 3; i++) {
          expect(yield* store.deadLetters.redrive(ids.at(-1) ?? 0)).toBe(true)
          const [entry] = yield* outbox()
          yield* bury(outboxWork(entry?.seq ?? 0), { ...why, attempts: i })
          const [letter, ...others] = yield* letters()
          expect(others).toEqual([])
          expect(letter).toMatchObject({ attempts: i })
          expect(letter?.id).toBeGreaterThan(ids.at(-1) ?? 0)
          ids.push(letter?.id ?? 0)
        }
      }))

    test("a redriven spawn is a new one at the end", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { spawns: [spawn("1", { deep: { big: 2n ** 70n } }), spawn("2")] })
        const [entry] = yield* spawns()
        yield* bury({ _tag: "Spawn", seq: entry?.seq ?? 0 })
        const [letter] = yield* letters({ kind: "Spawn" })
        expect(yield* store.deadLetters.redrive(letter?.id ?? 0)).toBe(true)
        const all = yield* spawns()
        expect(all.map((entry) => entry.childId)).toEqual(["2", "1"])
        expect(all[1]).toEqual({ ...entry, seq: all[1]?.seq })
        expect(yield* store.spawns.isPending("1")).toBe(true)
      }))

    test("a redriven timer is armed for its time", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: [scheduleTimer("p", 10.25)] })
        yield* bury(timerWork(timer("p", 10.25)))
        const [first] = yield* letters()
        expect(yield* store.deadLetters.redrive(first?.id ?? 0)).toBe(true)
        expect(yield* armed()).toEqual([timer("p", 10.25)])
        expect(yield* letters()).toEqual([])
      }))

    test("a timer that was given up is gone once its execution cancels it or arms its path, and no other is", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const all = ["armed", "cancelled", "kept"]
        const arming = all.map((path) => scheduleTimer(path, 10.25))
        const { execution } = yield* store.commit(order("a"), { timers: arming })
        yield* store.commit(order("b"), { timers: arming })
        for (const id of ["a", "b"]) {
          for (const path of all) yield* bury(timerWork(timer(path, 10.25, id)))
        }
        const before = yield* letters()
        const replacing = [scheduleTimer("armed", 30), cancelTimer("cancelled")]
        const { version } = (yield* store.commit(execution, { timers: replacing })).execution
        const late = { executionId: "a", expected: 1, found: version }
        yield* conflicts(store.commit(execution, { timers: [cancelTimer("kept")] }), late)
        const left = before.filter(({ executionId }, i) => executionId === "b" || i === 2)
        expect(yield* letters()).toEqual(left)
        const redriven = yield* Effect.forEach(before, (letter) => store.deadLetters.redrive(letter.id))
        expect(redriven).toEqual([false, false, true, true, true, true])
        expect((yield* armed()).filter(({ executionId }) => executionId === "a")).toEqual([
          timer("kept", 10.25),
          timer("armed", 30)
        ])
        expect(yield* letters()).toEqual([])
      }))

    test("what is redriven did not fail yet", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: [scheduleTimer("p", 10)] })
        const work = timerWork(timer("p", 10))
        yield* store.deadLetters.recordFailure({ work, attempts: 20, error: "", retryAt: 1 })
        yield* bury(work)
        const [letter] = yield* letters()
        yield* store.deadLetters.redrive(letter?.id ?? 0)
        expect((yield* store.dueTimers(10)).failures).toEqual([])
        yield* store.deadLetters.recordFailure({ work, attempts: 1, error: "", retryAt: 1 })
        expect((yield* store.dueTimers(10)).failures).toMatchObject([{ attempts: 1 }])
      }))

    test("redriving tells the listeners what there is to do; giving up and discarding, that something was written", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { spawns: [spawn("c")], timers: [scheduleTimer("p", 10.5)] })
        const [child] = yield* spawns()
        const heard: Array<Pick<Notice, "emits" | "spawns" | "nextTimer">> = []
        yield* store.listen(({ committed, emits, nextTimer, spawns }) => {
          expect(committed).toEqual(Option.none())
          heard.push({ emits, spawns, nextTimer })
        })
        yield* bury({ _tag: "Spawn", seq: child?.seq ?? 0 })
        yield* bury(timerWork(timer("p", 10.5)))
        const nothingToDo = { emits: 0, spawns: 0, nextTimer: Option.none() }
        expect(heard).toEqual([nothingToDo, nothingToDo])
        yield* buried(emit("1"))
        heard.splice(0)
        for (const letter of yield* letters()) yield* store.deadLetters.redrive(letter.id)
        expect(heard).toEqual([
          { emits: 0, spawns: 1, nextTimer: Option.none() },
          { emits: 0, spawns: 0, nextTimer: Option.some(10.5) },
          { emits: 1, spawns: 0, nextTimer: Option.none() }
        ])
        yield* store.deadLetters.redrive(99)
        yield* store.deadLetters.discard(99)
        expect(heard).toHaveLength(3)
        yield* buried(emit("2"))
        heard.splice(0)
        for (const letter of yield* letters()) yield* store.deadLetters.discard(letter.id)
        expect(heard).toEqual([nothingToDo])
      }))
  })
}
