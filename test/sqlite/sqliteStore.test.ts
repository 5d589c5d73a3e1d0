import { assert, describe, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Child from "../support/childProcess.js"
import * as Temp from "../support/temp.js"

const order = Execution.make({ id: "order-1", definitionId: "order" })
const emits = [{ targetId: "order-1", event: Event.make({ id: "ev-1", kind: "Paid" }) }]

const ids = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.listExecutions({ limit: 1000 }), (page) => page.items.map((item) => item.id))

describe("SqliteStore", () => {
  it.scoped("keeps what a memory database is told", () =>
    Effect.gen(function* () {
      const store = yield* SqliteStore.make({ filename: ":memory:" })
      yield* store.commit(order, { emits })
      assert.deepStrictEqual(yield* ids(store), ["order-1"])
      assert.strictEqual((yield* store.pendingOutbox()).entries.length, 1)
    })
  )

  it.scoped("keeps what a file is told, for the next store that opens it", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      yield* Effect.scoped(Effect.flatMap(SqliteStore.make({ filename }), (store) => store.commit(order, { emits })))
      const store = yield* SqliteStore.make({ filename })
      const loaded = Option.getOrThrow(yield* store.load("order-1"))
      assert.strictEqual(loaded.version, 1)
    })
  )

  it.scoped("reads its options from the configuration", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const layer = SqliteStore.layerConfig({
        filename: Config.string("FILE"),
        durability: Config.literal("full", "normal")("DURABILITY"),
        busyTimeout: Config.duration("BUSY"),
        prefix: Config.string("PREFIX")
      })
      const provide = (entries: ReadonlyArray<readonly [string, string]>) =>
        Effect.provide(
          Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.save(order)),
          layer
        ).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map(entries))))
      const entries = [
        ["FILE", filename],
        ["DURABILITY", "normal"],
        ["BUSY", "2 seconds"]
      ] as const
      yield* provide([...entries, ["PREFIX", "shop_"]])
      const driver = yield* sqliteDriver.make({ filename })
      const rows = yield* driver.query({ operation: "test" }, { sql: "SELECT id FROM shop_executions", params: [] })
      assert.deepStrictEqual(rows, [["order-1"]])
      const error = yield* Effect.flip(provide(entries))
      assert.include(String(error), "PREFIX")
    })
  )

  describe("durability", () => {
    for (const [durability, synchronous] of [
      ["full", 2],
      ["normal", 1],
      [undefined, 2]
    ] as const) {
      it.scoped(`${durability ?? "default"} holds after the first transaction`, () =>
        Effect.gen(function* () {
          const filename = yield* Temp.database
          const driver = yield* sqliteDriver.make({ filename, ...(durability === undefined ? {} : { durability }) })
          const call = { operation: "test" }
          const pragma = (sql: string) => Effect.map(driver.query(call, { sql, params: [] }), (rows) => rows[0]?.[0])
          yield* driver.transaction(call, [{ sql: "CREATE TABLE t (a)", params: [] }])
          yield* driver.transaction(call, [{ sql: "INSERT INTO t VALUES (?)", params: [1] }])
          assert.strictEqual(yield* pragma("PRAGMA synchronous"), synchronous)
          assert.strictEqual(yield* pragma("PRAGMA journal_mode"), "wal")
          assert.strictEqual(yield* pragma("PRAGMA busy_timeout"), 0)
        })
      )
    }
  })

  // On the real clock: a lock that the other process holds for a moment must be waited for.
  describe("another process", () => {
    it.scopedLive("steps side by side with this store's: nothing is lost and no lock reaches a caller", () =>
      Effect.gen(function* () {
        const filename = yield* Temp.database
        const children = yield* Effect.all(
          ["a", "b"].map((name) => Child.run("commitProcess.ts", filename, name, "500")),
          { concurrency: "unbounded" }
        )
        yield* Effect.forEach(children, (child) => child.line)
        yield* Effect.forEach(children, (child) => child.send("go"))
        const said = yield* Effect.forEach(children, (child) => child.line, { concurrency: "unbounded" })
        assert.deepStrictEqual(said, ["done", "done"])
        yield* Effect.forEach(children, (child) => child.exit, { concurrency: "unbounded" })
        const store = yield* SqliteStore.make({ filename })
        const all = yield* Effect.forEach(["a-", "b-"], store.idsWithPrefix)
        assert.deepStrictEqual(
          all.map((ids) => ids.length),
          [500, 500]
        )
        const driver = yield* sqliteDriver.make({ filename })
        const counted = { sql: "SELECT count(*), count(DISTINCT target_id) FROM harel_outbox", params: [] }
        assert.deepStrictEqual(yield* driver.query({ operation: "test" }, counted), [[1000, 1000]])
      })
    )

    it.scopedLive("that is killed amid its commits leaves whole ones", () =>
      Effect.gen(function* () {
        const filename = yield* Temp.database
        const store = yield* SqliteStore.make({ filename })
        const child = yield* Child.run("commitProcess.ts", filename, "a", "1000000")
        yield* child.line
        yield* child.send("go")
        yield* Effect.repeat(Effect.zipRight(Effect.yieldNow(), ids(store)), { until: (ids) => ids.length >= 50 })
        yield* child.kill
        assert.strictEqual(yield* child.exit, "SIGKILL")
        const driver = yield* sqliteDriver.make({ filename })
        const query = (sql: string) => driver.query({ operation: "test" }, { sql, params: [] })
        assert.deepStrictEqual(yield* query("PRAGMA integrity_check"), [["ok"]])
        assert.deepStrictEqual(
          yield* query("SELECT id FROM harel_executions ORDER BY id"),
          yield* query("SELECT target_id FROM harel_outbox ORDER BY target_id")
        )
        yield* store.save(order)
      })
    )
  })
})
