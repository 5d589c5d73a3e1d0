import { randomBytes } from "node:crypto"
import type * as HttpClient from "@effect/platform/HttpClient"
import { NodeHttpClient } from "@effect/platform-node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as RqliteClient from "holdfast/RqliteClient"
import * as RqliteStore from "holdfast/RqliteStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import type * as Subject from "holdfast/testing/Subject"
import { ddl } from "../../src/internal/schema/schema.js"
import * as ContractShare from "../support/contractShare.js"
import * as Live from "../support/rqlite/live.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as Schema from "../support/schema.js"
import { insertion } from "../support/sqlRows.js"

class Prefix extends Context.Tag("test/Prefix")<Prefix, string>() {}

type Options = RqliteStore.Options & { readonly prefix: string }

const store = (options: Options, http: Layer.Layer<HttpClient.HttpClient>) =>
  Layer.merge(Layer.provide(RqliteStore.layer(options), http), Layer.succeed(Prefix, options.prefix))

const raw = (table: Subject.Table, row: Subject.Row) =>
  Effect.gen(function* () {
    const client = yield* RqliteClient.RqliteClient
    yield* client.execute([insertion(table, row, yield* Prefix)])
  })

// Under TestClock no time passes by itself: what is tried again is tried at once.
const standIn = (options: RqliteStore.StoreOptions) =>
  Layer.unwrapScoped(
    Effect.map(RqliteServer.make({ initial: Schema.database("") }), ({ urls }) =>
      store({ ...options, urls, prefix: "", retry: Schedule.recurs(5) }, NodeHttpClient.layerUndici)
    )
  )

// Each test, and each value of a property, has a server of its own. That stores are moved is tested in test/transfer as well.
ContractShare.suite("RqliteStore on the stand-in", standIn({}), {
  layerWith: standIn,
  raw,
  part: { of: 16, rest: 3, later: [ContractSuite.topics.transfer] }
})

/** Removes the tables of a prefix, and with them their indexes and triggers. */
const drop = (prefix: string) =>
  Effect.gen(function* () {
    const client = yield* RqliteClient.RqliteClient
    const names = ddl(prefix).flatMap((sql) => /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(sql)?.[1] ?? [])
    yield* client.execute(names.map((name) => ({ sql: `DROP TABLE IF EXISTS ${name}` })))
  })

// Each test makes tables of its own in the cluster that RQLITE_URL names, and removes them. It waits in real time for a node that is away.
const real = (options: RqliteStore.StoreOptions) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const config = yield* RqliteStore.config
      const prefix = `t${randomBytes(8).toString("hex")}_`
      const own = store({ ...config, ...options, prefix, retry: Live.retry }, Live.http)
      const cleanUp = Layer.scopedDiscard(
        Effect.flatMap(RqliteClient.RqliteClient, (client) =>
          Effect.addFinalizer(() =>
            Effect.ignoreLogged(Effect.provideService(drop(prefix), RqliteClient.RqliteClient, client))
          )
        )
      )
      return Layer.provideMerge(cleanUp, own)
    })
  )

if (process.env["RQLITE_URL"] !== undefined) {
  ContractSuite.suite("RqliteStore on RQLITE_URL", real({}), { layerWith: real, raw })
}
