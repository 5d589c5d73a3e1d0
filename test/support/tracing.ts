import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

/** A tracer that keeps its spans, in the order in which they began. */
export const make = (
  options: { readonly sampled?: boolean } = {}
): {
  readonly spans: ReadonlyArray<Tracer.Span>
  readonly named: (name: string) => ReadonlyArray<Tracer.Span>
  readonly layer: Layer.Layer<never>
} => {
  const spans: Array<Tracer.Span> = []
  const layer = Layer.unwrapEffect(
    Effect.map(Effect.tracer, (tracer) =>
      Layer.setTracer(
        Tracer.make({
          span: (...args) => {
            const span = Object.assign(tracer.span(...args), { sampled: options.sampled ?? true })
            spans.push(span)
            return span
          },
          context: (f, fiber) => tracer.context(f, fiber)
        })
      )
    )
  )
  return { spans, named: (name) => spans.filter((span) => span.name === name), layer }
}

/** The ids of the spans that a span is linked to. */
export const links = (span: Tracer.Span | undefined): ReadonlyArray<string> =>
  (span?.links ?? []).map((link) => `${link.span.traceId}/${link.span.spanId}`)

export const idOf = (span: Tracer.AnySpan | undefined): string =>
  span === undefined ? "none" : `${span.traceId}/${span.spanId}`

export const parentOf = (span: Tracer.Span | undefined): string | undefined =>
  Option.getOrUndefined(Option.map(span?.parent ?? Option.none<Tracer.AnySpan>(), (parent) => parent.spanId))

export const attributesOf = (span: Tracer.Span | undefined): { readonly [name: string]: unknown } =>
  Object.fromEntries(span?.attributes ?? [])
