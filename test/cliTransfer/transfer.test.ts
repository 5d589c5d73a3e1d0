import { cp, readFile, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { load } from "../../src/internal/sqliteDriver/load.js"
import { holdfast, type Ran, values } from "../support/cli.js"
import { filled } from "../support/cliStore.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as SqldServer from "../support/sqld/server.js"
import * as temp from "../support/temp.js"

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))

const textOf = ({ out }: Ran): string => out.map((line) => `${line}\n`).join("")

/** A file with an export, and the store that it is of. */
const exported = Effect.gen(function* () {
  const filename = yield* temp.database
  yield* filled(filename)
  const store = `sqlite:${filename}`
  const ran = yield* holdfast(["export", "--store", store])
  expect([ran.code, ran.notes]).toEqual([0, [`29 rows exported from ${filename}`]])
  const file = `${yield* temp.directory}/export.jsonl`
  yield* Effect.promise(() => writeFile(file, textOf(ran)))
  return { store, file, text: textOf(ran) }
})

const databaseFile = Effect.map(temp.database, (filename) => `sqlite:${filename}`)

describe("export and import", () => {
  it.scopedLive("move a store to any other, and back", () =>
    Effect.gen(function* () {
      const { file, text } = yield* exported
      const { urls } = yield* RqliteServer.make()
      const { url } = yield* SqldServer.make()
      const libsqlFile = yield* temp.database
      for (const store of [`rqlite:${urls.join(",")}`, `libsql:${url}`, `libsql:file:${libsqlFile}`]) {
        const ran = yield* holdfast(["import", file, "--create", "--store", store, "--json"])
        expect(values(ran)).toMatchObject([{ outcome: "imported", rows: 29, before: 0 }])
        expect(textOf(yield* holdfast(["export", "--store", store]))).toBe(text)
        const again = yield* holdfast(["import", file, "--store", store, "--json"])
        expect(values(again)).toMatchObject([{ outcome: "there-already" }])
        expect((yield* holdfast(["verify", "--store", store])).code).toBe(0)
      }
    })
  )

  it.scopedLive("ask before they replace anything, and check the file before", () =>
    Effect.gen(function* () {
      const { file, text } = yield* exported
      const target = yield* temp.database
      yield* filled(target)
      const run =
        (...args: ReadonlyArray<string>) =>
        (answer?: boolean) =>
          holdfast(["import", ...args, "--store", `sqlite:${target}`], { answer })
      const before = textOf(yield* holdfast(["export", "--store", `sqlite:${target}`]))
      expect(yield* run(file)()).toMatchObject({
        code: 4,
        out: [],
        notes: [
          `holdfast: ${target} has rows already, which are not those of this export: name an empty store, or give --replace`
        ]
      })
      expect((yield* run(file, "--replace")()).code).toBe(2)
      expect((yield* run(file, "--replace")(false)).code).toBe(4)
      const damaged = `${file}.damaged`
      yield* Effect.promise(() => writeFile(damaged, text.replace("order-19", "order-91")))
      const ran = yield* run(damaged, "--replace", "--yes")()
      expect([ran.code, ran.notes.join()]).toEqual([
        5,
        expect.stringContaining("the rows of executions are not those that were exported")
      ])
      expect(textOf(yield* holdfast(["export", "--store", `sqlite:${target}`]))).toBe(before)
      expect((yield* run(file, "--replace", "--yes")()).code).toBe(0)
      expect(textOf(yield* holdfast(["export", "--store", `sqlite:${target}`]))).toBe(text)
    })
  )

  it.scopedLive("say in a sentence what is wrong with a file", () =>
    Effect.gen(function* () {
      const { file, store, text } = yield* exported
      const target = yield* databaseFile
      const run = (...args: ReadonlyArray<string>) => holdfast(["import", ...args, "--create", "--store", target])
      const wrong = (name: string, content: string) =>
        Effect.tap(Effect.succeed(`${file}.${name}`), (path) => Effect.promise(() => writeFile(path, content)))
      const lines = text.split("\n")
      const said = (ran: Ran) => [ran.code, ...ran.notes]
      expect(said(yield* run(yield* wrong("empty", "")))).toEqual([
        5,
        "holdfast: the export cannot be read at line 1: it is empty"
      ])
      expect(said(yield* run(yield* wrong("other", "id,name\n1,a\n")))).toEqual([
        5,
        "holdfast: the export cannot be read at line 1: this is no export of a store: it does not begin as one"
      ])
      expect(said(yield* run(yield* wrong("cut", lines.slice(0, 5).join("\n")), "--dry-run"))).toEqual([
        5,
        "holdfast: the export cannot be read at line 5: the text ends here, and the export does not"
      ])
      expect(said(yield* run(`${file}.none`))).toEqual([3, `holdfast: there is no file "${file}.none"`])
      expect(said(yield* run(yield* temp.directory))).toMatchObject([2, expect.stringContaining("is a directory")])
      expect(said(yield* run(file, "--dry-run"))).toEqual([0, "the export is whole; nothing was imported"])
      expect((yield* run(file, "more")).code).toBe(2)
      expect((yield* holdfast(["import", file, "--store", yield* databaseFile])).code).toBe(3)
      expect((yield* holdfast(["export", "--store", store, "--prefix", "mine_"])).code).toBe(3)
      expect((yield* holdfast(["export", "--store", yield* databaseFile])).code).toBe(3)
    })
  )

  it.scopedLive("read a file that harel alone has worked on, and change nothing of it", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      yield* Effect.promise(() => cp(fixture("interop/sample-sqlite.db"), filename))
      const before = yield* Effect.promise(() => readFile(filename))
      const ran = yield* holdfast(["export", "--store", `sqlite:${filename}`])
      expect(ran.code).toBe(0)
      expect(ran.out.filter((line) => line.startsWith('{"executions"'))).toHaveLength(25)
      expect((yield* Effect.promise(() => readFile(filename))).equals(before)).toBe(true)
      const file = `${filename}.jsonl`
      yield* Effect.promise(() => writeFile(file, textOf(ran)))
      const target = yield* databaseFile
      expect((yield* holdfast(["import", file, "--create", "--store", target])).code).toBe(0)
      expect((yield* holdfast(["execution", "list", "--json", "--store", target])).out).toHaveLength(25)
      expect(textOf(yield* holdfast(["export", "--store", target]))).toBe(textOf(ran))
    })
  )

  it.scopedLive("refuse a store of a later version", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      yield* filled(filename)
      const library = yield* load()
      const database = library.open(filename)
      database.prepare("UPDATE harel_holdfast_meta SET value = '999' WHERE key = 'schema_version'").run([])
      database.close()
      const ran = yield* holdfast(["export", "--store", `sqlite:${filename}`])
      expect([ran.code, ran.notes.join()]).toEqual([1, expect.stringContaining("version 999")])
    })
  )
})
