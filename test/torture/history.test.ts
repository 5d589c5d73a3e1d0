import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { extent, long, longer } from "../support/extent.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as SqldServer from "../support/sqld/server.js"
import * as Temp from "../support/temp.js"
import { bundle } from "./bundle.mjs"
import { run } from "./history.js"
import { read } from "./historyOptions.js"

type Named = Effect.Effect<string, unknown, Scope.Scope>

const few = ["--processes", "2", "--clients", "3", "--registers", "2"]
const steps = String(extent({ quick: 12, long: 60 }))

/** Few clients on few registers, so that they meet. */
const isLinearizable = (store: Named, ...more: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { historyWorker } = yield* Effect.promise(() => bundle({ historyWorker: "historyWorker.ts" }))
    const options = yield* read(["--store", yield* store, ...few, "--steps", steps, ...more])
    if (options === undefined) return yield* Effect.dieMessage("only help was asked for")
    const { conflicts, problems, reads, unread, written } = yield* run(options, historyWorker)
    assert.deepStrictEqual(problems, [])
    for (const count of [reads, written, unread, conflicts]) assert.isAbove(count, 0)
  })

/** Stores beyond the file, each where its environment variable names it: a cluster or server that runs, or the program of one. */
const named: ReadonlyArray<readonly [variable: string, store: (value: string) => string]> = [
  ["RQLITE_URL", (urls) => `rqlite:${urls}`],
  ["LIBSQL_URL", (url) => `libsql:${url}`],
  ["RQLITED", () => "rqlited"],
  ["SQLD", () => "sqld"]
]

describe("What several processes are told of the same executions is linearizable", () => {
  it.scopedLive(longer("on an SQLite file"), () =>
    isLinearizable(Effect.map(Temp.database, (path) => `sqlite:${path}`))
  )

  it.scopedLive.runIf(long)(longer("on a libSQL file"), () =>
    isLinearizable(Effect.map(Temp.database, (path) => `libsql:file:${path}`))
  )

  it.scopedLive.runIf(long)(longer("on an rqlite node's stand-in"), () =>
    isLinearizable(Effect.map(RqliteServer.make(), ({ urls }) => `rqlite:${urls.join(",")}`))
  )

  it.scopedLive.runIf(long)(longer("on a libSQL server's stand-in"), () =>
    isLinearizable(Effect.map(SqldServer.make(), ({ url }) => `libsql:${url}`))
  )

  for (const [variable, store] of named) {
    const value = process.env[variable]
    if (value !== undefined)
      it.scopedLive(`on what ${variable} names`, () => isLinearizable(Effect.succeed(store(value))))
  }

  it.effect("is not asked of copies of a file", () =>
    Effect.map(Effect.flip(read(["--store", "sqlite:x.db", "--copies"])), ({ message }) =>
      assert.include(message, "--copies is of sqld")
    )
  )
})
