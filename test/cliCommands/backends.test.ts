import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { holdfast, values } from "../support/cli.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as SqldServer from "../support/sqld/server.js"
import * as temp from "../support/temp.js"

/** From a store that is not there yet to one that is read and written. */
const round = (store: string) =>
  Effect.gen(function* () {
    const run = (...args: ReadonlyArray<string>) => holdfast([...args, "--json", "--store", store])
    expect((yield* run("migrate", "--create")).notes).toEqual([])
    expect(values(yield* run("stats"))).toMatchObject([{ outbox: { count: 0 } }])
    expect((yield* run("verify")).code).toBe(0)
    expect(yield* run("execution", "list")).toMatchObject({ code: 0, out: [] })
    expect((yield* run("execution", "show", "order-1")).code).toBe(3)
    expect(yield* run("execution", "terminate", "--all", "--yes")).toMatchObject({ code: 0, out: [] })
    expect(yield* run("definition", "list")).toMatchObject({ code: 0, out: [] })
    expect((yield* run("stats", "--prefix", "other_")).notes.join()).toContain(
      'there is no store with the prefix "other_"'
    )
  })

describe("holdfast on other stores", () => {
  it.scopedLive("works on a libSQL file", () =>
    Effect.flatMap(temp.database, (filename) => round(`libsql:file:${filename}`))
  )

  it.scopedLive("works on a libSQL server", () =>
    Effect.flatMap(SqldServer.make({ durability: "relaxed" }), ({ url }) => round(`libsql:${url}`))
  )

  it.effect("says in words of the command line what a libSQL server would not take", () =>
    Effect.gen(function* () {
      const stats = (store: string, token: string) =>
        holdfast(["stats", "--store", store], { env: new Map([["LIBSQL_AUTH_TOKEN", token]]) })
      const token = yield* stats("libsql:http://127.0.0.1:8080", "two words")
      expect([token.code, ...token.notes]).toEqual([2, expect.stringContaining("LIBSQL_AUTH_TOKEN holds no token")])
      const user = yield* stats("libsql:libsql://ada:secret@127.0.0.1:8080", "token")
      expect([user.code, ...user.notes]).toEqual([2, expect.stringContaining("its token is in LIBSQL_AUTH_TOKEN")])
      expect(user.notes.join()).not.toContain("secret")
    })
  )

  it.scopedLive("works on rqlite", () =>
    Effect.flatMap(RqliteServer.make({ nodes: 2 }), ({ urls }) => round(`rqlite:${urls.join(",")}`))
  )
})
