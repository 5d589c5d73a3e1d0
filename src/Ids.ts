/**
 * Where new ids come from: the token of each commit attempt, the ids of events and executions that nobody named.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * Makes ids. Each must be unique among all processes that share a store: correctness depends on it. The default is a random UUID, as
 * 32 hexadecimal digits; a test can put a deterministic one in its place.
 *
 * @since 0.1.0
 * @category tags
 */
export class Ids extends Context.Reference<Ids>()("holdfast/Ids", {
  defaultValue: (): { readonly next: Effect.Effect<string> } => ({
    next: Effect.sync(() => globalThis.crypto.randomUUID().replaceAll("-", ""))
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
 * @since 0.1.0
 * @category layers
 */
export const layerSequential = (prefix = "id-"): Layer.Layer<never> =>
  Layer.suspend(() => {
    let count = 0
    return Layer.succeed(Ids, { next: Effect.sync(() => `${prefix}${++count}`) })
  })
