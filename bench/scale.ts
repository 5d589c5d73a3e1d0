import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Effect from "effect/Effect"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as ping from "./internal/ping.js"
import * as runtimeRounds from "./internal/runtimeRounds.js"
import type { Settings, Topic } from "./internal/settings.js"

const topic = "Events end to end, by the number of executions, FULL"

const on = (settings: Settings, count: number) =>
  runtimeRounds.make(settings, "full", {
    transition: (execution) => Effect.succeed({ execution }),
    commits: 1,
    executions: runtimeRounds.named(count)
  })

/**
 * How late the process is, in milliseconds, for all but one of a hundred: with the turns of its event loop, how long one of two of its answers to HTTP requests
 * takes, and all but one of a hundred.
 */
interface Late {
  readonly turns: number
  readonly answer: number
  readonly answers: number
}

const late = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const histogram = monitorEventLoopDelay({ resolution: 1 })
    const measured = Effect.suspend(() => {
      histogram.enable()
      return Effect.map(run, () => {
        histogram.disable()
      })
    })
    return Effect.map(
      ping.during(measured),
      (millis): Late => ({
        turns: histogram.percentile(99) / 1e6,
        answer: measure.median(millis),
        answers: measure.quantile(millis, 0.99)
      })
    )
  })

export const scale: Topic = (settings) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { rounds: times, seconds, warmUp } = settings
      // One of a hundred turns is to be one of several.
      const longer = 5 * seconds
      const many = settings.quick ? 1000 : 10_000
      const one = yield* on(settings, 1)
      const some = yield* on(settings, 64)
      const all = yield* on(settings, many)
      for (const { round } of [one, some, all]) yield* round(warmUp)
      const round = Effect.gen(function* () {
        const full = yield* some.round(seconds)
        return {
          one: yield* one.round(seconds),
          some: full,
          all: yield* all.round(seconds),
          full: yield* late(some.round(longer)),
          half: yield* late(some.paced(measure.rate(full) / 2, longer)),
          idle: yield* late(Effect.sleep(longer * 1000))
        }
      })
      const rounds = yield* measure.rounds(times, round)
      const figure = (name: string, of: "one" | "all", target?: Figure.Target) => [
        Figure.make({
          topic,
          name,
          unit: "/s",
          against: "64 executions",
          rounds: rounds.map((round) => ({ value: measure.rate(round[of]), baseline: measure.rate(round.some) })),
          target
        }),
        Figure.make({
          topic,
          name: `${name}, processor`,
          unit: "us",
          against: "64 executions",
          rounds: rounds.map((round) => ({
            value: measure.cpuMicros(round[of]),
            baseline: measure.cpuMicros(round.some)
          }))
        })
      ]
      const names = {
        turns: "delay of the event loop, p99",
        answer: "answer over HTTP, p50",
        answers: "answer over HTTP, p99"
      }
      const lateness = (load: "full" | "half", limit: number) =>
        (["turns", "answer", "answers"] as const).map((what) =>
          Figure.make({
            topic,
            name: `${load === "full" ? "at full load" : "at half of that rate"}, ${names[what]}`,
            unit: "ms",
            against: "an idle process",
            rounds: rounds.map((round) => ({ value: round[load][what], baseline: round.idle[what] })),
            target: what === "turns" ? Figure.valueAtMost(limit) : undefined
          })
        )
      return [
        ...figure("1 execution", "one"),
        ...figure(`${many.toLocaleString("en-US")} executions`, "all", Figure.atLeast(0.8)),
        ...lateness("full", 8),
        ...lateness("half", 5)
      ]
    })
  )
