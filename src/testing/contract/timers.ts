/**
 * Timers: armed and cancelled by commits, found when due, removed by whoever fired them.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Timer } from "../../Commit.js"
import { cancelTimer, scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Generators from "../Generators.js"
import { conflicts } from "../internal/assertions.js"
import { order } from "../internal/samples.js"
import { timers as armed, due, endOfTime } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const timer = (executionId: string, path: string, fireAt: number): Timer => ({ executionId, path, fireAt })

const ackOf = (timer: Timer) => ({ _tag: "Timer", ...timer }) as const

const exact = [1790000060.1234567, 1762397297.767609, 1790003600.875, 0, -1.5, 2 ** -10, 2 ** 53, -(2 ** 53), 0.1, 1e15]

/** The double next to this one. */
const neighbour = (value: number): number => {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  view.setBigInt64(0, view.getBigInt64(0) + 1n)
  return view.getFloat64(0)
}

/** Checks that a timer armed for these times is found with exactly the same double, and removed by that one alone. */
const keepsExactly = (times: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const timers = times.map((fireAt, i) => timer("a", `path-${i}`, fireAt))
    yield* store.commit(order("a"), { timers: timers.map(({ fireAt, path }) => scheduleTimer(path, fireAt)) })
    const byPath = (a: Timer, b: Timer) => Number(a.path.slice(5)) - Number(b.path.slice(5))
    expect((yield* armed()).toSorted(byPath)).toEqual(timers)
    for (const { executionId, fireAt, path } of timers) {
      expect((yield* store.dueTimers(fireAt)).entries.some((due) => due.path === path)).toBe(true)
      expect(yield* store.deleteTimer(timer(executionId, path, neighbour(fireAt)))).toBe(false)
      expect(yield* store.deleteTimer(timer(executionId, path, fireAt))).toBe(true)
    }
    expect(yield* armed()).toEqual([])
  })

/**
 * @since 0.1.0
 * @category tests
 */
