/**
 * How much work there is, and since when.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { emit, order, spawn } from "../internal/samples.js"
import { spawns } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const nothing = { count: 0, failing: 0, oldest: Option.none() }

/**
 * @since 0.1.0
 * @category tests
 */
export const stats = ({ hasRaw, rawTest, test }: Subject): void => {
  describe("stats", () => {
    test("of an empty store are zeros", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.stats).toEqual({
          outbox: nothing,
          spawns: nothing,
          timers: { ...nothing, due: 0 },
          delayed: { count: 0, corrupt: 0, oldest: Option.none() },
          activities: { ...nothing, running: 0 },
          deadLetters: { count: 0, oldest: Option.none() }
        })
      }))

    test("count what waits, and tell since when the first of it does", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* TestClock.adjust("10 seconds")
        const [first = 0] = yield* store.enqueue([emit("1")])
        yield* TestClock.adjust("5500 millis")
        yield* store.commit(order("a"), {
          emits: [emit("2"), emit("3"), { ...emit("4"), dueAt: 20 }, { ...emit("5"), dueAt: 18.5 }],
          spawns: [spawn("c"), spawn("d")],
          timers: [12.25, 15.5, 15.6, 1e9].map((time) => scheduleTimer(`p${time}`, time))
        })
        const before = yield* store.stats
        expect(before.outbox).toEqual({ count: 3, failing: 0, oldest: Option.some(10) })
        expect(before.spawns).toMatchObject({ count: 2, failing: 0 })
        expect(before.delayed).toEqual({ count: 2, corrupt: 0, oldest: Option.some(18.5) })
        expect(before.timers).toEqual({ count: 4, failing: 0, due: 2, oldest: Option.some(12.25) })
        yield* store.ackOutbox(first)
        yield* store.deleteTimer({ executionId: "a", path: "p12.25", fireAt: 12.25 })
        yield* TestClock.adjust("1 second")
        const after = yield* store.stats
        expect(after.outbox).toEqual({ count: 2, failing: 0, oldest: Option.some(15.5) })
        expect(after.timers).toEqual({ count: 3, failing: 0, due: 2, oldest: Option.some(15.5) })
      }))

    test("count what failed and what was given up", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [first = 0, second = 0] = yield* store.enqueue([emit("1"), emit("2"), emit("3")])
        yield* store.commit(order("a"), { spawns: [spawn("c"), spawn("d")] })
        const [child] = yield* spawns()
        const failure = { attempts: 1, error: "", retryAt: 1 }
        yield* store.deadLetters.recordFailure({ work: { _tag: "Outbox", seq: first }, ...failure })
        yield* store.deadLetters.recordFailure({ work: { _tag: "Outbox", seq: second }, ...failure })
        yield* store.deadLetters.recordFailure({ work: { _tag: "Spawn", seq: child?.seq ?? 0 }, ...failure })
        yield* TestClock.adjust("2500 millis")
        const why = { reason: "attempts", attempts: 1, error: "" } as const
        yield* store.deadLetters.bury({ _tag: "Outbox", seq: first }, why)
        yield* TestClock.adjust("1 second")
        yield* store.deadLetters.bury({ _tag: "Spawn", seq: child?.seq ?? 0 }, why)
        const stats = yield* store.stats
        expect(stats.outbox).toMatchObject({ count: 2, failing: 1 })
        expect(stats.spawns).toMatchObject({ count: 1, failing: 0 })
        expect(stats.deadLetters).toEqual({ count: 2, oldest: Option.some(2.5) })
      }))

    test("of executions are by definition and status", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.counts).toEqual([])
        const [a] = yield* Effect.forEach(
          [
            order("a", { status: "RUNNING" }),
            order("b", { status: "RUNNING" }),
            order("c", { status: "FAILED", parentId: "a" }),
            order("d", { definitionId: "refund" }),
            order("e", { definitionId: "\u{10000}", status: "DONE" }),
            order("f", { definitionId: "\uffff", status: "DONE" })
          ],
          store.save
        )
        const counted = Effect.map(store.counts, (counts) =>
          counts.map(({ count, definitionId, status }) => `${definitionId} ${Option.getOrNull(status)} ${count}`)
        )
        const before = yield* counted
        expect(before.toSorted()).toEqual(
          ["order FAILED 1", "order RUNNING 2", "refund PENDING 1", "\u{10000} DONE 1", "\uffff DONE 1"].toSorted()
        )
        expect(before.map((line) => line.split(" ")[0])).toEqual(["order", "order", "refund", "\uffff", "\u{10000}"])
        if (a !== undefined) yield* store.save({ ...a, status: "DONE" })
        yield* store.purge("b", 1)
        expect((yield* counted).toSorted().slice(0, 2)).toEqual(["order DONE 1", "order FAILED 1"])
      }))

    if (!hasRaw) return

    rawTest("count executions whose status nobody knows apart from the others", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("executions", { id: "a", definition_id: "order", data: "{", version: 1 })
        yield* insert("executions", { id: "b", definition_id: "order", data: '{"status":"LOST"}', version: 1 })
        const counts = yield* store.counts
        expect(counts.every(({ definitionId, status }) => definitionId === "order" && Option.isNone(status))).toBe(true)
        expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(2)
      })
    )

    rawTest("tell nothing of when, where the first row does not say or does not decode", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("outbox", { seq: 1, target_id: "x", event: '{"id":"e","kind":"K"}' })
        yield* insert("outbox", { seq: 2, target_id: "x", event: "{" })
        expect((yield* store.stats).outbox).toEqual({ count: 2, failing: 0, oldest: Option.none() })
        yield* store.ackOutbox(1)
        expect((yield* store.stats).outbox).toEqual({ count: 1, failing: 0, oldest: Option.none() })
      })
    )
  })
}
