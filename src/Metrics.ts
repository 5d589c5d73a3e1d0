/**
 * What Holdfast counts and measures, as Effect metrics. An application that exports Effect's metrics exports these with them.
 *
 * Tags take few values each: names of operations, workers and outcomes, and the ids of the definitions that a processor was given. Ids of
 * executions and events are in spans and logs instead. `Effect.tagMetrics` around a layer tells the stores of one process apart.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"

const durations = MetricBoundaries.fromIterable([
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60
])
const waits = MetricBoundaries.fromIterable([
  0.001,
  0.005,
  0.01,
  0.05,
  0.1,
  0.5,
  1,
  5,
  15,
  60,
  300,
  900,
  3600,
  6 * 3600,
  24 * 3600
])
const sizes = MetricBoundaries.fromIterable([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])

/**
 * Commits, by `outcome`: `applied`, `conflict` (another commit came first), `lease-lost` (the work belongs to another process
 * by now) or `failed`.
 *
 * @example
 * ```ts
 * import { Effect, Metric } from "effect"
 * import { Metrics } from "holdfast"
 *
 * // How many commits of this process met a conflict.
 * const program = Effect.map(Metric.value(Metric.tagged(Metrics.commits, "outcome", "conflict")), ({ count }) => count)
 * ```
 *
 * @since 0.1.0
 * @category store
 */
export const commits = Metric.counter("holdfast_commits_total", {
  description: "Commits, by outcome: applied, conflict, lease-lost or failed",
  incremental: true
})

/**
 * Events put into the outbox, by commits and from outside.
 *
 * @since 0.1.0
 * @category store
 */
export const emits = Metric.counter("holdfast_emits_total", {
  description: "Events put into the outbox",
  incremental: true
})

/**
 * How long the operations of the store take, in seconds, by `operation`, successful or not.
 *
 * @since 0.1.0
 * @category store
 */
export const storeDuration = Metric.histogram(
  "holdfast_store_duration_seconds",
  durations,
  "How long operations of the store take, by operation"
)

/**
 * Failures of the store, by `operation` and `error`: `StoreUnavailable`, `StoreRejected`, `StoreCorrupt` or `Defect`. A conflict is no
 * failure, and neither is a lost lease.
 *
 * @since 0.1.0
 * @category store
 */
export const storeErrors = Metric.counter("holdfast_store_errors_total", {
  description: "Failures of the store, by operation and error",
  incremental: true
})

/**
 * How many writes shared a transaction, or reads a request, by `batch`: `writes` (commits and every other write, on SQL stores) or `reads`
 * (on rqlite and a libSQL server).
 *
 * @since 0.1.0
 * @category store
 */
export const batchSize = Metric.histogram(
  "holdfast_batch_size",
  sizes,
  "How many writes share a transaction, and how many reads a request"
)

/**
 * Events taken through executions, by `definition` and `outcome`: `advanced`; skipped, by reason (`processed`, `finished`, `cancelled`,
 * `cancelling`); left because the execution is `suspended` or `unknown`; or `failed`. The `definition` is one of those that the processor
 * was given, or `unknown`.
 *
 * @since 0.1.0
 * @category processor
 */
export const events = Metric.counter("holdfast_events_total", {
  description: "Events taken through executions, by definition and outcome",
  incremental: true
})

/**
 * How long an event takes from the load of its execution to the commit, in seconds, with all attempts, by `definition`.
 *
 * @since 0.1.0
 * @category processor
 */
export const eventDuration = Metric.histogram(
  "holdfast_event_duration_seconds",
  durations,
  "How long an event takes from its load to its commit, by definition"
)

/**
 * Steps that ran again because another commit came first, by `definition`.
 *
 * @since 0.1.0
 * @category processor
 */
export const conflictRetries = Metric.counter("holdfast_conflict_retries_total", {
  description: "Steps that ran again because another commit came first, by definition",
  incremental: true
})

/**
 * Events that a relay takes from the outbox together with others, by what was remembered of their executions (the option `executionCache`), as
 * `outcome`: `hit`, committed without a load; `stale`, where the commit found that others had written since, so that the execution was
 * loaded and the step made again; or `miss`, loaded first, as it was not remembered or its transition gave an effect.
 *
 * @since 0.1.0
 * @category processor
 */
export const executionCache = Metric.counter("holdfast_execution_cache_total", {
  description: "Events of a relay, by what was remembered of their executions: hit, stale or miss",
  incremental: true
})