export const timers = ({ property, test }: Subject): void => {
  describe("timers", () => {
    test("a timer is due at its time and not before", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: [scheduleTimer("p", 100.5)] })
        expect(yield* due(100.499)).toEqual([])
        expect(yield* due(100.5)).toEqual([timer("a", "p", 100.5)])
        expect(yield* due(1e9)).toEqual([timer("a", "p", 100.5)])
      }))

    test("arming a path again replaces its timer, earlier or later", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        let { execution } = yield* store.commit(order("a"), { timers: [scheduleTimer("p", 50)] })
        for (const fireAt of [70, 20.25]) {
          execution = (yield* store.commit(execution, { timers: [scheduleTimer("p", fireAt)] })).execution
          expect(yield* armed()).toEqual([timer("a", "p", fireAt)])
        }
        yield* store.commit(execution, { timers: [cancelTimer("p")] })
        expect(yield* armed()).toEqual([])
      }))

    test("operations on one path apply in order: the last one wins", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { execution } = yield* store.commit(order("a"), {
          timers: [
            scheduleTimer("twice", 10),
            scheduleTimer("twice", 30),
            scheduleTimer("gone", 10),
            cancelTimer("gone"),
            cancelTimer("back"),
            scheduleTimer("back", 5),
            scheduleTimer("last", 1),
            cancelTimer("last"),
            scheduleTimer("last", 2),
            cancelTimer("never")
          ]
        })
        expect(yield* armed()).toEqual([timer("a", "last", 2), timer("a", "back", 5), timer("a", "twice", 30)])
        yield* store.commit(execution, {
          timers: [cancelTimer("last"), scheduleTimer("back", 6), cancelTimer("twice"), scheduleTimer("twice", 31)]
        })
        expect(yield* armed()).toEqual([timer("a", "back", 6), timer("a", "twice", 31)])
      }))

    test("a commit without timers leaves them, and each execution has its own", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { execution } = yield* store.commit(order("a"), { timers: [scheduleTimer("p", 1)] })
        yield* store.commit(order("b"), { timers: [scheduleTimer("p", 2)] })
        yield* store.commit(order("c"), { timers: [cancelTimer("p")] })
        yield* store.save(execution)
        expect(yield* armed()).toEqual([timer("a", "p", 1), timer("b", "p", 2)])
      }))

    test("the empty path and the reserved one are paths", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: [scheduleTimer("", 1), scheduleTimer("@ttl", 2)] })
        expect(yield* armed()).toEqual([timer("a", "", 1), timer("a", "@ttl", 2)])
      }))

    test("ties are in the order of execution and path, by UTF-8 bytes", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const ids = ["B", "a", "\ufffd", "\u{1f600}"]
        const paths = ["P", "p", "\ufffd", "\u{1f600}"]
        for (const id of ids.toReversed()) {
          yield* store.commit(order(id), { timers: paths.toReversed().map((path) => scheduleTimer(path, 7)) })
        }
        yield* store.commit(order("Z"), { timers: [scheduleTimer("z", 6)] })
        const expected = [timer("Z", "z", 6), ...ids.flatMap((id) => paths.map((path) => timer(id, path, 7)))]
        expect(yield* due(7)).toEqual(expected)
        for (const limit of [1, 3, 17, 18]) expect(yield* armed(limit)).toEqual(expected)
      }))

    test("pages of due timers go on after the last one, whether it is still armed or not", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const times = Array.from({ length: 9 }, (_, i) => i + 0.5)
        yield* store.commit(order("a"), { timers: times.map((time) => scheduleTimer(`p${time}`, time)) })
        const first = yield* due(7.5, { limit: 4 })
        expect(first.map((timer) => timer.fireAt)).toEqual([0.5, 1.5, 2.5, 3.5])
        for (const timer of first) yield* store.deleteTimer(timer)
        const second = yield* due(7.5, { limit: 4, after: first[3] ?? timer("a", "", 0) })
        expect(second.map((timer) => timer.fireAt)).toEqual([4.5, 5.5, 6.5, 7.5])
        expect(yield* due(7.5, { limit: 4, after: second[3] ?? timer("a", "", 0) })).toEqual([])
      }))

    test("a page has 100 timers where nothing is said", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const paths = Array.from({ length: 101 }, (_, i) => `p${i}`)
        yield* store.commit(order("a"), { timers: paths.map((path) => scheduleTimer(path, 1)) })
        expect(yield* due(1)).toHaveLength(100)
      }))

    test("nextTimer is the first one, due or not", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.timers.next).toEqual(Option.none())
        const { execution } = yield* store.commit(order("a"), {
          timers: [scheduleTimer("late", 1e9), scheduleTimer("soon", 10)]
        })
        expect(yield* store.timers.next).toEqual(Option.some(timer("a", "soon", 10)))
        yield* store.commit(order("b"), { timers: [scheduleTimer("sooner", -3)] })
        expect(yield* store.timers.next).toEqual(Option.some(timer("b", "sooner", -3)))
        yield* store.deleteTimer(timer("b", "sooner", -3))
        yield* store.commit(execution, { timers: [cancelTimer("soon")] })
        expect(yield* store.timers.next).toEqual(Option.some(timer("a", "late", 1e9)))
      }))

    test("isArmed tells whether the timer is armed for exactly this time", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const at = 1790000060.1234567
        const { execution } = yield* store.commit(order("a"), { timers: [scheduleTimer("p", at)] })
        expect(yield* store.timers.isArmed(timer("a", "p", at))).toBe(true)
        expect(yield* store.timers.isArmed(timer("a", "p", neighbour(at)))).toBe(false)
        expect(yield* store.timers.isArmed(timer("a", "q", at))).toBe(false)
        expect(yield* store.timers.isArmed(timer("b", "p", at))).toBe(false)
        const moved = yield* store.commit(execution, { timers: [scheduleTimer("p", 20)] })
        expect(yield* store.timers.isArmed(timer("a", "p", at))).toBe(false)
        expect(yield* store.timers.isArmed(timer("a", "p", 20))).toBe(true)
        yield* store.commit(moved.execution, { timers: [cancelTimer("p")] })
        expect(yield* store.timers.isArmed(timer("a", "p", 20))).toBe(false)
      }))

    test("deleting is guarded by the time: a timer that was armed anew stays", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { execution } = yield* store.commit(order("a"), { timers: [scheduleTimer("p", 10)] })
        const [seen = timer("", "", 0)] = yield* due(10)
        yield* store.commit(execution, { timers: [scheduleTimer("p", 20)] })
        expect(yield* store.deleteTimer(seen)).toBe(false)
        expect(yield* armed()).toEqual([timer("a", "p", 20)])
        expect(yield* store.deleteTimer(timer("b", "p", 20))).toBe(false)
        expect(yield* store.deleteTimer(timer("a", "q", 20))).toBe(false)
        expect(yield* store.deleteTimer(timer("a", "p", 20))).toBe(true)
        expect(yield* store.deleteTimer(timer("a", "p", 20))).toBe(false)
      }))

    test("the timer that a commit fires is removed with it, and only if it wins", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.commit(order("a"), { timers: [scheduleTimer("p", 10), scheduleTimer("q", 10)] })
        const second = yield* store.save(first.execution)
        const ack = ackOf(timer("a", "p", 10))
        yield* conflicts(store.commit(first.execution, { ack }), { executionId: "a", expected: 1, found: 2 })
        expect(yield* armed()).toHaveLength(2)
        yield* store.commit(second, { ack })
        expect(yield* armed()).toEqual([timer("a", "q", 10)])
      }))

    test("an ack of an old time leaves the timer that was armed anew", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.commit(order("a"), { timers: [scheduleTimer("p", 10)] })
        const second = yield* store.commit(first.execution, { timers: [scheduleTimer("p", 20)] })
        yield* store.commit(second.execution, { ack: ackOf(timer("a", "p", 10)) })
        expect(yield* armed()).toEqual([timer("a", "p", 20)])
      }))

    test("a step may arm the very timer that it is fired by, even for the same time", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        let { execution } = yield* store.commit(order("a"), { timers: [scheduleTimer("p", 10)] })
        for (const [from, to] of [
          [10, 20],
          [20, 20],
          [20, 5]
        ] as const) {
          const ack = ackOf(timer("a", "p", from))
          execution = (yield* store.commit(execution, { ack, timers: [scheduleTimer("p", to)] })).execution
          expect(yield* armed()).toEqual([timer("a", "p", to)])
        }
      }))

    test("a commit may fire the timer of another execution", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: [scheduleTimer("p", 10)] })
        yield* store.commit(order("b"), { timers: [scheduleTimer("p", 10)], ack: ackOf(timer("a", "p", 10)) })
        expect(yield* armed()).toEqual([timer("b", "p", 10)])
      }))

    test("times are kept as the doubles they are", () => keepsExactly(exact))

    property("any time within the bounds is kept as the double it is", Generators.fireAts, 20, keepsExactly)

    test("negative zero is zero", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: [scheduleTimer("p", -0)] })
        expect(yield* armed()).toEqual([timer("a", "p", 0)])
        expect(yield* store.deleteTimer(timer("a", "p", -0))).toBe(true)
      }))

    test("due timers may be asked for any finite time", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: [scheduleTimer("p", 10)] })
        expect(yield* due(-endOfTime)).toEqual([])
        expect(yield* due(endOfTime)).toHaveLength(1)
      }))
  })
}
