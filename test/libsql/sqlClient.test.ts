import { readdirSync, readlinkSync } from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import * as LibsqlClient from "@effect/sql-libsql/LibsqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as LibsqlSqlClient from "holdfast/LibsqlSqlClient"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as Child from "../support/childProcess.js"
import * as SqldServer from "../support/sqld/server.js"
import * as Temp from "../support/temp.js"

const order = Execution.make({ id: "order-1", definitionId: "order" })
const range = (count: number) => Array.from({ length: count }, (_, i) => i)

const file = Effect.map(Temp.database, (filename) => LibsqlSqlClient.layer({ url: `file:${filename}` }))
const memory = Effect.succeed(LibsqlSqlClient.layer({ url: ":memory:" }))
const remote = Effect.map(SqldServer.make(), ({ url }) => LibsqlSqlClient.layer({ url }))

const handles = (filename: string): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(filename)
    } catch {
      return false
    }
  }).length

for (const [name, layer] of [
  ["a file", Layer.unwrapScoped(file)],
  ["a database in memory", Layer.unwrapScoped(memory)],
  ["a server", Layer.unwrapScoped(remote)]
] as const) {
  describe(`the SqlClient of ${name}`, () => {
    it.scoped("reads and writes beside the store, in the same database", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const store = yield* ExecutionStore
        yield* store.save(order)
        yield* sql`CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, big INTEGER)`
        yield* sql`INSERT INTO notes ${sql.insert({ id: 1, text: "one", big: null })}`
        const rows = yield* sql`SELECT n.*, e.version FROM notes n JOIN harel_executions e ON e.id = ${"order-1"}`
        assert.deepStrictEqual(
          rows.map((row) => ({ ...row })),
          [{ id: 1, text: "one", big: null, version: 1 }]
        )
        assert.strictEqual(yield* LibsqlClient.LibsqlClient, sql)
      }).pipe(Effect.provide(layer))
    )

    it.scoped("gives integers as numbers where a double holds them", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`SELECT 1 AS a, 9007199254740993 AS b, 1.5 AS c, 'x' AS d, NULL AS e`.values
        assert.deepStrictEqual(rows, [[1, 9007199254740993n, 1.5, "x", null]])
      }).pipe(Effect.provide(layer))
    )

    it.scoped("commits and rolls back transactions, nested ones too", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE t (a)`
        const insert = (a: number) => sql`INSERT INTO t VALUES (${a})`
        yield* sql.withTransaction(Effect.zipRight(insert(1), insert(2)))
        yield* Effect.exit(sql.withTransaction(Effect.zipRight(insert(3), Effect.fail("no"))))
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* insert(4)
            yield* Effect.exit(sql.withTransaction(Effect.zipRight(insert(5), Effect.fail("no"))))
            yield* sql.withTransaction(insert(6))
            assert.deepStrictEqual(yield* sql`SELECT count(*) FROM t`.values, [[4]])
          })
        )
        assert.deepStrictEqual(yield* sql`SELECT a FROM t ORDER BY a`.values, [[1], [2], [4], [6]])
      }).pipe(Effect.provide(layer))
    )

    it.scoped("goes on after a statement failed, in a transaction and outside", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const store = yield* ExecutionStore
        yield* sql`CREATE TABLE t (a PRIMARY KEY)`
        yield* sql`INSERT INTO t VALUES (1)`
        const again = Effect.exit(sql`INSERT INTO t VALUES (1)`)
        assert.isTrue(Exit.isFailure(yield* again))
        yield* sql.withTransaction(Effect.zipRight(again, sql`INSERT INTO t VALUES (2)`))
        assert.isTrue(Exit.isFailure(yield* Effect.exit(sql`SELECT * FROM nowhere`)))
        yield* store.save(order)
        assert.deepStrictEqual(yield* sql`SELECT a FROM t ORDER BY a`.values, [[1], [2]])
      }).pipe(Effect.provide(layer))
    )
  })
}

for (const [name, layer] of [
  ["a file", Layer.unwrapScoped(file)],
  ["a database in memory", Layer.unwrapScoped(memory)]
] as const) {
  describe(`a transaction of the SqlClient of ${name}`, () => {
    it.scoped("is over when SQLite ends it: what comes after is not committed by itself", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE t (a)`
        yield* sql`CREATE TRIGGER back BEFORE INSERT ON t WHEN NEW.a = 2 BEGIN SELECT RAISE(ROLLBACK, 'back'); END`
        const insert = (a: number) => sql`INSERT INTO t VALUES (${a})`
        const transaction = Effect.gen(function* () {
          yield* insert(1)
          assert.isTrue(Exit.isFailure(yield* Effect.exit(insert(2))))
          yield* insert(3)
        })
        const error = yield* Effect.flip(sql.withTransaction(transaction))
        assert.include(String(error.cause), "The transaction is closed")
        yield* insert(4)
        assert.deepStrictEqual(yield* sql`SELECT a FROM t`.values, [[4]])
      }).pipe(Effect.provide(layer))
    )

    it.scoped("keeps a commit of the store within it waiting, which is never over, and then goes on", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const store = yield* ExecutionStore
        yield* sql`CREATE TABLE t (a)`
        const fiber = yield* sql
          .withTransaction(
            Effect.gen(function* () {
              yield* sql`INSERT INTO t VALUES (1)`
              const error = yield* Effect.flip(store.save(order))
              yield* sql`INSERT INTO t VALUES (2)`
              return error
            })
          )
          .pipe(Effect.fork)
        yield* TestClock.adjust("6 seconds")
        assert.deepInclude(yield* Fiber.join(fiber), {
          _tag: "StoreUnavailable",
          reason: "busy",
          outcome: "not-applied"
        })
        yield* store.save(order)
        assert.deepStrictEqual(yield* sql`SELECT a FROM t`.values, [[1], [2]])
      }).pipe(Effect.provide(layer))
    )

    it.scoped("keeps a commit of another fiber waiting until it is over", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const store = yield* ExecutionStore
        yield* sql`CREATE TABLE t (a)`
        const fiber = yield* sql
          .withTransaction(Effect.zipRight(sql`INSERT INTO t VALUES (1)`, Effect.sleep("1 second")))
          .pipe(Effect.fork)
        yield* TestClock.adjust("100 millis")
        const saving = yield* Effect.fork(store.save(order))
        yield* TestClock.adjust("500 millis")
        assert.isTrue(Option.isNone(yield* Fiber.poll(saving)))
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(fiber)
        assert.strictEqual((yield* Fiber.join(saving)).version, 1)
      }).pipe(Effect.provide(layer))
    )
  })
}

