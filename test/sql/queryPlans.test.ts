import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import { statuses } from "holdfast/internal/codec/execution"
import { ddl } from "holdfast/internal/schema/schema"
import { makeSql } from "holdfast/internal/sql/statements"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Temp from "../support/temp.js"

const call = { operation: "test" }
const sql = makeSql("harel_")

const texts = (record: { readonly [name: string]: unknown }, path = ""): ReadonlyArray<readonly [string, string]> =>
  Object.entries(record).flatMap(([name, value]) => {
    if (typeof value === "string") return [[path + name, value] as const]
    return typeof value === "object" ? texts({ ...value }, `${path}${name}.`) : []
  })

const filters = [undefined, "d1"].flatMap((definitionId) =>
  [[], ["DONE"], ["DONE", "RUNNING"], [...statuses]].flatMap((status) =>
    [false, true].map((rootsOnly) => ({
      definitionId,
      definitionVersion: undefined,
      status,
      rootsOnly,
      idPrefix: undefined,
      parentId: undefined,
      attributes: []
    }))
  )
)

/** A database of many rows, with or without what ANALYZE tells the planner of them. */
const database = (analyzed: boolean) =>
  Effect.gen(function* () {
    const driver = yield* sqliteDriver.make({ filename: ":memory:" })
    const numbers = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)"
    const rows = [
      `INSERT INTO harel_executions ${numbers} SELECT 'e' || i, 'd' || (i % 3), json_object('id', 'e' || i, 'status', iif(i % 4, 'DONE', 'RUNNING'), 'parent_id', iif(i % 10, 'p', NULL)), 1 FROM n`,
      `INSERT INTO harel_outbox (target_id, event) ${numbers} SELECT 'e' || (i % 7), '{}' FROM n`,
      `INSERT INTO harel_holdfast_delayed (due_at, target_id, event) ${numbers} SELECT i, 'e' || (i % 7), '{}' FROM n`,
      `INSERT INTO harel_holdfast_members ${numbers} SELECT 'p' || (i % 7), 'h' || i, 'b', 10, i FROM n`,
      `INSERT INTO harel_holdfast_leases ${numbers} SELECT 'p' || (i % 7), i, 'h' || (i % 100), 1 FROM n`,
      `INSERT INTO harel_spawns (parent_id, child_id, root_path, context) ${numbers} SELECT 'e' || (i % 7), 'c', '', '{}' FROM n`,
      `INSERT INTO harel_timers ${numbers} SELECT 'e' || i, 'p', i FROM n`,
      `INSERT INTO harel_trace ${numbers} SELECT 'e' || (i % 7), i, '{}' FROM n`,
      `INSERT INTO harel_processed_events ${numbers} SELECT 'e' || (i % 7), i FROM n`,
      `INSERT INTO harel_holdfast_marks ${numbers} SELECT 'e' || (i % 7), i, i FROM n WHERE i % 20 = 0`,
      `INSERT INTO harel_holdfast_attributes ${numbers} SELECT 'e' || i, 'customer', '"c-' || (i % 50) || '"' FROM n`,
      `INSERT INTO harel_holdfast_attributes ${numbers} SELECT 'e' || i, 'paid', iif(i % 2, 'true', 'false') FROM n`,
      `INSERT INTO harel_holdfast_meta ${numbers} SELECT 'once:' || i, '1 1' FROM n`,
      `INSERT INTO harel_definitions ${numbers} SELECT 'd' || (i % 7), i, '', '', NULL FROM n`
    ]
    yield* driver.transaction(
      call,
      [...ddl("harel_"), ...rows, ...(analyzed ? ["ANALYZE"] : [])].map((sql) => ({ sql, params: [] }))
    )
    return {
      /** The steps of a statement's plan. */
      plan: (sql: string) =>
        Effect.map(
          driver.query(call, {
            sql: `EXPLAIN QUERY PLAN ${sql}`,
            params: sql
              .split("?")
              .slice(1)
              .map(() => null)
          }),
          (rows) => rows.map((row) => String(row[3]))
        )
    }
  })

