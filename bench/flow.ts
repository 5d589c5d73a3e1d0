import * as PersistedQueue from "@effect/experimental/PersistedQueue"
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlPersistedQueue from "@effect/sql/SqlPersistedQueue"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import * as raw from "./internal/raw.js"
import { executions, type Round } from "./internal/runtimeRounds.js"
import * as runtimeRounds from "./internal/runtimeRounds.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const topic = "Events end to end: sent, relayed, processed, committed; 64 executions side by side"

export const throughRuntime = (settings: Settings, durability: raw.Durability) =>
  Effect.map(
    runtimeRounds.make(settings, durability, {
      transition: (execution) => Effect.succeed({ execution }),
      commits: 1
    }),
    ({ round }) => round
  )

/** For each event a transaction that puts it into the outbox, and one that reads it, advances its execution and removes it. */
export const byHand = (settings: Settings, durability: raw.Durability) =>
  Effect.gen(function* () {
    const database = yield* raw.make(yield* databaseFile(settings), durability)
    const context = order.contextOf(1024)
    const alone = { ...order.sideWrites("made"), emits: [], timers: [] }
    for (const id of executions) {
      database.transaction(() => database.commit(raw.newOrder(id, context), "made", alone))
    }
    let events = 0
    const step = () => {
      const id = executions[events % executions.length] ?? "none"
      const event = order.paid(`event-${events++}`)
      database.transaction(() => database.enqueue(id, event))
      database.transaction(() => database.consume(id))
    }
    const round: Round<never> = (seconds) => measure.timedSync(() => measure.repeatFor(seconds, step))
    return round
  })

const Paid = Schema.Struct({ id: Schema.String, order: Schema.String, amount: Schema.Number, by: Schema.String })

/**
 * PersistedQueue with 64 that offer and then 64 that take, and nothing to do for an event: all it writes is its own row. One after the
 * other, and with a short interval, because it sleeps where it found its queue empty.
 */
const throughQueue = (settings: Settings, durability: raw.Durability) =>
  Effect.gen(function* () {
    const client = SqliteClient.layer({ filename: yield* databaseFile(settings) })
    const store = SqlPersistedQueue.layerStore({ pollInterval: "10 millis" })
    const services = yield* Layer.build(PersistedQueue.layer.pipe(Layer.provide(store), Layer.provideMerge(client)))
    const sql = Context.get(services, SqlClient.SqlClient)
    yield* sql.unsafe(`PRAGMA synchronous = ${durability}`)
    const queue = yield* Context.get(services, PersistedQueue.PersistedQueueFactory).make({
      name: "orders",
      schema: Paid
    })
    let events = 0
    const offer = (sender: number) =>
      queue.offer({ id: `event-${events++}`, order: executions[sender] ?? "none", amount: 39.98, by: "card" })
    const round: Round<PersistedQueue.PersistedQueueError | ParseError> = (seconds) =>
      measure.timed(
        Effect.gen(function* () {
          const { count } = yield* measure.loop(executions.length, seconds / 2, offer)
          let left = count
          const takeAll = Effect.gen(function* () {
            while (left-- > 0) yield* queue.take(() => Effect.void)
          })
          yield* Effect.forEach(executions, () => takeAll, { concurrency: "unbounded", discard: true })
          return count
        })
      )
    return round
  })

const names = {
  raw: "better-sqlite3, two transactions an event",
  queue: "PersistedQueue of @effect/experimental"
}

export const flow: Topic = (settings) =>
  Effect.gen(function* () {
    const { seconds } = settings
    const figures: Array<Figure.Figure> = []
    for (const durability of ["full", "normal"] as const) {
      const rounds = yield* Effect.scoped(
        Effect.gen(function* () {
          const runtime = yield* throughRuntime(settings, durability)
          const hand = yield* byHand(settings, durability)
          const queue = yield* throughQueue(settings, durability)
          yield* runtime(settings.warmUp)
          return yield* measure.rounds(
            settings.rounds,
            Effect.all({ runtime: runtime(seconds), raw: hand(seconds), queue: queue(seconds) })
          )
        })
      )
      for (const [baseline, target] of [
        ["raw", durability === "full" ? Figure.atLeast(1) : undefined],
        ["queue", Figure.atLeast(2.5)]
      ] as const) {
        for (const [what, of, unit] of [
          ["", measure.rate, "/s"],
          [", processor", measure.cpuMicros, "us"]
        ] as const) {
          figures.push(
            Figure.make({
              topic,
              name: `${durability.toUpperCase()}${what}`,
              unit,
              against: names[baseline],
              rounds: rounds.map((round) => ({ value: of(round.runtime), baseline: of(round[baseline]) })),
              target: what === "" ? target : undefined
            })
          )
        }
      }
    }
    return figures
  })
