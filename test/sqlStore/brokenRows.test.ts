import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Commit from "holdfast/Commit"
import type { Burial } from "holdfast/DeadLetter"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import { ExecutionStore, streamCorrupt } from "holdfast/ExecutionStore"
import * as SqlDriver from "holdfast/SqlDriver"
import { StoreRejected } from "holdfast/StoreError"
import * as Drivers from "../support/drivers.js"

const call = { operation: "test" }

/** Where a check of the listing's table begins. */
const listingCursor = Encoding.encodeBase64Url(JSON.stringify({ table: "holdfast_listing" }))
const why: Burial = { reason: "corrupt", attempts: 0, error: "no text" }
const failure = { attempts: 1, error: "no answer", retryAt: 5 }

const run = (driver: SqlDriver.SqlDriver, ...statements: ReadonlyArray<string>) =>
  driver.transaction(
    call,
    statements.map((sql) => ({ sql, params: [] }))
  )

const rows = (driver: SqlDriver.SqlDriver, sql: string) => driver.query(call, { sql, params: [] })

const timers = "SELECT quote(execution_id), quote(path), quote(fire_at) FROM harel_timers ORDER BY 1, 2"

/** Rows of the timers in which a column is no text or no number, with the work and the problem that name them. */
const broken = [
  [
    "X'4142'",
    "'p'",
    "10.0",
    { executionId: "X'4142'", path: "p", fireAt: 10 },
    "execution_id: expected a text, found a blob"
  ],
  ["'a'", "X'00'", "10.0", { executionId: "a", path: "X'00'", fireAt: 10 }, "path: expected a text, found a blob"],
  ["'a'", "'p'", "'soon'", { executionId: "a", path: "p", fireAt: 0 }, "fire_at: expected a number, found a text"],
  ["'a'", "'p'", "X'0A'", { executionId: "a", path: "p", fireAt: 0 }, "fire_at: expected a number, found a blob"]
] as const

