import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { JsonObject } from "../../Json.js"
import { type Problem, problemOf } from "./parseProblem.js"

/** Values of a type and their stored form. */
export interface Codec<Stored> {
  readonly encode: (value: unknown) => Either.Either<Stored, Problem>
  readonly decode: (stored: unknown) => Either.Either<unknown, Problem>
}

export type ExcessProperty = "preserve" | "ignore" | "error"

const codecOf = (schema: Schema.Schema.AnyNoContext, onExcessProperty: ExcessProperty): Codec<unknown> => {
  const encode = Schema.encodeUnknownEither(schema, { onExcessProperty })
  const decode = Schema.decodeUnknownEither(schema, { onExcessProperty })
  return {
    encode: (value) => Either.mapLeft(encode(value), problemOf),
    decode: (stored) => Either.mapLeft(decode(stored), problemOf)
  }
}

export const isObject = (u: unknown): u is JsonObject => Predicate.isRecord(u) && !Array.isArray(u)

/** A codec whose stored form is a JSON object, as the format has contexts and payloads. */
export const objectCodec = (
  schema: Schema.Schema.AnyNoContext,
  onExcessProperty: ExcessProperty
): Codec<JsonObject> => {
  const { decode, encode } = codecOf(schema, onExcessProperty)
  return {
    decode,
    encode: (value) =>
      Either.filterOrLeft(encode(value), isObject, () => ({
        path: "",
        problem: "its schema must encode to a JSON object"
      }))
  }
}

/** A codec of what is nothing: whatever is given, null is stored. */
export const nothing: Codec<unknown> = {
  encode: () => Either.right(null),
  decode: () => Either.right(undefined)
}

/** A codec of what is never there. */
export const never = (problem: string): Codec<unknown> => ({
  encode: () => Either.left({ path: "", problem }),
  decode: () => Either.left({ path: "", problem })
})

/** A codec of results and errors. What encodes to nothing is stored as null. */
export const endCodec = (schema: Schema.Schema.AnyNoContext): Codec<unknown> => {
  const { decode, encode } = codecOf(schema, "ignore")
  return {
    encode: (value) => Either.map(encode(value), (stored) => stored ?? null),
    decode: (stored) => (stored === null ? Either.orElse(decode(undefined), () => decode(null)) : decode(stored))
  }
}
