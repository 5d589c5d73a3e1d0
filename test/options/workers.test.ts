import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Control from "holdfast/Control"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import { JsonObject } from "holdfast/Json"
import * as MemoryStore from "holdfast/MemoryStore"
import * as OutboxRelay from "holdfast/OutboxRelay"
import * as Processor from "holdfast/Processor"
import type * as QueueWorker from "holdfast/QueueWorker"
import * as Retention from "holdfast/Retention"
import * as Shards from "holdfast/Shards"
import * as SpawnRelay from "holdfast/SpawnRelay"
import * as Telemetry from "holdfast/Telemetry"
import * as TimerSweeper from "holdfast/TimerSweeper"
import { describeLayer, type Kind, mark } from "../support/wrongOptions.js"

type Kinds = ReadonlyArray<Kind>

const flag: Kinds = ["boolean"]
const count: Kinds = ["number"]
const time: Kinds = ["number", "fraction", "bigint"]
const patience: Kinds = [...time, "infinity"]
const text: Kinds = ["string", "duration"]
const callable: Kinds = ["function"]
const none: Kinds = []
// An object of which no option is known, or none is wrong.
const object: Kinds = ["object", "empty", "bare"]

const queueOptions = {
  concurrency: count,
  pageSize: none,
  pollInterval: patience,
  retry: none,
  maxAttempts: ["number", "infinity"],
  shutdownTimeout: patience
} satisfies { readonly [K in keyof Omit<QueueWorker.Options, "shards" | "elsewhere">]-?: Kinds }

const workerOptions = { ...queueOptions, shards: none, elsewhere: none }

const wrong = { concurrency: [0, -3373], pageSize: [0, 1001, 5000, 1.5], pollInterval: [0], maxAttempts: [0] }

const rightQueue = {
  concurrency: 1,
  pageSize: 1000,
  pollInterval: "1 day",
  retry: Schedule.recurs(3),
  maxAttempts: Number.POSITIVE_INFINITY,
  shutdownTimeout: 0
} as const

const right = {
  ...rightQueue,
  shards: { owns: () => true, onChange: () => Effect.void },
  elsewhere: { passed: () => Effect.succeed({ definitions: [], until: 0 }), found: () => Effect.succeed(true) }
}

const onStore = <A, E, R>(layer: Layer.Layer<A, E, R>) => Layer.build(Layer.provide(layer, MemoryStore.layer))

const delivered = Effect.succeed<QueueWorker.Delivered>("Delivered")

describeLayer<OutboxRelay.Options>({
  name: "OutboxRelay",
  right: { ...right, deliver: () => delivered, unknownTarget: "wait" },
  takes: { ...workerOptions, deliver: callable, unknownTarget: none },
  refuses: wrong,
  build: (options) => onStore(OutboxRelay.layer(options))
})

describeLayer<SpawnRelay.Options>({
  name: "SpawnRelay",
  right: { ...right, serves: () => true, attributes: () => ({}) },
  takes: { ...workerOptions, child: callable, serves: callable, attributes: callable },
  refuses: wrong,
  build: (options) => onStore(SpawnRelay.layer(options))
})

describeLayer<TimerSweeper.Options>({
  name: "TimerSweeper",
  right: { ...right, deliver: () => delivered },
  takes: { ...workerOptions, deliver: callable },
  refuses: wrong,
  build: (options) => onStore(TimerSweeper.layer(options))
})

const shardsOptions = { count: none, ttl: time, handover: none, holder: text, service: text } satisfies {
  readonly [K in keyof Shards.Options]-?: Kinds
}

const wrongShards = {
  count: [0, 1025],
  ttl: ["999 millis"],
  handover: ["33733 seconds"],
  holder: ["", `${mark}\ud800`],
  service: ["", mark.repeat(99)]
}

const retentionOptions = {
  processed: time,
  finished: time,
  failed: flag,
  definitionId: text,
  interval: patience,
  batchSize: none,
  pause: time
} satisfies { readonly [K in keyof Retention.Options]-?: Kinds }

const rightRetention: Retention.Options = { processed: "1 day", finished: 0, failed: true, batchSize: 1000, pause: 0 }

const wrongRetention = { interval: [0], batchSize: [0, 1001] }

describeLayer<Shards.Options>({
  name: "Shards",
  right: { count: 1024, ttl: "1 second", handover: 0, holder: "me", service: "orders" },
  takes: shardsOptions,
  refuses: wrongShards,
  build: (options) => onStore(Shards.layer(options))
})

describeLayer<Retention.Options>({
  name: "Retention",
  right: rightRetention,
  takes: retentionOptions,
  refuses: wrongRetention,
  build: (options) => onStore(Retention.layer(options))
})

describeLayer<Retention.Options>({
  name: "Retention",
  what: "Retention.run",
  right: rightRetention,
  takes: retentionOptions,
  refuses: wrongRetention,
  build: (options) => Effect.provide(Retention.run(options), MemoryStore.layer)
})

describeLayer<Telemetry.Options>({
  name: "Telemetry",
  right: { interval: "1 minute" },
  takes: { interval: patience },
  refuses: { interval: [0] },
  build: (options) => onStore(Telemetry.layer(options))
})