for (const analyzed of [false, true]) {
  describe(`the plan of a statement${analyzed ? " after ANALYZE" : ""}`, () => {
    it.scoped("reads no table whole and sorts nothing but what it was given", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        assert.isAbove(texts(sql).length, 40)
        for (const [name, text] of texts(sql)) {
          // counting is reading
          if (name === "stats" || name.startsWith("counts.") || name === "unserved") continue
          // what each process leaves, and each shard: all of it is told
          if (name === "leases.pools") continue
          const steps = yield* plan(text)
          const given = steps.some((step) => step.startsWith("SCAN json_each"))
          const parameters = text.includes("FROM (VALUES (?, ?)") ? ["SCAN (subquery-1)"] : []
          const bad = steps.filter(
            (step) =>
              (step.startsWith("SCAN") &&
                !parameters.includes(step) &&
                // SQLite's own tables of a few rows, which have no index
                !/^SCAN (sqlite_sequence|sqlite_master|json_each|CONSTANT ROW|\d+-ROW VALUES CLAUSE|page$|names$|keys$|\(subquery-\d+\)$|\S+ USING COVERING INDEX harel_holdfast_timers_broken$)/.test(
                  step
                )) ||
              (step.includes("TEMP B-TREE") && !given)
          )
          assert.deepStrictEqual(bad, [], name)
        }
      })
    )

    it.scoped("of what waits for others looks at the oldest rows of work, and searches their executions", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        const steps = yield* plan(sql.unserved)
        assert.lengthOf(
          steps.filter((step) => step.startsWith("SEARCH x USING INDEX sqlite_autoindex_harel_executions")),
          3
        )
        assert.isFalse(steps.some((step) => /^SCAN (x|e|harel_executions|harel_timers)\b/.test(step)))
      })
    )

    it.scoped("of a listing walks along indexes from where the page begins", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        for (const filter of filters.flatMap((filter) => [undefined, "e"].map((after) => ({ ...filter, after })))) {
          const steps = yield* plan(sql.listing({ ...filter, until: undefined, limit: 10 }).sql)
          const walks = steps.filter((step) => step.includes("holdfast_listing"))
          assert.isNotEmpty(walks)
          for (const walk of walks) {
            assert.match(walk, /^SEARCH \S+ USING (PRIMARY KEY|COVERING INDEX \S+) \((\w+=\? AND )*id>\?\)$/)
            const terms = 1 + (filter.definitionId === undefined ? 0 : 1) + Math.min(1, filter.status.length)
            const roots = filter.rootsOnly || terms > 1 ? 1 : 0
            assert.lengthOf(walk.split(" AND "), terms + roots, walk)
          }
          const scans = steps.filter((step) => step.startsWith("SCAN") && !/^SCAN (\(subquery-\d+\)|page)$/.test(step))
          assert.deepStrictEqual(scans, [])
        }
      })
    )

    it.scoped("of a listing of a prefix walks along the same indexes, and no further than the prefix", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        for (const filter of filters) {
          const steps = yield* plan(
            sql.listing({ ...filter, idPrefix: "e1", after: undefined, until: undefined, limit: 10 }).sql
          )
          const walks = steps.filter((step) => step.includes("holdfast_listing"))
          assert.isNotEmpty(walks)
          for (const walk of walks) assert.match(walk, /AND id>\? AND id<\?\)$|\(id>\? AND id<\?\)$/)
        }
      })
    )

    it.scoped("of what has attributes walks along their index, and finds the rest by ids", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        const both = [
          ["customer", '"c-1"'],
          ["paid", "true"]
        ] as const
        for (const attributes of [both, both.slice(0, 1), both.slice(1)]) {
          for (const filter of filters.flatMap((filter) => [{ ...filter }, { ...filter, parentId: "p" }])) {
            const listing = sql.listing({ ...filter, attributes, after: "e", until: undefined, limit: 10 }).sql
            const found = [
              "SEARCH a USING COVERING INDEX harel_holdfast_attributes_value (name=? AND value=? AND execution_id>?)",
              "SEARCH l USING PRIMARY KEY (id=?)"
            ]
            const steps = yield* plan(listing)
            for (const step of found) assert.include(steps, step)
            const others = steps.filter((step) => /^SEARCH b .*USING .*\(.*execution_id=\?.*\)/.test(step))
            assert.lengthOf(others, attributes.length - 1)
            assert.deepStrictEqual(
              steps.filter((step) => step.includes("TEMP B-TREE") || step.startsWith("SCAN a")),
              []
            )
            const counted = yield* plan(sql.count({ ...filter, attributes }).sql)
            assert.match(counted[0] ?? "", /INDEX harel_holdfast_attributes_value \(name=\? AND value=\?/)
          }
        }
      })
    )

    it.scoped("of a count looks at an index alone, roots too", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        for (const filter of filters.filter(({ status }) => status.length > 0)) {
          for (const rootsOnly of [false, true]) {
            const [walk = "", ...others] = yield* plan(sql.count({ ...filter, attributes: [], rootsOnly }).sql)
            assert.match(walk, /^SEARCH l USING COVERING INDEX /)
            assert.deepStrictEqual(others, [])
          }
        }
      })
    )

    it.scoped("of a version walks along the same indexes within its part, and finds each row by its id", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        const part = { definitionId: "d1", definitionVersion: 2, idPrefix: "e", after: "e", until: "e9" }
        for (const filter of filters) {
          for (const statement of [sql.listing, sql.part.count]) {
            const steps = yield* plan(statement({ ...filter, ...part, limit: 10 }).sql)
            const walks = steps.filter((step) => step.includes("holdfast_listing"))
            assert.isNotEmpty(walks)
            for (const walk of walks)
              assert.match(walk, /^SEARCH \S+ USING COVERING INDEX \S+ \(.*AND id>\? AND id<\?\)$/)
            const rows = steps.filter((step) => /\bv\b/.test(step))
            assert.lengthOf(rows, walks.length)
            for (const row of rows) assert.include(row, "INDEX sqlite_autoindex_harel_executions_1 (id=?)")
          }
          const ends = yield* plan(sql.part.end({ ...filter, ...part, limit: 10 }).sql)
          assert.isFalse(ends.some((step) => /\bv\b/.test(step)))
          for (const walk of ends.filter((step) => step.includes("holdfast_listing"))) {
            assert.match(walk, /^SEARCH \S+ USING COVERING INDEX \S+ \(/)
          }
        }
      })
    )

    it.scoped("of the counts walks along one index that has all of it, from where a part begins", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        for (const text of [sql.counts.end, sql.counts.part, sql.counts.last]) {
          const [walk = "", ...others] = yield* plan(text)
          assert.match(walk, /^SEARCH \S+ USING COVERING INDEX harel_holdfast_listing_definition_status /)
          assert.deepStrictEqual(others, [])
        }
      })
    )

    it.scoped("of a listing of children walks along the index of parents", () =>
      Effect.gen(function* () {
        const { plan } = yield* database(analyzed)
        for (const filter of filters) {
          const steps = yield* plan(
            sql.listing({ ...filter, parentId: "p", after: "", until: undefined, limit: 10 }).sql
          )
          const walks = steps.filter((step) => step.includes("holdfast_listing"))
          assert.lengthOf(walks, Math.max(1, filter.status.length))
          for (const walk of walks)
            assert.match(walk, /^SEARCH .* INDEX harel_holdfast_listing_parent \(parent_id=\? AND id>\?\)$/)
        }
      })
    )
  })
}

