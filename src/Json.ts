/**
 * Free JSON data, as executions, events and spawns carry it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A JSON object. Its values are null, booleans, finite numbers, a `bigint` of at most 4,300 digits, well-formed strings, arrays without
 * other keys, and plain objects. A key whose value is `undefined` counts as absent. A store refuses anything else and names its path. The
 * stored row nests at most 190 levels, 200 for an execution and a step of its trace, the row itself and the object included.
 *
 * A number comes back as the same double, whatever its size: beyond 2^53 it is stored with a fraction or an exponent (`2 ** 60` as
 * `1.152921504606847e+18`), which distinguishes it from an integer for every reader. A `bigint` of 2^53 or more comes back as the same
 * `bigint`, a smaller one as a number. So a typed context should keep a `bigint` of any size as text (`Schema.BigInt`). A float without a
 * fraction that another program wrote (`1.0`) is read and written as `1`.
 *
 * @since 0.1.0
 * @category models
 */
export interface JsonObject {
  readonly [key: string]: unknown
}

/**
 * The schema of a JSON object. It checks that the value is an object; the store checks what is in it.
 *
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
