/**
 * Secrets, provoked: each way in which a server or what stands before it can fail, for everything that is given a secret. All that could be
 * shown of it is searched: errors, their causes and stacks, log lines, spans, metrics, what a layer looks like, and what the program prints.
 */
import type * as Http from "node:http"
import { inspect } from "node:util"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Metric from "effect/Metric"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type * as Tracer from "effect/Tracer"
import * as LibsqlSqlClient from "holdfast/LibsqlSqlClient"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as RqliteClient from "holdfast/RqliteClient"
import * as RqliteStore from "holdfast/RqliteStore"
import { holdfast } from "../support/cli.js"
import { longer, share } from "../support/extent.js"
import * as Server from "../support/http.js"
import * as Temp from "../support/temp.js"
import * as Tracing from "../support/tracing.js"

const secret = "k33p-th1s-s3cret"
const basic = Buffer.from(`user:${secret}`).toString("base64")
const secrets = [secret, basic]

const attempted = (show: () => unknown): string => {
  try {
    return String(show())
  } catch {
    // Not all can be shown in every way.
    return ""
  }
}

/** All that a value could show to anybody. */
const texts = (value: unknown): string =>
  [
    attempted(() => String(value)),
    attempted(() => JSON.stringify(value)),
    attempted(() => Inspectable.format(value)),
    inspect(value, { depth: 12, showHidden: true }),
    ...(value instanceof Error ? [value.stack ?? "", texts(value.cause)] : [])
  ].join("\n")

/** How a server fails. `other` is a server that nobody should send a secret to. */
type Way = (request: Http.IncomingMessage, response: Http.ServerResponse, other: string) => void

/** A page that repeats whatever it was sent, as some gateways do. */
const repeated = ({ headers, rawHeaders, url }: Http.IncomingMessage): string => {
  const given = String(headers.authorization).replace(/^\w+ /, "")
  return [url, given, Buffer.from(given, "base64").toString("utf8"), rawHeaders.join(" ")].join(" | ")
}

const page =
  (status: number): Way =>
  (request, response) =>
    void response.writeHead(status, { "content-type": "text/html" }).end(`<p>${repeated(request)}</p>`)

const json =
  (status: number, body: (said: string) => unknown): Way =>
  (request, response) =>
    void response
      .writeHead(status, { "content-type": "application/json", "x-rqlite-version": "v10.0.0" })
      .end(JSON.stringify(body(repeated(request))))

const redirect =
  (status: number): Way =>
  (request, response, other) =>
    void response.writeHead(status, { location: `${other}${request.url}` }).end(repeated(request))

const ways: { readonly [name: string]: Way } = {
  ...Object.fromEntries(
    [400, 401, 403, 404, 413, 429, 500, 502, 503, 504].map((status) => [`page ${status}`, page(status)])
  ),
  "page 200": page(200),
  "refusal in JSON": json(401, (error) => ({ error })),
  "refusal in JSON, in other words": json(500, (message) => ({ message })),
  "a failed statement, as of libSQL": json(200, (message) => ({
    baton: null,
    results: [
      { type: "error", error: { code: "SQL_NO", message } },
      { type: "ok", response: { type: "close" } }
    ]
  })),
  "a failed statement, as of rqlite": json(200, (error) => ({ results: [{ error }] })),
  ...Object.fromEntries([301, 302, 303, 307, 308].map((status) => [`redirect ${status}`, redirect(status)])),
  "an answer that is cut": (request, response) => {
    response.writeHead(200, { "content-length": "100000" }).write(repeated(request))
    setImmediate(() => response.destroy())
  },
  "no answer": (request) => void request.socket.destroy(),
  silence: () => undefined
}

const serving = (handler: Http.RequestListener) =>
  Effect.map(Effect.acquireRelease(Server.listen(handler, 0), Server.close), (server) => ({
    url: `http://127.0.0.1:${Server.portOf(server)}`
  }))

/** Lets the clock of the test go on until an effect has ended: what waits for real answers waits for no time. */
const hurried = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    let steps = 0
    while (fiber.unsafePoll() === null) {
      yield* Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))
      // An answer on this machine comes sooner than so many turns.
      if (++steps % 200 === 0) yield* TestClock.adjust("500 millis")
    }
    return yield* Fiber.join(fiber)
  })

