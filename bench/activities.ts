import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Activity from "holdfast/Activity"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import type * as raw from "./internal/raw.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const topic = "Activities end to end: asked for by a step, run, outcome processed; 64 executions side by side"

const executions = measure.range(64).map((i) => `order-${i}`)

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

/** 64 senders, each of which sends its execution one event after the other; a round ends with the second commit that each event causes. */
const through = (settings: Settings, durability: raw.Durability, transition: Processor.Transition) =>
  Effect.gen(function* () {
    const store = yield* SqliteStore.make({ filename: yield* databaseFile(settings), durability })
    const runtime = yield* ExecutionRuntime.make({
      definitions: { order: transition },
      concurrency: executions.length,
      pageSize: 1000
    }).pipe(Effect.provideService(ExecutionStore, store))
    yield* runtime.registerActivity(Note, () => Effect.void)
    for (const id of executions) yield* runtime.create(order.make(id))

    let committed = 0
    let expected = Number.POSITIVE_INFINITY
    let done = yield* Deferred.make<void>()
    yield* store.listen((notice) => {
      if (Option.isSome(notice.committed) && ++committed === expected) Deferred.unsafeDone(done, Effect.void)
    })
    let events = 0
    const send = (sender: number) => runtime.send(executions[sender] ?? null, order.paid(`event-${events++}`))
    return (seconds: number) =>
      measure.timed(
        Effect.gen(function* () {
          committed = 0
          expected = Number.POSITIVE_INFINITY
          done = yield* Deferred.make<void>()
          const { count } = yield* measure.loop(executions.length, seconds, send)
          expected = 2 * count
          if (committed < expected) yield* Effect.raceFirst(Deferred.await(done), runtime.awaitFatal)
          return count
        })
      )
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
