import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Effect from "effect/Effect"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as runtimeRounds from "./internal/runtimeRounds.js"
import type { Settings, Topic } from "./internal/settings.js"

const topic = "Events end to end, by the number of executions, FULL"

const on = (settings: Settings, count: number) =>
  Effect.map(
    runtimeRounds.make(settings, "full", {
      transition: (execution) => Effect.succeed({ execution }),
      commits: 1,
      executions: runtimeRounds.named(count)
    }),
    ({ round }) => round
  )

/** How much later than they might the turns of the event loop come, in milliseconds, for all but one of a hundred. */
const delay = <A, E>(run: Effect.Effect<A, E>): Effect.Effect<number, E> =>
  Effect.suspend(() => {
    const histogram = monitorEventLoopDelay({ resolution: 1 })
    histogram.enable()
    return Effect.map(run, () => {
      histogram.disable()
      return histogram.percentile(99) / 1e6
    })
  })

export const scale: Topic = (settings) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { rounds: times, seconds, warmUp } = settings
      const many = settings.quick ? 1000 : 10_000
      const one = yield* on(settings, 1)
      const some = yield* on(settings, 64)
      const all = yield* on(settings, many)
      for (const round of [one, some, all]) yield* round(warmUp)
      const rounds = yield* measure.rounds(
        times,
        Effect.all({
          one: one(seconds),
          some: some(seconds),
          all: all(seconds),
          busy: delay(some(seconds)),
          idle: delay(Effect.sleep(seconds * 1000))
        })
      )
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
      return [
        ...figure("1 execution", "one"),
        ...figure(`${many.toLocaleString("en-US")} executions`, "all", Figure.atLeast(0.8)),
        Figure.make({
          topic,
          name: "delay of the event loop at full load, p99",
          unit: "ms",
          against: "an idle process",
          rounds: rounds.map(({ busy, idle }) => ({ value: busy, baseline: idle })),
          target: Figure.valueAtMost(8)
        })
      ]
    })
  )
