import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as MetricKeyType from "effect/MetricKeyType"
import type * as MetricState from "effect/MetricState"

let tests = 0

/** Gives a test metrics of its own by a tag, because metrics are shared by the whole process. */
export const isolated = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => Effect.tagMetrics(effect, "test", String(++tests)))

type Tags = { readonly [tag: string]: string }

const value = <Type, In, Out>(metric: Metric.Metric<Type, In, Out>, tags: Tags) =>
  Metric.value(Object.entries(tags).reduce((metric, [key, value]) => Metric.tagged(metric, key, value), metric))

export const counted = (metric: Metric.Metric.Counter<number>, tags: Tags = {}): Effect.Effect<number> =>
  Effect.map(value(metric, tags), ({ count }) => count)

export const gauged = (metric: Metric.Metric.Gauge<number>, tags: Tags = {}): Effect.Effect<number> =>
  Effect.map(value(metric, tags), (state) => state.value)

export const measured = (
  metric: Metric.Metric<MetricKeyType.MetricKeyType.Histogram, number, MetricState.MetricState.Histogram>,
  tags: Tags = {}
): Effect.Effect<{ readonly count: number; readonly sum: number }> =>
  Effect.map(value(metric, tags), ({ count, sum }) => ({ count, sum }))
