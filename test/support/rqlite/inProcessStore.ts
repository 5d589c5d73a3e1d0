import * as HttpClient from "@effect/platform/HttpClient"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as TestClock from "effect/TestClock"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as RqliteStore from "holdfast/RqliteStore"
import * as InProcessNode from "./inProcessNode.js"

/** A store with its defaults on a cluster without a network. */
export const open = (node: InProcessNode.InProcessNode, options: RqliteStore.StoreOptions = {}) =>
  Layer.build(RqliteStore.layer({ urls: InProcessNode.urls, ...options })).pipe(
    Effect.provideService(HttpClient.HttpClient, node.http),
    Effect.map(Context.get(ExecutionStore))
  )

/** Lets time pass while an effect runs, which must end in it, and tells how long it took. */
export const passing = <A, E, R>(time: Duration.DurationInput, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    // With a fixed seed, the jitter of retries is the same in each run.
    const timed = Effect.withRandom(Effect.zip(Effect.exit(effect), Clock.currentTimeMillis), Random.make("jitter"))
    const fiber = yield* Effect.fork(timed)
    yield* TestClock.adjust(time)
    const [exit, end] = yield* Fiber.join(fiber)
    return { exit, seconds: (end - start) / 1000 }
  })
