/**
 * Purging executions.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { conflicts } from "../internal/assertions.js"
import { emit, everything, order, spawn, step } from "../internal/samples.js"
import { visible } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const ids = ["a", "b"]
const events = ["e", "f"]

/** "a" and "b" with one of everything, each with an event for the other and one for itself. */
const seeded = Effect.gen(function* () {
  const store = yield* ExecutionStore
  for (const [id, other] of [
    ["a", "b"],
    ["b", "a"]
  ] as const) {
    yield* store.commit(order(id), {
      ...everything("e"),
      emits: [emit(`${id} to itself`, id), emit(`${id} to ${other}`, other), emit(`${id} to nobody`, null)],
      spawns: [spawn(`${id}:1`), spawn(other)]
    })
  }
})

/**
 * @since 0.1.0
 * @category tests
 */
export const purge = ({ rawTest, test }: Subject): void => {
  describe("purge", () => {
    test("it removes the execution with its ledger, trace and timers, the events to it and the spawns it issued", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* seeded
        expect(yield* store.purge("a", 1)).toBe(true)
        const after = yield* visible(ids, events)
        expect(after.ids).toEqual(["b"])
        expect(after.listing.map((item) => item.id)).toEqual(["b"])
        expect(after.executions[0]).toBe(null)
        expect(after.processed).toEqual([
          [false, false],
          [true, false]
        ])
        expect(after.traces.map((trace) => trace.length)).toEqual([0, 1])
        expect(after.timers.map((timer) => timer.executionId)).toEqual(["b"])
        expect(after.outbox.map((entry) => entry.event.id)).toEqual([
          "a to b",
          "a to nobody",
          "b to itself",
          "b to nobody"
        ])
        // a spawn that names the purged one as a child is its parent's
        expect(after.spawns.map((spawn) => [spawn.parentId, spawn.childId])).toEqual([
          ["b", "b:1"],
          ["b", "a"]
        ])
      }))

    test("a bystander is left exactly as it was", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { ...everything("e"), emits: [] })
        yield* store.commit(order("A"), everything("e"))
        const before = yield* visible(["A"], events)
        expect(yield* store.purge("a", 1)).toBe(true)
        const after = yield* visible(["A"], events)
        expect(after.executions).toEqual(before.executions)
        expect(after.traces).toEqual(before.traces)
        expect(after.processed).toEqual(before.processed)
        expect(after.outbox).toEqual(before.outbox)
        expect(after.timers.map((timer) => timer.executionId)).toEqual(["A"])
        expect(after.spawns.map((spawn) => spawn.parentId)).toEqual(["A"])
      }))

    for (const version of [0, 1, 3]) {
      test(`at version 2, purging version ${version} is false and touches nothing`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const { execution } = yield* store.commit(order("a"), everything("e"))
          yield* store.commit(execution, { emits: [emit("x", "a")] })
          const before = yield* visible(ids, events)
          expect(yield* store.purge("a", version)).toBe(false)
          expect(yield* visible(ids, events)).toEqual(before)
        }))
    }

    test("a second purge is false", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a"))
        expect(yield* store.purge("a", 1)).toBe(true)
        expect(yield* store.purge("a", 1)).toBe(false)
        expect(yield* store.purge("nobody", 0)).toBe(false)
      }))

    test("where there is no execution what it left behind is swept", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("b"))
        yield* store.appendTrace("a", step("late"))
        yield* store.appendTrace("b", step("kept"))
        yield* store.enqueue([emit("to a", "a"), emit("to b", "b"), emit("to nobody", null)])
        expect(yield* store.purge("a", 5)).toBe(false)
        const after = yield* visible(ids, events)
        expect(after.traces.map((trace) => trace.length)).toEqual([0, 1])
        expect(after.outbox.map((entry) => entry.event.id)).toEqual(["to b", "to nobody"])
      }))

    rawTest("leftovers of every kind are swept", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const id of ids) {
          yield* insert("processed_events", { execution_id: id, event_id: "e" })
          yield* insert("timers", { execution_id: id, path: "p", fire_at: 10.5 })
          yield* insert("spawns", { parent_id: id, child_id: "c", root_path: "R", context: "{}" })
          yield* insert("trace", { execution_id: id, idx: 4, entry: '{"event_kind": "E", "timestamp": 1.0}' })
        }
        expect(yield* store.purge("a", 1)).toBe(false)
        const after = yield* visible(ids, events)
        expect(after.processed).toEqual([
          [false, false],
          [true, false]
        ])
        expect(after.timers).toEqual([{ executionId: "b", path: "p", fireAt: 10.5 }])
        expect(after.spawns.map((spawn) => spawn.parentId)).toEqual(["b"])
        expect(after.traces.map((trace) => trace.map((entry) => entry.index))).toEqual([[], [4]])
      })
    )

    test("a purged id is free: a new execution starts at version 1, with nothing of the old one", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const old = yield* store.commit(order("a", { context: { old: true } }), everything("e"))
        yield* store.purge("a", 1)
        const { execution } = yield* store.commit(order("a"), { timers: [scheduleTimer("p", 1)] })
        expect(execution.version).toBe(1)
        expect(execution.context).toEqual({})
        expect(yield* store.isProcessed("a", "e")).toBe(false)
        expect(yield* store.readTrace("a")).toEqual({ entries: [], corrupt: [] })
        yield* conflicts(store.save({ ...old.execution, version: 2 }), { executionId: "a", expected: 2, found: 1 })
      }))
  })
}
