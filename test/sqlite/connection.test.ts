import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as sqliteConnection from "holdfast/internal/sqlite/connection"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import { load } from "holdfast/internal/sqliteDriver/load"
import type { SqlDriver, Statement } from "holdfast/SqlDriver"
import { available } from "../support/sqliteLibraries.js"
import * as Temp from "../support/temp.js"

const call = { operation: "test", executionId: "e" }

const statement = (sql: string, ...params: Statement["params"]): Statement => ({ sql, params })

const insert = (a: Statement["params"][number], b: string | null = null) =>
  statement("INSERT INTO t VALUES (?, ?)", a, b)

const tables = [
  statement("CREATE TABLE parent (id INTEGER PRIMARY KEY)"),
  statement("CREATE TABLE child (parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)"),
  statement("CREATE TABLE t (a UNIQUE NOT NULL CHECK (a <> 'no'), b)")
]

/** That the failure left nothing, and that the next transaction works. */
const assertSane = (driver: SqlDriver) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* driver.query(call, statement("SELECT count(*) FROM t")), [[0]])
    assert.deepStrictEqual(yield* driver.transaction(call, [insert("next")]), [{ changes: 1, lastRowid: 1 }])
  })

describe.each(available)("the driver on a file of its own, by %s", (library) => {
  const open = (filename = ":memory:") =>
    Effect.gen(function* () {
      const driver = yield* sqliteDriver.make({ filename, driver: library, groupCommit: false })
      yield* driver.query(call, statement("PRAGMA foreign_keys = ON"))
      yield* driver.transaction(call, tables)
      return driver
    })

  it.scoped("gives what each statement did and the rows as columns", () =>
    Effect.gen(function* () {
      const driver = yield* open()
      const results = yield* driver.transaction(call, [
        insert("a"),
        statement("INSERT INTO t SELECT value, NULL FROM json_each(?)", '["b","c"]'),
        statement("INSERT INTO t SELECT 'd', NULL WHERE false"),
        statement("UPDATE t SET b = 'x' WHERE a > ?", "a")
      ])
      assert.deepStrictEqual(
        results.map((result) => result.changes),
        [1, 2, 0, 2]
      )
      assert.deepStrictEqual(yield* driver.query(call, statement("SELECT a, b, a FROM t ORDER BY a")), [
        ["a", null, "a"],
        ["b", "x", "b"],
        ["c", "x", "c"]
      ])
    })
  )

  const cases: ReadonlyArray<readonly [what: string, statements: ReadonlyArray<Statement>, detail: string]> = [
    [
      "a value is there already",
      [insert("a"), insert("a")],
      "UNIQUE constraint failed: t.a (SQLITE_CONSTRAINT_UNIQUE)"
    ],
    ["the COMMIT fails", [insert("a"), statement("INSERT INTO child VALUES (7)")], "FOREIGN KEY constraint failed"],
    [
      "a statement ends the transaction",
      [insert("a"), statement("INSERT OR ROLLBACK INTO t VALUES ('no', NULL)")],
      "CHECK constraint failed: a <> 'no'"
    ],
    ["a statement is no SQL", [insert("a"), statement("INSRT INTO t")], 'near "INSRT": syntax error (SQLITE_ERROR)'],
    ["a table is missing", [insert("a"), statement("INSERT INTO missing VALUES (1)")], "no such table: missing"],
    ["a placeholder has no value", [insert("a"), statement("INSERT INTO t VALUES (?, ?)", "b")], "Too few parameter"]
  ]
  for (const [what, statements, detail] of cases) {
    it.scoped(`rejects a transaction whole where ${what}`, () =>
      Effect.gen(function* () {
        const driver = yield* open()
        const error = yield* Effect.flip(driver.transaction(call, statements))
        assert.deepInclude(error, { _tag: "StoreRejected", operation: "test", executionId: "e" })
        assert.include(error.detail, detail)
        yield* assertSane(driver)
      })
    )
  }

  it.scoped("finds a table that was missing when it was asked for first", () =>
    Effect.gen(function* () {
      const driver = yield* open()
      const late = statement("SELECT a FROM late")
      assert.include((yield* Effect.flip(driver.query(call, late))).detail, "no such table: late")
      yield* driver.transaction(call, [statement("CREATE TABLE late (a)"), statement("INSERT INTO late VALUES (1)")])
      assert.deepStrictEqual(yield* driver.query(call, late), [[1]])
      yield* driver.transaction(call, [statement("ALTER TABLE late ADD COLUMN b DEFAULT 2")])
      assert.deepStrictEqual(yield* driver.query(call, statement("SELECT * FROM late")), [[1, 2]])
    })
  )

  it.scoped("forgets statements beyond so many, and runs them all the same", () =>
    Effect.gen(function* () {
      const driver = yield* open()
      for (let i = 0; i < 600; i++) {
        assert.deepStrictEqual(yield* driver.query(call, statement(`SELECT ${i % 300}`)), [[i % 300]])
      }
    })
  )

  it.scoped("waits for another connection's transaction, and stops where nobody waits any more", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const driver = yield* open(filename)
      const other = yield* sqliteConnection.open(yield* load(library), filename)
      yield* other.query(statement("BEGIN IMMEDIATE"))
      const waiting = yield* Effect.fork(driver.transaction(call, [insert("a")]))
      const leaving = yield* Effect.fork(driver.transaction(call, [insert("never")]))
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isNone(yield* Fiber.poll(waiting)))
      yield* Fiber.interrupt(leaving)
      yield* other.query(statement("COMMIT"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(waiting), [{ changes: 1, lastRowid: 1 }])
      assert.deepStrictEqual(yield* driver.query(call, statement("SELECT a FROM t")), [["a"]])
    })
  )

  it.effect("is closed with its scope", () =>
    Effect.gen(function* () {
      const driver = yield* Effect.scoped(open())
      const query = Effect.flip(driver.query(call, statement("SELECT 1")))
      const transaction = Effect.flip(driver.transaction(call, [insert("a")]))
      for (const error of yield* Effect.all([query, transaction])) {
        assert.deepInclude(error, { _tag: "StoreUnavailable", reason: "shutdown", outcome: "not-applied" })
      }
    })
  )
})
