import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Definition from "holdfast/Definition"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Metrics from "holdfast/Metrics"
import * as Step from "holdfast/Step"
import { onEach } from "../support/workers.js"

const Ball = { context: Schema.Struct({ hits: Schema.Number }), events: { Hit: Schema.Struct({ n: Schema.Number }) } }
const Ping = Definition.make("ping", { ...Ball, result: Schema.Number })
const Pong = Definition.make("pong", { ...Ball, children: { Ping }, result: Schema.Number })

const rounds = 500

const PingLive = Ping.toLayer({
  Start: (step) => Step.advance(step, "Playing"),
  Hit: (step, { n }) =>
    n > rounds ? Ping.finish(step, n) : step.pipe(Pong.emit("pong", "Hit", { n: n + 1 }), Step.trace())
})

const PongLive = Pong.toLayer({
  Start: (step) => Step.advance(step, "Playing"),
  Hit: (step, { n }) =>
    n > rounds ? Pong.finish(step, n) : step.pipe(Ping.emit("ping", "Hit", { n: n + 1 }), Step.trace()),
  children: { Ping: (step) => step }
})

onEach("Two services with definitions of their own", (make) => {
  // Each service shares its work among its own processes.
  const runtimeOf = (definition: typeof PingLive, store: ExecutionStore.ExecutionStore, service: string) =>
    Effect.map(
      Layer.build(
        definition.pipe(
          Layer.provideMerge(ExecutionRuntime.layer({ leases: { service } })),
          Layer.provideMerge(Layer.succeed(ExecutionStore.ExecutionStore, { ...store, exclusive: false }))
        )
      ),
      (context) => Context.get(context, ExecutionRuntime.ExecutionRuntime)
    )

  it.scoped("on one store take their own work, leave the other's, and fail none of it", () =>
    Effect.gen(function* () {
      const store = yield* make
      const client = Effect.provideService(ExecutionStore.ExecutionStore, store)
      yield* Ping.start("ping", { hits: 0 }).pipe(client)
      yield* Pong.start("pong", { hits: 0 }).pipe(client)
      yield* Ping.send("ping", "Hit", { n: 1 }).pipe(client)
      const ping = yield* runtimeOf(PingLive, store, "ping")
      yield* TestClock.adjust("30 seconds")
      const alone = yield* ping.health
      assert.deepStrictEqual(
        alone.unknownDefinitions.map(({ definitionId }) => definitionId),
        ["pong"]
      )
      assert.isTrue(alone.ready)
      assert.strictEqual((yield* Metric.value(Metrics.unknownDefinitions)).value, 1)
      yield* runtimeOf(PongLive, store, "pong")
      const ended = Effect.map(store.load("ping"), (found) => Option.getOrUndefined(found)?.status === "DONE")
      yield* Effect.repeat(Effect.zipRight(TestClock.adjust("1 second"), ended), { until: (is) => is, times: 600 })
      const hits = (id: string) =>
        Effect.map(
          store.load(id),
          Option.map(({ processedEvents }) => processedEvents)
        )
      // its Start, and each second hit
      assert.deepStrictEqual(yield* hits("ping"), Option.some(1 + rounds / 2 + 1))
      assert.deepStrictEqual(yield* hits("pong"), Option.some(1 + rounds / 2))
      assert.strictEqual(Option.getOrUndefined(yield* store.load("ping"))?.status, "DONE")
      assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
    })
  )
})

describe("A runtime that is told to fail what it has no definition for", () => {
  it.scoped("makes it a dead letter in the end", () =>
    Effect.gen(function* () {
      const runtime = yield* ExecutionRuntime.ExecutionRuntime
      yield* Ping.start("ping", { hits: 0 })
      yield* TestClock.adjust("1 hour")
      const { entries } = yield* runtime.deadLetters.list()
      assert.deepStrictEqual(
        entries.map(({ executionId, reason }) => [executionId, reason]),
        [["ping", "attempts"]]
      )
    }).pipe(
      Effect.provide(
        ExecutionRuntime.layer({ unknownDefinition: "fail", maxAttempts: 3 }).pipe(
          Layer.provideMerge(MemoryStore.layer)
        )
      )
    )
  )
})
