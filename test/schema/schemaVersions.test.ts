import { fileURLToPath } from "node:url"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import { ddl, schemaVersion } from "holdfast/internal/schema/schema"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqlDriver from "holdfast/SqlDriver"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Drivers from "../support/drivers.js"
import * as Temp from "../support/temp.js"
import { execution } from "../support/workers.js"

const call = { operation: "test" }

/** The statements that make a database as a version of the schema left it. */
const asVersion = (version: number) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const fixture = new URL(`../fixtures/schema/version-${version}.json`, import.meta.url)
    const text = yield* fs.readFileString(fileURLToPath(fixture))
    return yield* Schema.decode(Schema.parseJson(Schema.Array(Schema.String)))(text)
  }).pipe(Effect.provide(NodeFileSystem.layer))

const earlier = Array.from({ length: schemaVersion - 1 }, (_, i) => i + 1)

const run = (driver: SqlDriver.SqlDriver, statements: ReadonlyArray<string>) =>
  driver.transaction(
    call,
    statements.map((sql) => ({ sql, params: [] }))
  )

const rows = (driver: SqlDriver.SqlDriver, sql: string) => driver.query(call, { sql, params: [] })

const tables = (driver: SqlDriver.SqlDriver) =>
  Effect.map(
    rows(driver, "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"),
    (found) => found.map((row) => row.join(" "))
  )

for (const [name, driver, version] of Drivers.all.flatMap(([name, driver]) =>
  earlier.map((version) => [name, driver, version] as const)
)) {
  describe(`${name} of schema version ${version}`, () => {
    it.scoped("gains what is new when it is opened, keeps all that is in it, and is only read from then on", () =>
      Effect.gen(function* () {
        const database = yield* driver
        yield* run(database, yield* asVersion(version))
        const store = yield* SqlDriver.make(database)
        const fresh = yield* driver
        yield* run(fresh, ddl("harel_"))
        assert.deepStrictEqual(yield* tables(database), yield* tables(fresh))
        const stored = yield* rows(database, "SELECT value FROM harel_holdfast_meta WHERE key = 'schema_version'")
        assert.deepStrictEqual(stored, [[String(schemaVersion)]])

        assert.deepStrictEqual(
          (yield* store.listExecutions({ status: ["DONE"] })).items.map((item) => item.id),
          ["b"]
        )
        assert.deepStrictEqual(
          (yield* store.pendingOutbox()).entries.map((entry) => [entry.seq, entry.event.id]),
          [
            [2, "e2"],
            [3, "e3"]
          ]
        )
        const timers = yield* store.dueTimers(1e12)
        assert.deepStrictEqual(
          timers.entries.map(({ fireAt, path }) => [path, fireAt]),
          [
            ["q", 20],
            ["p", 1790000060.1234567]
          ]
        )
        assert.isTrue(yield* store.spawns.isPending("a:child"))
        assert.isTrue(yield* store.isProcessed("a", "start"))
        assert.lengthOf((yield* store.readTrace("a")).entries, 1)

        const writes: Array<string> = []
        const watched: SqlDriver.SqlDriver = {
          ...database,
          transaction: (call, statements) => {
            writes.push(call.operation)
            return database.transaction(call, statements)
          }
        }
        yield* SqlDriver.make(watched)
        assert.deepStrictEqual(writes, [])
      })
    )

    it.scoped("works with what is new for rows that were there", () =>
      Effect.gen(function* () {
        const database = yield* driver
        yield* run(database, yield* asVersion(version))
        const store = yield* SqlDriver.make(database)
        const a = Option.getOrThrow(yield* store.load("a"))
        const failure = { attempts: 3, error: "no answer", retryAt: 100 }
        yield* store.deadLetters.recordFailure({ work: { _tag: "Outbox", seq: 2 }, ...failure })
        yield* store.deadLetters.recordFailure({
          work: { _tag: "Timer", executionId: "a", path: "q", fireAt: 20 },
          ...failure
        })
        assert.lengthOf((yield* store.pendingOutbox()).failures, 1)
        const { seqs } = yield* store.commit(a, {
          emits: [{ targetId: "b", event: Event.make({ id: "e4", kind: "Happened" }) }],
          ack: { _tag: "Outbox", seq: 2 }
        })
        assert.deepStrictEqual(seqs, [4])
        const stats = yield* store.stats
        assert.deepStrictEqual([stats.outbox.failing, stats.timers.failing], [0, 1])
        assert.isTrue(
          yield* store.deadLetters.bury({ _tag: "Outbox", seq: 3 }, { reason: "attempts", attempts: 20, error: "" })
        )
        const [letter] = (yield* store.deadLetters.list()).entries
        assert.isTrue(yield* store.deadLetters.redrive(letter?.id ?? 0))
        assert.deepStrictEqual(
          (yield* store.pendingOutbox()).entries.map((entry) => entry.event.id),
          ["e4", "e3"]
        )
      })
    )

    it.scoped("is left as it is where nothing may be made, until its operator has run the statements", () =>
      Effect.gen(function* () {
        const database = yield* driver
        yield* run(database, yield* asVersion(version))
        const before = yield* tables(database)
        const error = yield* Effect.flip(SqlDriver.make(database, { createSchema: false }))
        assert.deepInclude(error, { _tag: "StoreRejected", reason: "schema", path: "createSchema" })
        assert.include(error.message, `the schema has version ${version}`)
        assert.include(error.message, "run the statements of SqlDriver.schema")
        assert.deepStrictEqual(yield* tables(database), before)
        yield* run(database, yield* SqlDriver.schema("harel_"))
        yield* SqlDriver.make(database, { createSchema: false })
      })
    )
  })
}