it.scoped("a listing's pages are those of a plain filter", () =>
  Effect.gen(function* () {
    const store = yield* SqliteStore.make({ filename: ":memory:" })
    const executions = Array.from({ length: 84 }, (_, i) =>
      Execution.make({
        id: `e${i}`,
        definitionId: `d${i % 3}`,
        status: statuses[i % statuses.length] ?? "PENDING",
        parentId: i % 4 === 0 ? null : "e0"
      })
    )
    yield* Effect.forEach(executions, store.save)
    const pages = (query: ExecutionStore.ListQuery): Effect.Effect<ReadonlyArray<string>, unknown> =>
      Effect.flatMap(store.listExecutions({ ...query, limit: 4 }), (page) => {
        const ids = page.items.map((item) => item.id)
        return Option.match(page.nextCursor, {
          onNone: () => Effect.succeed(ids),
          onSome: (cursor) => Effect.map(pages({ ...query, cursor }), (rest) => [...ids, ...rest])
        })
      })
    for (const definitionId of [undefined, "d1"]) {
      for (const status of [undefined, ["DONE"], ["DONE", "RUNNING"], [...statuses]] as const) {
        for (const rootsOnly of [false, true]) {
          const expected = executions.filter(
            (execution) =>
              (definitionId === undefined || execution.definitionId === definitionId) &&
              (status === undefined || new Set<string>(status).has(execution.status)) &&
              (!rootsOnly || execution.parentId === null)
          )
          const query = {
            rootsOnly,
            ...(definitionId === undefined ? {} : { definitionId }),
            ...(status === undefined ? {} : { status })
          }
          assert.isNotEmpty(expected)
          assert.deepStrictEqual(yield* pages(query), expected.map((execution) => execution.id).sort())
        }
      }
    }
  })
)

