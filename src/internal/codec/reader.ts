import * as Arbitrary from "effect/Arbitrary"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { JsonObject } from "../../Json.js"
import type { Limit } from "../util/limits.js"
import * as json from "./json.js"
import { Invalid } from "./json.js"
import { at, stringify, type Written } from "./stringify.js"

export { Invalid } from "./json.js"
export type { Written } from "./stringify.js"

/**
 * The stored rows are read and written by hand-written codecs rather than by `Schema`: decoding the 22 keys of an execution this way
 * takes about a tenth of the time, and every load and commit does it. The public schemas are built on the codecs.
 */
export interface Codec<A> {
  readonly decode: (u: unknown, path: string) => A
  /** Throws {@link Invalid} where the value cannot be put into a row, or could not be read from there. */
  readonly encode: (value: A, path: string) => JsonObject
  /** How deep a row nests at most, where that is not as usual. */
  readonly levels?: number | undefined
}

/** A value as an error shows it. */
export const show = (u: unknown): string => {
  if (u === undefined) return "nothing"
  if (u === null || typeof u === "number" || typeof u === "boolean" || typeof u === "bigint") return String(u)
  if (typeof u === "string") return JSON.stringify(u.length > 40 ? `${u.slice(0, 40)}...` : u)
  return Array.isArray(u) ? "an array" : typeof u === "object" ? "an object" : `a ${typeof u}`
}

const expected = (what: string, u: unknown, path: string): Invalid =>
  new Invalid(path, `expected ${what}, found ${show(u)}`)

/** Reads one value; throws {@link Invalid}. */
export type Reader<A> = (u: unknown, path: string) => A

export const string: Reader<string> = (u, path) => {
  if (typeof u === "string") return u
  throw expected("a string", u, path)
}

export const boolean: Reader<boolean> = (u, path) => {
  if (typeof u === "boolean") return u
  throw expected("true or false", u, path)
}

// harel reads numbers leniently: a numeric string counts, and an integer of any length is a time.
const numeric = (u: unknown): unknown =>
  typeof u === "bigint" || (typeof u === "string" && u.trim() !== "") ? Number(u) : u

export const finite: Reader<number> = (u, path) => {
  const n = numeric(u)
  if (typeof n === "number" && Number.isFinite(n)) return n
  throw expected("a finite number", u, path)
}

export const integer: Reader<number> = (u, path) => {
  const n = numeric(u)
  if (typeof n === "number" && Number.isSafeInteger(n)) return n
  throw expected("an integer below 2^53", u, path)
}

/** An integer that is a column of its own, and no text there. */
export const integerColumn: Reader<number> = (u, path) => {
  if (typeof u === "number" && Number.isSafeInteger(u)) return u
  throw expected("an integer below 2^53", u, path)
}

export const object: Reader<JsonObject> = (u, path) => {
  if (isObject(u)) return u
  throw expected("an object", u, path)
}

const isObject = (u: unknown): u is JsonObject => typeof u === "object" && u !== null && !Array.isArray(u)

export const literal = <const A extends string>(...literals: ReadonlyArray<A>): Reader<A> => {
  const byName = new Map<unknown, A>(literals.map((name) => [name, name]))
  return (u, path) => {
    const found = byName.get(u)
    if (found !== undefined) return found
    throw expected(`one of ${literals.join(", ")}`, u, path)
  }
}

export const nullable =
  <A>(reader: Reader<A>): Reader<A | null> =>
  (u, path) =>
    u === null ? null : reader(u, path)

export const array =
  <A>(reader: Reader<A>): Reader<ReadonlyArray<A>> =>
  (u, path) => {
    if (!Array.isArray(u)) throw expected("an array", u, path)
    return u.map((item: unknown, i) => reader(item, at(path, i)))
  }

export const record =
  <A>(reader: Reader<A>): Reader<{ readonly [key: string]: A }> =>
  (u, path) =>
    // fromEntries defines properties where an assignment would run the setter of a key named __proto__
    Object.fromEntries(Object.entries(object(u, path)).map(([key, value]) => [key, reader(value, at(path, key))]))

