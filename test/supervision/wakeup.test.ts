import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Wakeup from "holdfast/internal/supervision/wakeup"

it.effect("A fiber that sleeps for less than a clock moves by sleeps, and does not ask again at once", () =>
  Effect.gen(function* () {
    const wakeup = yield* Wakeup.make(() => false)
    // As after a delay that a jitter made: what is left is less than a nanosecond.
    yield* TestClock.setTime(1000.5)
    const sleeper = yield* Effect.fork(wakeup.sleep(1000.5 + 2e-10))
    yield* TestClock.adjust(0)
    assert.deepStrictEqual(yield* Fiber.poll(sleeper), Option.none())
    yield* TestClock.adjust("1 millis")
    assert.isFalse(yield* Fiber.join(sleeper))
  })
)