describe("the SqlClient of a file", () => {
  it.scoped("leaves no connection behind with a transaction, and loses no setting", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const body = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE t (a)`
        const once = sql.withTransaction(sql`INSERT INTO t VALUES (1)`)
        yield* once
        const before = handles(filename)
        yield* Effect.forEach(range(200), () => once, { discard: true })
        assert.isAtMost(handles(filename), before + 3)
        assert.deepStrictEqual(yield* sql.withTransaction(sql`PRAGMA synchronous`.values), [[2]])
        assert.deepStrictEqual(yield* sql`SELECT count(*) FROM t`.values, [[201]])
      })
      yield* Effect.provide(body, LibsqlSqlClient.layer({ url: `file:${filename}` }))
    })
  )

  it.scoped("waits for a lock, and does not hang where a transaction cannot begin", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const body = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE t (a)`
        const child = yield* Child.lockFile(filename, "BEGIN IMMEDIATE")
        const insert = sql`INSERT INTO t VALUES (1)`
        for (const write of [insert, sql.withTransaction(insert)]) {
          const writing = yield* Effect.fork(Effect.flip(write))
          yield* TestClock.adjust("6 seconds")
          assert.include(String((yield* Fiber.join(writing)).cause), "SQLITE_BUSY")
        }
        const writing = yield* Effect.fork(sql.withTransaction(insert))
        yield* TestClock.adjust("1 second")
        yield* Effect.zipRight(child.send("release"), child.line)
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(writing)
        yield* insert
        assert.deepStrictEqual(yield* sql`SELECT a FROM t`.values, [[1], [1]])
      })
      yield* Effect.provide(body, LibsqlSqlClient.layer({ url: `file:${filename}` }))
    })
  )
})

describe("the client itself", () => {
  it.scoped("has transactions that refuse what would end them unseen, and are closed once", () =>
    Effect.gen(function* () {
      const { client } = yield* LibsqlStore.make({ url: ":memory:" })
      yield* Effect.promise(async () => {
        await client.batch(["CREATE TABLE t (a)", { sql: "INSERT INTO t VALUES (?)", args: [1] }], "write")
        await client.migrate([{ sql: "INSERT INTO t VALUES (?)", args: [2] }])
        const transaction = await client.transaction()
        assert.strictEqual((await transaction.batch([{ sql: "SELECT a FROM t", args: [] }]))[0]?.rows.length, 2)
        await transaction.executeMultiple("SELECT 1").then(
          () => assert.fail("it ran"),
          (error) => assert.include(String(error), "use batch")
        )
        assert.isFalse(transaction.closed)
        await transaction.rollback()
        assert.isTrue(transaction.closed)
        await transaction.rollback()
        transaction.close()
        for (const late of [() => transaction.commit(), () => transaction.execute({ sql: "SELECT 1", args: [] })]) {
          await late().then(
            () => assert.fail("it ran"),
            (error) => assert.include(String(error), "closed")
          )
        }
        const next = await client.transaction("read")
        await next.commit()
        const { columns, rows, toJSON } = await client.execute({ sql: "SELECT a, a AS b FROM t", args: [] })
        assert.deepStrictEqual(columns, ["a", "b"])
        assert.deepStrictEqual(
          rows.map((row) => [row.length, row[0], row["b"]]),
          [
            [2, 1, 1],
            [2, 2, 2]
          ]
        )
        assert.isFunction(toJSON)
        await client.sync().then(
          () => assert.fail("it ran"),
          (error) => assert.include(String(error), "no replica")
        )
      })
    })
  )
})
