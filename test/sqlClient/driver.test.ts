import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as sqlClientDriver from "holdfast/internal/sqlClient/driver"
import type { SqlDriver, Statement } from "holdfast/SqlDriver"
import * as Client from "../support/sqlClient.js"
import * as Temp from "../support/temp.js"

const call = { operation: "test", executionId: "e" }

const statement = (sql: string, ...params: Statement["params"]): Statement => ({ sql, params })

const driverOn = (client: Parameters<typeof sqlClientDriver.make>[0]["client"]) =>
  sqlClientDriver.make({ client, busyTimeout: Duration.seconds(1), groupCommit: false })

const fixture = Effect.gen(function* () {
  const sql = yield* Client.make()
  const driver = yield* driverOn(sql)
  yield* driver.transaction(call, [
    statement("CREATE TABLE parent (id INTEGER PRIMARY KEY)"),
    statement("CREATE TABLE child (parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)"),
    statement("CREATE TABLE t (a UNIQUE NOT NULL CHECK (a <> 'no'), b)")
  ])
  return { sql, driver }
})

const insert = (a: Statement["params"][number], b: string | null = null) =>
  statement("INSERT INTO t VALUES (?, ?)", a, b)

/** That the failure left nothing, and that the next transaction works. */
const assertSane = (driver: SqlDriver) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* driver.query(call, statement("SELECT count(*) FROM t")), [[0]])
    const results = yield* driver.transaction(call, [insert("next")])
    assert.deepStrictEqual(results, [{ changes: 1, lastRowid: 1 }])
  })

