import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Execution from "holdfast/Execution"
import { schemaVersion } from "holdfast/internal/schema/schema"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Temp from "../support/temp.js"

const openError = (options: Partial<SqliteStore.Options> & { readonly filename: string }) =>
  Effect.flip(SqliteStore.make(options))

const run = (filename: string, ...statements: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.flatMap(sqliteDriver.make({ filename }), (driver) =>
      driver.transaction(
        { operation: "test" },
        statements.map((sql) => ({ sql, params: [] }))
      )
    )
  )

/** A directory, and a file in it, neither of which this process may write, be it the superuser's or not. */
const unwritable = Effect.gen(function* () {
  if (process.platform === "linux") return { directory: "/proc/sys/kernel", filename: "/proc/sys/kernel/ostype" }
  const fs = yield* FileSystem.FileSystem
  const directory = yield* Temp.directory
  const filename = `${directory}/store.db`
  yield* fs.writeFileString(filename, "")
  yield* fs.chmod(filename, 0o444)
  yield* fs.chmod(directory, 0o555)
  return { directory, filename }
})

describe("opening a file", () => {
  it.scoped("makes it where there is none, also from two stores at once", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const stores = yield* Effect.all([SqliteStore.make({ filename }), SqliteStore.make({ filename })], {
        concurrency: "unbounded"
      })
      yield* stores[0].save(Execution.make({ id: "a", definitionId: "d" }))
      assert.deepStrictEqual(yield* stores[1].idsWithPrefix(""), ["a"])
    })
  )

  const refusals: ReadonlyArray<{
    readonly what: string
    readonly filename: (directory: string) => string
    readonly prepare?: (fs: FileSystem.FileSystem, filename: string) => Effect.Effect<unknown, unknown>
    readonly detail: string
  }> = [
    {
      what: "a directory",
      filename: (directory) => directory,
      detail: "is a directory, not a database file"
    },
    { what: "a device", filename: () => "/dev/null", detail: "is not a file" },
    {
      what: "a file in a directory that does not exist",
      filename: (directory) => `${directory}/nowhere/store.db`,
      detail: "its directory does not exist"
    },
    {
      what: "a file in a directory that is a file",
      filename: (directory) => `${directory}/file/store.db`,
      prepare: (fs, filename) => fs.writeFileString(filename.slice(0, -"/store.db".length), "text"),
      detail: "a part of its path is not a directory"
    },
    {
      what: "a name longer than the file system takes",
      filename: (directory) => `${directory}/${"x".repeat(5000)}`,
      detail: "ENAMETOOLONG"
    },
    {
      what: "a text",
      filename: (directory) => `${directory}/notes.txt`,
      prepare: (fs, filename) => fs.writeFileString(filename, "case,activity,timestamp\n".repeat(1000)),
      detail: "the file is not an SQLite database, or is encrypted: file is not a database (SQLITE_NOTADB)"
    },
    {
      what: "a short text",
      filename: (directory) => `${directory}/notes.txt`,
      prepare: (fs, filename) => fs.writeFileString(filename, "notes"),
      detail: "the file is not an SQLite database, or is encrypted: file is not a database (SQLITE_NOTADB)"
    },
    {
      what: "a damaged database",
      filename: (directory) => `${directory}/store.db`,
      prepare: (fs, filename) =>
        Effect.zipRight(
          run(filename, "CREATE TABLE t (a)"),
          Effect.flatMap(fs.readFile(filename), (bytes) =>
            fs.writeFile(filename, Uint8Array.from(bytes).fill(0x5a, 100))
          )
        ),
      detail:
        "the database file is damaged: restore it from a backup: database disk image is malformed (SQLITE_CORRUPT)"
    }
  ]
  for (const { detail, filename, prepare, what } of refusals) {
    it.scoped(`refuses ${what}`, () =>
      Effect.gen(function* () {
        const path = filename(yield* Temp.directory)
        if (prepare !== undefined) yield* prepare(yield* FileSystem.FileSystem, path)
        const error = yield* openError({ filename: path })
        assert.deepInclude(error, { _tag: "StoreRejected", operation: "open", reason: "open", path })
        assert.include(error.message, `open was refused: ${path}: ${detail}`)
      }).pipe(Effect.provide(NodeFileSystem.layer))
    )
  }

  for (const filename of ["", "store.db ", "file:store.db", "file::memory:?cache=shared"]) {
    it.scoped(`refuses the name ${JSON.stringify(filename)}`, () =>
      Effect.gen(function* () {
        const error = yield* openError({ filename })
        assert.deepInclude(error, { _tag: "StoreRejected", reason: "invalid-input", path: "filename" })
      })
    )
  }

  it.scoped("refuses a file that may not be written", () =>
    Effect.gen(function* () {
      const { filename } = yield* unwritable
      const error = yield* openError({ filename })
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "read-only", path: filename })
      assert.include(error.message, "may not be read and written by this process")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("refuses a file in a directory that may not be written", () =>
    Effect.gen(function* () {
      const { directory } = yield* unwritable
      const filename = `${directory}/other.db`
      const error = yield* openError({ filename })
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "read-only", path: filename })
      assert.include(error.message, "its directory may not be written by this process")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("refuses a database whose schema is of a later version", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      yield* Effect.scoped(SqliteStore.make({ filename }))
      yield* run(filename, "UPDATE harel_holdfast_meta SET value = '99' WHERE key = 'schema_version'")
      const error = yield* openError({ filename })
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "schema" })
      assert.include(error.message, `the database's schema has version 99, this library knows version ${schemaVersion}`)
    })
  )

  it.scoped("makes no schema where it must not", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const error = yield* openError({ filename, createSchema: false })
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "schema", path: "createSchema" })
      const driver = yield* sqliteDriver.make({ filename })
      const tables = yield* driver.query({ operation: "test" }, { sql: "SELECT name FROM sqlite_master", params: [] })
      assert.deepStrictEqual(tables, [])
      yield* SqliteStore.make({ filename })
      yield* SqliteStore.make({ filename, createSchema: false })
    })
  )

  for (const [option, value] of [
    ["prefix", "bad-prefix"],
    ["prefix", "x; DROP TABLE t"],
    ["prefix", "1st_"],
    ["prefix", "a".repeat(31)],
    ["traceMax", -1],
    ["traceMax", 1.5]
  ] as const) {
    it.scoped(`refuses the ${option} ${JSON.stringify(value)}`, () =>
      Effect.gen(function* () {
        const error = yield* openError({ filename: ":memory:", [option]: value })
        assert.deepInclude(error, { _tag: "StoreRejected", reason: "invalid-input", path: option })
      })
    )
  }

  it.scoped("keeps stores of two prefixes in one file apart", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const a = yield* SqliteStore.make({ filename, prefix: "a_" })
      const b = yield* SqliteStore.make({ filename, prefix: "" })
      yield* a.save(Execution.make({ id: "in-a", definitionId: "d" }))
      yield* b.save(Execution.make({ id: "in-b", definitionId: "d" }))
      assert.deepStrictEqual(yield* a.idsWithPrefix(""), ["in-a"])
      assert.deepStrictEqual(yield* b.idsWithPrefix(""), ["in-b"])
    })
  )

  it.scoped("gives a store that ends with its scope", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* Effect.scoped(SqliteStore.make({ filename }))
      const execution = Execution.make({ id: "a", definitionId: "d" })
      for (const operation of [Effect.asVoid(store.save(execution)), Effect.asVoid(store.load("a"))]) {
        const error = yield* Effect.flip(operation)
        assert.deepInclude(error, { _tag: "StoreUnavailable", reason: "shutdown", outcome: "not-applied" })
      }
    })
  )
})
