import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import type { OpenStore } from "../../src/internal/cli/openStore.js"
import { open } from "../../src/internal/cli/openStore.js"
import { Screen } from "../../src/internal/cli/screen.js"
import { load } from "../../src/internal/sqliteDriver/load.js"
import { fill, filled } from "../support/cliStore.js"
import * as temp from "../support/temp.js"

const quiet: Screen = {
  out: () => Effect.void,
  note: () => Effect.void,
  colors: false,
  width: undefined,
  confirm: () => Effect.succeed(false),
  progress: () => Effect.void,
  clear: Effect.void
}

const reading = <A, E>(filename: string, use: (opened: OpenStore) => Effect.Effect<A, E>, prefix?: string) =>
  Effect.scoped(Effect.flatMap(open({ _tag: "Sqlite", filename }, Option.fromNullable(prefix), "read"), use)).pipe(
    Effect.provideService(Screen, quiet)
  )

const statuses = ({ store }: OpenStore) =>
  Effect.map(store.listExecutions(), ({ items }) => items.map(({ id, status }) => `${id} ${status}`))

/** What is in a directory, to the byte, save for SQLite's index of the log. */
const contents = (directory: string) =>
  Effect.promise(async () => {
    const names = (await fs.readdir(directory)).toSorted().filter((name) => !name.endsWith("-shm"))
    return Promise.all(names.map(async (name) => [name, (await fs.readFile(join(directory, name))).toString("base64")]))
  })

const unchanged = <A, E, R>(filename: string, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* contents(dirname(filename))
    const result = yield* effect
    expect(yield* contents(dirname(filename))).toEqual(before)
    return result
  })

const all = ["order-17 RUNNING", "order-18 DONE", "order-19 FAILED", "order-20 FAILED", "parcel-1 RUNNING"]

/** Runs one statement on a file, by SQLite alone. */
const execute = (filename: string, ...texts: ReadonlyArray<string>) =>
  Effect.map(load(), (library) => {
    const database = library.open(filename)
    for (const sql of texts) database.prepare(sql).all([])
    database.close()
  })

describe("a store that is opened to be read", () => {
  it.scoped("is not changed, nor is what is beside it", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      yield* filled(filename)
      expect(yield* unchanged(filename, reading(filename, statuses))).toEqual(all)
    })
  )

  it.scoped("is read with its log, while another has it open, and the log stays", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      yield* Effect.provide(
        Effect.zipRight(
          fill,
          unchanged(
            filename,
            Effect.map(reading(filename, statuses), (found) => expect(found).toEqual(all))
          )
        ),
        SqliteStore.layer({ filename })
      )
    })
  )

  it.scoped("is read with the log that a process left behind which was killed", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      const copy = join(yield* temp.directory, "copy.db")
      yield* Effect.gen(function* () {
        yield* fill
        yield* Effect.promise(() => fs.copyFile(filename, copy))
        yield* Effect.promise(() => fs.copyFile(`${filename}-wal`, `${copy}-wal`))
      }).pipe(Effect.provide(SqliteStore.layer({ filename })))
      expect(yield* unchanged(copy, reading(copy, statuses))).toEqual(all)
    })
  )

  it.scoped("sees what others write meanwhile, and keeps nobody from writing", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      yield* filled(filename)
      const found = yield* reading(filename, (opened) =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          yield* store.save(Execution.make({ id: "order-21", definitionId: "order" }))
          return yield* statuses(opened)
        }).pipe(Effect.provide(SqliteStore.layer({ filename })))
      )
      expect(found).toContain("order-21 PENDING")
    })
  )

  it.scoped("keeps the journal mode that it has", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      yield* filled(filename)
      yield* execute(filename, "PRAGMA journal_mode = DELETE")
      expect(yield* unchanged(filename, reading(filename, statuses))).toEqual(all)
    })
  )

  it.scoped("refuses every write", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      yield* filled(filename)
      const write = ({ store }: OpenStore) => store.save(Execution.make({ id: "order-21", definitionId: "order" }))
      const error = yield* Effect.flip(unchanged(filename, reading(filename, write)))
      expect(error.message).toContain("the database was opened to be read only")
    })
  )
})

describe("what is no store", () => {
  it.scoped("is refused in a sentence that says what to do, and is not changed", () =>
    Effect.gen(function* () {
      const directory = yield* temp.directory
      const at = (name: string) => join(directory, name)
      const refusal = (name: string, prefix?: string) =>
        Effect.map(Effect.flip(reading(at(name), statuses, prefix)), ({ message }) => message)
      yield* filled(at("store.db"))
      yield* execute(at("other.db"), "CREATE TABLE customers (id TEXT)")
      yield* Effect.promise(() => fs.writeFile(at("text.db"), "this is a text, and no database".repeat(100)))
      yield* Effect.promise(() => fs.writeFile(at("empty.db"), ""))
      yield* execute(at("store.db"), "PRAGMA journal_mode = DELETE")
      yield* Effect.promise(() => fs.copyFile(at("store.db"), at("old.db")))
      yield* execute(at("old.db"), "UPDATE harel_holdfast_meta SET value = '1' WHERE key = 'schema_version'")
      const before = yield* contents(directory)
      expect(yield* refusal("stroe.db")).toBe(`there is no file "${at("stroe.db")}"; did you mean "${at("store.db")}"?`)
      expect(yield* refusal("other.db")).toBe(`there is no store in ${at("other.db")}: holdfast migrate makes one`)
      expect(yield* refusal("empty.db")).toBe(`there is no store in ${at("empty.db")}: holdfast migrate makes one`)
      expect(yield* refusal("text.db")).toContain("the file is not an SQLite database, or is encrypted")
      expect(yield* refusal("")).toContain("is a directory, not a database file")
      expect(yield* refusal("store.db", "harl_")).toBe(
        `there is no store with the prefix "harl_" in ${at("store.db")}: there is one with the prefix "harel_": give --prefix harel_`
      )
      expect(yield* refusal("old.db")).toContain("has the schema of an earlier version")
      expect(yield* contents(directory)).toEqual(before)
    })
  )
})
