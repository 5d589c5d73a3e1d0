/** Stores by the names that the program `holdfast` has for them too. */
import { NodeHttpClient } from "@effect/platform-node"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { ExecutionStore, Options } from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqliteStore from "holdfast/SqliteStore"
import type { StoreError } from "holdfast/StoreError"
import type { StoreName } from "../../src/internal/cli/storeName.js"

export type Durability = "full" | "normal"

const fileUrl = (filename: string): string => `file:${filename.split("/").map(encodeURIComponent).join("/")}`

const secret = (name: string) => Effect.map(Config.option(Config.redacted(name)), Option.getOrUndefined)

/** How much a store remembers of what it wrote. */
export type Remembers = Options["executionCache"]

/** - `copy`: the file in which a process has a copy of a libSQL server's database. - `prefix`: what the names of the tables on a server begin with, which others may use too. */
export interface Place {
  readonly name: StoreName
  readonly copy?: string | undefined
  readonly durability: Durability
  readonly prefix: string
  readonly executionCache?: Remembers
}

/** A store. Locks are waited for less long than usual, so that they are felt. */
export const layer = ({
  copy,
  durability,
  executionCache,
  name,
  prefix
}: Place): Layer.Layer<ExecutionStore, StoreError | ConfigError> => {
  const onFile = { durability, executionCache, busyTimeout: "1 second" } as const
  const onServer = { executionCache, prefix, timeout: "3 seconds" } as const
  switch (name._tag) {
    case "Sqlite":
      return SqliteStore.layer({ ...onFile, filename: name.filename })
    case "LibsqlFile":
      return LibsqlStore.layer({ ...onFile, url: fileUrl(name.filename) })
    case "LibsqlServer":
      return Layer.unwrapEffect(
        Effect.map(secret("LIBSQL_AUTH_TOKEN"), (authToken) => {
          const url = Redacted.value(name.url)
          const where =
            copy === undefined ? { url } : { url: fileUrl(copy), syncUrl: url, syncInterval: "1 second" as const }
          return LibsqlStore.layer({ ...onServer, ...where, authToken, durability })
        })
      )
    case "Rqlite":
      return Layer.unwrapEffect(
        Effect.map(Effect.all([secret("RQLITE_USERNAME"), secret("RQLITE_PASSWORD")]), ([username, password]) =>
          RqliteStore.layer({
            ...onServer,
            urls: name.urls,
            username: username === undefined ? undefined : Redacted.value(username),
            password
          })
        )
      ).pipe(Layer.provide(NodeHttpClient.layerUndici))
  }
}
