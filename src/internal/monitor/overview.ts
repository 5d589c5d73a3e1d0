import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { ExecutionRuntime } from "../../ExecutionRuntime.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Metrics from "../../Metrics.js"
import type * as models from "../monitorApi/models.js"
import type { Problem } from "../monitorApi/problems.js"
import { answering } from "../monitorHttp/reply.js"
import * as cachedRead from "./cachedRead.js"
import * as processes from "./processes.js"
import * as views from "./views.js"

type Overview = Schema.Schema.Type<typeof models.Overview>
type Sample = Schema.Schema.Type<typeof models.Sample>

/**
 * What the overview shows.
 *
 * - `get`: all but the charts.
 * - `sample`: the same, with a moment of the charts, given how many commits there were here since the moment before.
 * - `forget`: has it read anew.
 */
export interface Overviews {
  readonly get: Effect.Effect<Overview, Problem>
  readonly sample: (commits: number) => Effect.Effect<{ readonly overview: Overview; readonly sample: Sample }, Problem>
  readonly forget: Effect.Effect<void>
}

/** How long a page waits for the counts of a large store, in milliseconds: it is told of them when they are there. */
const patience = 10

/** What a histogram has seen since the last look at it: the value below which most of it is, none where it saw nothing. */
const quantileSince = (
  before: MetricState.MetricState.Histogram | undefined,
  now: MetricState.MetricState.Histogram
) => {
  const seen = now.buckets.map(([bound, count], i) => [bound, count - (before?.buckets[i]?.[1] ?? 0)] as const)
  const total = seen.at(-1)?.[1] ?? 0
  if (total <= 0) return null
  const wanted = total * 0.95
  const at = seen.findIndex(([, count]) => count >= wanted)
  const [bound, count] = seen[at] ?? [0, 0]
  const [lower, fewer] = seen[at - 1] ?? [0, 0]
  // What lies beyond the last bound is shown at it.
  if (!Number.isFinite(bound)) return lower
  return count === fewer ? bound : lower + ((bound - lower) * (wanted - fewer)) / (count - fewer)
}

const watchHistogram = <Type>(metric: Metric.Metric<Type, number, MetricState.MetricState.Histogram>) => {
  let before: MetricState.MetricState.Histogram | undefined
  return Effect.map(Metric.value(metric), (now) => {
    const value = quantileSince(before, now)
    before = now
    return value
  })
}

const relay = <Type>(metric: Metric.Metric<Type, number, MetricState.MetricState.Histogram>) =>
  Metric.tagged(metric, "worker", "OutboxRelay")

interface Moment {
  readonly time: number
  readonly done: number
  readonly failed: number
}

const sumOf = (counts: NonNullable<Overview["counts"]>, status: string): number =>
  counts.reduce((sum, { count, status: each }) => (each === status ? sum + count : sum), 0)

/** How many came in a second; fewer than before where some were purged. */
const rate = (before: number, now: number, seconds: number): number | null =>
  seconds > 0 ? Math.max(0, now - before) / seconds : null

const oldestOf = ({ activities, outbox, timers }: Overview["stats"], now: number): number =>
  Math.max(0, ...[outbox.oldest, timers.oldest, activities.oldest].map((time) => (time === null ? 0 : now - time)))

const waitingOf = ({ activities, outbox, spawns, timers }: Overview["stats"]): number =>
  outbox.count + spawns.count + timers.due + activities.count

export const make = (
  store: ExecutionStore,
  runtime: Option.Option<ExecutionRuntime>,
  interval: number
): Effect.Effect<Overviews, never, Scope.Scope> =>
  Effect.gen(function* () {
    const least = interval / 2
    const counts = yield* cachedRead.make(store.counts, { least, share: 50 })
    const stats = yield* cachedRead.make(store.stats, { least, share: 20 })
    const sharing = yield* cachedRead.make(
      Effect.catchTag(processes.read(store), "StoreCorrupt", () => Effect.succeed(null)),
      { least, share: 20 }
    )
    const lag = watchHistogram(relay(Metrics.deliveryLag))
    const duration = watchHistogram(relay(Metrics.deliveryDuration))
    let moment: Moment | undefined
    let sampledAt: number | undefined

    const get = Effect.gen(function* () {
      const [counted, work, shared] = yield* answering(
        Effect.all([counts.soon(patience), stats.get, sharing.get], { concurrency: "unbounded" })
      )
      const health = yield* Effect.transposeMapOption(runtime, (runtime) => runtime.health)
      return {
        now: (yield* Clock.currentTimeMillis) / 1000,
        counts: Option.getOrNull(Option.map(counted, ({ value }) => value.map(views.count))),
        countedAt: Option.getOrNull(Option.map(counted, ({ at }) => at)),
        stats: views.stats(work.value),
        health: Option.getOrNull(Option.map(health, views.health)),
        processes: shared.value,
        samples: []
      }
    })

    /** Rates are of the time between two counts, which may be longer than between two moments. */
    const rates = ({ counts, countedAt }: Overview) => {
      if (counts === null || countedAt === null) return { finished: null, failed: null }
      const now = { time: countedAt, done: sumOf(counts, "DONE"), failed: sumOf(counts, "FAILED") }
      const before = moment
      if (before !== undefined && before.time === now.time) return { finished: null, failed: null }
      moment = now
      if (before === undefined || now.time - before.time > 60) return { finished: null, failed: null }
      const seconds = now.time - before.time
      return { finished: rate(before.done, now.done, seconds), failed: rate(before.failed, now.failed, seconds) }
    }

    return {
      get,
      sample: (commits) =>
        Effect.gen(function* () {
          const overview = yield* get
          const seconds = sampledAt === undefined ? 0 : overview.now - sampledAt
          sampledAt = overview.now
          const here = Option.isSome(runtime)
          const sample = {
            time: overview.now,
            commits: here && seconds > 0 && seconds < 60 ? commits / seconds : null,
            ...rates(overview),
            waiting: waitingOf(overview.stats),
            oldest: oldestOf(overview.stats, overview.now),
            lag: here ? yield* lag : null,
            duration: here ? yield* duration : null
          }
          return { overview, sample }
        }),
      forget: Effect.all([counts.forget, stats.forget, sharing.forget], { discard: true })
    }
  })
