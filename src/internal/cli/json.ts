import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as json from "../codec/json.js"
import { stringify } from "../codec/stringify.js"
import { type CliError, failed, usage } from "./failure.js"

/** A value without `Option`: what is not there is null. */
const plain = (u: unknown): unknown => {
  if (Option.isOption(u)) return Option.match(u, { onNone: () => null, onSome: plain })
  if (Array.isArray(u)) return u.map(plain)
  if (typeof u !== "object" || u === null) return u
  return Object.fromEntries(Object.entries(u).map(([key, value]) => [key, plain(value)]))
}

const levels = 1000

/** A value as one line of JSON. Integers of any size are written as they are. */
export const toText = (value: unknown): Effect.Effect<string, CliError> =>
  Either.mapBoth(stringify(plain(value), "", { levels }), {
    onLeft: ({ path, problem }) =>
      failed(`${path === "" ? "the value" : path} cannot be written as JSON: it ${problem}`),
    onRight: ({ text }) => text
  })

const isObject = (u: unknown): u is { readonly [key: string]: unknown } =>
  typeof u === "object" && u !== null && !Array.isArray(u)

/** Why a text is not taken as JSON. */
const problemOf = (error: unknown): string => {
  if (error instanceof json.Invalid)
    return `cannot be kept: ${error.path === "" ? "it" : error.path} is ${error.problem}`
  return `is no JSON: ${error instanceof Error ? error.message : String(error)}`
}

/** The object that an option holds as JSON. */
export const parseObject = (
  option: string,
  text: string
): Effect.Effect<{ readonly [key: string]: unknown }, CliError> =>
  Effect.try({
    try: () => json.parse(text),
    catch: (error) => usage(`${option} ${problemOf(error)}`)
  }).pipe(Effect.filterOrFail(isObject, () => usage(`${option} is JSON, but no object: write it as {"name": "value"}`)))

/** For people: a value as JSON over several lines where it is large, with integers of any size. */
export const toPretty = (value: unknown): string => {
  const text = Either.match(stringify(plain(value), "", { levels }), { onLeft: () => "?", onRight: ({ text }) => text })
  if (text.length <= 80) return text
  // Only the white space is new: numbers and texts stay as they were written.
  let pretty = ""
  let depth = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i] ?? ""
    if (quoted) {
      pretty += character
      if (character === "\\") pretty += text[++i] ?? ""
      else if (character === '"') quoted = false
      continue
    }
    const next = text[i + 1]
    const opens = character === "{" || character === "["
    const closes = character === "}" || character === "]"
    if (opens && next !== "}" && next !== "]") depth++
    else if (closes && text[i - 1] !== "{" && text[i - 1] !== "[") {
      depth--
      pretty += `\n${"  ".repeat(depth)}`
    }
    pretty += character
    if (character === '"') quoted = true
    if (character === ":") pretty += " "
    if (character === "," || (opens && next !== "}" && next !== "]")) pretty += `\n${"  ".repeat(depth)}`
  }
  return pretty
}
