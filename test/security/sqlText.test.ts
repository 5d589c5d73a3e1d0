/**
 * SQL texts are constants: they are written in few places, from names that the library chooses, and their values are bound. That no value
 * reaches such a text is what `hostileArguments` shows; that none is written elsewhere is shown here.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"

const root = fileURLToPath(new URL("../../src", import.meta.url))

/** The rooms of statements, and the files that build a statement around another or name a number of the library's own. */
const homes = [
  "internal/sql/",
  "internal/schema/",
  "internal/sqlTransfer/statements.ts",
  "internal/cliHealth/orphans.ts",
  // A statement around the one that they are given, to learn the names of its columns, or to keep what lies behind a NUL.
  "internal/sqliteDriver/nodeSqlite.ts",
  "internal/sqliteDriver/nulSafeText.ts",
  "internal/libsql/values.ts",
  // Constants of the module.
  "internal/libsql/durability.ts",
  "internal/libsql/localConnection.ts"
]

const templates = /`(?:[^`\\]|\\.)*`/g
const sqlWords =
  /\b(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX|TRIGGER|UNIQUE)|DROP\s+TABLE|PRAGMA\s)/
const comments = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm

const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .map((file) => join(root, file))
  .filter((file) => file.endsWith(".ts"))

/** The templates of a source that put something into an SQL text. */
const composed = (source: string): ReadonlyArray<string> =>
  (source.replaceAll(comments, "").match(templates) ?? []).filter((text) => sqlWords.test(text) && text.includes("${"))

const isHome = (path: string): boolean =>
  homes.some((home) => (home.endsWith("/") ? path.startsWith(home) : path === home))

it("SQL texts are put together in the rooms of statements alone", () => {
  const elsewhere = sources
    .map((file) => ({ path: relative(root, file), texts: composed(readFileSync(file, "utf8")) }))
    .filter(({ path, texts }) => texts.length > 0 && !isHome(path))
  assert.deepStrictEqual(elsewhere, [])
})

it("each of those places is one still", () => {
  const paths = sources
    .filter((file) => composed(readFileSync(file, "utf8")).length > 0)
    .map((file) => relative(root, file))
  for (const home of homes)
    assert.isTrue(
      paths.some((path) => path.startsWith(home)),
      home
    )
})
