import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { isHttpClientError } from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { RqliteError } from "../../RqliteError.js"
import { redact, redactErrors } from "../http/redactSecrets.js"
import * as errors from "./errors.js"
import type { Credentials, Node } from "./nodes.js"

/** What is sent to a node: a POST where there is a body, else a GET. `path` has a query. */
export interface Message extends errors.Call {
  readonly path: string
  readonly body: string | undefined
  readonly timeout: Duration.Duration
}

/** What a node answered. `version` is there where rqlite itself answered, and no proxy before it. */
export interface Answer {
  readonly node: string
  readonly status: number
  readonly body: string
  readonly location: string | undefined
  readonly version: string | undefined
}

export type Send = (message: Message, node: Node) => Effect.Effect<Answer, RqliteError>

const basicOf = ({ password, username }: Credentials): string =>
  Encoding.encodeBase64(`${username}:${Redacted.value(password)}`)

/** What a node is sent, and nobody is to be shown. */
const secretsOf = ({ credentials }: Node): ReadonlyArray<string> =>
  Option.match(credentials, {
    onNone: () => [],
    onSome: (found) => [basicOf(found), Redacted.value(found.password)]
  })

const request = (message: Message, node: Node): HttpClientRequest.HttpClientRequest => {
  const url = node.url + message.path
  const unsigned =
    message.body === undefined
      ? HttpClientRequest.get(url)
      : // A body that is sent as text would be run as one SQL statement.
        HttpClientRequest.bodyText(HttpClientRequest.post(url), message.body, "application/json")
  return Option.match(node.credentials, {
    onNone: () => unsigned,
    // `basicAuth` throws on what is not Latin-1.
    onSome: (found) => HttpClientRequest.setHeader(unsigned, "authorization", `Basic ${basicOf(found)}`)
  })
}

/** Sends to one node, once, and gives whatever it answers: only the lack of an answer is a failure here. */
export const makeSend: Effect.Effect<Send, never, HttpClient.HttpClient> = Effect.gen(function* () {
  const client = yield* HttpClient.HttpClient
  const init = yield* Effect.serviceOption(FetchHttpClient.RequestInit)
  // fetch would follow a redirect by itself, with neither the body nor the credentials.
  const manual: RequestInit = { ...Option.getOrUndefined(init), redirect: "manual" }

  // A client that takes every status but 2xx for an error has the answer all the same.
  const execute = (request: HttpClientRequest.HttpClientRequest): Effect.Effect<HttpClientResponse, unknown> =>
    Effect.catchAll(client.execute(request), (error) =>
      isHttpClientError(error) && error._tag === "ResponseError" && error.reason === "StatusCode"
        ? Effect.succeed(error.response)
        : Effect.fail(error)
    )

  return (message, node) =>
    execute(request(message, node)).pipe(
      Effect.flatMap((response) =>
        Effect.map(
          response.text,
          (body): Answer => ({
            node: node.url,
            status: response.status,
            body: (response.status === 200 ? redactErrors : redact)(body, secretsOf(node)),
            location: response.headers["location"],
            version: response.headers["x-rqlite-version"]
          })
        )
      ),
      Effect.provideService(FetchHttpClient.RequestInit, manual),
      Effect.mapError((error) => errors.ofTransport(message, node.url, error)),
      Effect.timeoutFail({
        duration: message.timeout,
        onTimeout: () => errors.unknown(message, node.url, "timeout", "no answer came in time")
      })
    )
})