/** What opens something that has the secret, at a URL without it. Gives what else it has shown. */
type Opens = (url: string) => Effect.Effect<ReadonlyArray<unknown>, unknown, Scope.Scope>

const layer = <A, E>(made: Layer.Layer<A, E>) => Effect.map(Effect.either(Layer.build(made)), (built) => [made, built])

const withUser = (url: string): string => url.replace("//", `//user:${secret}@`)

const once = { connectRetries: 0, retry: Schedule.recurs(0), timeout: "1 second" } as const
const soon = { busyTimeout: 0, timeout: "1 second" } as const

const rqlite = (options: RqliteStore.Options) =>
  layer(RqliteStore.layer({ ...once, ...options }).pipe(Layer.provide(NodeHttpClient.layerUndici)))

const configured = (env: { readonly [name: string]: string }) => ConfigProvider.fromMap(new Map(Object.entries(env)))

const printed = (args: ReadonlyArray<string>, env: { readonly [name: string]: string } = {}) =>
  Effect.map(holdfast(args, { env: new Map(Object.entries(env)) }), ({ notes, out }) => [...notes, ...out])

const opens: { readonly [name: string]: Opens } = {
  "LibsqlStore, of a token": (url) => layer(LibsqlStore.layer({ ...soon, url, authToken: secret })),
  "LibsqlStore, of a Redacted token": (url) =>
    layer(LibsqlStore.layer({ ...soon, url, authToken: Redacted.make(secret) })),
  "LibsqlStore, of a token in its URL": (url) =>
    layer(LibsqlStore.layer({ ...soon, url: `${url}?authToken=${secret}` })),
  "LibsqlStore, of a replica": (url) =>
    Effect.flatMap(Temp.directory, (directory) =>
      layer(LibsqlStore.layer({ ...soon, url: `file:${directory}/copy.db`, syncUrl: url, authToken: secret }))
    ),
  LibsqlSqlClient: (url) => layer(LibsqlSqlClient.layer({ ...soon, url, authToken: secret })),
  "RqliteStore, of a password": (url) => rqlite({ urls: [url], username: "user", password: secret }),
  "RqliteStore, of a password in a URL": (url) => rqlite({ urls: [withUser(url)] }),
  "RqliteClient, by fetch": (url) =>
    Effect.gen(function* () {
      const client = yield* RqliteClient.make({ ...once, urls: [withUser(url)] })
      return [
        client,
        ...(yield* Effect.all([
          Effect.either(client.query([{ sql: "SELECT 1" }])),
          Effect.either(client.nodes),
          Effect.either(client.ready)
        ]))
      ]
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  "the configuration of RqliteStore": (url) =>
    layer(
      RqliteStore.layerConfig().pipe(
        Layer.provide(NodeHttpClient.layerUndici),
        Layer.provide(
          Layer.setConfigProvider(
            configured({ RQLITE_URL: withUser(url), RQLITE_CONNECT_RETRIES: "0", RQLITE_TIMEOUT: "1 second" })
          )
        )
      )
    ),
  "holdfast --store, of rqlite": (url) => printed(["stats", "--store", `rqlite:${withUser(url)}`]),
  "HOLDFAST_STORE, of rqlite": (url) => printed(["stats"], { HOLDFAST_STORE: `rqlite:${withUser(url)}` }),
  "HOLDFAST_STORE, of libSQL": (url) => printed(["stats"], { HOLDFAST_STORE: `libsql:${url}?authToken=${secret}` }),
  LIBSQL_AUTH_TOKEN: (url) => printed(["stats", "--store", `libsql:${url}`], { LIBSQL_AUTH_TOKEN: secret }),
  RQLITE_PASSWORD: (url) =>
    printed(["stats", "--store", `rqlite:${url}`], { RQLITE_USERNAME: "user", RQLITE_PASSWORD: secret })
}

/**
 * What exporters take of a span: of a failure its texts. The error of the span that @effect/platform makes of a request holds the request, and
 * what succeeds in it is the answer.
 */
const ofSpan = ({ attributes, links, name, status }: Tracer.Span): string => {
  const failure = status._tag === "Ended" && Exit.isFailure(status.exit) ? status.exit.cause : Cause.empty
  return [texts([name, Array.from(attributes), links]), Cause.pretty(failure, { renderErrorCause: true })].join("\n")
}

/** Opens it; gives all that was shown meanwhile. */
const provoked = (open: Opens, url: string) =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const logger = Logger.make((entry) => {
      seen.push(texts([entry.message, entry.cause, entry.annotations, entry.spans]))
      for (const each of [Logger.logfmtLogger, Logger.stringLogger]) seen.push(each.log(entry))
      seen.push(texts(Logger.structuredLogger.log(entry)))
    })
    const tracing = Tracing.make()
    const exit = yield* open(url).pipe(
      Effect.tap((found) => Effect.logInfo("it was opened", found)),
      Effect.tapErrorCause((cause) => Effect.logError("it does not open", cause)),
      Effect.withSpan("application"),
      Effect.scoped,
      hurried,
      Effect.exit,
      Logger.withMinimumLogLevel(LogLevel.All),
      Effect.provide(Layer.merge(tracing.layer, Logger.replace(Logger.defaultLogger, logger)))
    )
    seen.push(texts(exit), ...tracing.spans.map(ofSpan), inspect(yield* Metric.snapshot, { depth: 8 }))
    if (Exit.isFailure(exit)) seen.push(Cause.pretty(exit.cause, { renderErrorCause: true }))
    return seen
  })

