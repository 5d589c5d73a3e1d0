import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as LibsqlStore from "holdfast/LibsqlStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as ContractShare from "../support/contractShare.js"
import * as Libsql from "../support/libsql.js"
import * as LibsqlServer from "../support/libsqlServer.js"
import * as Replica from "../support/sqld/replica.js"
import * as SqldServer from "../support/sqld/server.js"
import * as Temp from "../support/temp.js"

type Options = Omit<LibsqlStore.Options, "url">

// Tests let decades pass at once.
const syncInterval = "36500 days"

const layerWith = (options: Options) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const server = yield* SqldServer.make()
      const filename = yield* Temp.database
      const replicas = Replica.make(server)
      return Libsql.layerOf({ ...options, url: `file:${filename}`, syncUrl: server.url, syncInterval }, replicas)
    })
  )

// What is read from the copy, and what is decided beside it; all the rest is the server's.
const { commit, concurrency, corruption, foreign, listing, prefix, purge, trace } = ContractSuite.topics

ContractShare.suite(
  "LibsqlStore with a copy of a server's stand-in",
  layerWith({}),
  { layerWith, raw: Libsql.raw, part: { of: 10, rest: 3 } },
  [commit, trace, listing, prefix, purge, foreign, corruption, concurrency]
)

if (Option.isSome(LibsqlServer.primary)) {
  const { authToken, url } = LibsqlServer.primary.value
  // One file for all tests, one after the other: a new one would begin with a copy of the log of all tests before it.
  const directory = mkdtempSync(join(tmpdir(), "holdfast-"))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const copy = `file:${join(directory, "store.db")}`
  const layerWith = (options: Options) =>
    Layer.unwrapEffect(
      Effect.as(
        LibsqlServer.empty({ authToken, url }),
        Libsql.layer({ ...options, url: copy, syncUrl: url, syncInterval, authToken })
      )
    )
  ContractSuite.suite("LibsqlStore with a replica of a real server", layerWith({}), { layerWith, raw: Libsql.raw })
}