describeLayer<Control.Options>({
  name: "Control",
  right: { conflictRetry: Schedule.recurs(1) },
  takes: { conflictRetry: none },
  build: (options) => onStore(Control.layer(options))
})

/** Runs a command on an execution that bears all of them. */
const command = (
  status: Execution.Status,
  run: (control: Control.Control, id: string) => Effect.Effect<unknown, unknown>
) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    yield* store.save({ ...Execution.make({ id: "e", definitionId: "d" }), status })
    return yield* run(yield* Control.make(), "e")
  }).pipe(Effect.provide(MemoryStore.layer))

for (const name of ["suspend", "terminate"] as const) {
  describeLayer<Control.ReasonOptions>({
    name: `Control.${name}`,
    right: { reason: { by: "operator" } },
    takes: { reason: object },
    build: (options) => command("RUNNING", (control, id) => control[name](id, options))
  })
}

describeLayer<Control.ReasonOptions>({
  name: "Control.resume",
  right: { reason: { by: "operator" } },
  takes: { reason: object },
  build: (options) => command("SUSPENDED", (control, id) => control.resume(id, options))
})

describeLayer<Control.CancelOptions>({
  name: "Control.cancel",
  right: { reason: { by: "operator" }, children: "cancel" },
  takes: { reason: object, children: none },
  build: (options) => command("RUNNING", (control, id) => control.cancel(id, options))
})

describeLayer<Control.RedriveOptions>({
  name: "Control.redrive",
  right: { activePath: "A" },
  takes: { activePath: text, event: object, reason: object },
  build: (options) => command("FAILED", (control, id) => control.redrive(id, options))
})

describeLayer<Control.PurgeOptions>({
  name: "Control.purge",
  right: { failed: true },
  takes: { failed: flag },
  build: (options) => command("FAILED", (control, id) => control.purge(id, options))
})

const transition: Processor.Transition = (execution) => Effect.succeed({ execution })

const processorOptions = {
  definitions: ["empty", "bare"],
  onFailure: callable,
  conflictRetry: none,
  transitionTimeout: patience
} satisfies { readonly [K in keyof Processor.Options<Processor.Definitions>]-?: Kinds }

describeLayer<Processor.Options<{ readonly a: Processor.Transition }>>({
  name: "Processor",
  right: { definitions: { a: transition }, onFailure: "fail", transitionTimeout: "1 minute" },
  takes: processorOptions,
  refuses: { definitions: [{ a: mark }], transitionTimeout: [0], onFailure: ["drop"] },
  build: (options) => Effect.provide(Processor.make(options), MemoryStore.layer)
})

describeLayer<Processor.ContextOptions<JsonObject, JsonObject, never>>({
  name: "Processor",
  what: "Processor on contexts of a type",
  part: true,
  right: { context: JsonObject, onExcessProperty: "ignore" },
  takes: { context: none, onExcessProperty: none },
  build: (options) => Effect.provide(Processor.make({ definitions: { a: transition }, ...options }), MemoryStore.layer)
})

const runtime = <E>(layer: Layer.Layer<ExecutionRuntime.ExecutionRuntime, E, ExecutionStore>) => onStore(layer)

describeLayer<ExecutionRuntime.CommonOptions>({
  name: "ExecutionRuntime",
  right: {
    ...rightQueue,
    onFailure: "fail",
    transitionTimeout: "1 minute",
    onGivenUp: null,
    unknownTarget: "drop",
    unknownDefinition: "fail",
    leases: { count: 4 },
    retention: { processed: "1 day" },
    commitsBuffer: 1,
    stallAfter: 0
  },
  takes: {
    ...queueOptions,
    ...processorOptions,
    child: callable,
    deliverExternal: callable,
    onGivenUp: [...text, "null", "function"],
    unknownTarget: none,
    unknownDefinition: none,
    timerInterval: patience,
    leases: ["boolean", ...object],
    retention: object,
    activityTtl: time,
    commitsBuffer: count,
    stallAfter: patience,
    statsInterval: patience
  },
  refuses: { ...wrong, timerInterval: [0], statsInterval: [0], commitsBuffer: [0] },
  build: (options) => runtime(ExecutionRuntime.layer(options))
})

describeLayer<Shards.Options>({
  name: "Shards",
  what: "ExecutionRuntime for its leases",
  part: true,
  right: { count: 4, ttl: "1 second", handover: 0 },
  takes: shardsOptions,
  refuses: wrongShards,
  build: (leases) => runtime(ExecutionRuntime.layer({ leases }))
})

describeLayer<Retention.Options>({
  name: "Retention",
  what: "ExecutionRuntime for its retention",
  part: true,
  right: { processed: "1 day" },
  takes: retentionOptions,
  refuses: wrongRetention,
  build: (retention) => runtime(ExecutionRuntime.layer({ retention }))
})

describe("a runtime of which an option is wrong", () => {
  it.effect("says which, and does not begin", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.scoped(runtime(ExecutionRuntime.layer({ pageSize: 5000 }))))
      assert.strictEqual(
        error.message,
        "start was refused: pageSize: expected a whole number of 1 to 1000 (an option of ExecutionRuntime)"
      )
    })
  )
})
