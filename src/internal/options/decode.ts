import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { StoreRejected } from "../../StoreError.js"
import { at } from "../codec/stringify.js"

/** A schema for each option of `O`: none is forgotten. */
export type Fields<O> = { readonly [K in keyof O]-?: Schema.Schema.AnyNoContext }

/** Which option is wrong, and what it should be. What it is nobody is told: it may be a secret. */
export interface Problem {
  readonly path: string
  readonly detail: string
}

interface Found {
  readonly path: string
  readonly description: string | undefined
}

const childOf = (path: string, key: PropertyKey): string => at(path, typeof key === "number" ? key : String(key))

/** The first thing that is wrong, as the innermost schema that has a description describes what should be there. */
const find = (issue: ParseResult.ParseIssue, { description, path }: Found): Found => {
  if (issue._tag === "Pointer") {
    return find(issue.issue, { description, path: Arr.ensure(issue.path).reduce(childOf, path) })
  }
  const own = issue._tag === "Unexpected" ? Option.none() : AST.getDescriptionAnnotation(issue.ast)
  const found = { path, description: Option.getOrElse(own, () => description) }
  switch (issue._tag) {
    case "Composite":
      return Arr.ensure(issue.issues)
        .slice(0, 1)
        .reduce((found, issue) => find(issue, found), found)
    case "Refinement":
    case "Transformation":
      return Option.isSome(own) ? found : find(issue.issue, found)
    default:
      return found
  }
}

const problemOf = (issue: ParseResult.ParseIssue): Problem => {
  const { description = "something else", path } = find(issue, { path: "", description: undefined })
  return { path, detail: `expected ${description}` }
}

/** The schema of all options of a layer: a struct of {@link Fields}. */
interface Options<A, I> extends Schema.Schema<A, I> {
  readonly fields: { readonly [option: string]: unknown }
}

/** Whether a value can be the options of something. What gives such, or hides it, is none. */
export const isObject = (u: unknown): u is { readonly [key: string]: unknown } =>
  Predicate.isReadonlyRecord(u) && !Effect.isEffect(u) && !Redacted.isRedacted(u)

/** Reads each option that the schema names; others are left out. */
export const decoder = <A, I, E>(
  schema: Options<A, I>,
  refuse: (problem: Problem) => E
): ((options: unknown) => Either.Either<A, E>) => {
  const names = Object.keys(schema.fields)
  const decode = ParseResult.decodeUnknownEither(schema)
  return (options) => {
    if (!isObject(options)) return Either.left(refuse({ path: "options", detail: "expected an object" }))
    // An option that is not there is one that is undefined.
    const given = Object.fromEntries(names.map((name) => [name, options[name]]))
    return Either.mapLeft(decode(given), (issue) => refuse(problemOf(issue)))
  }
}

/** The error that refuses an option of a layer: of a store, which is opened, of what runs on one, which is started, or of a command. */
export const refused =
  (operation: string, layer: string) =>
  ({ detail, path }: Problem): StoreRejected =>
    new StoreRejected({ operation, reason: "invalid-input", path, detail: `${detail} (an option of ${layer})` })
