/**
 * The trace of an execution.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ExecutionStore } from "../../ExecutionStore.js"
import { order, step } from "../internal/samples.js"
import { loaded, trace as read } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const append = (id: string, from: number, to: number) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    for (let n = from; n < to; n++) yield* store.appendTrace(id, step(`step-${n}`))
  })

const indexes = (id: string) => Effect.map(read(id), (entries) => entries.map((entry) => entry.index))

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

/**
 * @since 0.1.0
 * @category tests
 */
export const trace = ({ test, testWith }: Subject): void => {
  describe("trace", () => {
    test("there is none where no commit wrote a step", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a"))
        expect(yield* store.readTrace("a")).toEqual({ entries: [], corrupt: [] })
        expect(yield* store.readTrace("nobody")).toEqual({ entries: [], corrupt: [] })
      }))

    test("commits and appends share one index, counted from 0", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.commit(order("a"), { trace: step("Start") })
        yield* store.appendTrace("a", step("Note"))
        yield* store.commit(first.execution, { trace: step("Pay") })
        expect((yield* read("a")).map((entry) => [entry.index, entry.eventKind])).toEqual([
          [0, "Start"],
          [1, "Note"],
          [2, "Pay"]
        ])
      }))

    test("a step keeps every field, and its unknown keys", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const full = step("Pay", {
          eventData: { amount: 39.98, big: 1152921504606846976n },
          fromPath: "Cart",
          toPath: "Work.Pick",
          actions: ["price", "reserve"],
          contextOut: { qty: 2, ñ: "😀" },
          timestamp: 1790000000.1234567,
          assigned: { paid: 39.98 },
          extra: { took: 0.25 }
        })
        yield* store.commit(order("a"), { trace: full })
        yield* store.appendTrace("a", step("Next", { assigned: {} }))
        expect(yield* read("a")).toEqual([
          { ...full, index: 0 },
          { ...step("Next", { assigned: {} }), index: 1 }
        ])
      }))

    test("appending needs no execution and makes none", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.appendTrace("ghost", step("Seen"))
        expect(yield* indexes("ghost")).toEqual([0])
        expect(yield* store.idsWithPrefix("")).toEqual([])
      }))

    test("each execution has an index of its own, and loading it is not affected", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const saved = yield* store.save(order("a"))
        yield* append("a", 0, 3)
        yield* append("b", 0, 2)
        expect(yield* indexes("a")).toEqual([0, 1, 2])
        expect(yield* indexes("b")).toEqual([0, 1])
        expect(yield* loaded("a")).toEqual(saved)
      }))

    test("the last 200 steps are kept, and the index goes on", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* append("a", 0, 203)
        const first = yield* read("a")
        expect(first.map((entry) => entry.index)).toEqual(range(3, 203))
        expect(first.map((entry) => entry.eventKind)).toEqual(range(3, 203).map((n) => `step-${n}`))
        yield* store.commit(order("a"), { trace: step("by commit") })
        expect(yield* indexes("a")).toEqual(range(4, 204))
      }))

    testWith({ traceMax: 3 }, "a ring of 3 keeps the last 3 of each execution", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* append("a", 0, 5)
        yield* append("b", 0, 2)
        let { execution } = yield* store.commit(order("a"), { trace: step("x") })
        expect(yield* indexes("a")).toEqual([3, 4, 5])
        execution = (yield* store.commit(execution, { trace: step("y") })).execution
        yield* store.commit(execution)
        expect(yield* indexes("a")).toEqual([4, 5, 6])
        expect(yield* indexes("b")).toEqual([0, 1])
      })
    )

    testWith({ traceMax: 1 }, "a ring of 1 keeps the last step", () =>
      Effect.gen(function* () {
        yield* append("a", 0, 4)
        expect((yield* read("a")).map((entry) => [entry.index, entry.eventKind])).toEqual([[3, "step-3"]])
      })
    )

    testWith({ traceMax: 0 }, "a ring of 0 keeps all", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* append("a", 0, 205)
        yield* store.commit(order("a"), { trace: step("x") })
        expect(yield* indexes("a")).toEqual(range(0, 206))
      })
    )

    test("the index begins at 0 again once all rows are gone", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { trace: step("x") })
        yield* append("a", 1, 3)
        expect(yield* store.purge("a", 1)).toBe(true)
        expect(yield* indexes("a")).toEqual([])
        yield* store.commit(order("a"), { trace: step("y") })
        expect(yield* indexes("a")).toEqual([0])
      }))
  })
}
