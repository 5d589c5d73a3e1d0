import * as Predicate from "effect/Predicate"
import type { Refused } from "./errors.js"

/**
 * What an answer without success means.
 *
 * - `"auth"`: the server itself does not take the token.
 * - `"overloaded"`, `"too-large"`: of this request, which was not run.
 * - `"stopping"`: the server is going down or coming up; the request was not run.
 * - `"unreadable"`: the server could not make sense of the request, which was not run.
 * - `"foreign"`: of the URL, or of whatever is in front of the server. It says nothing of the database: a gateway answers so while the
 *   server behind it is away.
 */
export type Meaning = "auth" | "overloaded" | "too-large" | "stopping" | "unreadable" | "foreign"

export interface Refusal {
  readonly meaning: Meaning
  /** The status, and what was said. */
  readonly said: string
}

/** What an answer says, which servers put into JSON in two ways. */
const textOf = (body: string): string => {
  try {
    const parsed: unknown = JSON.parse(body)
    if (Predicate.hasProperty(parsed, "error") && Predicate.isString(parsed.error)) return parsed.error
    if (Predicate.hasProperty(parsed, "message") && Predicate.isString(parsed.message)) return parsed.message
  } catch {
    // Not every answer is JSON.
  }
  return body
}

/** On one line, which is not too long. */
const line = (text: string): string => {
  const short = text.trim().replace(/\s+/g, " ")
  return short.length > 200 ? `${short.slice(0, 200)}...` : short
}

/** Where a redirect leads, without what may be secret in it. */
const target = (location: string): string => {
  try {
    const { origin, pathname } = new URL(location)
    return ` to ${origin}${pathname}`
  } catch {
    return ""
  }
}

// sqld's own words; a gateway's pages and its JSON are others.
const words: ReadonlyArray<readonly [status: number, words: RegExp, meaning: Meaning]> = [
  [401, /^(Unauthorized: |Not authorized to execute query)/, "auth"],
  [403, /^Authorization forbidden: /, "auth"],
  [404, /^Namespace `.*` doesn't exist$/, "stopping"],
  [503, /^Namespace store has shutdown$/, "stopping"],
  [400, /^Cannot deserialize client message from JSON/, "unreadable"]
]

const meaningOf = (status: number, text: string): Meaning => {
  if (status === 429) return "overloaded"
  if (status === 413) return "too-large"
  return words.find(([at, pattern]) => at === status && pattern.test(text))?.[2] ?? "foreign"
}

export const read = ({ body, location, status }: Refused): Refusal => {
  const text = textOf(body)
  const to = location === undefined ? "" : target(location)
  const told = line(text)
  return { meaning: meaningOf(status, text), said: `status ${status}${to}${told === "" ? "" : `: ${told}`}` }
}
