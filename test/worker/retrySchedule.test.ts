import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as idempotencyKey from "../../src/internal/worker/idempotencyKey.js"
import * as retrySchedule from "../../src/internal/worker/retrySchedule.js"

const failure = (attempts: number) => ({
  work: { _tag: "Outbox" as const, seq: 1 },
  attempts,
  error: "broken",
  failedAt: 0
})

/** The delays of the first failures, each taken up where the one before ended. */
const delays = (policy: retrySchedule.Policy, count: number) =>
  Effect.gen(function* () {
    const all: Array<number | undefined> = []
    let known: retrySchedule.Progress | undefined
    for (let attempts = 1; attempts <= count; attempts++) {
      const { at, progress } = yield* retrySchedule.next(policy, failure(attempts), attempts, 0, known)
      all.push(Option.getOrUndefined(at))
      known = progress
    }
    return all
  })

const doubling = Schedule.exponential("1 second")

describe("When to try again", () => {
  it.effect("goes on from where it was, and after a restart steps through what was before", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* delays(doubling, 5), [1000, 2000, 4000, 8000, 16_000])
      const { at } = yield* retrySchedule.next(doubling, failure(5), 5, 7000, undefined)
      assert.deepStrictEqual(at, Option.some(23_000))
    })
  )

  it.effect("steps through again where others have failed meanwhile, or less than it knows", () =>
    Effect.gen(function* () {
      const { progress } = yield* retrySchedule.next(doubling, failure(2), 2, 0, undefined)
      assert.deepStrictEqual((yield* retrySchedule.next(doubling, failure(4), 4, 0, progress)).at, Option.some(8000))
      assert.deepStrictEqual((yield* retrySchedule.next(doubling, failure(1), 1, 0, progress)).at, Option.some(1000))
    })
  )

  it.effect("ends where the schedule does, also for more attempts than it has", () =>
    Effect.gen(function* () {
      const policy = Schedule.intersect(Schedule.spaced("1 second"), Schedule.recurs(2))
      assert.deepStrictEqual(yield* delays(policy, 3), [1000, 1000, undefined])
      assert.deepStrictEqual((yield* retrySchedule.next(policy, failure(9), 9, 0, undefined)).at, Option.none())
    })
  )

  it.effect("is at the same time for those that failed at almost the same", () =>
    Effect.gen(function* () {
      const spaced = Schedule.spaced("1 second")
      const at = (now: number) =>
        Effect.map(retrySchedule.next(spaced, failure(1), 1, now, undefined), ({ at }) => Option.getOrUndefined(at))
      assert.deepStrictEqual(yield* Effect.forEach([1, 37, 100, 101], at), [1100, 1100, 1100, 1200])
      // but no later than by a tenth
      const quick = yield* retrySchedule.next(Schedule.spaced("20 millis"), failure(1), 1, 1, undefined)
      assert.deepStrictEqual(quick.at, Option.some(22))
    })
  )

  it.effect("is never now, and never beyond what a store can keep", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* delays(Schedule.forever, 2), [1, 1])
      const { at } = yield* retrySchedule.next(Schedule.spaced(Number.POSITIVE_INFINITY), failure(1), 1, 0, undefined)
      assert.isBelow(Option.getOrThrow(at), 2 ** 52)
      assert.isAbove(Option.getOrThrow(at), 50 * 365 * 86_400_000)
    })
  )

  it.effect("costs little however often it failed", () =>
    Effect.gen(function* () {
      let steps = 0
      const counted = Schedule.onDecision(Schedule.spaced("1 second"), () => Effect.sync(() => steps++))
      const { at } = yield* retrySchedule.next(counted, failure(1e9), 1e9, 0, undefined)
      assert.deepStrictEqual(at, Option.some(1000))
      assert.isAtMost(steps, 1000)
    })
  )

  it.effect("grows by default from one second to ten minutes", () =>
    Effect.gen(function* () {
      const all = yield* Effect.withRandom(delays(retrySchedule.defaultPolicy, 30), Random.make("seed"))
      for (const [i, delay = Number.NaN] of all.entries()) {
        const base = Math.min(1000 * 2 ** i, 600_000)
        assert.isAtLeast(delay, base * 0.8)
        assert.isAtMost(delay, Math.min(base * 1.2, 600_000) + 100)
      }
    })
  )
})

describe("An idempotency key", () => {
  it("tells target and event apart, whatever is in them, and is plain ASCII", () => {
    const pairs: ReadonlyArray<readonly [string | null, string]> = [
      [null, "e"],
      ["a", "e"],
      ["a:b", "c"],
      ["a", "b:c"],
      ["a%3Ab", "c"],
      ["ä\u{1f600}\n", "e f"],
      ["\ud800", "e"]
    ]
    const keys = pairs.map(([target, id]) => idempotencyKey.make(target, id))
    assert.strictEqual(new Set(keys).size, pairs.length)
    assert.isTrue(keys.every((key) => /^[!-~]+$/.test(key)))
    assert.deepStrictEqual(keys.slice(0, 3), [":e", "a:e", "a%3Ab:c"])
  })
})
