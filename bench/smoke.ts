/**
 * Says in a few seconds whether an event became much more expensive: npm run bench:smoke
 *
 * What counts is the processor's time, which a busy machine changes little, and only its ratio to the same rows by better-sqlite3 in the same
 * run: the best of several rounds, and far from what is recorded.
 */
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as chain from "./chain.js"
import { byHand, throughRuntime } from "./flow.js"
import * as measure from "./internal/measure.js"
import type { Settings } from "./internal/settings.js"

/** How many times the processor's time of the baseline an event and a step of a chain took when this was last looked at, without syncs. */
const recorded = { event: 2.5, step: 6 }

const rounds = 5
const settings: Settings = {
  quick: true,
  directory: "build/bench-files",
  rounds,
  seconds: 0.3,
  warmUp: 1.5
}

/** The least ratio of the rounds. */
const best = (pairs: ReadonlyArray<readonly [measure.Sample, measure.Sample]>): number =>
  Math.min(...pairs.map(([value, baseline]) => measure.cpuMicros(value) / measure.cpuMicros(baseline)))

const event = Effect.gen(function* () {
  const runtime = yield* throughRuntime(settings, "normal")
  const hand = yield* byHand(settings, "normal")
  yield* runtime(settings.warmUp)
  return best(yield* measure.rounds(rounds, Effect.all([runtime(settings.seconds), hand(settings.seconds)])))
})

const step = Effect.gen(function* () {
  const chains = yield* chain.throughRuntime(settings, "normal")
  const hand = yield* chain.byHand(settings, "normal")
  for (let i = 0; i < 20; i++) yield* chains(1)
  return best(yield* measure.rounds(4 * rounds, Effect.all([chains(1), hand])))
})

const program = Effect.gen(function* () {
  const found = { event: yield* Effect.scoped(event), step: yield* Effect.scoped(step) }
  for (const name of ["event", "step"] as const) {
    const isWorse = found[name] > 2 * recorded[name]
    yield* Console.log(
      `${name}: ${found[name].toFixed(2)} times the baseline's processor time, recorded ${recorded[name]}${isWorse ? ": more than twice" : ""}`
    )
    if (isWorse) process.exitCode = 1
  }
})

NodeRuntime.runMain(Effect.provide(program, NodeContext.layer))
