import * as ParseResult from "effect/ParseResult"
import { at } from "../codec/stringify.js"

/** What is wrong with a value, and where in it. */
export interface Problem {
  readonly path: string
  readonly problem: string
}

const pathOf = (keys: ReadonlyArray<PropertyKey>): string =>
  keys.reduce<string>((path, key) => at(path, typeof key === "number" ? key : String(key)), "")

/** The first thing that a schema has against a value. */
export const problemOf = (error: ParseResult.ParseError): Problem => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  return { path: pathOf(issue?.path ?? []), problem: issue?.message ?? error.message }
}
