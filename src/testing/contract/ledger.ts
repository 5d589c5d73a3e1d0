/**
 * The ledger of consumed events.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ExecutionStore } from "../../ExecutionStore.js"
import { order } from "../internal/samples.js"
import type { Subject } from "../Subject.js"

/**
 * @since 0.1.0
 * @category tests
 */
export const ledger = ({ rawTest, test }: Subject): void => {
  describe("ledger", () => {
    test("an event is consumed once a commit says so, on the first insert too", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.commit(order("a"), { processed: "e1" })
        expect(yield* store.isProcessed("a", "e1")).toBe(true)
        expect(yield* store.isProcessed("a", "e2")).toBe(false)
        yield* store.commit(first.execution, { processed: "e2" })
        expect(yield* store.isProcessed("a", "e1")).toBe(true)
        expect(yield* store.isProcessed("a", "e2")).toBe(true)
      }))

    test("consuming an event again is no error", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.commit(order("a"), { processed: "e" })
        const second = yield* store.commit(first.execution, { processed: "e" })
        expect(second.execution.version).toBe(2)
        expect(yield* store.isProcessed("a", "e")).toBe(true)
      }))

    test("each execution has a ledger of its own", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { processed: "e" })
        yield* store.commit(order("b"))
        expect(yield* store.isProcessed("b", "e")).toBe(false)
        expect(yield* store.isProcessed("nobody", "e")).toBe(false)
        yield* store.commit((yield* store.commit(order("c"))).execution, { processed: "e" })
        expect(yield* store.isProcessed("c", "e")).toBe(true)
      }))

    test("loadForEvent agrees with load and isProcessed", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { execution } = yield* store.commit(order("a", { context: { n: 1 } }), { processed: "e1" })
        expect(yield* store.loadForEvent("a", "e1")).toEqual({ execution: Option.some(execution), processed: true })
        expect(yield* store.loadForEvent("a", "e2")).toEqual({ execution: Option.some(execution), processed: false })
        expect(yield* store.loadForEvent("b", "e1")).toEqual({ execution: Option.none(), processed: false })
        for (const [id, event] of [
          ["a", "e1"],
          ["a", "e2"],
          ["b", "e1"]
        ] as const) {
          const both = yield* store.loadForEvent(id, event)
          expect(both).toEqual({ execution: yield* store.load(id), processed: yield* store.isProcessed(id, event) })
        }
      }))

    rawTest("an execution that is not stored has consumed nothing, whatever its ledger says", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("processed_events", { execution_id: "gone", event_id: "e" })
        expect(yield* store.isProcessed("gone", "e")).toBe(true)
        expect(yield* store.loadForEvent("gone", "e")).toEqual({ execution: Option.none(), processed: false })
      })
    )

    rawTest("the empty event id of another program is read past", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a"))
        yield* insert("processed_events", { execution_id: "a", event_id: "" })
        expect(yield* store.isProcessed("a", "e")).toBe(false)
      })
    )
  })
}
