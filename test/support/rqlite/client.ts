import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { NodeHttpClient } from "@effect/platform-node"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as RqliteClient from "holdfast/RqliteClient"

/** A client over real HTTP that tries again at once, so that no test waits; its connections close with the scope. */
export const connect = (urls: RqliteClient.Options["urls"], options?: Partial<RqliteClient.Options>) =>
  Effect.flatMap(Layer.build(NodeHttpClient.layerUndici), (context) =>
    Effect.provide(RqliteClient.make({ urls, retry: Schedule.recurs(5), ...options }), context)
  )

export interface Sent {
  readonly at: number
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export type Answer =
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly broken: unknown }

/** A client whose answers the test makes. It connects to nothing, so only `TestClock` makes time pass. */
export const madeUp = (options: RqliteClient.Options, answer: (url: string, count: number) => Answer) => {
  const sent: Array<Sent> = []
  const http = HttpClient.make((request, url) =>
    Effect.gen(function* () {
      sent.push({ at: yield* Clock.currentTimeMillis, method: request.method, url: url.href, headers: request.headers })
      const made = answer(url.href, sent.length)
      if ("broken" in made) {
        return yield* new HttpClientError.RequestError({ request, reason: "Transport", cause: made.broken })
      }
      const headers = { "X-Rqlite-Version": "10", ...made.headers }
      return HttpClientResponse.fromWeb(request, new Response(made.body ?? "", { status: made.status, headers }))
    })
  )
  return Effect.map(Effect.provideService(RqliteClient.make(options), HttpClient.HttpClient, http), (client) => ({
    client,
    sent
  }))
}
