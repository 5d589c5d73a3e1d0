/**
 * The times that a commit stamps.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import type { Status } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { order } from "../internal/samples.js"
import { loaded } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const ends: ReadonlyArray<Status> = ["DONE", "CANCELLED"]
const others: ReadonlyArray<Status> = ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "FAILED"]

/**
 * @since 0.1.0
 * @category tests
 */
export const stamps = ({ test }: Subject): void => {
  describe("stamps", () => {
    test("createdAt is the time of the first commit and stays, updatedAt that of each", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* TestClock.setTime(1790000000125)
        const first = yield* store.save(order("a"))
        expect([first.createdAt, first.updatedAt]).toEqual([1790000000.125, 1790000000.125])
        yield* TestClock.adjust("90 seconds")
        const second = yield* store.save(first)
        expect([second.createdAt, second.updatedAt]).toEqual([1790000000.125, 1790000090.125])
        expect(yield* loaded("a")).toEqual(second)
      }))

    test("a createdAt and an expiresAt of the caller's are kept", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* TestClock.setTime(60_000)
        const saved = yield* store.save(order("a", { createdAt: 12.5, updatedAt: 13, expiresAt: 99.25 }))
        expect([saved.createdAt, saved.updatedAt, saved.expiresAt]).toEqual([12.5, 60, 99.25])
      }))

    for (const status of ends) {
      test(`finishedAt is set with ${status} and kept`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const running = yield* store.save(order("a", { status: "RUNNING" }))
          expect(running.finishedAt).toBe(null)
          yield* TestClock.adjust("5 seconds")
          const ended = yield* store.save({ ...running, status })
          expect(ended.finishedAt).toBe(5)
          yield* TestClock.adjust("5 seconds")
          const again = yield* store.save({ ...ended, context: { note: "archived" } })
          expect([again.finishedAt, again.updatedAt]).toEqual([5, 10])
          expect(yield* loaded("a")).toEqual(again)
        }))
    }

    for (const status of others) {
      test(`finishedAt is not set with ${status}, and cleared by it`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const saved = yield* store.save(order("a", { status }))
          expect(saved.finishedAt).toBe(null)
          const ended = yield* store.save({ ...saved, status: "DONE" })
          expect(ended.finishedAt).toBe(0)
          const revived = yield* store.save({ ...ended, status })
          expect(revived.finishedAt).toBe(null)
          expect((yield* loaded("a")).finishedAt).toBe(null)
        }))
    }
  })
}
