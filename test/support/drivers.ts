import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { open } from "holdfast/internal/libsql/open"
import * as rqliteDriver from "holdfast/internal/rqlite/driver"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqlDriver from "holdfast/SqlDriver"
import { connect } from "./rqlite/client.js"
import * as RqliteServer from "./rqlite/server.js"
import * as SqldServer from "./sqld/server.js"
import * as Temp from "./temp.js"

const cluster = Effect.gen(function* () {
  const { received, urls } = yield* RqliteServer.make()
  const client = yield* connect(urls)
  const driver = yield* rqliteDriver.make(client, {
    level: "weak",
    decisive: "linearizable",
    cutsAtNull: false,
    groupCommit: true
  })
  return { driver, received: Effect.map(received, (all) => all.map(({ body }) => body)) }
})

const sqld = Effect.gen(function* () {
  const { received, url } = yield* SqldServer.make()
  const { driver } = yield* open({ url })
  return { driver, received: Effect.map(received, (all) => all.map(({ body }) => body)) }
})

/** Drivers on stand-ins for servers, each time on an empty database of its own, and the bodies of the requests that these have received. */
export const servers: ReadonlyArray<
  readonly [
    name: string,
    make: Effect.Effect<
      { readonly driver: SqlDriver.SqlDriver; readonly received: Effect.Effect<ReadonlyArray<string>> },
      unknown,
      Scope.Scope
    >
  ]
> = [
  ["a cluster's stand-in", cluster],
  ["a libSQL server's stand-in", sqld]
]

/** Drivers of each kind, each time on an empty database of its own. */
export const all: ReadonlyArray<
  readonly [name: string, driver: Effect.Effect<SqlDriver.SqlDriver, unknown, Scope.Scope>]
> = [
  ["an SQLite file", Effect.flatMap(Temp.database, (filename) => sqliteDriver.make({ filename }))],
  [
    "a libSQL file",
    Effect.flatMap(Temp.database, (filename) => Effect.map(open({ url: `file:${filename}` }), ({ driver }) => driver))
  ],
  ["a cluster's stand-in", Effect.map(cluster, ({ driver }) => driver)]
]

const loads = ["load", "loadForEvent", "loadForEvents", "isArmed"]

/** A store on a driver, and what it loads and how many commits it writes at once, in their order. */
export const counting = <E, R>(makeDriver: Effect.Effect<SqlDriver.SqlDriver, E, R>, options?: SqlDriver.Options) =>
  Effect.gen(function* () {
    const driver = yield* makeDriver
    const operations: Array<string> = []
    const transactions = driver.transactions
    const store = yield* SqlDriver.make(
      {
        ...driver,
        query: (call, statement) => {
          if (loads.includes(call.operation)) operations.push(call.operation)
          return driver.query(call, statement)
        },
        transactions:
          transactions &&
          ((given) => {
            operations.push(`${given.length} commits`)
            return transactions(given)
          })
      },
      options
    )
    return { store, operations }
  })
