import { writeFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { createClient } from "@libsql/client"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import { exact } from "holdfast/internal/hrana/exactDoubles"
import * as address from "holdfast/internal/libsql/address"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as SqldServer from "../support/sqld/server.js"
import * as Temp from "../support/temp.js"

const order = Execution.make({ id: "order-1", definitionId: "order" })
const emits = [{ targetId: "order-1", event: Event.make({ id: "ev-1", kind: "Paid" }) }]

describe("where the database is", () => {
  const found: ReadonlyArray<readonly [string, unknown]> = [
    [":memory:", { _tag: "Local", filename: undefined }],
    ["file::memory:", { _tag: "Local", filename: undefined }],
    ["file:store.db", { _tag: "Local", filename: "store.db" }],
    ["file:/var/lib/a%20b%3F.db", { _tag: "Local", filename: "/var/lib/a b?.db" }],
    ["file:///var/lib/store.db", { _tag: "Local", filename: "/var/lib/store.db" }],
    ["file://localhost/var/lib/store.db", { _tag: "Local", filename: "/var/lib/store.db" }],
    ["libsql://db.example.com", { _tag: "Remote", url: "https://db.example.com", token: undefined }],
    ["libsql://127.0.0.1:8080?tls=0", { _tag: "Remote", url: "http://127.0.0.1:8080", token: undefined }],
    ["http://127.0.0.1:8080/", { _tag: "Remote", url: "http://127.0.0.1:8080", token: undefined }],
    ["http://db.example.com:443", { _tag: "Remote", url: "http://db.example.com:443", token: undefined }],
    ["https://[::1]:8080/base/", { _tag: "Remote", url: "https://[::1]:8080/base", token: undefined }],
    [
      "libsql://db.example.com?authToken=s3cret",
      { _tag: "Remote", url: "https://db.example.com", token: Redacted.make("s3cret") }
    ]
  ]
  for (const [text, expected] of found) {
    it.effect(text, () => Effect.map(address.parse(text, "url"), (at) => assert.deepEqual(at, expected)))
  }

  const refused: ReadonlyArray<readonly [string, RegExp]> = [
    ["", /begins with file:/],
    ["store.db", /begins with file:/],
    ["postgres://s3cret@host", /begins with file:/],
    ["file:", /expected file: and a path/],
    ["file://host/store.db", /expected file: and a path/],
    ["file:%zz", /expected file: and a path/],
    ["file:store.db?mode=ro", /takes no parameters/],
    ["file::memory:?cache=shared", /takes no parameters/],
    ["wss://db.example.com", /WebSockets/],
    ["libsql:db.example.com", /does not begin a URL/],
    ["https://user:s3cret@db.example.com", /give authToken/],
    ["https://db.example.com?tls=0", /tls/],
    ["http://db.example.com?tls=1", /tls/],
    ["libsql://db.example.com?tls=0", /port/],
    ["https://db.example.com?token=s3cret", /parameters/],
    ["https://db.example.com#s3cret", /parameters/]
  ]
  for (const [text, problem] of refused) {
    it.scoped(`is not at ${text === "" ? "nothing" : text}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(LibsqlStore.make({ url: text }))
        assert.deepInclude(error, { _tag: "StoreRejected", operation: "open", reason: "invalid-input", path: "url" })
        assert.match(error.message, problem)
        assert.notInclude(error.message, "s3cret")
      })
    )
  }
})

describe("options", () => {
  const at = { url: "http://127.0.0.1:1" }
  const copy = { url: "file:copy.db", syncUrl: "http://127.0.0.1:1" }
  const refused: ReadonlyArray<readonly [LibsqlStore.Options, string]> = [
    [{ url: ":memory:", busyTimeout: Duration.infinity }, "busyTimeout"],
    [{ ...at, timeout: Duration.infinity }, "timeout"],
    [{ ...at, concurrency: 0 }, "concurrency"],
    [{ ...at, concurrency: 1.5 }, "concurrency"],
    [{ ...copy, syncInterval: Duration.infinity }, "syncInterval"],
    [{ ...copy, url: ":memory:" }, "url"],
    [{ ...copy, url: "http://127.0.0.1:1" }, "url"],
    [{ ...copy, syncUrl: "file:other.db" }, "syncUrl"],
    [{ ...copy, syncUrl: "" }, "syncUrl"],
    [{ ...at, authToken: Redacted.make("s3cret\n") }, "authToken"],
    [{ ...at, authToken: Redacted.make("") }, "authToken"],
    [{ ...at, authToken: Effect.succeed(Redacted.make("s3cret token")) }, "authToken"],
    [{ url: ":memory:", prefix: "a-b" }, "prefix"]
  ]
  for (const [options, path] of refused) {
    it.scoped(`${path} must be valid: ${JSON.stringify(options)}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(LibsqlStore.make(options))
        assert.deepInclude(error, { _tag: "StoreRejected", operation: "open", reason: "invalid-input", path })
        assert.notInclude(JSON.stringify(error) + error.message, "s3cret")
      })
    )
  }

  it.scoped("come from the configuration", () =>
    Effect.gen(function* () {
      const server = yield* SqldServer.make({ accept: (token) => (token === "s3cret" ? "rw" : "invalid") })
      const layer = LibsqlStore.layerConfig({
        url: Config.string("URL"),
        authToken: Config.redacted("TOKEN"),
        timeout: Config.duration("TIMEOUT"),
        readFrom: Config.literal("primary", "replica")("READ_FROM"),
        prefix: Config.string("PREFIX")
      })
      const run = (entries: ReadonlyArray<readonly [string, string]>) =>
        Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.save(order)).pipe(
          Effect.provide(layer),
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map(entries)))
        )
      const entries = [
        ["URL", server.url],
        ["TOKEN", "s3cret"],
        ["TIMEOUT", "5 seconds"],
        ["READ_FROM", "primary"]
      ] as const
      yield* run([...entries, ["PREFIX", "shop_"]])
      assert.deepStrictEqual(yield* server.rows("SELECT id FROM shop_executions"), [["order-1"]])
      assert.include(String(yield* Effect.flip(run(entries))), "PREFIX")
    })
  )
})

