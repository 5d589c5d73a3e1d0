import { fileURLToPath } from "node:url"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Str from "effect/String"
import * as Execution from "holdfast/Execution"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqliteStore from "holdfast/SqliteStore"
import { parse } from "lossless-json"
import * as Client from "../support/sqlClient.js"
import * as Temp from "../support/temp.js"

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/interop/${name}`, import.meta.url))

/** JSON in which an integer that no double holds stays the digits it is. */
const parseExactly = (text: string): unknown =>
  parse(text, undefined, (digits) => {
    const number = Number(digits)
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? BigInt(digits) : number
  })

const Row = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const Answers = Schema.Struct({
  executions: Schema.Record({ key: Schema.String, value: Row }),
  list: Schema.Struct({
    all: Schema.Array(Row),
    by_definition: Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) }),
    by_status: Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) }),
    pages_of_7: Schema.Array(Schema.Struct({ count: Schema.Number, next_cursor: Schema.NullOr(Schema.String) })),
    roots_only: Schema.Array(Schema.String)
  }),
  pending_outbox: Schema.Array(Row),
  pending_spawns: Schema.Array(Row),
  due_timers: Schema.Array(Schema.Tuple(Schema.String, Schema.String, Schema.Number)),
  traces: Schema.Record({ key: Schema.String, value: Schema.Array(Row) }),
  ids_with_prefix: Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) }),
  is_processed: Schema.Array(Schema.Tuple(Schema.String, Schema.String, Schema.Boolean)),
  "stale_commit_of_s-done": Schema.Struct({ expected: Schema.Number, found: Schema.Number })
})

/** A copy of a database that harel wrote, and what harel's own API answers for it. */
const sample = (name: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const filename = yield* Temp.database
    yield* fs.copyFile(fixture(`${name}.db`), filename)
    const text = yield* fs.readFileString(fixture(`${name}.json`))
    const answers = yield* Schema.decodeUnknown(Answers)(parseExactly(text))
    return { filename, answers }
  }).pipe(Effect.provide(NodeFileSystem.layer))

/** The keys of one level as they are stored; what is beyond the model must be nothing. */
const stored = ({ extra, ...model }: { readonly [key: string]: unknown }): { [key: string]: unknown } => {
  if (extra !== undefined) assert.deepStrictEqual(extra, {})
  return Object.fromEntries(Object.entries(model).map(([key, value]) => [Str.camelToSnake(key), value]))
}

// harel keeps no result of an execution, and no version of its definition; one that is read without has no result, and version 1.
const storedExecution = ({ definitionVersion, result, ...execution }: Execution.Execution) => ({
  ...stored({ ...execution }),
  ...(result === null ? undefined : { result }),
  ...(definitionVersion === 1 ? undefined : { definitionVersion }),
  deferred: execution.deferred.map((event) => stored({ ...event })),
  children: Object.fromEntries(Object.entries(execution.children).map(([id, child]) => [id, stored({ ...child })]))
})

const listed = (store: ExecutionStore.ExecutionStore, query: ExecutionStore.ListQuery) =>
  Effect.map(store.listExecutions(query), (page) => page.items.map((item) => item.id))

for (const name of ["sample-sqlite", "sample-libsql"]) {
  describe(`a database that harel wrote (${name})`, () => {
    it.scoped("loads", () =>
      Effect.gen(function* () {
        const { answers, filename } = yield* sample(name)
        const store = yield* SqliteStore.make({ filename })
        const ids = yield* store.idsWithPrefix("")
        assert.deepStrictEqual(ids, Object.keys(answers.executions).sort())
        assert.strictEqual(ids.length, 25)
        for (const id of ids) {
          const execution = Option.getOrThrow(yield* store.load(id))
          assert.deepStrictEqual(storedExecution(execution), answers.executions[id])
        }
      })
    )

    it.scoped("lists and pages", () =>
      Effect.gen(function* () {
        const { answers, filename } = yield* sample(name)
        const store = yield* SqliteStore.make({ filename })
        const { all, by_definition, by_status, pages_of_7, roots_only } = answers.list
        const page = yield* store.listExecutions()
        assert.deepStrictEqual(
          page.items.map(({ definitionVersion, ...item }) => stored(item)),
          all
        )
        assert.deepStrictEqual(page.corrupt, [])
        for (const [definitionId, ids] of Object.entries(by_definition)) {
          assert.deepStrictEqual(yield* listed(store, { definitionId }), ids)
        }
        for (const status of [
          "PENDING",
          "RUNNING",
          "DONE",
          "CANCELLED",
          "SUSPENDED",
          "CANCELLING",
          "FAILED"
        ] as const) {
          assert.deepStrictEqual(yield* listed(store, { status: [status] }), by_status[status])
        }
        assert.deepStrictEqual(yield* listed(store, { rootsOnly: true }), roots_only)

        const pages: Array<ReadonlyArray<string>> = []
        let cursor: string | undefined
        do {
          const next: ExecutionStore.ListQuery = cursor === undefined ? { limit: 7 } : { limit: 7, cursor }
          const page = yield* store.listExecutions(next)
          pages.push(page.items.map((item) => item.id))
          cursor = Option.getOrUndefined(page.nextCursor)
        } while (cursor !== undefined)
        assert.deepStrictEqual(
          pages.map((ids) => ids.length),
          pages_of_7.map((page) => page.count)
        )
        assert.deepStrictEqual(
          pages.flat(),
          all.map((row) => row["id"])
        )
      })
    )

    it.scoped("gives what is pending, due, traced and processed", () =>
      Effect.gen(function* () {
        const { answers, filename } = yield* sample(name)
        const store = yield* SqliteStore.make({ filename })
        const outbox = yield* store.pendingOutbox()
        assert.deepStrictEqual(
          outbox.entries.map(({ event, seq, targetId }) => ({
            ...stored({ seq, targetId }),
            event: stored({ ...event })
          })),
          answers.pending_outbox
        )
        for (const { emittedAt, traceparent } of outbox.entries)
          assert.deepStrictEqual([emittedAt, traceparent], [null, null])
        const spawns = yield* store.pendingSpawns()
        assert.deepStrictEqual(
          spawns.entries.map((entry) => stored({ ...entry })),
          answers.pending_spawns
        )
        assert.deepStrictEqual([outbox.corrupt, spawns.corrupt], [[], []])
        const timers = (yield* store.dueTimers(1e12)).entries
        assert.deepStrictEqual(
          timers.map((timer) => [timer.executionId, timer.path, timer.fireAt]),
          answers.due_timers.map((timer) => [...timer])
        )
        for (const [id, entries] of Object.entries(answers.traces)) {
          const trace = yield* store.readTrace(id)
          assert.deepStrictEqual(
            trace.entries.map((entry) => stored({ ...entry })),
            entries
          )
          assert.deepStrictEqual(trace.corrupt, [])
        }
        for (const [prefix, ids] of Object.entries(answers.ids_with_prefix)) {
          assert.deepStrictEqual(yield* store.idsWithPrefix(prefix), ids)
        }
        for (const [id, eventId, processed] of answers.is_processed) {
          assert.strictEqual(yield* store.isProcessed(id, eventId), processed)
        }
        const done = Option.getOrThrow(yield* store.load("s-done"))
        const { expected, found } = answers["stale_commit_of_s-done"]
        const conflict = yield* Effect.flip(store.save({ ...done, version: expected }))
        assert.deepInclude(conflict, { _tag: "StoreConflict", expected, found: Option.some(found) })
      })
    )

    it.scoped("keeps all that it says through a save", () =>
      Effect.gen(function* () {
        const { filename } = yield* sample(name)
        const store = yield* SqliteStore.make({ filename })
        const driver = yield* sqliteDriver.make({ filename })
        const data = (id: string) =>
          Effect.map(
            driver.query(
              { operation: "test" },
              { sql: "SELECT data FROM harel_executions WHERE id = ?", params: [id] }
            ),
            (rows) => String(rows[0]?.[0])
          )
        const parsed = (text: string) => Schema.decodeUnknown(Row)(parseExactly(text))
        for (const id of yield* store.idsWithPrefix("")) {
          const before = yield* parsed(yield* data(id))
          yield* store.save(Option.getOrThrow(yield* store.load(id)))
          const after = yield* parsed(yield* data(id))
          assert.strictEqual(typeof after["commit_token"], "string")
          assert.deepStrictEqual(after, {
            ...before,
            version: Number(before["version"]) + 1,
            updated_at: 0,
            commit_token: after["commit_token"]
          })
        }
        assert.include(yield* data("s-running"), '"big":1152921504606846976,')
      })
    )
  })
}

describe("a file that harel goes on writing", () => {
  it.scoped("lists what harel wrote", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* SqliteStore.make({ filename })
      const ours = yield* store.save(Execution.make({ id: "ours", definitionId: "order" }))
      // What harel's own store sends, on a connection that knows nothing of the tables beside harel's.
      const harel = yield* Client.make({ filename })
      const data = (id: string, fields: object) => JSON.stringify({ id, definition_id: "order", ...fields })
      const insert = (id: string, fields: object) =>
        harel`INSERT INTO harel_executions (id, definition_id, data, version) VALUES (${id}, 'order', ${data(id, fields)}, 1)`
      const update = (id: string, fields: object, version: number) =>
        harel`UPDATE harel_executions SET data = ${data(id, fields)}, version = ${version + 1} WHERE id = ${id} AND version = ${version}`

      yield* insert("theirs", { status: "RUNNING", version: 1, parent_id: null })
      yield* insert("child", { status: "RUNNING", version: 1, parent_id: "theirs" })
      assert.deepStrictEqual(yield* listed(store, { status: ["RUNNING"] }), ["child", "theirs"])
      assert.deepStrictEqual(yield* listed(store, { status: ["RUNNING"], rootsOnly: true }), ["theirs"])

      yield* update("theirs", { status: "DONE", version: 2, parent_id: null }, 1)
      yield* update("child", { status: "RUNNING", version: 2, parent_id: null }, 1)
      yield* update("ours", { status: "DONE", version: 2, parent_id: null }, 1)
      assert.deepStrictEqual(yield* listed(store, { definitionId: "order", status: ["DONE"] }), ["ours", "theirs"])
      assert.deepStrictEqual(yield* listed(store, { rootsOnly: true }), ["child", "ours", "theirs"])
      const conflict = yield* Effect.flip(store.save(ours))
      assert.deepInclude(conflict, { _tag: "StoreConflict", found: Option.some(2) })

      yield* harel`DELETE FROM harel_executions WHERE id = 'theirs'`
      assert.deepStrictEqual(yield* listed(store, {}), ["child", "ours"])
    })
  )

  it.scoped("lists what harel had written before it became ours too", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const harel = yield* Client.make({ filename })
      yield* harel`CREATE TABLE harel_executions (id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL)`
      yield* harel`INSERT INTO harel_executions VALUES ('theirs', 'order', ${'{"id":"theirs","definition_id":"order","status":"FAILED","version":1}'}, 1)`
      const store = yield* SqliteStore.make({ filename })
      assert.deepStrictEqual(yield* listed(store, { status: ["FAILED"], rootsOnly: true }), ["theirs"])
    })
  )
})
