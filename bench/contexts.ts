import * as Effect from "effect/Effect"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as runtimeRounds from "./internal/runtimeRounds.js"
import type { Settings, Topic } from "./internal/settings.js"

const topic = "Events end to end, by the size of the contexts, FULL; 64 executions side by side"

const on = (settings: Settings, bytes: number) =>
  Effect.map(
    runtimeRounds.make(settings, "full", {
      transition: (execution) => Effect.succeed({ execution }),
      commits: 1,
      bytes
    }),
    ({ round }) => round
  )

export const contexts: Topic = (settings) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { rounds: times, seconds, warmUp } = settings
      const small = yield* on(settings, 1024)
      const large = yield* on(settings, 16_384)
      yield* small(warmUp)
      yield* large(warmUp)
      const rounds = yield* measure.rounds(times, Effect.all({ large: large(seconds), small: small(seconds) }))
      const figure = (name: string, unit: string, of: (sample: measure.Sample) => number) =>
        Figure.make({
          topic,
          name,
          unit,
          against: "1 KiB",
          rounds: rounds.map((round) => ({ value: of(round.large), baseline: of(round.small) }))
        })
      return [figure("16 KiB", "/s", measure.rate), figure("16 KiB, processor", "us", measure.cpuMicros)]
    })
  )
