import * as Either from "effect/Either"
import type * as Schema from "effect/Schema"
import type { Schemas } from "../../Definition.js"
import type { Target } from "../../GivenUp.js"
import type { JsonObject } from "../../Json.js"
import type * as activities from "../activity/contract.js"
import { attributeCount, attributeName } from "../codec/validate.js"
import type { Problem } from "../processor/parseProblem.js"
import { type Codec, type ExcessProperty, endCodec, never, nothing, objectCodec } from "../processor/schemaCodec.js"
import * as migrations from "./migrations.js"

export type { Codec } from "../processor/schemaCodec.js"

const noError: Codec<unknown> = never("the definition has no error of its own")

/** A definition as the code behind it has it: its names, and how each thing that it names is stored. */
export interface Contract extends migrations.Versions {
  readonly name: string
  readonly schemas: Schemas
  readonly context: Codec<JsonObject>
  readonly input: Codec<JsonObject>
  readonly events: ReadonlyMap<string, Codec<JsonObject>>
  readonly timers: ReadonlySet<string>
  readonly children: ReadonlyMap<string, Contract>
  /** The activities, each under the key by which the definition names it. */
  readonly activities: ReadonlyMap<string, activities.Contract>
  /** The function of each attribute, by its name. */
  readonly attributes: ReadonlyMap<string, (context: unknown) => unknown>
  readonly result: Codec<unknown>
  readonly error: Codec<unknown>
  /** The first context of an execution that is started with an input. */
  readonly initial: (input: unknown) => unknown
  readonly onUnknownEvent: "dead-letter" | "ignore"
  /** Who is told of what is given up of its executions. */
  readonly onGivenUp: Target | undefined
}

export interface Options {
  readonly version?: number | undefined
  readonly migrations?: { readonly [version: number]: unknown } | undefined
  readonly context: Schema.Schema.AnyNoContext
  readonly input?: Schema.Schema.AnyNoContext | undefined
  readonly initial?: ((input: never) => unknown) | undefined
  readonly events?: { readonly [kind: string]: Schema.Schema.AnyNoContext | undefined } | undefined
  readonly timers?: ReadonlyArray<string> | undefined
  readonly attributes?: { readonly [name: string]: ((context: never) => unknown) | undefined } | undefined
  readonly result?: Schema.Schema.AnyNoContext | undefined
  readonly error?: Schema.Schema.AnyNoContext | undefined
  readonly onUnknownEvent?: "dead-letter" | "ignore" | undefined
  readonly onGivenUp?: Target | undefined
  readonly onExcessProperty?: ExcessProperty | undefined
}

const reservedNames = [
  "Start",
  "Cancel",
  "Timeout",
  "Finished",
  "ActivityEnded",
  "GivenUp",
  "timers",
  "children",
  "activities"
]

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

/** What a definition refers to: other definitions, and activities. */
export type References = Pick<Contract, "children" | "activities">

/** An outcome says the name of its activity, and not the key: no two keys may have the same. */
const demandDistinct = (name: string, { activities }: References): void => {
  const names = Array.from(activities.values(), (activity) => activity.name)
  const twice = names.find((activity, i) => names.indexOf(activity) !== i)
  if (twice !== undefined) throw new Error(`definition ${name}: there are two activities of the name ${twice}`)
}

const attributesOf = (name: string, { attributes = {} }: Options): Contract["attributes"] => {
  const functions = new Map<string, (context: unknown) => unknown>()
  for (const [attribute, of] of Object.entries(attributes)) {
    const problem = attributeName(attribute) ?? attributeCount(functions.size + 1)
    if (problem !== undefined) throw new Error(`definition ${name}: attributes: ${problem}`)
    if (of !== undefined) functions.set(attribute, (context) => Reflect.apply(of, undefined, [context]))
  }
  return functions
}

export const make = (name: string, options: Options, references: References): Contract => {
  if (name === "") throw new Error("a definition must have a name")
  if (options.input !== undefined && options.initial === undefined) {
    throw new Error(`definition ${name}: an input needs \`initial\`, which makes the first context of it`)
  }
  demandDistinct(name, references)
  const schemas = schemasOf(name, options)
  const { initial } = options
  return {
    name,
    ...migrations.make(name, options.version, options.migrations),
    schemas,
    context: objectCodec(schemas.context, options.onExcessProperty ?? "preserve"),
    input: objectCodec(schemas.input, "ignore"),
    events: new Map(Object.entries(schemas.events).map(([kind, schema]) => [kind, objectCodec(schema, "ignore")])),
    timers: new Set(options.timers),
    ...references,
    attributes: attributesOf(name, options),
    result: schemas.result === undefined ? nothing : endCodec(schemas.result),
    error: schemas.error === undefined ? noError : endCodec(schemas.error),
    initial: initial === undefined ? (input) => input : (input) => Reflect.apply(initial, undefined, [input]),
    onUnknownEvent: options.onUnknownEvent ?? "dead-letter",
    onGivenUp: options.onGivenUp
  }
}

/** The stored form of the first context of an execution that is started with an input, which must be one. */
export const initialContext = (contract: Contract, input: unknown): Either.Either<JsonObject, Problem> =>
  contract.schemas.input === contract.schemas.context
    ? contract.context.encode(input)
    : Either.flatMap(contract.input.encode(input), () => contract.context.encode(contract.initial(input)))
