import * as Effect from "effect/Effect"
import * as Activity from "holdfast/Activity"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import type * as Processor from "holdfast/Processor"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import type * as raw from "./internal/raw.js"
import { executions } from "./internal/runtimeRounds.js"
import * as runtimeRounds from "./internal/runtimeRounds.js"
import type { Settings, Topic } from "./internal/settings.js"

const topic = "Activities end to end: asked for by a step, run, outcome processed; 64 executions side by side"

const Note = Activity.make("note", { concurrency: executions.length })

/** Each `Paid` asks for an activity, whose end is another event. */
const withActivity: Processor.Transition = (execution, event) =>
  Effect.succeed({
    execution,
    commit: event.kind === "Paid" ? { activities: [Commit.runActivity({ key: event.id, name: Note.name })] } : {}
  })

/** Each `Paid` emits that other event itself. */
const withEvent: Processor.Transition = (execution, event) => {
  const next = Event.make({ id: `${event.id}-noted`, kind: "Noted" })
  return Effect.succeed({
    execution,
    commit: event.kind === "Paid" ? { emits: [{ targetId: execution.id, event: next }] } : {}
  })
}

/** A round ends with the second commit that each event causes. */
const through = (settings: Settings, durability: raw.Durability, transition: Processor.Transition) =>
  Effect.gen(function* () {
    const { round, runtime } = yield* runtimeRounds.make(settings, durability, { transition, commits: 2 })
    yield* runtime.registerActivity(Note, () => Effect.void)
    return round
  })

export const activities: Topic = (settings) =>
  Effect.gen(function* () {
    const { seconds } = settings
    const figures: Array<Figure.Figure> = []
    for (const durability of ["full", "normal"] as const) {
      const rounds = yield* Effect.scoped(
        Effect.gen(function* () {
          const activity = yield* through(settings, durability, withActivity)
          const event = yield* through(settings, durability, withEvent)
          yield* activity(settings.warmUp)
          return yield* measure.rounds(
            settings.rounds,
            Effect.all({ activity: activity(seconds), event: event(seconds) })
          )
        })
      )
      for (const [what, of, unit] of [
        ["", measure.rate, "/s"],
        [", processor", measure.cpuMicros, "us"]
      ] as const) {
        figures.push(
          Figure.make({
            topic,
            name: `${durability.toUpperCase()}${what}`,
            unit,
            against: "a step that emits that event itself",
            rounds: rounds.map((round) => ({ value: of(round.activity), baseline: of(round.event) })),
            target: undefined
          })
        )
      }
    }
    return figures
  })