for (const [name, driver] of Drivers.all) {
  describe(`a store on ${name}`, () => {
    for (const [executionId, path, fireAt, timer, problem] of broken) {
      it.scoped(
        `reports the timer (${executionId}, ${path}, ${fireAt}) by the work it is, and gives up that row alone`,
        () =>
          Effect.gen(function* () {
            const database = yield* driver
            const store = yield* SqlDriver.make(database)
            const beside = ["AB", "a"].map((id) => Execution.make({ id, definitionId: "order" }))
            for (const execution of beside) {
              yield* store.commit(execution, { timers: [Commit.scheduleTimer("q", 10), Commit.scheduleTimer("r", 0)] })
            }
            const before = yield* rows(database, timers)
            yield* run(database, `INSERT INTO harel_timers VALUES (${executionId}, ${path}, ${fireAt})`)
            const inserted = yield* rows(database, timers)
            const page = yield* store.dueTimers(100)
            assert.lengthOf(page.entries, 4)
            assert.deepStrictEqual(
              page.corrupt.map((corrupt) => [corrupt.work, corrupt.problem]),
              [[{ _tag: "Timer", ...timer }, problem]]
            )
            const work = { _tag: "Timer", ...timer } as const
            assert.isTrue(yield* store.deadLetters.bury(work, why))
            assert.deepStrictEqual(yield* rows(database, timers), before)
            assert.isFalse(yield* store.deadLetters.bury(work, why))
            const [letter] = (yield* store.deadLetters.list()).entries
            assert.deepInclude(letter, { _tag: "Timer", work, row: Option.none(), ...why })
            assert.include(letter?.text, fireAt === "'soon'" ? '"soon"' : "X'")
            assert.isTrue(yield* store.deadLetters.redrive(letter?.id ?? 0))
            assert.deepStrictEqual(yield* rows(database, timers), inserted)
            assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
          })
      )
    }

    it.scoped("redrives bytes as the bytes they were", () =>
      Effect.gen(function* () {
        const database = yield* driver
        const store = yield* SqlDriver.make(database)
        yield* run(
          database,
          "INSERT INTO harel_outbox VALUES (1, X'FF00', X'7B7D')",
          "INSERT INTO harel_spawns VALUES (1, X'FF', X'00', X'', X'7B7D')"
        )
        const outbox = "SELECT quote(target_id), quote(event) FROM harel_outbox"
        const spawns = "SELECT quote(parent_id), quote(child_id), quote(root_path), quote(context) FROM harel_spawns"
        const before = [yield* rows(database, outbox), yield* rows(database, spawns)]
        yield* store.deadLetters.bury({ _tag: "Outbox", seq: 1 }, why)
        yield* store.deadLetters.bury({ _tag: "Spawn", seq: 1 }, why)
        const { corrupt, entries } = yield* store.deadLetters.list()
        assert.deepStrictEqual(corrupt, [])
        assert.deepStrictEqual(
          entries.map(({ executionId, row, text }) => [executionId, Option.isNone<unknown>(row), JSON.parse(text)]),
          [
            ["X'FF00'", true, { seq: 1, target_id: "X'FF00'", event: "X'7B7D'" }],
            ["X'FF'", true, { seq: 1, parent_id: "X'FF'", child_id: "X'00'", root_path: "X''", context: "X'7B7D'" }]
          ]
        )
        for (const { id } of entries) assert.isTrue(yield* store.deadLetters.redrive(id))
        assert.deepStrictEqual([yield* rows(database, outbox), yield* rows(database, spawns)], before)
      })
    )

    it.scoped("reports a dead letter that is none, and goes on with the others", () =>
      Effect.gen(function* () {
        const database = yield* driver
        const store = yield* SqlDriver.make(database)
        const event = Event.make({ id: "e", kind: "K" })
        for (const seq of yield* store.enqueue([1, 2, 3].map(() => ({ targetId: "a", event })))) {
          yield* store.deadLetters.bury({ _tag: "Outbox", seq }, why)
        }
        yield* run(database, "UPDATE harel_holdfast_dead_letters SET kind = 'Letter' WHERE id = 2")
        for (const limit of [1, 2, 3]) {
          const first = yield* store.deadLetters.list({ limit })
          const second = yield* store.deadLetters.list({ after: Option.getOrElse(first.next, () => 3) })
          assert.deepStrictEqual(
            [...first.entries, ...second.entries].map(({ id }) => id),
            [1, 3]
          )
          const [corrupt] = [...first.corrupt, ...second.corrupt]
          assert.deepInclude(corrupt, { _tag: "StoreCorrupt", table: "holdfast_dead_letters", key: "2" })
          assert.include(corrupt?.problem, "kind: expected one of Outbox, Spawn, Timer, Activity")
        }
        assert.isFalse(yield* store.deadLetters.redrive(2))
        assert.isTrue(yield* store.deadLetters.discard(2))
      })
    )

    it.scoped(
      "tells other programs the same of their statements, whether work failed or not, and forgets with them",
      () =>
        Effect.gen(function* () {
          const database = yield* driver
          const store = yield* SqlDriver.make(database)
          const event = Event.make({ id: "e", kind: "K" })
          const emits = [1, 2, 3].map(() => ({ targetId: "a", event }))
          const statements = [
            "DELETE FROM harel_outbox WHERE seq = 1",
            "DELETE FROM harel_outbox WHERE seq = 1",
            "INSERT INTO harel_outbox (target_id, event) SELECT target_id, event FROM harel_outbox WHERE seq > 1",
            "DELETE FROM harel_spawns WHERE parent_id = 'a'",
            "INSERT INTO harel_spawns (parent_id, child_id, root_path, context) VALUES ('a', 'b', '', '{}')",
            "INSERT INTO harel_timers VALUES ('a', 'p', 20.0) ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at",
            "DELETE FROM harel_timers WHERE execution_id = 'a' AND path = 'q' AND fire_at = 10.0",
            "INSERT INTO harel_timers VALUES ('a', 'q', 10.0)",
            "DELETE FROM harel_outbox WHERE target_id = 'a'"
          ]
          const { seqs } = yield* store.commit(Execution.make({ id: "a", definitionId: "order" }), {
            emits,
            spawns: [{ childId: "c", rootPath: "", context: {} }],
            timers: [Commit.scheduleTimer("p", 10), Commit.scheduleTimer("q", 10)]
          })
          yield* Effect.forEach(seqs, (seq) =>
            store.deadLetters.recordFailure({ work: { _tag: "Outbox", seq }, ...failure })
          )
          yield* store.deadLetters.recordFailure({ work: { _tag: "Spawn", seq: 1 }, ...failure })
          for (const path of ["p", "q"]) {
            yield* store.deadLetters.recordFailure({
              work: { _tag: "Timer", executionId: "a", path, fireAt: 10 },
              ...failure
            })
          }
          const results = yield* run(database, ...statements)
          assert.deepStrictEqual(
            results.map(({ changes }) => changes),
            [1, 0, 2, 1, 1, 1, 1, 1, 4]
          )
          assert.strictEqual(results[2]?.lastRowid, 5)
          assert.strictEqual(results[4]?.lastRowid, 2)
          const { outbox, spawns, timers } = yield* store.stats
          assert.deepStrictEqual([outbox.failing, spawns.failing, timers.failing], [0, 0, 0])
          assert.deepStrictEqual([outbox.count, spawns.count, timers.count], [0, 1, 2])
        })
    )

    it.scoped("loses the dead letters of an execution that another program removes", () =>
      Effect.gen(function* () {
        const database = yield* driver
        const store = yield* SqlDriver.make(database)
        yield* store.save(Execution.make({ id: "a", definitionId: "order" }))
        const event = Event.make({ id: "e", kind: "K" })
        for (const seq of yield* store.enqueue(["a", "b"].map((targetId) => ({ targetId, event })))) {
          yield* store.deadLetters.bury({ _tag: "Outbox", seq }, why)
        }
        const [result] = yield* run(database, "DELETE FROM harel_executions WHERE id = 'a' AND version = 1")
        assert.strictEqual(result?.changes, 1)
        const { entries } = yield* store.deadLetters.list()
        assert.deepStrictEqual(
          entries.map(({ executionId }) => executionId),
          ["b"]
        )
      })
    )

    it.scoped(
      "loses the delayed events of an execution that another program removes, which its successor does not get",
      () =>
        Effect.gen(function* () {
          const database = yield* driver
          const store = yield* SqlDriver.make(database)
          const event = Event.make({ id: "e", kind: "K" })
          yield* store.save(Execution.make({ id: "a", definitionId: "order" }))
          yield* store.enqueue(["a", "b", null].map((targetId) => ({ targetId, event, dueAt: 5 })))
          const [result] = yield* run(database, "DELETE FROM harel_executions WHERE id = 'a' AND version = 1")
          assert.strictEqual(result?.changes, 1)
          yield* store.save(Execution.make({ id: "a", definitionId: "order" }))
          assert.strictEqual(yield* store.delayed.release(5), 2)
          assert.deepStrictEqual(
            (yield* store.pendingOutbox()).entries.map(({ targetId }) => targetId),
            ["b", null]
          )
        })
    )

    it.scoped("names every row in which bytes stand for a text, whatever its key", () =>
      Effect.gen(function* () {
        const database = yield* driver
        const store = yield* SqlDriver.make(database)
        yield* store.save(Execution.make({ id: "a", definitionId: "order" }))
        yield* run(
          database,
          "INSERT INTO harel_outbox VALUES (1, X'FF', '{}')",
          "INSERT INTO harel_processed_events VALUES ('a', X'00')",
          "INSERT INTO harel_definitions VALUES (X'41', 1, '', '', NULL)",
          "INSERT INTO harel_holdfast_meta VALUES ('k', X'00')",
          "INSERT INTO harel_holdfast_listing VALUES (X'41', 'order', NULL, NULL, 1)",
          "INSERT INTO harel_holdfast_marks VALUES (X'41', 'e', 1), (X'42', 'e', 1), ('a', X'43', 1)",
          "INSERT INTO harel_holdfast_members VALUES ('p', X'41', 'b', 1, 1)"
        )
        for (const limit of [1, 2, 3, 100]) {
          const found = Chunk.toReadonlyArray(
            yield* Stream.runCollect(streamCorrupt({ limit })).pipe(Effect.provideService(ExecutionStore, store))
          )
          assert.deepStrictEqual(
            found.map(({ key, problem, table }) => `${table} ${key}: ${problem}`),
            [
              "outbox 1: target_id: expected a text, found a blob",
              "processed_events a X'00': event_id: expected a text, found a blob",
              "definitions X'41' 1: definition_id: expected a text, found a blob",
              "holdfast_meta k: value: expected a text, found a blob",
              "holdfast_listing X'41': id: expected a text, found a blob",
              "holdfast_marks a X'43': event_id: expected a text, found a blob",
              "holdfast_marks X'41' e: execution_id: expected a text, found a blob",
              "holdfast_marks X'42' e: execution_id: expected a text, found a blob",
              "holdfast_members p X'41': holder: expected a text, found a blob"
            ]
          )
        }
      })
    )

    it.scoped("names the rows of the listing that disagree with their executions, until it is made anew", () =>
      Effect.gen(function* () {
        const database = yield* driver
        const store = yield* SqlDriver.make(database)
        for (const id of ["a", "b", "c", "d", "e"]) {
          yield* store.save(Execution.make({ id, definitionId: "order", parentId: id === "a" ? null : "a" }))
        }
        const broken = Effect.map(store.verify({ cursor: listingCursor }), ({ corrupt }) =>
          corrupt.map(({ key, problem }) => `${key} ${problem}`)
        )
        assert.deepStrictEqual(yield* broken, [])
        const listing = "harel_holdfast_listing"
        yield* run(
          database,
          `UPDATE ${listing} SET definition_id = 'other' WHERE id = 'a'`,
          `UPDATE ${listing} SET status = 'garbage' WHERE id = 'b'`,
          `UPDATE ${listing} SET parent_id = NULL WHERE id = 'c'`,
          `UPDATE ${listing} SET root = 1 WHERE id = 'd'`,
          `DELETE FROM ${listing} WHERE id = 'e'`,
          `INSERT INTO ${listing} VALUES ('ghost', 'order', 'DONE', NULL, 1)`
        )
        assert.deepStrictEqual(yield* broken, [
          "a definition_id: is not that of the execution",
          "b status: is not that of the execution",
          "c parent_id: is not that of the execution",
          "d root: is not that of the execution",
          "ghost id: there is no such execution"
        ])
        const [corrupt] = (yield* store.verify()).corrupt
        assert.deepInclude(corrupt, { table: "executions", key: "e", problem: "holdfast_listing: has no row for it" })
        // as the manual says
        yield* run(database, `DELETE FROM ${listing}`, "DELETE FROM harel_holdfast_meta WHERE key = 'schema_version'")
        yield* SqlDriver.make(database)
        assert.deepStrictEqual(yield* broken, [])
        assert.deepStrictEqual((yield* store.verify()).corrupt, [])
        assert.lengthOf((yield* store.listExecutions({ rootsOnly: true })).items, 1)
      })
    )

    it.scoped("does not say that a definition was refused where it is stored and cannot be read back", () =>
      Effect.gen(function* () {
        const database = yield* driver
        const refusing: SqlDriver.SqlDriver = {
          ...database,
          query: (call, statement) =>
            call.operation === "loadDefinition"
              ? Effect.fail(new StoreRejected({ ...call, reason: "auth", detail: "no" }))
              : database.query(call, statement)
        }
        const store = yield* SqlDriver.make(refusing)
        const definition = { definitionId: "d", version: 1, digest: "x", source: "{}", publishedAt: null }
        const error = yield* Effect.flip(store.publishDefinition(definition))
        assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "unknown" })
        assert.deepStrictEqual(yield* rows(database, "SELECT digest FROM harel_definitions"), [["x"]])
      })
    )
  })
}
