import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { redact, redactErrors } from "../http/redactSecrets.js"
import * as transportError from "../http/transportError.js"
import { NoAnswer, type NoToken, Refused } from "./errors.js"
import type { Token } from "./token.js"

/** - `timeout`: how long one request may take. */
export interface Options {
  readonly token: Token
  readonly timeout: Duration.Duration
}

export interface Message {
  readonly url: string
  readonly body: string
  readonly type: string
}

interface Answer {
  readonly status: number
  readonly location: string | undefined
  readonly body: string
}

const headersOf = ({ type }: Message, token: string | undefined): Record<string, string> => ({
  "content-type": type,
  // sqld packs every answer unless it is told not to, which takes both sides longer than sending it as it is.
  "accept-encoding": "identity",
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
})

const timedOut = (): NoAnswer => new NoAnswer({ problem: "timeout", detail: "no answer came in time" })

const post = (
  message: Message,
  token: string | undefined,
  timeout: Duration.Duration
): Effect.Effect<Answer, NoAnswer> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(message.url, {
        method: "POST",
        body: message.body,
        headers: headersOf(message, token),
        // A redirect would be followed without the body, or would send the token to another server.
        redirect: "manual",
        signal
      })
      const location = response.headers.get("location") ?? undefined
      return { status: response.status, location, body: await response.text() }
    },
    catch: (cause) => new NoAnswer({ ...transportError.read(cause), cause })
  }).pipe(Effect.timeoutFail({ duration: timeout, onTimeout: timedOut }))

const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300

/**
 * Sends a request and gives the body of an answer of success. A token that is refused has done nothing yet: another one, where there is
 * one, is tried at once.
 */
export const send = (
  message: Message,
  { timeout, token }: Options
): Effect.Effect<string, NoToken | NoAnswer | Refused> =>
  Effect.gen(function* () {
    let used = yield* token.current
    let answer = yield* post(message, used, timeout)
    if (answer.status === 401) {
      const next = yield* token.refused(used)
      if (next !== undefined) {
        used = next
        answer = yield* post(message, next, timeout)
      }
    }
    const secrets = used === undefined ? [] : [used]
    const { body, location, status } = answer
    // A gateway may say in the form of a server what failed, and repeat what it was sent.
    if (isSuccess(answer)) return redactErrors(body, secrets)
    return yield* new Refused({ status, location, body: redact(body, secrets) })
  })
