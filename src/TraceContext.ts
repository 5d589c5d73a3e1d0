/**
 * Trace contexts as texts, so that a trace can be followed across the outbox and out of the process.
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
 * The span as a W3C `traceparent`: the text that an outbox entry carries, and that an HTTP header of this name may carry on. None where
 * the tracer's ids are not of this form, or where the span is not to be propagated.
 *
 * @example
 * import { TraceContext } from "holdfast"
 * import * as Effect from "effect/Effect"
 * import * as Option from "effect/Option"
 *
 * const header = Effect.map(Effect.option(Effect.currentParentSpan), Option.flatMap(TraceContext.toTraceparent))
 *
 * @since 0.1.0
 * @category encoding
 */
export const toTraceparent = (span: Tracer.AnySpan): Option.Option<string> => {
  const text = `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`
  return isPropagated(span) && Option.isSome(fromTraceparent(text)) ? Option.some(text) : Option.none()
}

/**
 * The span that a W3C `traceparent` names; none where the text is not one.
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
