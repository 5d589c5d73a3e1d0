/**
 * Events that are emitted after a delay.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { Emit } from "../../Commit.js"
import * as Event from "../../Event.js"
import { ExecutionStore, type Notice } from "../../ExecutionStore.js"
import * as Generators from "../Generators.js"
import { conflicts, refuses } from "../internal/assertions.js"
import { emit, everything, order } from "../internal/samples.js"
import { endOfTime, outbox, outboxEntries } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const later = (eventId: string, dueAt: number, targetId: string | null = "target"): Emit => ({
  ...emit(eventId, targetId),
  dueAt
})

const eventIds = Effect.map(outbox(), (entries) => entries.map((entry) => entry.event.id))

/** Lets everything be due, and gives what comes into the outbox by it. */
const rest = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const before = new Set((yield* outbox()).map((entry) => entry.seq))
  while ((yield* store.delayed.release(endOfTime, 1000)) > 0);
  return (yield* outbox()).filter((entry) => !before.has(entry.seq))
})

const restIds = Effect.map(rest, (entries) => entries.map((entry) => entry.event.id))

/**
 * @since 0.1.0
 * @category tests
 */
export const delayed = ({ property, test }: Subject): void => {
  describe("delayed", () => {
    test("an event with dueAt is in the outbox from then on, and not before", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { emits: [later("1", 100.5)] })
        expect(yield* store.delayed.release(100.499)).toBe(0)
        expect(yield* outbox()).toEqual([])
        expect(yield* store.delayed.release(100.5)).toBe(1)
        expect((yield* outbox()).map(({ event, targetId }) => ({ event, targetId }))).toEqual([emit("1")])
        expect(yield* store.delayed.release(endOfTime)).toBe(0)
      }))

    test("the seqs of a commit are those of its other emits, in their order", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const emits = [later("1", 10), emit("2"), later("3", 5), emit("4", null), later("5", 10)]
        const { seqs } = yield* store.commit(order("a"), { emits })
        expect(yield* outbox()).toEqual([
          { seq: seqs[0], ...emit("2") },
          { seq: seqs[1], ...emit("4", null) }
        ])
        const last = yield* store.commit(order("b"), { emits: [later("6", 1)] })
        expect(last.seqs).toEqual([])
        expect(yield* restIds).toEqual(["6", "3", "1", "5"])
      }))

    test("enqueue takes them too", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const seqs = yield* store.enqueue([later("1", 10, null), emit("2"), later("3", 5, "x"), emit("4")])
        expect((yield* outbox()).map((entry) => entry.seq)).toEqual(seqs)
        expect(yield* eventIds).toEqual(["2", "4"])
        expect(yield* store.enqueue([later("5", 7)])).toEqual([])
        const released = yield* rest
        expect(released.map(({ event, targetId }) => [event.id, targetId])).toEqual([
          ["3", "x"],
          ["5", "target"],
          ["1", null]
        ])
      }))

    test("they come in the order in which they are due, those of one time in that in which they were emitted", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { emits: [later("1", 30), later("2", 10), later("3", 20)] })
        yield* store.enqueue([later("4", 10), later("5", -1.5)])
        yield* store.commit(order("b"), { emits: [later("6", 20), later("7", 0), later("8", -0)] })
        const [first = 0] = yield* store.enqueue([emit("before")])
        expect(yield* store.delayed.release(20)).toBe(7)
        const released = yield* outbox()
        expect(released.map((entry) => entry.event.id)).toEqual(["before", "5", "7", "8", "2", "4", "3", "6"])
        expect(released.every((entry, i) => i === 0 || entry.seq > first)).toBe(true)
      }))

    test("at most so many at once, and 100 where nothing is said", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const names = Array.from({ length: 110 }, (_, i) => `${i}`)
        yield* store.commit(order("a"), { emits: names.map((name, i) => later(name, i / 2)) })
        expect(yield* store.delayed.release(1000, 3)).toBe(3)
        expect(yield* eventIds).toEqual(["0", "1", "2"])
        expect(yield* store.delayed.release(1000)).toBe(100)
        expect(yield* store.delayed.release(1000, 1000)).toBe(7)
        expect(yield* eventIds).toEqual(names)
      }))

    test("the next one is the earliest, due or not", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.delayed.next).toEqual(Option.none())
        yield* store.enqueue([later("1", 4e9), later("2", 12.25), later("3", 12.5)])
        expect(yield* store.delayed.next).toEqual(Option.some(12.25))
        yield* TestClock.setTime(20_000)
        expect(yield* store.delayed.next).toEqual(Option.some(12.25))
        yield* store.delayed.release(20)
        expect(yield* store.delayed.next).toEqual(Option.some(4e9))
      }))

    test("a time that is past is due at once", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* TestClock.setTime(1_790_000_000_000)
        yield* store.commit(order("a"), { emits: [later("1", 1_789_999_999)] })
        expect(yield* store.delayed.next).toEqual(Option.some(1_789_999_999))
        expect(yield* store.delayed.release(1_790_000_000)).toBe(1)
      }))

    test("a far future is kept to the second", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const years = [4_102_444_800, 253_402_300_799, 2 ** 53]
        yield* store.enqueue(years.map((dueAt) => later(String(dueAt), dueAt)))
        for (const dueAt of years) {
          expect(yield* store.delayed.next).toEqual(Option.some(dueAt))
          expect(yield* store.delayed.release(dueAt - 1)).toBe(0)
          expect(yield* store.delayed.release(dueAt)).toBe(1)
        }
      }))

    property("a time is kept as exactly the double it is", Generators.fireAts, 6, (times) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { emits: times.map((dueAt) => later(String(dueAt), dueAt)) })
        for (const dueAt of times.toSorted((a, b) => a - b)) {
          expect(yield* store.delayed.next).toEqual(Option.some(dueAt))
          expect(yield* store.delayed.release(dueAt, 1)).toBe(1)
        }
        expect(yield* store.delayed.next).toEqual(Option.none())
      })
    )

    test("a commit that conflicts emits none, whatever its version", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        yield* store.save(first)
        const emits = [later("1", 10)]
        yield* conflicts(store.commit(first, { emits }), { executionId: "a", expected: 1, found: 2 })
        yield* conflicts(store.commit(order("a"), { emits }), { executionId: "a", expected: 0, found: 2 })
        yield* conflicts(store.commit({ ...order("b"), version: 1 }, { emits }), {
          executionId: "b",
          expected: 1,
          found: null
        })
        expect(yield* store.delayed.next).toEqual(Option.none())
      }))

    test("of two writers with the same bytes one emits", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        const commit = Effect.either(store.commit(first, { emits: [later("1", 10)] }))
        const outcomes = yield* Effect.all([commit, commit, commit], { concurrency: "unbounded" })
        expect(outcomes.map((outcome) => outcome._tag).sort()).toEqual(["Left", "Left", "Right"])
        expect(yield* restIds).toEqual(["1"])
      }))

    test("releasing at the same time releases each once", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const names = Array.from({ length: 30 }, (_, i) => `${i}`)
        yield* store.enqueue(names.map((name, i) => later(name, i)))
        const counts = yield* Effect.all(
          Array.from({ length: 5 }, () => store.delayed.release(1000, 10)),
          { concurrency: "unbounded" }
        )
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(30)
        expect(yield* eventIds).toEqual(names)
      }))

    test("a purge removes those to the execution, and no other", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { ...everything("e"), emits: [later("to b", 10, "b"), later("to a", 10, "a")] })
        yield* store.commit(order("b"), { emits: [later("from b to a", 5, "a"), later("to nobody", 20, null)] })
        expect(yield* store.purge("a", 2)).toBe(false)
        expect(yield* store.delayed.next).toEqual(Option.some(5))
        expect(yield* store.purge("a", 1)).toBe(true)
        expect(yield* restIds).toEqual(["to b", "to nobody"])
      }))

    test("one to an execution that was never created is kept, and swept by its purge", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.enqueue([later("1", 10, "never")])
        expect(yield* store.purge("never", 1)).toBe(false)
        expect(yield* store.delayed.next).toEqual(Option.none())
      }))

    test("the event is kept as it is, and waits to be delivered since it was due", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const event = Event.make({
          id: "e",
          kind: "Paid",
          createdTime: "2026-09-21T10:00:00.123456Z",
          data: { amount: 39.98, big: 1152921504606846976n },
          extra: { zone: "eu" }
        })
        yield* TestClock.setTime(100_000)
        yield* store.commit(order("a"), { emits: [{ targetId: "b", event, dueAt: 150.5 }] })
        yield* store.enqueue([{ targetId: "b", event, dueAt: 20 }])
        yield* store.delayed.release(200)
        const entries = yield* outboxEntries()
        expect(entries.map((entry) => entry.event)).toEqual([event, event])
        expect(entries.map((entry) => entry.emittedAt)).toEqual([100, 150.5])
      }))

    test("listeners are told when the next one of a write is due, and what was released", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const notices: Array<Omit<Notice, "committed" | "outbox">> = []
        yield* store.listen(({ committed: _, outbox: __, ...notice }) => notices.push(notice))
        const quiet = { emits: 0, spawns: 0, activities: 0, nextTimer: Option.none(), nextDelayed: Option.none() }
        yield* store.commit(order("a"), { emits: [later("1", 30), emit("2"), later("3", 20.5)] })
        yield* store.enqueue([later("4", 40)])
        yield* store.delayed.release(10)
        yield* store.delayed.release(30)
        expect(notices).toEqual([
          { ...quiet, emits: 1, nextDelayed: Option.some(20.5) },
          { ...quiet, nextDelayed: Option.some(40) },
          { ...quiet, emits: 2 }
        ])
      }))

    test("a time is refused where not every backend could keep its double", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const wrong = [Number.NaN, Number.POSITIVE_INFINITY, 2 ** -11, Number.MIN_VALUE, 2 ** 53 + 2, -Number.MAX_VALUE]
        for (const dueAt of wrong) {
          const emits = [emit("1"), later("2", dueAt)]
          yield* refuses(store.commit(order("a"), { emits }), "emits[1].dueAt")
          yield* refuses(store.enqueue(emits), "emits[1].dueAt")
        }
        yield* refuses(store.enqueue([later("", 1)]), "emits[0].event.id")
        yield* refuses(store.delayed.release(Number.NaN), "now")
        for (const limit of [0, -1, 1.5, 1001, Number.NaN]) yield* refuses(store.delayed.release(1, limit), "limit")
        expect(yield* store.idsWithPrefix("")).toEqual([])
        expect(yield* outbox()).toEqual([])
        expect(yield* store.delayed.next).toEqual(Option.none())
      }))
  })
}