it.scoped("a version that few have is found behind many of another, whose number of parts no page shows", () =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    const store = yield* SqliteStore.make({ filename, durability: "normal" })
    const driver = yield* sqliteDriver.make({ filename })
    const rare = ["e00000", "e00999", "e01000", "e01001", "e01003", "e02500"]
    // One row in three is of another definition, so that parts end among rows that do not count.
    const rows = `INSERT INTO harel_executions
      WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
      SELECT format('e%05d', i), iif(i % 3 = 2, 'other', 'order'),
        json_object('id', format('e%05d', i), 'definition_id', iif(i % 3 = 2, 'other', 'order'), 'version', 1, 'status', iif(i % 2, 'DONE', 'RUNNING'),
          'invoke_seq', json(iif(format('e%05d', i) IN (SELECT value FROM json_each(?)), '{"@definition_version":3}', '{"@definition_version":2}'))), 1
      FROM n`
    yield* driver.transaction(call, [{ sql: rows, params: [JSON.stringify(rare)] }])
    const found = (query: ExecutionStore.ExecutionFilter, limit: number) =>
      Stream.runCollect(ExecutionStore.streamExecutions({ ...query, definitionVersion: 3, limit })).pipe(
        Effect.map((items) => Array.from(items, ({ id }) => id)),
        Effect.provideService(ExecutionStore.ExecutionStore, store)
      )
    const orders = rare.filter((id) => Number(id.slice(1)) % 3 !== 2)
    for (const limit of [1, 2, 1000]) {
      assert.deepStrictEqual(yield* found({ definitionId: "order" }, limit), orders)
      const done = yield* found({ definitionId: "order", status: ["DONE"], idPrefix: "e0" }, limit)
      assert.deepStrictEqual(done, ["e00999", "e01003"])
    }
    assert.deepStrictEqual(yield* found({ definitionId: "other" }, 1), ["e01001"])
    assert.strictEqual(yield* store.countExecutions({ definitionId: "order", definitionVersion: 3 }), orders.length)
    assert.strictEqual(
      yield* store.countExecutions({ definitionId: "order", definitionVersion: 2 }),
      1668 - orders.length
    )
    assert.strictEqual(yield* store.countExecutions({ definitionId: "order", definitionVersion: 1 }), 0)
  })
)
