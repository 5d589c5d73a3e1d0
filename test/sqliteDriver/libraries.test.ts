import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Database } from "holdfast/internal/sqliteDriver/database"
import { load } from "holdfast/internal/sqliteDriver/load"
import type { Param } from "holdfast/SqlDriver"
import { available } from "../support/sqliteLibraries.js"
import * as Temp from "../support/temp.js"

const all = (database: Database, sql: string, ...params: ReadonlyArray<Param>) => database.prepare(sql).all(params)

const run = (database: Database, sql: string, ...params: ReadonlyArray<Param>) => database.prepare(sql).run(params)

const thrown = (attempt: () => unknown): unknown => {
  try {
    attempt()
  } catch (cause) {
    return cause
  }
  return assert.fail("nothing was thrown")
}

for (const name of available) {
  const open = (filename: string) =>
    Effect.gen(function* () {
      const library = yield* load(name)
      const database = yield* Effect.acquireRelease(
        Effect.sync(() => library.open(filename)),
        (database) => Effect.sync(() => database.close())
      )
      return { codeOf: library.codeOf, database }
    })

  const inMemory = open(":memory:")

  describe(`the driver on ${name}`, () => {
    it.scoped("gives rows as arrays, also where names are double or numbers", () =>
      Effect.gen(function* () {
        const { database } = yield* inMemory
        const rows = [
          [2, 1, "x", 1],
          [2, 1, "y", 1]
        ]
        assert.deepStrictEqual(
          all(database, "SELECT 2, 1, a, 1 AS a FROM (SELECT 'x' AS a UNION SELECT 'y') ORDER BY 3"),
          rows
        )
        assert.deepStrictEqual(all(database, "SELECT 1 WHERE false"), [])
        assert.deepStrictEqual(all(database, "PRAGMA user_version"), [[0]])
      })
    )

    it.scoped("gives integers exactly", () =>
      Effect.gen(function* () {
        const { database } = yield* inMemory
        assert.deepStrictEqual(
          all(
            database,
            "SELECT 9007199254740991, 9007199254740992, -9007199254740993, 9223372036854775807, 9007199254740993.0"
          ),
          [
            [
              9_007_199_254_740_991,
              9_007_199_254_740_992n,
              -9_007_199_254_740_993n,
              9_223_372_036_854_775_807n,
              9_007_199_254_740_992
            ]
          ]
        )
      })
    )

    it.scoped("takes and gives numbers, texts and null as they are", () =>
      Effect.gen(function* () {
        const { database } = yield* inMemory
        const texts = ["", "a", "\0", "a\0b", "\0\0", "T\0", "B", "é", "😀", "\ufeffa", "a\r\n", "x".repeat(100_000)]
        const numbers = [0, 1, -1, 0.1, 1e300, -5e-324, 2 ** 53 - 1]
        for (const value of [...texts, ...numbers, null]) {
          assert.deepStrictEqual(all(database, "SELECT ?, 1", value), [[value, 1]])
        }
        assert.deepStrictEqual(all(database, "SELECT ?, typeof(?), ?", "a", 0.5, null), [["a", "real", null]])
      })
    )

    it.scoped("gives blobs as bytes, beside texts", () =>
      Effect.gen(function* () {
        const { database } = yield* inMemory
        const [[bytes, empty, text] = []] = all(database, "SELECT x'00ff54', x'', CAST(x'540042' AS TEXT)")
        assert.instanceOf(bytes, Uint8Array)
        assert.deepStrictEqual(Array.from(bytes), [0, 0xff, 0x54])
        assert.instanceOf(empty, Uint8Array)
        assert.strictEqual(empty.length, 0)
        assert.strictEqual(text, "T\0B")
      })
    )

    it.scoped("counts what a statement affected, without what triggers did", () =>
      Effect.gen(function* () {
        const { database } = yield* inMemory
        run(database, "CREATE TABLE t (a INTEGER PRIMARY KEY, b)")
        run(database, "CREATE TABLE u (a)")
        run(
          database,
          "CREATE TRIGGER t_u AFTER INSERT ON t BEGIN INSERT INTO u VALUES (1); INSERT INTO u VALUES (2); END"
        )
        assert.deepStrictEqual(run(database, "INSERT INTO t (b) VALUES (?)", "x"), { changes: 1, lastRowid: 1 })
        assert.strictEqual(run(database, "INSERT INTO t (b) SELECT 1 WHERE false").changes, 0)
        assert.strictEqual(run(database, "UPDATE t SET b = 1").changes, 1)
        assert.strictEqual(run(database, "DELETE FROM u").changes, 2)
        assert.deepStrictEqual(all(database, "INSERT INTO u VALUES (3)"), [])
        assert.deepStrictEqual(all(database, "SELECT a FROM u"), [[3]])
      })
    )

    it.scoped("refuses another number of parameters than there are placeholders, each time", () =>
      Effect.gen(function* () {
        const { database } = yield* inMemory
        const statement = database.prepare('SELECT ?, \'?\', "?", ? FROM (SELECT 1 AS "?")')
        assert.deepStrictEqual(statement.all(["a", "b"]), [["a", "?", 1, "b"]])
        for (const params of [[], ["a"], ["a", "b", "c"]]) {
          assert.match(String(thrown(() => statement.all(params))), /^RangeError: Too (few|many) parameter values/)
        }
        const insert = run(database, "CREATE TABLE t (a)") && database.prepare("INSERT INTO t VALUES (?)")
        for (const params of [[], ["a", "b"]]) {
          assert.match(String(thrown(() => insert.run(params))), /^RangeError: Too (few|many) parameter values/)
        }
        assert.deepStrictEqual(all(database, "SELECT * FROM t"), [])
      })
    )

    it.scoped("throws what SQLite says, with its code", () =>
      Effect.gen(function* () {
        const { codeOf, database } = yield* inMemory
        run(database, "PRAGMA foreign_keys = ON")
        run(
          database,
          "CREATE TABLE t (a PRIMARY KEY, b UNIQUE, c NOT NULL DEFAULT 0, d CHECK (d <> 0), e REFERENCES t)"
        )
        run(database, "INSERT INTO t (a, b) VALUES (1, 1)")
        for (const [sql, code, message] of [
          ["INSERT INTO t (a) VALUES (1)", "CONSTRAINT_PRIMARYKEY", "UNIQUE constraint failed: t.a"],
          ["INSERT INTO t (b) VALUES (1)", "CONSTRAINT_UNIQUE", "UNIQUE constraint failed: t.b"],
          ["INSERT INTO t (c) VALUES (NULL)", "CONSTRAINT_NOTNULL", "NOT NULL constraint failed: t.c"],
          ["INSERT INTO t (d) VALUES (0)", "CONSTRAINT_CHECK", "CHECK constraint failed: d <> 0"],
          ["INSERT INTO t (e) VALUES (2)", "CONSTRAINT_FOREIGNKEY", "FOREIGN KEY constraint failed"],
          ["SELECT * FROM missing", "ERROR", "no such table: missing"],
          ["SELCT 1", "ERROR", 'near "SELCT": syntax error']
        ] as const) {
          const cause = thrown(() => run(database, sql))
          assert.strictEqual(codeOf(cause), code)
          assert.include(String(cause), message)
        }
        assert.strictEqual(codeOf(new Error("not SQLite's")), "")
      })
    )

    it.scoped("throws at once where another connection has the lock", () =>
      Effect.gen(function* () {
        const filename = yield* Temp.database
        const [first, second] = yield* Effect.all([open(filename), open(filename)])
        run(first.database, "PRAGMA journal_mode = WAL")
        run(first.database, "BEGIN IMMEDIATE")
        run(first.database, "CREATE TABLE t (a)")
        assert.strictEqual(second.codeOf(thrown(() => run(second.database, "BEGIN IMMEDIATE"))), "BUSY")
        assert.deepStrictEqual(all(second.database, "SELECT name FROM sqlite_master"), [])
        run(first.database, "COMMIT")
        run(second.database, "BEGIN IMMEDIATE")
        assert.deepStrictEqual(all(second.database, "SELECT * FROM t"), [])
        run(second.database, "ROLLBACK")
      })
    )

    it.scoped("runs a kept statement again after the schema has changed", () =>
      Effect.gen(function* () {
        const { database } = yield* inMemory
        run(database, "CREATE TABLE t (a)")
        run(database, "INSERT INTO t VALUES (1)")
        const statement = database.prepare("SELECT a FROM t")
        assert.deepStrictEqual(statement.all([]), [[1]])
        run(database, "ALTER TABLE t ADD COLUMN b DEFAULT 2")
        assert.deepStrictEqual(statement.all([]), [[1]])
        assert.deepStrictEqual(all(database, "SELECT * FROM t"), [[1, 2]])
      })
    )
  })
}

describe("the choice of a library", () => {
  it.effect("is the first that is there", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load()).name, available[0])
    })
  )

  it.effect("refuses one that cannot be loaded", () =>
    Effect.gen(function* () {
      for (const name of ["bun:sqlite", "node:sqlite"] as const) {
        if (available.includes(name)) continue
        const error = yield* Effect.flip(load(name))
        assert.deepInclude(error, { _tag: "StoreRejected", operation: "open", reason: "open", path: "driver" })
        assert.include(error.detail, `cannot be loaded: ${name}: `)
      }
    })
  )
})