for (const version of ["0", "-1", String(schemaVersion + 1), "1.5x", "next"]) {
  it.scoped(`a database of schema version ${version} is refused and left as it is`, () =>
    Effect.gen(function* () {
      const database = yield* sqliteDriver.make({ filename: ":memory:" })
      yield* run(database, [
        ...(yield* asVersion(1)),
        `UPDATE harel_holdfast_meta SET value = '${version}' WHERE key = 'schema_version'`
      ])
      const before = yield* tables(database)
      const error = yield* Effect.flip(SqlDriver.make(database))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "schema", path: "schema_version" })
      assert.include(error.message, `has version ${version}, this library knows version ${schemaVersion}`)
      assert.deepStrictEqual(yield* tables(database), before)
    })
  )
}

const parts = (driver: SqlDriver.SqlDriver) =>
  Effect.map(
    rows(
      driver,
      "SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name"
    ),
    (found) => found.map(([type, name]) => [String(type), String(name)] as const)
  )

for (const [name, driver] of Drivers.all) {
  describe(`${name} of this schema version`, () => {
    it.scoped("gains what it lacks when it is opened, whichever part that is", () =>
      Effect.gen(function* () {
        const fresh = yield* driver
        yield* SqlDriver.make(fresh)
        const all = yield* parts(fresh)
        assert.isAbove(all.length, 40)
        for (const [type, part] of all) {
          // Without it there is no version, and all is made as in a new database.
          if (part === "harel_holdfast_meta") continue
          yield* run(fresh, [`DROP ${type} ${part}`])
          const store = yield* SqlDriver.make(fresh)
          assert.deepStrictEqual(yield* parts(fresh), all, part)
          yield* store.stats
        }
        const error = yield* Effect.flip(
          Effect.zipRight(
            run(fresh, ["DROP TRIGGER harel_holdfast_activities_resume", "DROP INDEX harel_holdfast_timers_due"]),
            SqlDriver.make(fresh, { createSchema: false })
          )
        )
        assert.deepInclude(error, { _tag: "StoreRejected", reason: "schema", path: "createSchema" })
        assert.include(
          error.message,
          "the schema lacks harel_holdfast_timers_due, harel_holdfast_activities_resume and"
        )
        assert.include(error.message, "run the statements of SqlDriver.schema")
      })
    )

    it.scoped("has its listing made anew where nothing kept it", () =>
      Effect.gen(function* () {
        const database = yield* driver
        const store = yield* SqlDriver.make(database)
        yield* store.save(execution("a", { status: "RUNNING" }))
        yield* store.save(execution("b", { status: "RUNNING" }))
        yield* store.commit(execution("c", { status: "RUNNING" }), {
          activities: [Commit.runActivity({ key: "k", name: "charge", payload: {} })]
        })
        yield* run(database, [
          "DROP TRIGGER harel_holdfast_listing_update",
          "DROP TRIGGER harel_holdfast_listing_delete"
        ])
        const a = Option.getOrThrow(yield* store.load("a"))
        yield* store.save({ ...a, status: "SUSPENDED" })
        yield* run(database, ["DELETE FROM harel_executions WHERE id = 'b'"])
        const again = yield* SqlDriver.make(database)
        const { items } = yield* again.listExecutions()
        assert.deepStrictEqual(
          items.map(({ id, status }) => [id, status]),
          [
            ["a", "SUSPENDED"],
            ["c", "RUNNING"]
          ]
        )
        assert.lengthOf((yield* again.listExecutions({ status: ["RUNNING"] })).items, 1)
        assert.lengthOf(yield* again.activities.of("c"), 1)
      })
    )
  })
}

it.scoped("two stores that open a file of version 1 at once both work", () =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    yield* run(yield* sqliteDriver.make({ filename }), yield* asVersion(1))
    const open = SqliteStore.make({ filename })
    const stores = yield* Effect.all([open, open, open], { concurrency: "unbounded" })
    for (const [i, store] of stores.entries()) {
      const a = Option.getOrThrow(yield* store.load("a"))
      assert.strictEqual((yield* store.save(a)).version, 2 + i)
    }
  })
)

it.scoped("a later version's mark is never lowered", () =>
  Effect.gen(function* () {
    const database = yield* sqliteDriver.make({ filename: ":memory:" })
    yield* run(database, [
      ...ddl("harel_"),
      `UPDATE harel_holdfast_meta SET value = '${schemaVersion + 1}' WHERE key = 'schema_version'`,
      ...ddl("harel_")
    ])
    const version = yield* rows(database, "SELECT value FROM harel_holdfast_meta WHERE key = 'schema_version'")
    assert.deepStrictEqual(version, [[String(schemaVersion + 1)]])
  })
)
