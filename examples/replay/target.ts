/**
 * Where to: the stores that `--store` names.
 */
import { stat } from "node:fs/promises"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Console from "effect/Console"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqliteStore from "holdfast/SqliteStore"
import type { StoreError } from "holdfast/StoreError"

/** - `urls`: as in `RQLITE_URL`; they may hold a password. - `url`: of a server; it may hold a token. */
export type Target =
  | { readonly _tag: "Sqlite"; readonly filename: string }
  | { readonly _tag: "LibsqlFile"; readonly filename: string }
  | { readonly _tag: "LibsqlServer"; readonly url: Redacted.Redacted }
  | { readonly _tag: "Rqlite"; readonly urls: Redacted.Redacted }

const forms = "sqlite:FILE, libsql:file:FILE, libsql:URL or rqlite:URL[,URL...]"

const file = (text: string, scheme: string, filename: string): Either.Either<string, string> =>
  filename === "" || filename === ":memory:"
    ? Either.left(`${text}: expected the name of a file after ${scheme}`)
    : Either.right(filename)

/** The store that a text names, or what is wrong with it. */
export const parse = (text: string): Either.Either<Target, string> => {
  const [, scheme, rest = ""] = /^([^:]*):(.*)$/s.exec(text) ?? []
  switch (scheme) {
    case undefined:
      return Either.left(`${text}: expected ${forms}`)
    case "sqlite":
      return Either.map(file(text, "sqlite:", rest), (filename) => ({ _tag: "Sqlite", filename }))
    case "libsql":
      if (rest.startsWith("file:")) {
        return Either.map(file(text, "libsql:file:", rest.slice(5)), (filename) => ({ _tag: "LibsqlFile", filename }))
      }
      if (rest.startsWith("//")) return Either.right({ _tag: "LibsqlServer", url: Redacted.make(text) })
      return /^(https?|libsql):\/\//.test(rest)
        ? Either.right({ _tag: "LibsqlServer", url: Redacted.make(rest) })
        : Either.left("expected file:FILE, libsql://HOST, https://HOST:PORT or http://HOST:PORT after libsql:")
    case "rqlite":
      return /^https?:\/\//.test(rest)
        ? Either.right({ _tag: "Rqlite", urls: Redacted.make(rest) })
        : Either.left("expected http://HOST:PORT or https://HOST:PORT after rqlite:")
    default:
      return Either.left(`${text}: there is no store ${JSON.stringify(scheme)}, only ${forms}`)
  }
}

/** What the command line does not say about a cluster, such as a password, the environment does. */
const rqlite = (urls: Redacted.Redacted) =>
  RqliteStore.layerConfig().pipe(
    Layer.provide(
      Layer.setConfigProvider(
        ConfigProvider.orElse(ConfigProvider.fromMap(new Map([["RQLITE_URL", Redacted.value(urls)]])), () =>
          ConfigProvider.fromEnv()
        )
      )
    ),
    Layer.provide(NodeHttpClient.layerUndici)
  )

const libsql = (url: Redacted.Redacted) =>
  LibsqlStore.layerConfig({
    url: Config.succeed(Redacted.value(url)),
    authToken: Config.withDefault(Config.redacted("LIBSQL_AUTH_TOKEN"), undefined)
  })

const layer = (target: Target): Layer.Layer<ExecutionStore, StoreError | ConfigError> => {
  switch (target._tag) {
    case "Sqlite":
      return SqliteStore.layer(target)
    case "LibsqlFile":
      return LibsqlStore.layer({ url: `file:${target.filename.split("/").map(encodeURIComponent).join("/")}` })
    case "LibsqlServer":
      return libsql(target.url)
    case "Rqlite":
      return rqlite(target.urls)
  }
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "an address that is none")

/** The store as people call it, without the secrets that its address may hold. */
export const describe = (target: Target): string => {
  switch (target._tag) {
    case "Sqlite":
    case "LibsqlFile":
      return target.filename
    case "LibsqlServer":
      return `the libSQL server at ${hostOf(Redacted.value(target.url))}`
    case "Rqlite":
      return `rqlite at ${Redacted.value(target.urls).split(",").map(hostOf).join(", ")}`
  }
}

/** Says that a store keeps one waiting: servers are tried for a while before it is certain that they do not answer. */
const sayThatItWaits = (target: Target) =>
  Console.error(`waiting for ${describe(target)}, which does not answer yet`).pipe(
    Effect.repeat(Schedule.spaced("10 seconds")),
    Effect.delay("2 seconds")
  )

/** The store, open for as long as the scope. */
export const open = (
  target: Target
): Effect.Effect<Context.Context<ExecutionStore>, StoreError | ConfigError, Scope.Scope> =>
  Effect.gen(function* () {
    const waiting = yield* Effect.fork(sayThatItWaits(target))
    return yield* Effect.ensuring(Layer.build(layer(target)), Fiber.interrupt(waiting))
  })

/** How large a file has become; none where the store is no file. */
export const fileBytes = (target: Target): Effect.Effect<Option.Option<number>, Cause.UnknownException> =>
  target._tag === "Sqlite" || target._tag === "LibsqlFile"
    ? Effect.tryPromise({
        try: async () => Option.some((await stat(target.filename)).size),
        catch: (error) => new Cause.UnknownException(error, `the database file is gone: ${String(error)}`)
      })
    : Effect.succeedNone
