/**
 * Points in time, as a store takes them.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type * as Time from "../../Time.js"
import { refuses } from "../internal/assertions.js"
import { emit, order } from "../internal/samples.js"
import { outbox } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const seconds = 1790000000.125
const utc = DateTime.unsafeMake(seconds * 1000)
const forms: ReadonlyArray<readonly [name: string, time: Time.Input]> = [
  ["seconds", seconds],
  ["a DateTime", utc],
  ["a DateTime with a zone", DateTime.unsafeSetZoneNamed(utc, "Asia/Tokyo")],
  ["a Date", new Date(seconds * 1000)]
]

/**
 * @since 0.1.0
 * @category tests
 */
export const times = ({ test }: Subject): void => {
  describe("times", () => {
    for (const [name, time] of forms) {
      test(`${name} says when an event and a timer are due`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          yield* store.commit(order("a"), {
            emits: [{ ...emit("1"), dueAt: time }],
            timers: [scheduleTimer("p", time)]
          })
          yield* store.enqueue([{ ...emit("2"), dueAt: time }])
          expect(yield* store.delayed.next).toEqual(Option.some(seconds))
          expect(yield* store.timers.next).toEqual(Option.some({ executionId: "a", path: "p", fireAt: seconds }))
          expect(yield* store.delayed.release(seconds - 0.001)).toBe(0)
          expect((yield* store.dueTimers(seconds - 0.001)).entries).toEqual([])
          expect((yield* store.dueTimers(time)).entries).toHaveLength(1)
          expect(yield* store.delayed.release(time)).toBe(2)
          expect((yield* outbox()).map(({ event }) => event.id)).toEqual(["1", "2"])
        }))

      test(`${name} says which events are old`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          yield* TestClock.setTime(seconds * 1000)
          const { execution } = yield* store.commit(order("a"), { processed: "1" })
          yield* store.commit(execution, { processed: "2" })
          yield* store.ledger.mark
          expect((yield* store.ledger.prune(seconds - 0.001)).removed).toBe(0)
          expect((yield* store.ledger.prune(time)).removed).toBe(1)
          expect(yield* store.isProcessed("a", "1")).toBe(false)
        }))
    }

    test("a Date that is no time is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const none = new Date(Number.NaN)
        yield* refuses(store.enqueue([{ ...emit("1"), dueAt: none }]), "emits[0].dueAt")
        yield* refuses(store.commit(order("a"), { timers: [scheduleTimer("p", none)] }), "timers[0].fireAt")
        yield* refuses(store.dueTimers(none), "now")
        yield* refuses(store.delayed.release(none), "now")
        yield* refuses(store.ledger.prune(none), "before")
        expect(yield* store.load("a")).toEqual(Option.none())
      }))
  })
}
