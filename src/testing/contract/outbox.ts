/**
 * The events that commits leave to be delivered.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Event from "../../Event.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { conflicts } from "../internal/assertions.js"
import { emit, order, spawn, step } from "../internal/samples.js"
import { outbox as pending } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const ascending = (seqs: ReadonlyArray<number>): boolean => seqs.every((seq, i) => i === 0 || seq > (seqs[i - 1] ?? 0))

/**
 * @since 0.1.0
 * @category tests
 */
export const outbox = ({ test }: Subject): void => {
  describe("outbox", () => {
    test("a commit without emits gives no seqs, with spawns and trace neither", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.commit(order("a"))
        const second = yield* store.commit(first.execution, { spawns: [spawn("c")], trace: step("e") })
        const third = yield* store.commit(second.execution, { emits: [] })
        expect([first.seqs, second.seqs, third.seqs]).toEqual([[], [], []])
        expect(yield* pending()).toEqual([])
      }))

    test("the seqs are in the order of the emits and match the outbox", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const emits = [emit("1", "x"), emit("2", null), emit("3", "y"), emit("4", "x"), emit("5", "a")]
        const { seqs } = yield* store.commit(order("a"), { emits })
        expect(ascending(seqs)).toBe(true)
        expect(yield* pending()).toEqual(emits.map((emit, i) => ({ seq: seqs[i], ...emit })))
      }))

    test("equal emits are entries of their own", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { seqs } = yield* store.commit(order("a"), { emits: [emit("1"), emit("1")] })
        expect(yield* pending()).toEqual(seqs.map((seq) => ({ seq, ...emit("1") })))
        expect(new Set(seqs).size).toBe(2)
      }))

    test("a thousand emits of one commit keep their order", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const emits = Array.from({ length: 1000 }, (_, i) => emit(`event-${i}`, i % 3 === 0 ? null : `target-${i % 7}`))
        const { seqs } = yield* store.commit(order("a"), { emits })
        expect(seqs).toHaveLength(1000)
        expect(yield* pending()).toEqual(emits.map((emit, i) => ({ seq: seqs[i], ...emit })))
      }))

    test("an event keeps its times, its data and its unknown keys", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const event = Event.make({
          id: "e",
          kind: "Paid",
          createdTime: "2026-09-21T10:00:00.123456Z",
          receivedTime: "2026-09-21T10:00:01",
          data: { amount: 39.98, big: 1152921504606846976n, list: [{ deep: null }] },
          extra: { trace_parent: "00-ab" }
        })
        yield* store.commit(order("a"), { emits: [{ targetId: "b", event }] })
        expect((yield* pending()).map((entry) => entry.event)).toEqual([event])
      }))

    test("seqs increase over commits, executions and enqueued events, and are never used again", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const seen: Array<number> = []
        for (let round = 0; round < 4; round++) {
          const { seqs } = yield* store.commit(order(`a-${round}`), { emits: [emit("1"), emit("2")] })
          seen.push(...seqs, ...(yield* store.enqueue([emit("3")])))
          // an empty outbox must not begin to number anew
          for (const entry of yield* pending()) yield* store.ackOutbox(entry.seq)
          expect(yield* pending()).toEqual([])
        }
        expect(seen).toHaveLength(12)
        expect(ascending(seen)).toBe(true)
      }))

    test("enqueue puts events into the outbox outside of any commit, in order", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const emits = [emit("1", "b"), emit("2", null), emit("3", "a")]
        const seqs = yield* store.enqueue(emits)
        expect(ascending(seqs)).toBe(true)
        expect(yield* pending()).toEqual(emits.map((emit, i) => ({ seq: seqs[i], ...emit })))
        expect(yield* store.enqueue([])).toEqual([])
      }))

    test("an ack removes exactly its entry; a second one and one of an unknown seq are no errors", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const seqs = yield* store.enqueue([emit("1"), emit("2"), emit("3")])
        const [first = 0, second = 0, third = 0] = seqs
        yield* store.ackOutbox(second)
        yield* store.ackOutbox(second)
        yield* store.ackOutbox(third + 1000)
        expect((yield* pending()).map((entry) => entry.seq)).toEqual([first, third])
      }))

    test("pages hold at most their limit and reassemble the outbox", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const seqs = yield* store.enqueue(Array.from({ length: 10 }, (_, i) => emit(`${i}`)))
        const page = yield* store.pendingOutbox({ limit: 4 })
        expect(page.entries.map((entry) => entry.seq)).toEqual(seqs.slice(0, 4))
        expect(page.next).toEqual(Option.some(seqs[3]))
        for (const limit of [1, 4, 5, 10, 11]) {
          expect((yield* pending(limit)).map((entry) => entry.seq)).toEqual(seqs)
        }
        expect((yield* store.pendingOutbox({ limit: 10 })).next).toEqual(Option.none())
        expect(yield* store.pendingOutbox({ after: seqs[9] ?? 0 })).toEqual({
          entries: [],
          corrupt: [],
          failures: [],
          next: Option.none(),
          reached: Option.none()
        })
      }))

    test("a page has 100 entries where nothing is said", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.enqueue(Array.from({ length: 101 }, (_, i) => emit(`${i}`)))
        const page = yield* store.pendingOutbox()
        expect(page.entries).toHaveLength(100)
        expect(Option.isSome(page.next)).toBe(true)
      }))

    test("an entry that vanishes between two pages hides no other", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const seqs = yield* store.enqueue([emit("1"), emit("2"), emit("3"), emit("4")])
        const page = yield* store.pendingOutbox({ limit: 2 })
        for (const entry of page.entries) yield* store.ackOutbox(entry.seq)
        const rest = yield* store.pendingOutbox({ limit: 2, after: Option.getOrThrow(page.next) })
        expect(rest.entries.map((entry) => entry.seq)).toEqual(seqs.slice(2))
      }))

    test("the entry that a commit consumes is removed with it, and only if it wins", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [consumed = 0, other = 0] = yield* store.enqueue([emit("1", "a"), emit("2", "a")])
        const first = yield* store.save(order("a"))
        const second = yield* store.save(first)
        const ack = { _tag: "Outbox", seq: consumed } as const
        yield* conflicts(store.commit(first, { ack }), { executionId: "a", expected: 1, found: 2 })
        expect((yield* pending()).map((entry) => entry.seq)).toEqual([consumed, other])
        const { seqs } = yield* store.commit(second, { ack, emits: [emit("3")], processed: "1" })
        expect((yield* pending()).map((entry) => entry.seq)).toEqual([other, ...seqs])
      }))

    test("the first commit of an execution can consume an entry; one that is gone is no error", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [seq = 0] = yield* store.enqueue([emit("1", "a")])
        yield* store.commit(order("a"), { ack: { _tag: "Outbox", seq } })
        expect(yield* pending()).toEqual([])
        yield* store.commit(order("b"), { ack: { _tag: "Outbox", seq } })
        expect((yield* store.load("b")).pipe(Option.isSome)).toBe(true)
      }))
  })
}
