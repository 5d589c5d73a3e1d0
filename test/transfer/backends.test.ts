import { cp } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Transfer from "holdfast/Transfer"
import { fill } from "../support/cliStore.js"
import { extent, long, longer } from "../support/extent.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as SqldServer from "../support/sqld/server.js"
import * as temp from "../support/temp.js"

type Opening = Effect.Effect<ExecutionStore, unknown, Scope.Scope>

const sqlite: Opening = Effect.flatMap(temp.database, (filename) => SqliteStore.make({ filename }))
const libsqlFile: Opening = Effect.flatMap(temp.database, (filename) =>
  Effect.map(LibsqlStore.make({ url: `file:${filename}` }), ({ store }) => store)
)
const libsqlServer: Opening = Effect.flatMap(SqldServer.make(), ({ url }) =>
  Effect.map(LibsqlStore.make({ url }), ({ store }) => store)
)
const rqlite: Opening = Effect.flatMap(RqliteServer.make({ nodes: 2 }), ({ urls }) =>
  Effect.map(Layer.build(Layer.provide(RqliteStore.layer({ urls }), NodeHttpClient.layerUndici)), (context) =>
    Context.get(context, ExecutionStore)
  )
)

const others: ReadonlyArray<readonly [name: string, store: Opening]> = [
  ["rqlite", rqlite],
  ["a libSQL file", libsqlFile],
  ["a libSQL server", libsqlServer]
]

const exported = (store: ExecutionStore, pageSize?: number) =>
  Stream.provideService(Transfer.exportText({ pageSize }), ExecutionStore, store)

const imported = (store: ExecutionStore, text: Stream.Stream<string, unknown>) =>
  Effect.provideService(Transfer.importText(text, { pageSize: 7 }), ExecutionStore, store)

/** A store that harel 0.9 alone has worked on. */
const harel: Opening = Effect.gen(function* () {
  const filename = yield* temp.database
  yield* Effect.promise(() =>
    cp(fileURLToPath(new URL("../fixtures/interop/sample-sqlite.db", import.meta.url)), filename)
  )
  return yield* SqliteStore.make({ filename })
})

const many = extent({ quick: 60, long: 400 })

const some: Opening = Effect.tap(sqlite, (store) =>
  Effect.gen(function* () {
    yield* fill
    for (let i = 0; i < many; i++) {
      yield* store.save(
        Execution.make({ id: `more-${i}`, definitionId: "order", context: { text: "ü".repeat(i * 40) } })
      )
    }
  }).pipe(Effect.provideService(ExecutionStore, store))
)

describe("a store that is moved", () => {
  for (const [from, source] of [
    ["SQLite", some],
    ["harel's file", harel]
  ] as const) {
    for (const [name, target] of others) {
      // To a server by default from harel's file alone.
      if (!long && from === "SQLite" && !name.includes("file")) continue
      it.scopedLive((from === "SQLite" ? longer : String)(`from ${from} to ${name} and back is the same`), () =>
        Effect.gen(function* () {
          const [first, second, third] = yield* Effect.all([source, target, sqlite])
          const there = yield* imported(second, exported(first, 13))
          const back = yield* imported(third, exported(second))
          expect(back).toEqual(there)
          expect(yield* Stream.mkString(exported(third))).toBe(yield* Stream.mkString(exported(first)))
          expect(yield* Stream.mkString(exported(second, 3))).toBe(yield* Stream.mkString(exported(first)))
        })
      )
    }
  }
})

describe("an export of a store that is written to", () => {
  const write = (store: ExecutionStore) => store.save(Execution.make({ id: "another", definitionId: "order" }))

  it.scopedLive("is of one moment on a file of SQLite's", () =>
    Effect.gen(function* () {
      const store = yield* some
      const before = yield* Stream.mkString(exported(store))
      let begun = false
      const during = yield* Stream.mkString(
        Stream.tap(exported(store, 2), () => {
          if (begun) return Effect.void
          begun = true
          return write(store)
        })
      )
      expect(during).toBe(before)
      expect(yield* Stream.mkString(exported(store))).not.toBe(before)
    })
  )

  for (const [name, target] of others) {
    it.scopedLive(`has no end on ${name}, and says why`, () =>
      Effect.gen(function* () {
        const [source, store] = yield* Effect.all([some, target])
        yield* imported(store, exported(source))
        const pieces: Array<string> = []
        const error = yield* Effect.flip(
          Stream.runForEach(exported(store, 2), (piece) => {
            pieces.push(piece)
            return piece.startsWith('{"end":"executions"') ? write(store) : Effect.void
          })
        )
        expect(error).toMatchObject({ _tag: "StoreChanged", tables: ["executions"] })
        // What was written so far is taken for no whole export.
        const empty = yield* sqlite
        const refused = yield* Effect.flip(imported(empty, Stream.fromIterable(pieces)))
        expect(refused).toMatchObject({ _tag: "InvalidExport", reason: "truncated" })
      })
    )
  }

  it.scopedLive("is told apart where something else writes to the target", () =>
    Effect.gen(function* () {
      const [source, store] = yield* Effect.all([some, sqlite])
      let written = false
      const text = Stream.tap(exported(source, 2), () => {
        if (written) return Effect.void
        written = true
        return store.publishDefinition({ definitionId: "d", version: 1, digest: "", source: "", publishedAt: null })
      })
      const error = yield* Effect.flip(imported(store, text))
      expect(error).toMatchObject({ _tag: "ImportRefused", reason: "not-empty" })
      const late = yield* sqlite
      let pieces = 0
      const other = Stream.tap(exported(source, 2), () => (++pieces === 9 ? write(late) : Effect.void))
      const differs = yield* Effect.flip(imported(late, other))
      expect(differs).toMatchObject({ _tag: "ImportDiffers", table: "executions" })
    })
  )
})
