import * as SqlClient from "@effect/sql/SqlClient"
import * as Statement from "@effect/sql/Statement"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as String from "effect/String"
import * as TestClock from "effect/TestClock"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqlStore from "holdfast/SqlStore"
import * as Client from "../support/sqlClient.js"
import * as Temp from "../support/temp.js"

const order = Execution.make({ id: "order-1", definitionId: "order" })
const emits = [{ targetId: "order-1", event: Event.make({ id: "ev-1", kind: "Paid" }) }]

const storeOn = (client: SqlClient.SqlClient, options?: SqlStore.Options) =>
  Effect.provideService(SqlStore.make(options), SqlClient.SqlClient, client)

/** An application with a table of its own, and a store on the same client. */
const application = Effect.gen(function* () {
  const sql = yield* Client.make()
  yield* sql`CREATE TABLE orders (id TEXT PRIMARY KEY)`
  const store = yield* storeOn(sql)
  const orders = Effect.map(sql<{ readonly id: string }>`SELECT id FROM orders ORDER BY id`, (rows) =>
    rows.map((row) => row.id)
  )
  const insert = (id: string) => sql`INSERT INTO orders VALUES (${id})`
  return { sql, store, orders, insert }
})

const stored = (store: ExecutionStore.ExecutionStore) =>
  Effect.gen(function* () {
    const ids = yield* store.idsWithPrefix("")
    return { ids, outbox: (yield* store.pendingOutbox()).entries.length }
  })

