/**
 * Published definitions: the source texts of the state machines that executions run, one row for each version. The store keeps them;
 * nothing here runs them. `Definition.publish` publishes a typed definition.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * One published version of a definition.
 *
 * - `digest`: identifies the `source`, such as a hash of it.
 * - `source`: a text in the publisher's own form.
 * - `publishedAt`: in seconds since the epoch, or null where it is not known.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { ExecutionStore, MemoryStore } from "holdfast"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* ExecutionStore.ExecutionStore
 *   const source = "state: AwaitingPayment"
 *   const stored = yield* store.publishDefinition({
 *     definitionId: "order",
 *     version: 1,
 *     digest: "sha256:5c1e",
 *     source,
 *     publishedAt: null
 *   })
 *   assert.strictEqual(stored.source, source)
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface PublishedDefinition extends Schema.Schema.Type<typeof PublishedDefinition> {}

/**
 * The schema of a published definition.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PublishedDefinition = Schema.Struct({
  definitionId: Schema.String,
  version: Schema.Int,
  digest: Schema.String,
  source: Schema.String,
  publishedAt: Schema.NullOr(Schema.Finite)
}).annotations({ identifier: "Definition" })
