/**
 * Sets the gauges of the work in the store: the backlog, the age of the oldest work, and the dead letters (see `Metrics`).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type Backlog, ExecutionStore, type Stats } from "./ExecutionStore.js"
import { decoder, type Fields, refused } from "./internal/options/decode.js"
import { optional, timeOrInfinity } from "./internal/options/fields.js"
import type { PollSchedule } from "./internal/supervision/pollSchedule.js"
import * as pollSchedule from "./internal/supervision/pollSchedule.js"
import * as storeMonitor from "./internal/supervision/storeMonitor.js"
import * as supervised from "./internal/supervision/supervised.js"
import * as log from "./internal/telemetry/log.js"
import * as Metrics from "./Metrics.js"
import type { Outage } from "./QueueWorker.js"
import type { StoreError, StoreRejected } from "./StoreError.js"

/**
 * - `interval`: how often the store's `stats` are read, by default every 15 seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly interval?: Duration.DurationInput | undefined
}

const gauges = (work: string) => {
  const backlog = Metric.tagged(Metrics.backlog, "work", work)
  const failing = Metric.tagged(Metrics.failing, "work", work)
  const oldestAge = Metric.tagged(Metrics.oldestAge, "work", work)
  return {
    count: (count: number, failed: number) => Effect.zipRight(Metric.set(backlog, count), Metric.set(failing, failed)),
    // A row of another program does not say since when it waits: then nothing is known, which is not 0.
    age: ({ count, oldest }: Backlog, now: number) =>
      count > 0 && Option.isNone(oldest)
        ? Effect.void
        : Metric.set(oldestAge, Math.max(0, now - Option.getOrElse(oldest, () => now)))
  }
}

const outbox = gauges("Outbox")
const spawns = gauges("Spawn")
const timers = gauges("Timer")
const activities = gauges("Activity")

/** Sets the gauges, and gives what there was. */
const measure = (store: ExecutionStore): Effect.Effect<Stats, StoreError> =>
  Effect.gen(function* () {
    const stats = yield* Effect.withTracerEnabled(store.stats, false)
    const now = (yield* Clock.currentTimeMillis) / 1000
    yield* outbox.count(stats.outbox.count, stats.outbox.failing)
    yield* outbox.age(stats.outbox, now)
    yield* spawns.count(stats.spawns.count, stats.spawns.failing)
    yield* timers.count(stats.timers.due, stats.timers.failing)
    yield* timers.age(stats.timers, now)
    yield* activities.count(stats.activities.count, stats.activities.failing)
    yield* activities.age(stats.activities, now)
    yield* Metric.set(Metrics.deadLettersHeld, stats.deadLetters.count)
    return stats
  })

/**
 * Sets the gauges once.
 *
 * @since 0.1.0
 * @category accessors
 */
export const sample: Effect.Effect<void, StoreError, ExecutionStore> = Effect.asVoid(
  Effect.flatMap(ExecutionStore, measure)
)

/** Waits as long as no gauge changes by itself and nothing is written; for one who is told of all writes. */
const untilChange = (
  { activities, outbox, spawns, timers }: Stats,
  written: Effect.Latch,
  looks: PollSchedule
): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (outbox.count > 0 || spawns.count > 0 || activities.count > 0 || timers.due > 0) {
      const wait = looks.next(now, 0) - now
      return wait <= 0 ? Effect.void : Effect.asVoid(Effect.timeoutOption(written.await, wait))
    }
    return Option.match(timers.oldest, {
      onNone: () => written.await,
      onSome: (dueAt) => Effect.asVoid(Effect.timeoutOption(written.await, Math.max(0, dueAt * 1000 - now)))
    })
  })

/**
 * The state of the measurement.
 *
 * - `lastRun`: when the gauges were last set, in seconds since the epoch; none before the first time.
 * - `lastError`: the last failure and when it was, in seconds since the epoch. It is kept when later runs succeed.
 * - `outage`: the outage of the store that it waits for the end of; none where there is none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Health {
  readonly lastRun: Option.Option<number>
  readonly lastError: Option.Option<{ readonly time: number; readonly message: string }>
  readonly outage: Option.Option<Outage>
}

/**
 * Sets the gauges at each `interval` until the scope closes.
 *
 * - `health`: its state.
 * - `awaitFatal`: waits for the defect that ends it, and dies with it. Nothing else ends it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Telemetry {
  readonly health: Effect.Effect<Health>
  readonly awaitFatal: Effect.Effect<never>
}

const decode = decoder(
  Schema.Struct({ interval: optional(timeOrInfinity) } satisfies Fields<Options>),
  refused("start", "Telemetry")
)

/**
 * Starts to set the gauges. While the store cannot be read they keep their values, and the log says so once.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<Telemetry, StoreRejected, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const { interval = "15 seconds" } = yield* decode(options)
    const store = yield* ExecutionStore
    const monitor = storeMonitor.make()
    let lastRun: Health["lastRun"] = Option.none()
    const written = yield* Effect.makeLatch(false)
    const isTold = yield* pollSchedule.isTold(store)
    const looks = yield* pollSchedule.ofTime(store)
    if (isTold) {
      yield* store.listen(() => written.unsafeOpen())
      yield* store.listenToOthers(() => written.unsafeOpen())
    }
    const loop = Effect.zipRight(written.close, storeMonitor.waitOut(monitor, measure(store))).pipe(
      Effect.tap(() =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          lastRun = Option.some(now / 1000)
        })
      ),
      Effect.flatMap((stats) => (isTold ? untilChange(stats, written, looks) : Effect.void)),
      Effect.zipRight(Effect.sleep(interval)),
      Effect.forever
    )
    const awaitFatal = yield* supervised.run(monitor, loop)
    return {
      health: Effect.sync(() => ({
        lastRun,
        lastError: monitor.lastError,
        outage: storeMonitor.outage(monitor)
      })),
      awaitFatal
    }
  }).pipe(log.annotate({ package: "holdfast", module: "Telemetry" }))

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { MemoryStore, Telemetry } from "holdfast"
 *
 * // For a process without a runtime, which does this itself.
 * const Live = Telemetry.layer({ interval: "1 minute" }).pipe(Layer.provideMerge(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<never, StoreRejected, ExecutionStore> =>
  Layer.scopedDiscard(make(options))