const leaked = (seen: ReadonlyArray<string>): ReadonlyArray<string> =>
  seen.flatMap((text) =>
    secrets.flatMap((secret) => {
      const at = text.indexOf(secret)
      return at < 0 ? [] : [text.slice(Math.max(0, at - 200), at + 100)]
    })
  )

const numbered = Object.entries(opens).map(([name, open], index) => [name, open, index] as const)

describe.each(numbered)("The secret of %s", (_, open, index) => {
  it.scoped(longer("is shown nowhere and sent nowhere else, however the server fails"), () =>
    Effect.gen(function* () {
      let way: Way = ways["silence"] ?? page(500)
      const foreign: Array<string> = []
      const other = yield* serving((request, response) => {
        foreign.push(`${request.headers.authorization} ${request.url}`)
        response.end()
      })
      const server = yield* serving((request, response) => way(request, response, other.url))
      for (const [name, next] of share(Object.entries(ways), index, 4)) {
        way = next
        assert.deepStrictEqual(leaked(yield* provoked(open, server.url)), [], name)
        assert.deepStrictEqual(leaked(foreign), [], name)
      }
      // Nobody listens there; and this is no server of TLS.
      for (const url of ["http://127.0.0.1:9", server.url.replace("http:", "https:")]) {
        assert.deepStrictEqual(leaked(yield* provoked(open, url)), [], url)
      }
    })
  )
})

const misspelt: ReadonlyArray<ReadonlyArray<string>> = [
  [`rqlite:http://user:${secret}@host`, "stats"],
  ["stats", `rqlite:http://user:${secret}@host`],
  ["stats", `--rqlite:http://user:${secret}@host`],
  ["stats", `--sotre=rqlite:http://user:${secret}@host`],
  ["stats", `libsql://host?authToken=${secret}`],
  ["execution", `rqlite:http://user:${secret}@host`],
  ["execution", "show", `rqlite:http://user:${secret}@host`],
  ["execution", "show", "a", "--store", `rqlit:http://user:${secret}@host`],
  ["stats", "--store", `rqlite:user:${secret}@host`],
  ["stats", "--store", `libsql:http://user:${secret}@host`],
  ["stats", "--store", `libsql:wss://host?authToken=${secret}`],
  ["stats", "--store", `postgres://user:${secret}@host`],
  ["stats", "--store", `rqlite:http://user:1/${secret}@host`],
  ["stats", "--json", `--json=${secret}`],
  ["execution", "list", "--limit", `rqlite:http://user:${secret}@host`],
  ["execution", "list", "--status", `rqlite:http://user:${secret}@host`],
  ["execution", "list", "--where", `rqlite:http://user:${secret}@host`],
  ["stats", "--prefix", `rqlite:http://user:${secret}@host`, "--store", "sqlite:/nowhere/a.db"],
  ["--completions", `rqlite:http://user:${secret}@host`]
]

it.scoped("A store's address in the wrong place of a command line is not repeated with what is secret in it", () =>
  Effect.gen(function* () {
    for (const args of misspelt) {
      const seen = yield* printed(args)
      assert.isAbove(seen.length, 0, args.join(" "))
      assert.deepStrictEqual(leaked(seen), [], args.join(" "))
    }
  })
)
