import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import type * as Metric from "effect/Metric"
import * as MetricLabel from "effect/MetricLabel"
import * as Tracer from "effect/Tracer"
import { printableMembers } from "../util/printable.js"

/** The tags that the fiber gives to all its metrics. */
export type Labels = ReadonlyArray<MetricLabel.MetricLabel>

/** Takes a value into a metric, under the tags of the fiber. */
export type Instrument<In> = (value: In, labels: Labels) => void

/**
 * A metric under tags of its own. Effect looks a metric up by its tags at each update, unless it is the same list as before: here it is,
 * which takes a tenth of the time.
 */
export const instrument = <Type, In, Out>(
  metric: Metric.Metric<Type, In, Out>,
  tags: { readonly [name: string]: string }
): Instrument<In> => {
  const own = Object.entries(tags).map(([name, value]) => MetricLabel.make(name, value))
  const lists = new WeakMap<Labels, Labels>()
  const listFor = (labels: Labels): Labels => {
    if (labels.length === 0) return own
    const known = lists.get(labels)
    if (known !== undefined) return known
    const list = Arr.union(own, labels)
    lists.set(labels, list)
    return list
  }
  return (value, labels) => metric.unsafeUpdate(value, listFor(labels))
}

/** The tags that a fiber gives to all its metrics. */
export const labelsOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Labels =>
  fiber.getFiberRef(FiberRef.currentMetricLabels)

/** Takes a value into a metric. */
export const update = <In>(instrument: Instrument<In>, value: In): Effect.Effect<void> =>
  Effect.withFiberRuntime((fiber) => {
    instrument(value, labelsOf(fiber))
    return Effect.void
  })

/** A function that makes a value once for each key, and keeps it. So there must be few keys. */
export const memoized = <A>(make: (key: string) => A): ((key: string) => A) => {
  const made = new Map<string, A>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}

const native = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/** Whether spans of the fiber reach anybody. */
export const isTraced = (fiber: Fiber.RuntimeFiber<unknown, unknown>): boolean =>
  fiber.currentTracer !== native && fiber.getFiberRef(FiberRef.currentTracerEnabled)

const spanOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Tracer.Span | undefined =>
  fiber.currentSpan?._tag === "Span" && isTraced(fiber) ? fiber.currentSpan : undefined

/** The clock of a fiber. */
export const clockOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Clock.Clock =>
  Context.get(fiber.currentDefaultServices, Clock.Clock)

/**
 * Tells how an effect ended and how many seconds it took, unless it was interrupted, with the span around it, where a tracer is installed.
 * Every commit is measured: this costs less than updating a metric by an effect of its own, or than annotating a span that is not there.
 */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>, ended: Ended<A, E>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => timedIn(fiber, effect, ended))

type Ended<A, E> = (exit: Exit.Exit<A, E>, seconds: number, labels: Labels, span: Tracer.Span | undefined) => void

const timedIn = <A, E, R>(
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  effect: Effect.Effect<A, E, R>,
  ended: Ended<A, E>
): Effect.Effect<A, E, R> => {
  const clock = clockOf(fiber)
  const labels = labelsOf(fiber)
  const began = clock.unsafeCurrentTimeNanos()
  const end = (exit: Exit.Exit<A, E>) => {
    ended(exit, Number(clock.unsafeCurrentTimeNanos() - began) / 1e9, labels, spanOf(fiber))
    return exit
  }
  return Effect.matchCauseEffect(effect, {
    onFailure: (cause) => end(Exit.failCause(cause)),
    onSuccess: (value) => end(Exit.succeed(value))
  })
}

/** Begins to measure several pieces of work that begin together; what it gives says how long it has been, and the tags of the fiber. */
export const begin = (
  fiber: Fiber.RuntimeFiber<unknown, unknown>
): (() => { readonly seconds: number; readonly labels: Labels }) => {
  const clock = clockOf(fiber)
  const labels = labelsOf(fiber)
  const began = clock.unsafeCurrentTimeNanos()
  return () => ({ seconds: Number(clock.unsafeCurrentTimeNanos() - began) / 1e9, labels })
}

/** The tag of what an effect failed with. */
export const errorTag = (cause: Cause.Cause<{ readonly _tag: string }>): string =>
  Either.match(Cause.failureOrCause(cause), { onLeft: (error) => error._tag, onRight: () => "Defect" })

const printableSpan = (options: Tracer.SpanOptions): Tracer.SpanOptions =>
  options.attributes === undefined ? options : { ...options, attributes: printableMembers(options.attributes) }

/**
 * Puts an effect into a span where a tracer is installed. Spans of Effect's own tracer reach nobody, and each costs as much as a step of
 * an execution in memory.
 */
export const withSpan =
  (name: string, options: () => Tracer.SpanOptions) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.withFiberRuntime((fiber) =>
      isTraced(fiber) ? Effect.withSpan(effect, name, printableSpan(options())) : effect
    )

/** A span: its name, and what else is said of it. */
export interface Span {
  readonly name: string
  readonly options: () => Tracer.SpanOptions
}

/** {@link timed}, in a span as {@link withSpan} makes one. */
export const timedInSpan = <A, E>(
  effect: Effect.Effect<A, E>,
  { name, options }: Span,
  ended: Ended<A, E>
): Effect.Effect<A, E> =>
  Effect.withFiberRuntime((fiber) =>
    isTraced(fiber)
      ? Effect.withSpan(timed(effect, ended), name, printableSpan(options()))
      : timedIn(fiber, effect, ended)
  )
