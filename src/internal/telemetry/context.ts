import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

const withoutSpan = <R>(context: Context.Context<R>): Context.Context<R> => {
  const services = new Map(context.unsafeMap)
  services.delete(Tracer.ParentSpan.key)
  return Context.unsafeMake<R>(services)
}

/** Runs effects with services that were captured earlier, but below the span of whoever runs them now. */
export const provide = <R>(
  captured: Context.Context<R>
): (<A, E>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E>) => {
  const services = withoutSpan(captured)
  // A worker runs thousands of steps in the same context, so the last merge is kept.
  let last: { readonly current: Context.Context<never>; readonly merged: Context.Context<R> } | undefined
  return Effect.mapInputContext((current: Context.Context<never>) => {
    if (last?.current !== current) last = { current, merged: Context.merge(current, services) }
    return last.merged
  })
}

/** Runs an effect as the root of its own trace: a fiber that lives on must not hang its spans below the one that it was started in. */
export const unparented: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E> = Effect.mapInputContext(
  (context: Context.Context<never>) => withoutSpan(context)
)
