import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Wakeup from "holdfast/internal/supervision/wakeup"

it.effect("A fiber that sleeps for less than a clock moves by sleeps, and does not ask again at once", () =>
  Effect.gen(function* () {
    const wakeup = yield* Wakeup.make(() => false)
    // As after a delay that a jitter made: what is left is less than a nanosecond.
    yield* TestClock.setTime(1000.5)
    const until = 1000.5 + 2e-10
    const sleeper = yield* Effect.fork(Effect.zipRight(wakeup.sleep(until), Clock.currentTimeMillis))
    yield* TestClock.adjust("1 millis")
    assert.isAtLeast(yield* Fiber.join(sleeper), until)
  })
)
