import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"
import * as TraceContext from "../../TraceContext.js"

/** The `traceparent` of a fiber's span. Null where it is not sampled, because no exporter keeps that span. */
export const traceparentOf = ({ currentSpan }: Fiber.RuntimeFiber<unknown, unknown>): string | null =>
  currentSpan?.sampled === true ? Option.getOrNull(TraceContext.toTraceparent(currentSpan)) : null

/** The `traceparent` of the current span: see {@link traceparentOf}. */
export const current: Effect.Effect<string | null> = Effect.withFiberRuntime((fiber) =>
  Effect.succeed(traceparentOf(fiber))
)

/** A link to the span that a stored `traceparent` names. */
export const links = (traceparent: string | null): ReadonlyArray<Tracer.SpanLink> =>
  traceparent === null
    ? []
    : Option.toArray(TraceContext.fromTraceparent(traceparent)).map((span) => ({
        _tag: "SpanLink",
        span,
        attributes: {}
      }))