/**
 * Attempts at work, by `worker` and `outcome`: `done`; failed and `retried`; `postponed`, because something that it needs is not there yet;
 * `dropped` by policy; failed for good and `dead`; or
 * `lease-lost`, because another process has the lease by now. The worker is `OutboxRelay`, `SpawnRelay`,
 * `TimerSweeper` or `ActivityWorker`; of activities `failed` counts the last attempts of those that have failed for good.
 *
 * @since 0.1.0
 * @category workers
 */
export const deliveries = Metric.counter("holdfast_deliveries_total", {
  description: "Attempts at work, by worker and outcome: done, retried, postponed, dropped, dead or lease-lost",
  incremental: true
})

/**
 * How long it takes to carry out one piece of work, in seconds, by `worker`.
 *
 * @since 0.1.0
 * @category workers
 */
export const deliveryDuration = Metric.histogram(
  "holdfast_delivery_duration_seconds",
  durations,
  "How long it takes to carry out one piece of work, by worker"
)

/**
 * How late work begins, in seconds, by `worker`: an event after it was emitted, a timer after its time. Each attempt counts.
 *
 * @since 0.1.0
 * @category workers
 */
export const deliveryLag = Metric.histogram(
  "holdfast_delivery_lag_seconds",
  waits,
  "How late work begins, by worker: an event after it was emitted, a timer after its time"
)

/**
 * Work that became a dead letter, by `work` (`Outbox`, `Spawn`, `Timer` or `Activity`) and `reason`.
 *
 * @since 0.1.0
 * @category workers
 */
export const deadLetters = Metric.counter("holdfast_dead_letters_total", {
  description: "Work that became a dead letter, by kind of work and reason",
  incremental: true
})

/**
 * When a worker last read its work from the store, in seconds since the epoch, by `worker`.
 *
 * @since 0.1.0
 * @category workers
 */
export const lastRun = Metric.gauge("holdfast_last_run_timestamp_seconds", {
  description: "When a worker last read its work from the store, by worker"
})

/**
 * How much work the store holds, by `work` (`Outbox`, `Spawn`, `Timer` or `Activity`; of timers only those that are due).
 * `Telemetry` sets it.
 *
 * @since 0.1.0
 * @category backlog
 */
export const backlog = Metric.gauge("holdfast_backlog", {
  description: "How much work the store holds, by kind of work; of timers those that are due"
})

/**
 * How much of the work in the store has failed before, by `work`. `Telemetry` sets it.
 *
 * @since 0.1.0
 * @category backlog
 */
export const failing = Metric.gauge("holdfast_failing", {
  description: "How much work failed before and is to be tried again, by kind of work"
})

/**
 * How long the oldest work has waited, in seconds, by `work` (`Outbox`, `Timer` or `Activity`); 0 where none waits. `Telemetry`
 * sets it.
 *
 * @since 0.1.0
 * @category backlog
 */
export const oldestAge = Metric.gauge("holdfast_oldest_age_seconds", {
  description: "How long the oldest work waits, by kind of work"
})

/**
 * How many dead letters the store holds. `Telemetry` sets it.
 *
 * @since 0.1.0
 * @category backlog
 */
export const deadLettersHeld = Metric.gauge("holdfast_dead_letters", {
  description: "How many dead letters the store holds"
})

/**
 * How many definitions work in the store waits for that this process does not have.
 *
 * @since 0.1.0
 * @category backlog
 */
export const unknownDefinitions = Metric.gauge("holdfast_unknown_definitions", {
  description: "How many definitions work waits for that this process does not have"
})

/**
 * For how many seconds work has waited for a definition that this process does not have, at the most. Where the work does not say since when
 * it waits, it is since this process saw it.
 *
 * @since 0.1.0
 * @category backlog
 */
export const unknownDefinitionAge = Metric.gauge("holdfast_unknown_definition_age_seconds", {
  description: "How long work has waited for a definition that this process does not have"
})

/**
 * How many activities requests in the store wait for that this process does not have.
 *
 * @since 0.1.0
 * @category backlog
 */
export const unknownActivities = Metric.gauge("holdfast_unknown_activities", {
  description: "How many activities requests wait for that this process does not have"
})

/**
 * For how many seconds requests have waited for an activity that this process does not have, at the most.
 *
 * @since 0.1.0
 * @category backlog
 */
export const unknownActivityAge = Metric.gauge("holdfast_unknown_activity_age_seconds", {
  description: "How long requests have waited for an activity that this process does not have"
})