describe("a file", () => {
  it.scoped("keeps what it is told, for the next store that opens it", () =>
    Effect.gen(function* () {
      const url = `file:${yield* Temp.database}`
      yield* Effect.scoped(Effect.flatMap(LibsqlStore.make({ url }), ({ store }) => store.commit(order, { emits })))
      const { replica, store } = yield* LibsqlStore.make({ url })
      assert.strictEqual(Option.getOrThrow(yield* store.load("order-1")).version, 1)
      assert.isTrue(Option.isNone(yield* replica.status))
      yield* replica.sync
    })
  )

  for (const [durability, synchronous] of [
    ["full", 2],
    ["normal", 1],
    [undefined, 2]
  ] as const) {
    it.scoped(`is as durable as ${durability ?? "the default"} says, also after a lock was met`, () =>
      Effect.gen(function* () {
        const filename = yield* Temp.database
        const { client, store } = yield* LibsqlStore.make({
          url: `file:${filename}`,
          busyTimeout: 0,
          ...(durability === undefined ? {} : { durability })
        })
        const pragma = (name: string) =>
          Effect.promise(async () => (await client.execute({ sql: `PRAGMA ${name}`, args: [] })).rows[0]?.[0])
        const all = Effect.all([pragma("synchronous"), pragma("journal_mode"), pragma("busy_timeout")])
        assert.deepStrictEqual(yield* all, [synchronous, "wal", 5])
        yield* store.save(order)
        assert.deepStrictEqual(yield* all, [synchronous, "wal", 5])
        const other = createClient({ url: `file:${filename}` })
        const tx = yield* Effect.promise(() => other.transaction("write"))
        yield* Effect.flip(store.save({ ...order, id: "order-2" }))
        assert.deepStrictEqual(yield* all, [synchronous, "wal", 5])
        yield* Effect.promise(() => tx.rollback())
        other.close()
      })
    )
  }

  it.scoped("that cannot be opened is told by its name", () =>
    Effect.gen(function* () {
      const directory = yield* Temp.directory
      const text = `${directory}/text.db`
      writeFileSync(text, "This is no database, however long one looks at it. ".repeat(100))
      const cases: ReadonlyArray<readonly [string, RegExp]> = [
        [directory, /is a directory/],
        [`${directory}/nowhere/store.db`, /directory does not exist/],
        [text, /not an SQLite database/]
      ]
      for (const [filename, problem] of cases) {
        const error = yield* Effect.flip(LibsqlStore.make({ url: `file:${filename}` }))
        assert.deepInclude(error, { _tag: "StoreRejected", operation: "open", reason: "open", path: filename })
        assert.match(error.message, problem)
      }
    })
  )

  it.scoped("is closed with the store", () =>
    Effect.gen(function* () {
      const url = `file:${yield* Temp.database}`
      for (const groupCommit of [true, false]) {
        const { client, store } = yield* Effect.scoped(LibsqlStore.make({ url, groupCommit }))
        assert.deepInclude(yield* Effect.flip(store.save(order)), { _tag: "StoreUnavailable", reason: "shutdown" })
        assert.deepInclude(yield* Effect.flip(store.load("a")), { _tag: "StoreUnavailable", reason: "shutdown" })
        const error = yield* Effect.flip(Effect.tryPromise(() => client.execute({ sql: "SELECT 1", args: [] })))
        assert.include(String(error.error), "closed")
      }
    })
  )
})

describe("a double for a server", () => {
  const rebuilt = (sql: string, params: ReadonlyArray<unknown>): number => {
    const [mantissa, ...powers] = params.map(Number)
    return powers.reduce((value, power) => (sql.includes("/") ? value / 2 ** power : value * 2 ** power), mantissa ?? 0)
  }

  it("travels as whole numbers and powers of two", () => {
    const values = [0.1, -2.5, 1705071781.7454875, 1e300, 5e-324, Number.MAX_VALUE, 2 ** 53, 2 ** 64 + 2 ** 20]
    for (const value of values) {
      const { params, sql } = exact({ sql: "SELECT ?", params: [value] })
      assert.isTrue(params.every((param) => Number.isSafeInteger(param)))
      assert.strictEqual(sql.split("?").length - 1, params.length)
      assert.strictEqual(rebuilt(sql, params), value)
    }
  })

  it("is left where it is where it is whole, or is no number", () => {
    const statement = { sql: "SELECT ?, ?, ?", params: [1, null, "1.5?"] }
    assert.strictEqual(exact(statement), statement)
    assert.deepStrictEqual(exact({ sql: "SELECT ?, ?, ?", params: [1, 0.5, "?"] }), {
      sql: "SELECT ?, (CAST(? AS REAL) / (1 << ?)), ?",
      params: [1, 1, 1, "?"]
    })
  })

  it.scoped("comes back as it was", () =>
    Effect.gen(function* () {
      const { url } = yield* SqldServer.make()
      const { store } = yield* LibsqlStore.make({ url })
      const fireAt = 1705071781.7454875
      yield* store.commit(order, { timers: [{ _tag: "Schedule", path: "p", fireAt }] })
      const timer = { executionId: "order-1", path: "p", fireAt }
      assert.deepStrictEqual((yield* store.dueTimers(fireAt)).entries, [timer])
      assert.isTrue(yield* store.timers.isArmed(timer))
      assert.isTrue(yield* store.deleteTimer(timer))
    })
  )
})