describe("SqlStore", () => {
  describe("inside the caller's transaction", () => {
    it.scoped("commits with it", () =>
      Effect.gen(function* () {
        const { insert, orders, sql, store } = yield* application
        const committed = yield* sql.withTransaction(Effect.zipRight(insert("order-1"), store.commit(order, { emits })))
        assert.strictEqual(committed.execution.version, 1)
        assert.deepStrictEqual(yield* orders, ["order-1"])
        assert.deepStrictEqual(yield* stored(store), { ids: ["order-1"], outbox: 1 })
      })
    )

    it.scoped("is rolled back with it", () =>
      Effect.gen(function* () {
        const { insert, orders, sql, store } = yield* application
        const exit = yield* insert("order-1").pipe(
          Effect.zipRight(store.commit(order, { emits })),
          Effect.zipRight(Effect.fail("changed my mind")),
          sql.withTransaction,
          Effect.exit
        )
        assert.deepStrictEqual(exit, Exit.fail("changed my mind"))
        assert.deepStrictEqual(yield* orders, [])
        assert.deepStrictEqual(yield* stored(store), { ids: [], outbox: 0 })
      })
    )

    it.scoped("reads what the transaction wrote", () =>
      Effect.gen(function* () {
        const { sql, store } = yield* application
        const found = yield* sql.withTransaction(
          Effect.zipRight(store.commit(order, { emits }), store.loadForEvent("order-1", "ev-1"))
        )
        assert.strictEqual(Option.getOrThrow(found.execution).version, 1)
      })
    )

    it.scoped("leaves the caller's rows where it conflicts", () =>
      Effect.gen(function* () {
        const { insert, orders, sql, store } = yield* application
        yield* store.save(order)
        const error = yield* sql.withTransaction(
          Effect.zipRight(insert("order-1"), Effect.flip(store.commit(order, { emits })))
        )
        assert.deepInclude(error, { _tag: "StoreConflict", expected: 0, found: Option.some(1) })
        assert.deepStrictEqual(yield* orders, ["order-1"])
        assert.deepStrictEqual(yield* stored(store), { ids: ["order-1"], outbox: 0 })
      })
    )

    it.scoped("leaves the caller's rows and nothing of its own where a statement fails", () =>
      Effect.gen(function* () {
        const { insert, orders, sql, store } = yield* application
        yield* sql`CREATE TRIGGER refuse BEFORE INSERT ON harel_executions WHEN NEW.id = 'order-1'
          BEGIN SELECT RAISE(ABORT, 'no such order'); END`
        const error = yield* sql.withTransaction(
          insert("before").pipe(
            Effect.zipRight(Effect.flip(store.commit(order, { emits }))),
            Effect.zipLeft(insert("after")),
            Effect.zipLeft(store.save(Execution.make({ id: "order-2", definitionId: "order" })))
          )
        )
        assert.deepInclude(error, { _tag: "StoreRejected", operation: "commit", reason: "constraint" })
        assert.include(error.message, "no such order")
        assert.deepStrictEqual(yield* orders, ["after", "before"])
        assert.deepStrictEqual(yield* stored(store), { ids: ["order-2"], outbox: 0 })
      })
    )

    it.scoped("is a part of the innermost one", () =>
      Effect.gen(function* () {
        const { insert, orders, sql, store } = yield* application
        yield* sql.withTransaction(
          Effect.zipRight(
            insert("outer"),
            Effect.ignore(sql.withTransaction(Effect.zipRight(store.commit(order, { emits }), Effect.fail("inner"))))
          )
        )
        assert.deepStrictEqual(yield* orders, ["outer"])
        assert.deepStrictEqual(yield* stored(store), { ids: [], outbox: 0 })
      })
    )

    it.scoped("does not wait for a lock, which the transaction as a whole must", () =>
      Effect.gen(function* () {
        const filename = yield* Temp.database
        const sql = yield* Client.make({ filename })
        const store = yield* storeOn(sql)
        const other = yield* Effect.flatMap(Client.make({ filename }), (client) => client.reserve)
        yield* other.executeRaw("BEGIN IMMEDIATE", [])
        yield* sql`PRAGMA busy_timeout = 0`
        const error = yield* sql.withTransaction(Effect.flip(store.commit(order)))
        assert.deepInclude(error, { _tag: "StoreUnavailable", reason: "busy", outcome: "not-applied" })
        assert.include(error.message, "the whole transaction that this is a part of must be run again")
      })
    )
  })

  it.scoped("takes no part in a transaction of another client", () =>
    Effect.gen(function* () {
      const { insert, orders, sql } = yield* application
      const elsewhere = yield* storeOn(yield* Client.make())
      const exit = yield* Effect.exit(
        sql.withTransaction(
          insert("order-1").pipe(
            Effect.zipRight(elsewhere.commit(order, { emits })),
            Effect.zipRight(Effect.fail("no"))
          )
        )
      )
      assert.deepStrictEqual(exit, Exit.fail("no"))
      assert.deepStrictEqual(yield* orders, [])
      assert.deepStrictEqual(yield* stored(elsewhere), { ids: ["order-1"], outbox: 1 })
    })
  )

  it.scoped("waits while others use the connection, and no longer than it is wanted to", () =>
    Effect.gen(function* () {
      const { sql, store } = yield* application
      const open = yield* Effect.makeLatch()
      const began = yield* Effect.makeLatch()
      const holder = yield* Effect.fork(sql.withTransaction(Effect.zipRight(began.open, open.await)))
      yield* began.await
      const interrupted = yield* Effect.fork(store.save(order))
      const patient = yield* Effect.fork(store.save(Execution.make({ id: "order-2", definitionId: "order" })))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.interrupt(interrupted)
      assert.isTrue(Option.isNone(yield* Fiber.poll(patient)))
      yield* open.open
      yield* Fiber.join(holder)
      yield* Fiber.join(patient)
      assert.deepStrictEqual((yield* stored(store)).ids, ["order-2"])
    })
  )

  it.scoped("heeds no names that the client transforms, nor its integers", () =>
    Effect.gen(function* () {
      const sql = yield* Client.make({
        transformQueryNames: String.camelToSnake,
        transformResultNames: String.snakeToCamel
      })
      const store = yield* storeOn(sql, { prefix: "camelCase_" })
      const use = Effect.gen(function* () {
        const { seqs } = yield* store.commit(order, {
          emits: [...emits, ...emits],
          timers: [{ _tag: "Schedule", path: "a", fireAt: 1.5 }],
          spawns: [{ childId: "child_id", rootPath: "root_path", context: { snake_case: 1, camelCase: 2 } }]
        })
        assert.deepStrictEqual(seqs, [1, 2])
        const loaded = Option.getOrThrow(yield* store.load("order-1"))
        const again = yield* store.commit({ ...loaded, parentId: "p" }, { emits })
        assert.deepStrictEqual(again.seqs, [3])
        const page = yield* store.listExecutions()
        assert.deepInclude(page.items[0], { id: "order-1", definitionId: "order", version: 2, parentId: "p" })
        assert.deepInclude((yield* store.pendingSpawns()).entries[0], {
          childId: "child_id",
          context: { snake_case: 1, camelCase: 2 }
        })
        assert.deepInclude((yield* store.dueTimers(2)).entries, { executionId: "order-1", path: "a", fireAt: 1.5 })
      })
      yield* Effect.provideService(use, SqlClient.SafeIntegers, true)
    })
  )

  it.scoped("counts what a client does not count itself", () =>
    Effect.gen(function* () {
      const sql = yield* Client.make()
      const silent = yield* Client.intercepted(sql, (connection) => ({
        executeRaw: (text, params) => Effect.as(connection.executeRaw(text, params), [])
      }))
      const store = yield* storeOn(silent)
      yield* store.enqueue(emits)
      assert.deepStrictEqual((yield* store.commit(order, { emits: [...emits, ...emits] })).seqs, [2, 3])
      assert.deepInclude(yield* Effect.flip(store.commit(order, { emits })), { _tag: "StoreConflict" })
      assert.isFalse(yield* store.purge("order-1", 7))
      assert.isTrue(yield* store.purge("order-1", 1))
    })
  )

  it.scoped("makes its schema on a client that has missed it before", () =>
    Effect.gen(function* () {
      const sql = yield* Client.make()
      const options = { createSchema: false }
      assert.deepInclude(yield* Effect.flip(storeOn(sql, options)), { _tag: "StoreRejected", reason: "schema" })
      yield* storeOn(sql)
      yield* storeOn(sql, options)
    })
  )

  describe("refuses", () => {
    const refusal = (client: SqlClient.SqlClient) =>
      Effect.map(Effect.flip(storeOn(client)), (error) => {
        assert.deepInclude(error, { _tag: "StoreRejected", operation: "open", reason: "open" })
        return error.message
      })

    it.scoped("a client of another dialect", () =>
      Effect.gen(function* () {
        const compiler = Statement.makeCompiler({
          dialect: "pg",
          placeholder: (i) => `$${i}`,
          onIdentifier: (name) => name,
          onRecordUpdate: () => ["", []],
          onCustom: () => ["", []]
        })
        const client = yield* Client.intercepted(yield* Client.make(), () => ({}), { compiler })
        assert.include(yield* refusal(client), "is not one of SQLite")
      })
    )

    it.scoped("a client of libSQL, whose connection cannot be reserved", () =>
      Effect.gen(function* () {
        const client = Object.assign(yield* Client.make(), {
          [Symbol.for("@effect/sql-libsql/LibsqlClient")]: Symbol.for("@effect/sql-libsql/LibsqlClient")
        })
        assert.include(yield* refusal(client), "@effect/sql-libsql does not reserve its connection")
      })
    )

    it.scoped("a client without transactions", () =>
      Effect.gen(function* () {
        const client = yield* Client.intercepted(yield* Client.make(), () => ({}), {
          transactionAcquirer: Effect.dieMessage("transactions are not supported")
        })
        assert.include(yield* refusal(client), "cannot reserve its connection")
      })
    )

    it.scoped("to be made inside a transaction", () =>
      Effect.gen(function* () {
        const client = yield* Client.make()
        assert.include(yield* client.withTransaction(refusal(client)), "make it before sql.withTransaction")
      })
    )

    it.scoped("a busy timeout that is no duration", () =>
      Effect.gen(function* () {
        const options: unknown = JSON.parse('{ "busyTimeout": "soon" }')
        const error = yield* Effect.flip(storeOn(yield* Client.make(), Object.assign({}, options)))
        assert.deepInclude(error, { _tag: "StoreRejected", reason: "invalid-input", path: "busyTimeout" })
      })
    )
  })
})
