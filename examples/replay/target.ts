/**
 * Where to: the stores that `--store` names.
 */
import { stat } from "node:fs/promises"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Cause from "effect/Cause"
import type { ConfigError } from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqliteStore from "holdfast/SqliteStore"
import type { StoreError } from "holdfast/StoreError"

/** - `urls`: as in `RQLITE_URL`; they may hold a password. */
export type Target =
  | { readonly _tag: "Sqlite"; readonly filename: string }
  | { readonly _tag: "Rqlite"; readonly urls: Redacted.Redacted }

const forms = "sqlite:FILE or rqlite:URL[,URL...]"

/** The store that a text names, or what is wrong with it. */
export const parse = (text: string): Either.Either<Target, string> => {
  const [, scheme, rest = ""] = /^([^:]*):(.*)$/s.exec(text) ?? []
  switch (scheme) {
    case undefined:
      return Either.left(`${text}: expected ${forms}`)
    case "sqlite":
      return rest === "" || rest === ":memory:"
        ? Either.left(`${text}: expected the name of a file after sqlite:`)
        : Either.right({ _tag: "Sqlite", filename: rest })
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

export const layer = (target: Target): Layer.Layer<ExecutionStore, StoreError | ConfigError> =>
  target._tag === "Sqlite" ? SqliteStore.layer(target) : rqlite(target.urls)

/** How large a file has become; none where the store is no file. */
export const fileBytes = (target: Target): Effect.Effect<Option.Option<number>, Cause.UnknownException> =>
  target._tag === "Sqlite"
    ? Effect.tryPromise({
        try: async () => Option.some((await stat(target.filename)).size),
        catch: (error) => new Cause.UnknownException(error, `the database file is gone: ${String(error)}`)
      })
    : Effect.succeedNone
