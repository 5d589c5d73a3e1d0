/**
 * Free JSON data, as executions, events and spawns carry it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A JSON object. Its values are what JSON can carry: null, booleans, finite numbers, `bigint` for integers that a double cannot hold,
 * well-formed strings, arrays and plain objects. The stored row that it is a part of nests at most 190 levels, the row itself and the
 * object included. A store refuses anything else and names its path; a key whose value is `undefined` counts as absent.
 *
 * Integers beyond 2^53 are read as `bigint` and keep every digit; a `bigint` below is read as a number. A float without a fraction (`1.0`)
 * is read and written as `1`, negative zero as `0`.
 *
 * @since 0.1.0
 * @category models
 */
export interface JsonObject {
  readonly [key: string]: unknown
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const JsonObject: Schema.Schema<JsonObject> = Schema.declare(
  (u): u is JsonObject => typeof u === "object" && u !== null && !Array.isArray(u),
  {
    identifier: "JsonObject",
    description: "a JSON object",
    arbitrary: () => (fc) => fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true })
  }
)
