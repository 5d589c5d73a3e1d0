import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { Failure } from "./error.js"

/** A token, or what gives the one that is valid now. */
export type Source = Redacted.Redacted | Effect.Effect<Redacted.Redacted, unknown>

/**
 * - `current`: the token to send, if there is one.
 * - `refused`: the server did not take this one; gives another that may do, if there is one.
 */
export interface Token {
  readonly current: Effect.Effect<string | undefined, Failure>
  readonly refused: (token: string | undefined) => Effect.Effect<string | undefined, Failure>
}

const rejected = (detail: string): Failure =>
  new Failure({ reason: "invalid-input", outcome: "not-applied", path: "authToken", detail })

// What is wrong with a token is said without it.
const check = (token: Redacted.Redacted): Effect.Effect<string, Failure> => {
  const text = Redacted.value(token)
  return /^[\x21-\x7e]+$/.test(text)
    ? Effect.succeed(text)
    : Effect.fail(rejected("a token is not empty, and has neither spaces nor control characters"))
}

const unavailable = (cause: unknown): Failure =>
  new Failure({ reason: "connection", outcome: "not-applied", detail: "there is no token for the server", cause })

export const make = (source: Source | undefined): Token => {
  if (source === undefined) return { current: Effect.succeed(undefined), refused: () => Effect.succeed(undefined) }
  if (Redacted.isRedacted(source)) return { current: check(source), refused: () => Effect.succeed(undefined) }
  let known: string | undefined
  const current = Effect.suspend(() =>
    known !== undefined
      ? Effect.succeed(known)
      : Effect.tap(Effect.flatMap(Effect.mapError(source, unavailable), check), (token) =>
          Effect.sync(() => {
            known = token
          })
        )
  )
  return {
    current,
    refused: (token) =>
      Effect.suspend(() => {
        if (known === token) known = undefined
        return Effect.map(current, (next) => (next === token ? undefined : next))
      })
  }
}
