import * as SqlClient from "@effect/sql/SqlClient"
import * as Statement from "@effect/sql/Statement"
import { assert, describe, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as String from "effect/String"
import * as TestClock from "effect/TestClock"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
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

const spin = (times: number) => Effect.repeatN(Effect.void, times)

const stored = (store: ExecutionStore.ExecutionStore) =>
  Effect.gen(function* () {
    const ids = yield* store.idsWithPrefix("")
    return { ids, outbox: (yield* store.pendingOutbox()).entries.length }
  })

describe("SqlStore", () => {
  it.scoped("reads its options from the configuration", () =>
    Effect.gen(function* () {
      const sql = yield* Client.make()
      const layer = SqlStore.layerConfig({ prefix: Config.string("PREFIX"), groupCommit: Config.boolean("GROUP") })
      const entries = [
        ["PREFIX", "shop_"],
        ["GROUP", "false"]
      ] as const
      yield* Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.save(order)).pipe(
        Effect.provide(Layer.provide(layer, Layer.succeed(SqlClient.SqlClient, sql))),
        Effect.withConfigProvider(ConfigProvider.fromMap(new Map(entries)))
      )
      assert.deepStrictEqual(yield* sql`SELECT id FROM shop_executions`, [{ id: "order-1" }])
    })
  )

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

    it.scoped("takes turns with other fibers in it: what is acknowledged is stored, and nothing else", () =>
      Effect.gen(function* () {
        const { orders, sql, store, insert } = yield* application
        yield* sql`CREATE TRIGGER refuse BEFORE INSERT ON harel_processed_events WHEN NEW.event_id = 'bad'
          BEGIN SELECT RAISE(ABORT, 'no'); END`
        const ids = Array.from({ length: 60 }, (_, i) => `e${i}`)
        const { acknowledged, seqs, seen } = yield* sql.withTransaction(
          Effect.gen(function* () {
            const seen: Array<boolean> = []
            const results = yield* Effect.forEach(
              ids,
              (id, i) =>
                Effect.gen(function* () {
                  // What a fiber does beside decides where it yields.
                  yield* spin((i * 37) % 2100)
                  yield* insert(id)
                  const execution = Execution.make({ id, definitionId: "order" })
                  const committed = yield* Effect.either(
                    store.commit(execution, { processed: i % 2 === 0 ? "good" : "bad", emits })
                  )
                  const sent = yield* store.enqueue(emits)
                  const found = Option.isSome(yield* store.load(id))
                  seen.push(found === Either.isRight(committed))
                  return { id, committed, sent }
                }),
              { concurrency: "unbounded" }
            )
            return {
              acknowledged: results.filter(({ committed }) => Either.isRight(committed)).map(({ id }) => id),
              seqs: results.flatMap(({ committed, sent }) => [
                ...Either.match(committed, { onLeft: () => [], onRight: ({ seqs }) => seqs }),
                ...sent
              ]),
              seen
            }
          })
        )
        assert.notInclude(seen, false)
        assert.lengthOf(acknowledged, 30)
        assert.deepStrictEqual(yield* store.idsWithPrefix(""), acknowledged.toSorted())
        const page = yield* store.pendingOutbox({ limit: 1000 })
        assert.deepStrictEqual(
          page.entries.map((entry) => entry.seq),
          seqs.toSorted((a, b) => a - b)
        )
        assert.lengthOf(yield* orders, 60)
      })
    )

    it.scoped("takes turns within a savepoint of the caller's, too, and goes with it", () =>
      Effect.gen(function* () {
        const { sql, store } = yield* application
        const commits = (prefix: string) =>
          Effect.forEach(
            Array.from({ length: 20 }, (_, i) => i),
            (i) =>
              Effect.zipRight(
                spin((i * 211) % 2100),
                store.commit(Execution.make({ id: `${prefix}${i}`, definitionId: "order" }), { emits })
              ),
            { concurrency: "unbounded" }
          )
        yield* sql.withTransaction(
          commits("kept").pipe(
            Effect.zipRight(
              Effect.ignore(sql.withTransaction(Effect.zipRight(commits("undone"), Effect.fail("changed my mind"))))
            ),
            Effect.zipRight(sql.withTransaction(commits("inner"))),
            Effect.zipRight(commits("later"))
          )
        )
        const { ids, outbox } = yield* stored(store)
        assert.deepStrictEqual(new Set(ids.map((id) => id.replace(/\d+/, ""))), new Set(["inner", "kept", "later"]))
        assert.lengthOf(ids, 60)
        assert.strictEqual(outbox, 60)
      })
    )

    it.scoped("refuses to write where the transaction has ended before", () =>
      Effect.gen(function* () {
        const { insert, sql, store } = yield* application
        const ended = yield* sql.withTransaction(Effect.serviceOption(SqlClient.TransactionConnection))
        const late = yield* Effect.flip(
          Effect.provideService(store.save(order), SqlClient.TransactionConnection, Option.getOrThrow(ended))
        )
        assert.deepInclude(late, { _tag: "StoreUnavailable", reason: "connection", outcome: "not-applied" })
        assert.include(late.message, "the transaction that this is a part of has ended")

        const exit = yield* Effect.exit(
          sql.withTransaction(
            insert("order-1").pipe(
              // SQLite ends the whole transaction here.
              Effect.zipRight(Effect.ignore(sql`INSERT OR ROLLBACK INTO orders VALUES ('order-1')`)),
              Effect.zipRight(store.save(order))
            )
          )
        )
        assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual(yield* stored(store), { ids: [], outbox: 0 })
      })
    )

    it.scoped("is seen by nobody where the caller's COMMIT fails", () =>
      Effect.gen(function* () {
        const { sql, store } = yield* application
        yield* sql`CREATE TABLE parent (id INTEGER PRIMARY KEY)`
        yield* sql`CREATE TABLE child (parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`
        const orphan = sql`INSERT INTO child VALUES (7)`
        const exit = yield* Effect.exit(sql.withTransaction(Effect.zipRight(orphan, store.commit(order, { emits }))))
        assert.isTrue(Exit.isFailure(exit))
        assert.isTrue(Option.isNone(yield* store.load("order-1")))
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
