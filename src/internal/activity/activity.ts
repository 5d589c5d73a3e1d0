import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import type { Any, AnyHandler } from "../../Activity.js"
import { ExecutionRuntime } from "../../ExecutionRuntime.js"
import * as contracts from "./contract.js"
import { outcome } from "./outcome.js"

export const TypeId: typeof contracts.TypeId = contracts.TypeId

export type { Options } from "./contract.js"

export const isActivity = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

const toLayer =
  (activity: Any) =>
  <R, EX, RX>(handler: Effect.Effect<AnyHandler<R>, EX, RX> | AnyHandler<R>) =>
    Layer.scopedDiscard(
      Effect.gen(function* () {
        const runtime = yield* ExecutionRuntime
        yield* runtime.registerActivity<R>(activity, Effect.isEffect(handler) ? yield* handler : handler)
      })
    )

export const make = (name: string, options: contracts.Options): Any => {
  const activity = new contracts.Base(contracts.make(name, options))
  return Object.assign(activity, {
    of: <H>(handler: H): H => handler,
    toLayer: toLayer(activity),
    outcome: outcome(activity.contract)
  })
}
