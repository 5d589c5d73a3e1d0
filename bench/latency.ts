import * as PersistedQueue from "@effect/experimental/PersistedQueue"
import * as SqlPersistedQueue from "@effect/sql/SqlPersistedQueue"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Commit from "holdfast/Commit"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import * as raw from "./internal/raw.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const topic = "Latency of an idle process, FULL"

/** A runtime whose transitions tell when they ran, by the event's id. */
const observed = (settings: Settings) =>
  Effect.gen(function* () {
    const arrivals = new Map<string, Deferred.Deferred<number>>()
    const store = yield* SqliteStore.make({ filename: yield* databaseFile(settings) })
    const runtime = yield* ExecutionRuntime.make({
      definitions: {
        order: (execution, event) =>
          Effect.sync(() => {
            const key = event.kind === "Timeout" ? execution.id : event.id
            const arrived = arrivals.get(key)
            if (arrived !== undefined) Deferred.unsafeDone(arrived, Effect.succeed(performance.now()))
            return { execution }
          })
      }
    }).pipe(Effect.provideService(ExecutionStore, store))
    const arrival = (key: string) =>
      Effect.tap(Deferred.make<number>(), (arrived) => Effect.sync(() => arrivals.set(key, arrived)))
    return { runtime, arrival }
  })

/** Milliseconds from the call of `send` to the transition, with a pause between the events. */
const events = (settings: Settings, count: number) =>
  Effect.gen(function* () {
    const { arrival, runtime } = yield* observed(settings)
    yield* runtime.create(order.make("order-1"))
    const database = yield* raw.make(yield* databaseFile(settings), "full")
    const pairs: Array<Figure.Pair> = []
    const warmUp = settings.quick ? 20 : 300
    for (let i = 0; i < warmUp + count; i++) {
      const arrived = yield* arrival(`event-${i}`)
      const sent = performance.now()
      yield* runtime.send("order-1", order.paid(`event-${i}`))
      const value = (yield* Deferred.await(arrived)) - sent
      yield* Effect.sleep("5 millis")
      const begun = performance.now()
      database.transaction(() => database.enqueue("order-1", order.paid(`event-${i}`)))
      if (i >= warmUp) pairs.push({ value, baseline: performance.now() - begun })
    }
    return pairs
  })

/** The same of PersistedQueue as it comes, with one that waits to take. */
const queueEvents = (settings: Settings, count: number) =>
  Effect.gen(function* () {
    const client = SqliteClient.layer({ filename: yield* databaseFile(settings) })
    const layer = PersistedQueue.layer.pipe(Layer.provide(SqlPersistedQueue.layerStore()), Layer.provide(client))
    const queue = yield* Effect.provide(
      PersistedQueue.make({ name: "orders", schema: Schema.String }),
      yield* Layer.build(layer)
    )
    const latencies: Array<number> = []
    for (let i = 0; i < count; i++) {
      const taker = yield* Effect.fork(queue.take(() => Effect.sync(() => performance.now())))
      // Somewhere between two of its looks.
      yield* Effect.sleep(100 + ((i * 370) % 1000))
      const sent = performance.now()
      yield* queue.offer(`event-${i}`)
      latencies.push((yield* Fiber.join(taker)) - sent)
    }
    return latencies
  })

/** Milliseconds by which timers of 1.5 seconds are late, beside those of `setTimeout` at the same times. */
const timers = (settings: Settings, count: number) =>
  Effect.gen(function* () {
    const { arrival, runtime } = yield* observed(settings)
    const wait = 1500
    const one = (i: number) =>
      Effect.gen(function* () {
        yield* Effect.sleep(i * 37)
        const id = `order-${i}`
        const arrived = yield* arrival(id)
        const begun = performance.now()
        const fireAt = ((yield* Clock.currentTimeMillis) + wait) / 1000
        yield* runtime.create(order.make(id), { timers: [Commit.scheduleTimer("payment", fireAt)] })
        return (yield* Deferred.await(arrived)) - begun - wait
      })
    const plain = (i: number) =>
      Effect.async<number>((resume) => {
        setTimeout(() => {
          const begun = performance.now()
          setTimeout(() => resume(Effect.succeed(performance.now() - begun - wait)), wait)
        }, i * 37)
      })
    return yield* Effect.forEach(
      measure.range(count),
      (i) => Effect.all({ value: one(i), baseline: plain(i) }, { concurrency: "unbounded" }),
      { concurrency: "unbounded" }
    )
  })

const of = (samples: ReadonlyArray<Figure.Pair>, key: keyof Figure.Pair) => samples.map((sample) => sample[key])

export const latency: Topic = (settings) =>
  Effect.gen(function* () {
    const { quick } = settings
    const sent = yield* Effect.scoped(events(settings, quick ? 50 : 1000))
    const queued = yield* Effect.scoped(queueEvents(settings, quick ? 2 : 12))
    const late = yield* Effect.scoped(timers(settings, quick ? 10 : 80))

    const figure = (
      name: string,
      part: number,
      values: ReadonlyArray<number>,
      against: string,
      baselines: ReadonlyArray<number>,
      target?: Figure.Target
    ) => {
      const rounds = [{ value: measure.quantile(values, part), baseline: measure.quantile(baselines, part) }]
      return Figure.make({ topic, name, unit: "ms", against, rounds, target })
    }
    const event = "event sent to transition running"
    const insert = "better-sqlite3, the event inserted"
    const queue = "PersistedQueue of @effect/experimental"
    const timer = "timer of 1.5 s late by"
    const latencies = of(sent, "value")
    const inserts = of(sent, "baseline")
    const lates = of(late, "value")
    const timeouts = of(late, "baseline")
    return [
      figure(`${event}, p50`, 0.5, latencies, insert, inserts, Figure.valueAtMost(0.8)),
      figure(`${event}, p99`, 0.99, latencies, insert, inserts, Figure.valueAtMost(3)),
      figure(`${event}, p50`, 0.5, latencies, queue, queued),
      figure(`${timer}, p50`, 0.5, lates, "setTimeout", timeouts, Figure.valueAtMost(2)),
      figure(`${timer}, worst`, 1, lates, "setTimeout", timeouts, Figure.valueAtMost(8))
    ]
  })
