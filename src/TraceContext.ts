/**
 * Trace contexts as texts, so that a trace can be followed through the outbox and to other processes.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

const isPropagated = (span: Tracer.AnySpan): boolean => !Context.get(span.context, Tracer.DisablePropagation)

const isNone = (id: string): boolean => /^0*$/.test(id)

/**
 * A span as a W3C `traceparent`, the text that an outbox entry holds and that an HTTP header of this name can carry. None where the
 * tracer's ids are not of this form, or where the span must not be propagated.
 *
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { TraceContext } from "holdfast"
 *
 * const header = Effect.map(Effect.option(Effect.currentParentSpan), Option.flatMap(TraceContext.toTraceparent))
 * ```
 *
 * @since 0.1.0
 * @category encoding
 */
export const toTraceparent = (span: Tracer.AnySpan): Option.Option<string> => {
  const text = `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`
  return isPropagated(span) && Option.isSome(fromTraceparent(text)) ? Option.some(text) : Option.none()
}

/**
 * The span of a W3C `traceparent`; none where the text is not one.
 *
 * @since 0.1.0
 * @category decoding
 */
export const fromTraceparent = (text: string): Option.Option<Tracer.ExternalSpan> => {
  const [, version, traceId, spanId, flags, more] = traceparent.exec(text) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) {
    return Option.none()
  }
  // What later versions add comes behind; the version ff is none.
  if (version === "ff" || (version === "00" && more !== undefined)) return Option.none()
  if (isNone(traceId) || isNone(spanId)) return Option.none()
  return Option.some(Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }))
}