// The keys of a model need no quotes, and this runs for each of them at every load.
export const member = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`)

/** A key that must be there. */
export const required = <A>(row: JsonObject, path: string, key: string, reader: Reader<A>): A => {
  if (row[key] === undefined) throw new Invalid(member(path, key), "is missing")
  return reader(row[key], member(path, key))
}

/** A key that may be missing. */
export const optional = <A>(row: JsonObject, path: string, key: string, reader: Reader<A>, fallback: A): A =>
  row[key] === undefined ? fallback : reader(row[key], member(path, key))

/** A key that may be missing or null. */
export const orNull = <A>(row: JsonObject, path: string, key: string, reader: Reader<A>): A | null => {
  const value = row[key]
  return value === undefined || value === null ? null : reader(value, member(path, key))
}

const none: JsonObject = {}

/** The keys of a row that its model does not know. */
export const rest = (row: JsonObject, known: ReadonlySet<string>): JsonObject => {
  const unknown = Object.keys(row).filter((key) => !known.has(key))
  return unknown.length === 0 ? none : Object.fromEntries(unknown.map((key) => [key, row[key]]))
}

/** The unknown keys of a row to be written, which may be left out. One that the model knows would be lost beside the model's own. */
export const extra = (extra: JsonObject | undefined, known: ReadonlySet<string>, path: string): JsonObject => {
  if (extra === undefined) return none
  const taken = Object.keys(object(extra, member(path, "extra"))).find((key) => known.has(key))
  if (taken === undefined) return extra
  throw new Invalid(at(at(path, "extra"), taken), "is a key of the stored row itself, which extra cannot hold")
}

/** The value that a text holds, or what is wrong with it. */
export const fromText = <A>(
  codec: Codec<A>,
  text: unknown,
  parse: (text: string) => unknown
): Either.Either<A, Invalid> => {
  if (typeof text !== "string") return Either.left(new Invalid("", `expected a text, found ${show(text)}`))
  try {
    return Either.right(codec.decode(parse(text), ""))
  } catch (error) {
    if (error instanceof Invalid) return Either.left(error)
    return Either.left(new Invalid("", `not JSON: ${error instanceof Error ? error.message : String(error)}`))
  }
}

/** The text of a value, or the part of it that cannot be stored; made of a copy of the row, which comes with it, where that is asked for. */
export const toText = <A>(
  codec: Codec<A>,
  value: A,
  path = "",
  limit?: Limit,
  copied?: boolean
): Either.Either<Written, Invalid> => {
  try {
    const row = codec.encode(value, path)
    const written = stringify(row, path, { limit, levels: codec.levels, copied })
    if (Either.isLeft(written)) return Either.left(new Invalid(written.left.path, written.left.problem))
    return Either.right(written.right)
  } catch (error) {
    if (error instanceof Invalid) return Either.left(error)
    return Either.left(new Invalid(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`))
  }
}

/** {@link toText}, thrown where it is wrong. */
export const write = <A>(codec: Codec<A>, value: A, path: string, limit: Limit, copied?: boolean): Written => {
  const written = toText(codec, value, path, limit, copied)
  if (Either.isRight(written)) return written.right
  throw written.left
}

/** "at path: problem", or the problem alone where it is the whole value's. */
export const describe = (invalid: Invalid): string =>
  invalid.path === "" ? invalid.problem : `${invalid.path}: ${invalid.problem}`

/** The model's values themselves. A `Struct` copies what it checks, and its copies lose a key that is named `__proto__`. */
const uncopied = <A>(model: Schema.Schema<A>): Schema.Schema<A> => {
  const is = Schema.is(model)
  const check = ParseResult.validateEither(model)
  return Schema.declare(
    [],
    {
      decode: () => (u, options) => (is(u) ? Either.right(u) : check(u, options)),
      encode: () => (u, options) => (is(u) ? Either.right(u) : check(u, options))
    },
    { arbitrary: () => Arbitrary.makeLazy(model) }
  )
}

/** A public schema from text to model, on a codec. */
export const schemaFromCodec = <A>(
  model: Schema.Schema<A>,
  codec: Codec<A>,
  identifier: string,
  parse: (text: string) => unknown = json.parse
): Schema.Schema<A, string> =>
  Schema.transformOrFail(Schema.String, uncopied(model), {
    strict: true,
    decode: (text, _, ast) =>
      Either.mapLeft(fromText(codec, text, parse), (invalid) => new ParseResult.Type(ast, text, describe(invalid))),
    encode: (value, _, ast) =>
      Either.mapBoth(toText(codec, value), {
        onLeft: (invalid) => new ParseResult.Type(ast, value, describe(invalid)),
        onRight: ({ text }) => text
      })
  }).annotations({ identifier })
