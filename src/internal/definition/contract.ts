import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Schemas } from "../../Definition.js"
import type { JsonObject } from "../../Json.js"
import { type Problem, problemOf } from "../processor/parseProblem.js"

/** Values of a type and their stored form. */
export interface Codec<Stored> {
  readonly encode: (value: unknown) => Either.Either<Stored, Problem>
  readonly decode: (stored: unknown) => Either.Either<unknown, Problem>
}

type ExcessProperty = "preserve" | "ignore" | "error"

const codecOf = (schema: Schema.Schema.AnyNoContext, onExcessProperty: ExcessProperty): Codec<unknown> => {
  const encode = Schema.encodeUnknownEither(schema, { onExcessProperty })
  const decode = Schema.decodeUnknownEither(schema, { onExcessProperty })
  return {
    encode: (value) => Either.mapLeft(encode(value), problemOf),
    decode: (stored) => Either.mapLeft(decode(stored), problemOf)
  }
}

const isObject = (u: unknown): u is JsonObject => Predicate.isRecord(u) && !Array.isArray(u)

/** A codec whose stored form is a JSON object, as the format has contexts and payloads. */
const objectCodec = (schema: Schema.Schema.AnyNoContext, onExcessProperty: ExcessProperty): Codec<JsonObject> => {
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
const nothing: Codec<unknown> = { encode: () => Either.right(null), decode: () => Either.right(undefined) }

const noError: Codec<unknown> = {
  encode: () => Either.left({ path: "", problem: "the definition has no error of its own" }),
  decode: () => Either.left({ path: "", problem: "the definition has no error of its own" })
}

/** A codec of results and errors. What encodes to nothing is stored as null. */
const endCodec = (schema: Schema.Schema.AnyNoContext): Codec<unknown> => {
  const { decode, encode } = codecOf(schema, "ignore")
  return {
    encode: (value) => Either.map(encode(value), (stored) => stored ?? null),
    decode: (stored) => (stored === null ? Either.orElse(decode(undefined), () => decode(null)) : decode(stored))
  }
}

/** A definition as the code behind it has it: its names, and how each thing that it names is stored. */
export interface Contract {
  readonly name: string
  readonly schemas: Schemas
  readonly context: Codec<JsonObject>
  readonly input: Codec<JsonObject>
  readonly events: ReadonlyMap<string, Codec<JsonObject>>
  readonly timers: ReadonlySet<string>
  readonly children: ReadonlyMap<string, Contract>
  readonly result: Codec<unknown>
  readonly error: Codec<unknown>
  /** The first context of an execution that is started with an input. */
  readonly initial: (input: unknown) => unknown
  readonly onUnknownEvent: "dead-letter" | "ignore"
}

export interface Options {
  readonly context: Schema.Schema.AnyNoContext
  readonly input?: Schema.Schema.AnyNoContext | undefined
  readonly initial?: ((input: never) => unknown) | undefined
  readonly events?: { readonly [kind: string]: Schema.Schema.AnyNoContext | undefined } | undefined
  readonly timers?: ReadonlyArray<string> | undefined
  readonly result?: Schema.Schema.AnyNoContext | undefined
  readonly error?: Schema.Schema.AnyNoContext | undefined
  readonly onUnknownEvent?: "dead-letter" | "ignore" | undefined
  readonly onExcessProperty?: ExcessProperty | undefined
}

const reservedNames = ["Start", "Cancel", "Timeout", "Finished", "timers", "children"]

const schemasOf = (name: string, options: Options): Schemas => {
  const events: Record<string, Schema.Schema.AnyNoContext> = {}
  for (const [kind, schema] of Object.entries(options.events ?? {})) {
    if (reservedNames.includes(kind)) throw new Error(`definition ${name}: an event cannot be named ${kind}`)
    if (schema !== undefined) events[kind] = schema
  }
  return {
    context: options.context,
    input: options.input ?? options.context,
    events,
    result: options.result,
    error: options.error
  }
}

export const make = (name: string, options: Options, children: ReadonlyMap<string, Contract>): Contract => {
  if (name === "") throw new Error("a definition must have a name")
  if (options.input !== undefined && options.initial === undefined) {
    throw new Error(`definition ${name}: an input needs \`initial\`, which makes the first context of it`)
  }
  const schemas = schemasOf(name, options)
  const { initial } = options
  return {
    name,
    schemas,
    context: objectCodec(schemas.context, options.onExcessProperty ?? "preserve"),
    input: objectCodec(schemas.input, "ignore"),
    events: new Map(Object.entries(schemas.events).map(([kind, schema]) => [kind, objectCodec(schema, "ignore")])),
    timers: new Set(options.timers),
    children,
    result: schemas.result === undefined ? nothing : endCodec(schemas.result),
    error: schemas.error === undefined ? noError : endCodec(schemas.error),
    initial: initial === undefined ? (input) => input : (input) => Reflect.apply(initial, undefined, [input]),
    onUnknownEvent: options.onUnknownEvent ?? "dead-letter"
  }
}

/** The stored form of the first context of an execution that is started with an input, which must be one. */
export const initialContext = (contract: Contract, input: unknown): Either.Either<JsonObject, Problem> =>
  contract.schemas.input === contract.schemas.context
    ? contract.context.encode(input)
    : Either.flatMap(contract.input.encode(input), () => contract.context.encode(contract.initial(input)))
