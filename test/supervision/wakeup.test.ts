import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as OtherWrites from "holdfast/internal/supervision/otherWrites"
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

/** A fiber that runs, and sleeps until it is asked to run again; gives the times of its runs. */
const runs = (wakeup: Wakeup.Wakeup) => {
  const times: Array<number> = []
  const run = Effect.gen(function* () {
    wakeup.clear()
    times.push(yield* Clock.currentTimeMillis)
    yield* wakeup.sleep(100_000)
  })
  return Effect.as(Effect.forkScoped(Effect.forever(run)), times)
}

it.scoped("A run that is requested for a time to come is not made before, also by a fiber that sleeps", () =>
  Effect.gen(function* () {
    const wakeup = yield* Wakeup.make(() => false)
    const times = yield* runs(wakeup)
    yield* TestClock.adjust(10)
    for (const at of [900, 500, 700]) wakeup.request(at)
    yield* TestClock.adjust(1000)
    assert.deepStrictEqual(times, [0, 500])
    wakeup.request(5000)
    yield* TestClock.adjust(10)
    wakeup.wake()
    yield* TestClock.adjust(10)
    wakeup.request(0)
    yield* TestClock.adjust(10)
    assert.deepStrictEqual(times, [0, 500, 1020, 1030])
  })
)

it.scoped("Others that write without a pause have a fiber that sleeps look at most so often", () =>
  Effect.gen(function* () {
    const wakeup = yield* Wakeup.make(() => false)
    const times = yield* runs(wakeup)
    let others = () => {}
    const listenToOthers = (listener: () => void) =>
      Effect.sync(() => {
        others = listener
      })
    yield* OtherWrites.heed({ listenToOthers }, 100, wakeup.request)
    for (let now = 1; now <= 250; now++) {
      yield* TestClock.adjust(1)
      others()
    }
    yield* TestClock.adjust(1000)
    assert.deepStrictEqual(times, [0, 1, 101, 201, 301])
  })
)
