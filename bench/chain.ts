import * as Effect from "effect/Effect"
import type * as Processor from "holdfast/Processor"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import * as raw from "./internal/raw.js"
import * as runtimeRounds from "./internal/runtimeRounds.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const topic = "Chains: an execution that sends itself its next event, 100 steps, FULL"
const steps = 100

const chained: Processor.Transition = (execution) => {
  const { id, processedEvents } = execution
  const event = order.paid(`${id}-${processedEvents}`)
  const emits = processedEvents % steps === steps - 1 ? [] : [{ targetId: id, event }]
  return Effect.succeed({ execution, commit: { emits } })
}

/** Chains through a runtime: so many side by side. */
export const throughRuntime = (settings: Settings, durability: raw.Durability = "full") =>
  Effect.map(runtimeRounds.make(settings, durability, { transition: chained, commits: steps }), (made) => {
    const { committing, sendTo } = made
    return (chains: number) =>
      measure.timed(
        Effect.map(
          committing(
            Effect.as(Effect.forEach(runtimeRounds.executions.slice(0, chains), sendTo, { discard: true }), chains)
          ),
          (count) => count * steps
        )
      )
  })

/** A transaction for each step, which takes the event, advances the execution and puts the next event into the outbox. */
export const byHand = (settings: Settings, durability: raw.Durability = "full") =>
  Effect.gen(function* () {
    const database = yield* raw.make(yield* databaseFile(settings), durability)
    const alone = { ...order.sideWrites("made"), emits: [], timers: [] }
    const [id = "order-0"] = runtimeRounds.executions
    database.transaction(() => database.commit(raw.newOrder(id, order.contextOf(1024)), "made", alone))
    let events = 0
    database.enqueue(id, order.paid(`event-${events++}`))
    return measure.timedSync(() => {
      for (let i = 0; i < steps; i++) {
        database.transaction(() => {
          database.consume(id)
          database.enqueue(id, order.paid(`event-${events++}`))
        })
      }
      return steps
    })
  })

const millis = (sample: measure.Sample): number => (sample.seconds * 1000 * steps) / sample.count

export const chain: Topic = (settings) =>
  Effect.scoped(
    Effect.gen(function* () {
      const chains = yield* throughRuntime(settings)
      const hand = yield* byHand(settings)
      // The compiler needs some chains to be done with them.
      for (let i = 0; i < (settings.quick ? 3 : 60); i++) yield* chains(1)
      const rounds = yield* measure.rounds(
        settings.rounds * (settings.quick ? 1 : 4),
        Effect.all({ alone: chains(1), many: chains(64), raw: hand })
      )
      const figure = (
        name: string,
        unit: string,
        of: (sample: measure.Sample) => number,
        from: "alone" | "many",
        target?: Figure.Target
      ) =>
        Figure.make({
          topic,
          name,
          unit,
          against: "better-sqlite3, a transaction a step",
          rounds: rounds.map((round) => ({ value: of(round[from]), baseline: of(round.raw) })),
          target
        })
      return [
        figure("one chain", "ms", millis, "alone", Figure.valueAtMost(30)),
        figure("one chain, processor for a step", "us", measure.cpuMicros, "alone"),
        figure("64 chains at once, steps", "/s", measure.rate, "many"),
        figure("64 chains at once, processor for a step", "us", measure.cpuMicros, "many")
      ]
    })
  )