describe("the driver on an SqlClient", () => {
  it.scoped("gives what each statement did and the rows as columns", () =>
    Effect.gen(function* () {
      const { driver } = yield* fixture
      const results = yield* driver.transaction(call, [
        insert("a"),
        statement("INSERT INTO t SELECT value, NULL FROM json_each(?)", '["b","c"]'),
        statement("INSERT INTO t SELECT 'd', NULL WHERE false"),
        statement("UPDATE t SET b = 'x' WHERE a > ?", "a"),
        statement("DELETE FROM t WHERE a = ?", "c")
      ])
      assert.deepStrictEqual(
        results.map((result) => result.changes),
        [1, 2, 0, 2, 1]
      )
      assert.deepStrictEqual(results[1]?.lastRowid, 3)
      assert.deepStrictEqual(yield* driver.query(call, statement("SELECT a, b, a FROM t ORDER BY a")), [
        ["a", null, "a"],
        ["b", "x", "b"]
      ])
    })
  )

  it.scoped("passes on what a column holds", () =>
    Effect.gen(function* () {
      const { driver } = yield* fixture
      const text = "ñ😀".repeat(500_000)
      const rows = yield* driver.query(call, statement("SELECT ?, NULL, x'00ff', 1.5, 9007199254740991", text))
      assert.deepStrictEqual(rows, [[text, null, Buffer.from([0, 255]), 1.5, 9007199254740991]])
    })
  )

  describe("is rejected whole", () => {
    const cases: ReadonlyArray<{
      readonly what: string
      readonly before?: string
      readonly after?: string
      readonly statements: ReadonlyArray<Statement>
      readonly reason: "constraint" | "sql" | "disk-full" | "read-only"
      readonly detail: string
    }> = [
      {
        what: "where a value is there already",
        statements: [insert("a"), insert("a")],
        reason: "constraint",
        detail: "UNIQUE constraint failed: t.a (SQLITE_CONSTRAINT_UNIQUE)"
      },
      {
        what: "where a value is missing",
        statements: [insert("a"), insert(null)],
        reason: "constraint",
        detail: "NOT NULL constraint failed: t.a (SQLITE_CONSTRAINT_NOTNULL)"
      },
      {
        what: "where a check fails",
        statements: [insert("a"), insert("no")],
        reason: "constraint",
        detail: "CHECK constraint failed: a <> 'no' (SQLITE_CONSTRAINT_CHECK)"
      },
      {
        what: "where the COMMIT fails",
        statements: [insert("a"), statement("INSERT INTO child VALUES (7)")],
        reason: "constraint",
        detail: "FOREIGN KEY constraint failed (SQLITE_CONSTRAINT_FOREIGNKEY)"
      },
      {
        what: "where a statement ends the transaction",
        statements: [insert("a"), statement("INSERT OR ROLLBACK INTO t VALUES ('no', NULL)")],
        reason: "constraint",
        detail: "CHECK constraint failed: a <> 'no' (SQLITE_CONSTRAINT_CHECK)"
      },
      {
        what: "where a statement is no SQL",
        statements: [insert("a"), statement("INSRT INTO t")],
        reason: "sql",
        detail: 'near "INSRT": syntax error (SQLITE_ERROR)'
      },
      {
        what: "where a table is missing",
        statements: [insert("a"), statement("INSERT INTO missing VALUES (1)")],
        reason: "sql",
        detail: "no such table: missing (SQLITE_ERROR)"
      },
      {
        what: "where a placeholder has no value",
        statements: [insert("a"), statement("INSERT INTO t VALUES (?, ?)", "b")],
        reason: "sql",
        detail: "Too few parameter values were provided"
      },
      {
        what: "where the disk is full",
        before: "PRAGMA max_page_count = 10",
        after: "PRAGMA max_page_count = 100000",
        statements: [insert("a"), insert("b", "x".repeat(100_000))],
        reason: "disk-full",
        detail: "database or disk is full (SQLITE_FULL)"
      },
      {
        what: "where the database cannot be written",
        before: "PRAGMA query_only = ON",
        after: "PRAGMA query_only = OFF",
        statements: [insert("a")],
        reason: "read-only",
        detail: "attempt to write a readonly database (SQLITE_READONLY)"
      }
    ]
    for (const { after, before, detail, reason, statements, what } of cases) {
      it.scoped(what, () =>
        Effect.gen(function* () {
          const { driver, sql } = yield* fixture
          if (before !== undefined) yield* sql.unsafe(before)
          const error = yield* Effect.flip(driver.transaction(call, statements))
          assert.deepInclude(error, { _tag: "StoreRejected", operation: "test", executionId: "e", reason })
          assert.include(error.detail, detail)
          if (after !== undefined) yield* sql.unsafe(after)
          yield* assertSane(driver)
        })
      )
    }
  })

  it.scoped("ends a transaction of the application's that its failed COMMIT left open", () =>
    Effect.gen(function* () {
      const { driver, sql } = yield* fixture
      yield* Effect.exit(sql.withTransaction(sql`INSERT INTO child VALUES (7)`))
      yield* assertSane(driver)
      assert.deepStrictEqual(yield* driver.query(call, statement("SELECT * FROM child")), [])
    })
  )

  it.scoped("sees nothing of a transaction of the application's that its failed COMMIT left open", () =>
    Effect.gen(function* () {
      const { driver, sql } = yield* fixture
      yield* Effect.exit(sql.withTransaction(sql`INSERT INTO child VALUES (7)`))
      assert.deepStrictEqual(yield* driver.query(call, statement("SELECT * FROM child")), [])
      yield* assertSane(driver)
    })
  )

  it.scoped("is unavailable while such a transaction cannot be rolled back", () =>
    Effect.gen(function* () {
      const { sql } = yield* fixture
      let stuck = true
      const client = yield* Client.intercepted(sql, (connection) => ({
        executeRaw: (text, params) =>
          stuck && text === "ROLLBACK" ? Client.failure("SQLITE_ERROR") : connection.executeRaw(text, params)
      }))
      const driver = yield* driverOn(client)
      yield* Effect.exit(sql.withTransaction(sql`INSERT INTO child VALUES (7)`))
      for (const attempt of [
        Effect.asVoid(driver.query(call, statement("SELECT * FROM child"))),
        Effect.asVoid(driver.transaction(call, [insert("a")]))
      ]) {
        const error = yield* Effect.flip(attempt)
        assert.deepInclude(error, { _tag: "StoreUnavailable", reason: "connection", outcome: "not-applied" })
        assert.include(error.detail, "is still open on the connection, and cannot be rolled back")
      }
      stuck = false
      assert.deepStrictEqual(yield* driver.query(call, statement("SELECT * FROM child")), [])
      yield* assertSane(driver)
    })
  )

  it.scoped("does not say of a COMMIT that was applied and failed that it was refused", () =>
    Effect.gen(function* () {
      const { sql } = yield* fixture
      for (const code of ["SQLITE_ERROR", "SQLITE_NOMEM", "SQLITE_CORRUPT", "SQLITE_IOERR", "ERR_OTHER"]) {
        const client = yield* Client.intercepted(sql, (connection) => ({
          executeRaw: (text, params) =>
            text === "COMMIT"
              ? Effect.zipRight(connection.executeRaw(text, params), Client.failure(code))
              : connection.executeRaw(text, params)
        }))
        const error = yield* Effect.flip((yield* driverOn(client)).transaction(call, [insert(code)]))
        assert.deepInclude(error, { _tag: "StoreUnavailable", reason: "connection", outcome: "unknown" }, code)
      }
      assert.lengthOf(yield* sql`SELECT a FROM t`, 5)
    })
  )

  const causes: ReadonlyArray<{
    readonly code: string
    readonly at: "BEGIN IMMEDIATE" | "COMMIT"
    readonly expected: { readonly [key: string]: string }
  }> = [
    { code: "SQLITE_BUSY", at: "BEGIN IMMEDIATE", expected: { reason: "busy", outcome: "not-applied" } },
    { code: "SQLITE_BUSY", at: "COMMIT", expected: { reason: "busy", outcome: "not-applied" } },
    { code: "SQLITE_BUSY_SNAPSHOT", at: "BEGIN IMMEDIATE", expected: { reason: "busy", outcome: "not-applied" } },
    { code: "SQLITE_BUSY_RECOVERY", at: "BEGIN IMMEDIATE", expected: { reason: "busy", outcome: "not-applied" } },
    { code: "SQLITE_LOCKED", at: "BEGIN IMMEDIATE", expected: { reason: "busy", outcome: "not-applied" } },
    { code: "SQLITE_LOCKED_SHAREDCACHE", at: "COMMIT", expected: { reason: "busy", outcome: "not-applied" } },
    { code: "SQLITE_PROTOCOL", at: "BEGIN IMMEDIATE", expected: { reason: "busy", outcome: "not-applied" } },
    { code: "SQLITE_IOERR_READ", at: "BEGIN IMMEDIATE", expected: { reason: "connection", outcome: "not-applied" } },
    { code: "SQLITE_IOERR_FSYNC", at: "COMMIT", expected: { reason: "connection", outcome: "unknown" } },
    { code: "SQLITE_IOERR_SHMSIZE", at: "BEGIN IMMEDIATE", expected: { reason: "disk-full" } },
    { code: "SQLITE_FULL", at: "COMMIT", expected: { reason: "disk-full" } },
    { code: "SQLITE_READONLY_DBMOVED", at: "BEGIN IMMEDIATE", expected: { reason: "read-only" } },
    { code: "SQLITE_CANTOPEN", at: "BEGIN IMMEDIATE", expected: { reason: "open" } },
    { code: "SQLITE_NOTADB", at: "BEGIN IMMEDIATE", expected: { reason: "open" } },
    { code: "SQLITE_CORRUPT_INDEX", at: "COMMIT", expected: { reason: "open" } },
    { code: "SQLITE_AUTH", at: "BEGIN IMMEDIATE", expected: { reason: "auth" } },
    { code: "SQLITE_PERM", at: "BEGIN IMMEDIATE", expected: { reason: "auth" } },
    { code: "SQLITE_NOMEM", at: "COMMIT", expected: { reason: "sql" } },
    { code: "ERR_OTHER", at: "COMMIT", expected: { reason: "sql" } }
  ]
  for (const { at, code, expected } of causes) {
    it.scoped(`tells what ${code} at ${at} means, and goes on`, () =>
      Effect.gen(function* () {
        const { sql } = yield* fixture
        let broken = true
        const failure = Client.failure(code)
        const client = yield* Client.intercepted(sql, (connection) => ({
          executeRaw: (text, params) => (broken && text === at ? failure : connection.executeRaw(text, params))
        }))
        const driver = yield* driverOn(client)
        const failing = yield* Effect.fork(Effect.flip(driver.transaction(call, [insert("a")])))
        yield* TestClock.adjust("2 seconds")
        const error = yield* Fiber.join(failing)
        const _tag = expected["outcome"] === undefined ? "StoreRejected" : "StoreUnavailable"
        assert.deepInclude(error, { _tag, operation: "test", executionId: "e", ...expected })
        assert.include(error.detail, code.startsWith("SQLITE_") ? `provoked (${code})` : "provoked")
        assert.strictEqual(error.cause, failure.cause)
        broken = false
        yield* assertSane(driver)
      })
    )
  }

  it.scoped("reads a result code that is a number", () =>
    Effect.gen(function* () {
      const client = yield* Client.intercepted(yield* Client.make(), () => ({
        executeValues: () => Client.failure(261)
      }))
      const reading = yield* Effect.fork(Effect.flip((yield* driverOn(client)).query(call, statement("SELECT 1"))))
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* Fiber.join(reading), { _tag: "StoreUnavailable", reason: "busy" })
    })
  )

  it.scoped("runs a transaction again whose COMMIT finds the database locked", () =>
    Effect.gen(function* () {
      const { sql } = yield* fixture
      let refusals = 3
      const client = yield* Client.intercepted(sql, (connection) => ({
        executeRaw: (text, params) =>
          text === "COMMIT" && refusals-- > 0 ? Client.failure("SQLITE_BUSY") : connection.executeRaw(text, params)
      }))
      const driver = yield* driverOn(client)
      const committing = yield* Effect.fork(driver.transaction(call, [insert("a")]))
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* Fiber.join(committing), [{ changes: 1, lastRowid: 1 }])
      assert.deepStrictEqual(yield* driver.query(call, statement("SELECT a FROM t")), [["a"]])
    })
  )

  it.scoped("waits for a lock that keeps it from preparing what it runs", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const other = yield* Effect.flatMap(Client.make({ filename, disableWAL: true }), (client) => client.reserve)
      yield* other.executeRaw("CREATE TABLE t (a)", [])
      yield* other.executeRaw("BEGIN EXCLUSIVE", [])
      const sql = yield* Client.make({ filename, disableWAL: true })
      yield* sql`PRAGMA busy_timeout = 0`
      const driver = yield* driverOn(sql)
      const reading = yield* Effect.fork(driver.query(call, statement("SELECT a, a + 1 FROM t")))
      const writing = yield* Effect.fork(driver.transaction(call, [statement("INSERT INTO t VALUES (?)", 1)]))
      yield* TestClock.adjust("200 millis")
      yield* other.executeRaw("INSERT INTO t VALUES (?)", [0])
      yield* other.executeRaw("COMMIT", [])
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual((yield* Fiber.join(reading))[0], [0, 1])
      assert.deepStrictEqual(yield* Fiber.join(writing), [{ changes: 1, lastRowid: 2 }])
    })
  )
})
