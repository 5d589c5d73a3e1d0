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
import { load } from "../../src/internal/sqliteDriver/load.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as SqldServer from "../support/sqld/server.js"
import * as temp from "../support/temp.js"

const exported = (store: ExecutionStore, pageSize?: number) =>
  Stream.mkString(Stream.provideService(Transfer.exportText({ pageSize }), ExecutionStore, store))

const imported = (store: ExecutionStore, text: string) =>
  Effect.provideService(Transfer.importText(Stream.make(text)), ExecutionStore, store)

type Opening = Effect.Effect<ExecutionStore, unknown, Scope.Scope>

/** Runs statements on a file by itself. */
const run = (filename: string, ...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const database = (yield* load()).open(filename)
    for (const sql of statements) database.prepare(sql).run([])
    database.close()
  })

/** Bytes of texts, and whether they are UTF-8: of the others some take as many bytes as the character that clients put in their place. */
const bytes: ReadonlyArray<readonly [hex: string, isUtf8: boolean]> = [
  ["f09f98", false],
  ["61ff62", false],
  ["eda080", false],
  ["c0af", false],
  ["610080", false],
  ["efbbbf61", true],
  ["efbfbd", true],
  ["c3bc", true],
  ["610062", true]
]

/** A file that another program has put these texts into, as values and as keys. */
const file = Effect.gen(function* () {
  const filename = yield* temp.database
  const store = yield* SqliteStore.make({ filename })
  for (const [i] of bytes.entries()) yield* store.save(Execution.make({ id: `x-${i}`, definitionId: "order" }))
  yield* run(
    filename,
    ...bytes.flatMap(([hex], i) => [
      `UPDATE harel_executions SET data = CAST(x'${hex}' AS TEXT) WHERE id = 'x-${i}'`,
      `INSERT INTO harel_holdfast_attributes VALUES (CAST(x'${hex}' AS TEXT), 'name', '"${i}"')`
    ])
  )
  return { filename, store }
})

const rqlite: Opening = Effect.flatMap(RqliteServer.make(), ({ urls }) =>
  Effect.map(Layer.build(Layer.provide(RqliteStore.layer({ urls }), NodeHttpClient.layerUndici)), (context) =>
    Context.get(context, ExecutionStore)
  )
)

describe("texts that are no UTF-8", () => {
  it.scopedLive("are moved as their bytes, by SQLite and by rqlite, and others as texts", () =>
    Effect.gen(function* () {
      const { store } = yield* file
      const text = yield* exported(store)
      for (const [hex, isUtf8] of bytes) {
        const value = JSON.stringify(isUtf8 ? Buffer.from(hex, "hex").toString() : { text: hex })
        expect(text).toContain(`"data":${value}`)
        expect(text).toContain(`{"execution_id":${value}`)
      }
      expect(yield* exported(store, 1)).toBe(text)

      const cluster = yield* rqlite
      yield* imported(cluster, text)
      expect(yield* exported(cluster, 2)).toBe(text)

      const back = yield* temp.database
      const last = yield* SqliteStore.make({ filename: back })
      yield* imported(last, yield* exported(cluster))
      expect(yield* exported(last)).toBe(text)
      const database = (yield* load()).open(back)
      const found = database.prepare("SELECT hex(data) FROM harel_executions ORDER BY rowid").all([])
      database.close()
      expect(found.map((row) => String(row).toLowerCase())).toEqual(bytes.map(([hex]) => hex))
    })
  )

  it.scopedLive("are refused by libSQL, whose client could not read them again", () =>
    Effect.gen(function* () {
      const { store } = yield* file
      const text = yield* exported(store)
      const { url } = yield* SqldServer.make()
      for (const target of [url, `file:${yield* temp.database}`]) {
        const libsql = yield* LibsqlStore.make({ url: target })
        const error = yield* Effect.flip(imported(libsql.store, text))
        expect(error).toMatchObject({ _tag: "InvalidExport", reason: "text", line: 2 })
        expect(error.message).toContain('the text "data" of executions is no UTF-8')
        expect((yield* libsql.store.listExecutions()).items).toEqual([])
      }
    })
  )

  it.scopedLive("end no process that reads a libSQL file for an export", () =>
    Effect.gen(function* () {
      const { filename, store } = yield* file
      const libsql = yield* LibsqlStore.make({ url: `file:${filename}` })
      expect(yield* exported(libsql.store)).toBe(yield* exported(store))
    })
  )

  it.scopedLive("end no process that reads a libSQL file, which gives what SQLite gives", () =>
    Effect.gen(function* () {
      const { filename, store } = yield* file
      const libsql = yield* LibsqlStore.make({ url: `file:${filename}` })
      const said = (reading: ExecutionStore) =>
        Effect.forEach(bytes, (_, i) => Effect.map(Effect.either(reading.load(`x-${i}`)), String))
      const expected = yield* said(store)
      expect(expected.join("")).toContain("not JSON")
      expect(yield* said(libsql.store)).toEqual(expected)
      yield* run(filename, "UPDATE harel_executions SET data = '{}', id = CAST(x'ff' || id AS TEXT)")
      const ids = yield* store.idsWithPrefix("")
      expect(ids[0]).toContain("\u{FFFD}")
      expect(yield* libsql.store.idsWithPrefix("")).toEqual(ids)
    })
  )

  it.scopedLive("are taken for such alone where they are such", () =>
    Effect.gen(function* () {
      const text = (yield* exported((yield* file).store)).replace('{"text":"f09f98"}', '{"text":"c3bc"}')
      const error = yield* Effect.flip(imported(yield* SqliteStore.make({ filename: yield* temp.database }), text))
      expect(error).toMatchObject({ _tag: "InvalidExport", reason: "line", line: 2 })
    })
  )
})

describe("a file of SQLite's with texts in UTF-16", () => {
  for (const [encoding, surrogate] of [
    ["UTF-16le", "00d8"],
    ["UTF-16be", "d800"]
  ]) {
    it.scopedLive(`is read by libSQL, which gets its texts as bytes (${encoding})`, () =>
      Effect.gen(function* () {
        const filename = yield* temp.database
        yield* run(filename, `PRAGMA encoding = '${encoding}'`, "CREATE TABLE another (id)")
        const { store } = yield* LibsqlStore.make({ url: `file:${filename}` })
        const id = "\u{FEFF}ü 😀 \u0000 \u{FFFD}"
        yield* store.save(Execution.make({ id, definitionId: id, activePath: id }))
        yield* run(filename, `UPDATE harel_executions SET data = CAST(x'${surrogate}' AS TEXT)`)
        expect(yield* store.idsWithPrefix("")).toEqual([id])
        expect((yield* Effect.flip(store.load(id))).message).toContain("not JSON")
      })
    )
  }

  it.scopedLive("is exported as any other", () =>
    Effect.gen(function* () {
      const text = "ü 😀 \u{FFFD}"
      const filename = yield* temp.database
      yield* run(filename, "PRAGMA encoding = 'UTF-16le'", "CREATE TABLE another (id)")
      const store = yield* SqliteStore.make({ filename })
      yield* store.save(Execution.make({ id: text, definitionId: text, activePath: text }))
      const whole = yield* exported(store)
      expect(whole).toContain(JSON.stringify(text))
      const target = yield* SqliteStore.make({ filename: yield* temp.database })
      yield* imported(target, whole)
      expect(yield* exported(target)).toBe(whole)
    })
  )
})
