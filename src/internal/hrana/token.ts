import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { toSecret } from "../options/fields.js"
import { NoToken } from "./errors.js"

/** A token, or what gives the one that is valid now. */
export type Source = Redacted.Redacted | Effect.Effect<unknown, unknown>

/**
 * - `current`: the token to send, if there is one.
 * - `refused`: the server did not take this one; gives another that may do, if there is one.
 */
export interface Token {
  readonly current: Effect.Effect<string | undefined, NoToken>
  readonly refused: (token: string | undefined) => Effect.Effect<string | undefined, NoToken>
}

// What is wrong with a token is said without it.
const check = (token: unknown): Effect.Effect<string, NoToken> => {
  const secret = Option.map(toSecret(token), Redacted.value)
  const text = Option.filter(secret, (text) => /^[\x21-\x7e]+$/.test(text))
  const detail =
    "expected a string, or a Redacted of one, that is not empty and has neither spaces nor control characters"
  return Option.match(text, {
    onNone: () => new NoToken({ problem: "invalid", detail }),
    onSome: Effect.succeed
  })
}

const missing = (cause: unknown): NoToken =>
  new NoToken({ problem: "missing", detail: "there is no token for the server", cause })

/** A token that never changes. */
const fixed = (current: Token["current"]): Token => ({ current, refused: () => Effect.succeed(undefined) })

export const make = (source: Source | undefined): Token => {
  if (source === undefined) return fixed(Effect.succeed(undefined))
  if (Redacted.isRedacted(source)) return fixed(check(source))
  let known: string | undefined
  const ask = Effect.tap(Effect.flatMap(Effect.mapError(source, missing), check), (token) =>
    Effect.sync(() => {
      known = token
    })
  )
  const current = Effect.suspend(() => (known === undefined ? ask : Effect.succeed(known)))
  return {
    current,
    refused: (token) =>
      Effect.suspend(() => {
        if (known === token) known = undefined
        return Effect.map(current, (next) => (next === token ? undefined : next))
      })
  }
}
