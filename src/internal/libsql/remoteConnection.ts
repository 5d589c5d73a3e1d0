import { type Client, createClient, type Transaction, type TransactionMode } from "@libsql/client"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { patiently } from "./busyRetry.js"
import type { Use } from "./driver.js"
import { Failure, ofRemote, ofRequest, ofStatus } from "./error.js"
import type { Token } from "./token.js"
import { toNumbers } from "./values.js"

/** Runs an effect as a promise that fails with the error itself. The signal interrupts it. */
export const toPromise = async <A, E>(
  runtime: Runtime.Runtime<never>,
  effect: Effect.Effect<A, E>,
  signal?: AbortSignal
): Promise<A> => {
  const result = await Runtime.runPromise(runtime)(Effect.either(effect), signal === undefined ? undefined : { signal })
  if (Either.isRight(result)) return result.right
  throw result.left
}

/** - `timeout`: how long one request may take. - `concurrency`: how many there are at the same time. */
export interface Options {
  readonly url: string
  readonly token: Token
  readonly timeout: Duration.Duration
  readonly busyTimeout: Duration.Duration
  readonly concurrency: number
}

/** - `client`: for the application's own use. */
export interface Remote {
  readonly use: Use
  readonly client: Client
}

interface Message {
  readonly url: string
  readonly body: string
  readonly type: string
}

interface Answer {
  readonly status: number
  readonly body: string
}

const once = (
  message: Message,
  token: string | undefined,
  timeout: Duration.Duration
): Effect.Effect<Answer, Failure> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(message.url, {
        method: "POST",
        body: message.body,
        headers: {
          "content-type": message.type,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
        },
        // A redirect would be followed without the body, or with the token to who knows where.
        redirect: "manual",
        signal
      })
      const body = await response.text()
      // What a server says may repeat what it was sent.
      return { status: response.status, body: token === undefined ? body : body.replaceAll(token, "<redacted>") }
    },
    catch: ofRequest
  }).pipe(
    Effect.timeoutFail({
      duration: timeout,
      onTimeout: () => new Failure({ reason: "timeout", outcome: "unknown", detail: "no answer came in time" })
    })
  )

/** Sends what the client wants sent. A token that is refused has done nothing yet: another one is tried at once. */
const send = (request: Request, { timeout, token }: Options): Effect.Effect<Response, Failure> =>
  Effect.gen(function* () {
    const body = yield* Effect.promise(() => request.text())
    const message = { url: request.url, body, type: request.headers.get("content-type") ?? "application/json" }
    const first = yield* token.current
    let answer = yield* once(message, first, timeout)
    if (answer.status === 401) {
      const next = yield* token.refused(first)
      if (next !== undefined) answer = yield* once(message, next, timeout)
    }
    if (answer.status < 200 || answer.status > 299) return yield* ofStatus(answer.status, answer.body)
    return new Response(answer.body, { headers: { "content-type": "application/json" } })
  })

const numbers = (transaction: Transaction): Transaction => ({
  execute: async (statement) => toNumbers(await transaction.execute(statement)),
  batch: async (statements) => (await transaction.batch(statements)).map(toNumbers),
  executeMultiple: (sql) => transaction.executeMultiple(sql),
  rollback: () => transaction.rollback(),
  commit: () => transaction.commit(),
  close: () => transaction.close(),
  get closed() {
    return transaction.closed
  }
})

export const make = (options: Options): Effect.Effect<Remote, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const slots = yield* Effect.makeSemaphore(options.concurrency)

    const open = (runtime: Runtime.Runtime<never>, signal?: AbortSignal) =>
      createClient({
        // Without the slash the client would drop the last part of a path.
        url: `${options.url}/`,
        intMode: "bigint",
        concurrency: options.concurrency,
        fetch: (request: Request) => toPromise(runtime, send(request, options), signal)
      })

    // The client sends with nothing but what it is made with, so each call has one of its own: giving up the call ends the request.
    const use: Use = (_, run) =>
      Effect.flatMap(Effect.runtime<never>(), (runtime) =>
        Effect.tryPromise({
          try: (signal) => {
            const client = open(runtime, signal)
            return run(client).finally(() => client.close())
          },
          catch: ofRemote
        })
      ).pipe(slots.withPermits(1), patiently(options.busyTimeout))

    const shared = yield* Effect.acquireRelease(
      Effect.sync(() => open(runtime)),
      (client) => Effect.sync(() => client.close())
    )
    const client: Client = {
      execute: async (statement) => toNumbers(await shared.execute(statement)),
      batch: async (statements, mode) => (await shared.batch(statements, mode)).map(toNumbers),
      migrate: async (statements) => (await shared.migrate(statements)).map(toNumbers),
      executeMultiple: (sql) => shared.executeMultiple(sql),
      transaction: async (mode: TransactionMode = "write") => numbers(await shared.transaction(mode)),
      sync: () => shared.sync(),
      close: () => {},
      closed: false,
      protocol: shared.protocol
    }
    return { use, client }
  })
