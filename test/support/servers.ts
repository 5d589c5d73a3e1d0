/** Stores of servers, each new and empty: on the stand-ins, and on a real one where its environment variable says where it is. */
import { randomBytes } from "node:crypto"
import { NodeHttpClient } from "@effect/platform-node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as RqliteStore from "holdfast/RqliteStore"
import * as LibsqlServer from "./libsqlServer.js"
import * as Live from "./rqlite/live.js"
import * as RqliteServer from "./rqlite/server.js"
import * as SqldServer from "./sqld/server.js"

interface Named {
  readonly name: string
  readonly make: Effect.Effect<ExecutionStore.ExecutionStore, unknown, Scope.Scope>
}

const built = <E>(layer: Layer.Layer<ExecutionStore.ExecutionStore, E>) =>
  Effect.flatMap(Layer.build(layer), (context) => Effect.provide(ExecutionStore.ExecutionStore, context))

const standIns: ReadonlyArray<Named> = [
  {
    name: "a libSQL server's stand-in",
    make: Effect.flatMap(SqldServer.make(), ({ url }) => Effect.map(LibsqlStore.make({ url }), ({ store }) => store))
  },
  {
    name: "an rqlite node's stand-in",
    make: Effect.flatMap(RqliteServer.make(), ({ urls }) =>
      // Under TestClock no time passes by itself: what is tried again is tried at once.
      built(Layer.provide(RqliteStore.layer({ urls, retry: Schedule.recurs(5) }), NodeHttpClient.layerUndici))
    )
  }
]

const libsqlServer: ReadonlyArray<Named> = Option.toArray(LibsqlServer.remote).map((server) => ({
  name: "a real libSQL server",
  make: Effect.zipRight(
    LibsqlServer.empty(server),
    Effect.map(LibsqlStore.make(server), ({ store }) => store)
  )
}))

// Its tables have a prefix of their own and stay there: the cluster is one for tests.
const rqliteCluster: ReadonlyArray<Named> =
  process.env["RQLITE_URL"] === undefined
    ? []
    : [
        {
          name: "a real rqlite cluster",
          make: Effect.flatMap(RqliteStore.config, (config) => {
            const prefix = `t${randomBytes(8).toString("hex")}_`
            return built(Layer.provide(RqliteStore.layer({ ...config, prefix, retry: Live.retry }), Live.http))
          })
        }
      ]

export const servers: ReadonlyArray<Named> = [...standIns, ...libsqlServer, ...rqliteCluster]
