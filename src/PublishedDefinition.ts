/**
 * Published definitions: the sources of the machines that executions run, one row for each version.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * One published version of a definition. `digest` identifies the `source`, which is a text of the publisher's own form; `publishedAt`
 * is in seconds since the epoch, or null where it is not known.
 *
 * @since 0.1.0
 * @category models
 */
export interface PublishedDefinition extends Schema.Schema.Type<typeof PublishedDefinition> {}

/**
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
