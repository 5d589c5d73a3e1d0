/**
 * The source of new ids: of the token of each commit, and of events and executions that are given none.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * Makes ids. Each must be unique among all processes that share a store: correctness depends on it. The default is a random UUID as 32
 * hexadecimal digits; a test can use {@link layerSequential}.
 *
 * @since 0.1.0
 * @category tags
 */
export class Ids extends Context.Reference<Ids>()("holdfast/Ids", {
  defaultValue: (): { readonly next: Effect.Effect<string> } => ({
    next: Effect.sync(() => {
      const id = globalThis.crypto.randomUUID()
      return id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24)
    })
  })
}) {}

/**
 * The next id.
 *
 * @since 0.1.0
 * @category accessors
 */
export const next: Effect.Effect<string> = Effect.flatMap(Ids, (ids) => ids.next)

/**
 * Ids that count up: `<prefix>1`, `<prefix>2`, ... For tests with a single process.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Ids } from "holdfast"
 *
 * const program = Effect.gen(function* () {
 *   assert.strictEqual(yield* Ids.next, "order-1")
 *   assert.strictEqual(yield* Ids.next, "order-2")
 * }).pipe(Effect.provide(Ids.layerSequential("order-")))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSequential = (prefix = "id-"): Layer.Layer<never> =>
  Layer.suspend(() => {
    let count = 0
    return Layer.succeed(Ids, { next: Effect.sync(() => `${prefix}${++count}`) })
  })
