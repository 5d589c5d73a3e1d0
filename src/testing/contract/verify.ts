/**
 * A check of all rows: every row that does not decode is reported, whichever table it is in, and a sound store has none.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { ExecutionStore, streamCorrupt } from "../../ExecutionStore.js"
import { refuses, reports } from "../internal/assertions.js"
import { fill } from "../internal/filled.js"
import { emit } from "../internal/samples.js"
import type { Row, Subject, Table } from "../Subject.js"

const beyond = 2n ** 53n + 1n

const failure = { attempts: 1, error: "no answer", failed_at: 1.5, retry_at: 2.5 }

const letter = {
  kind: "Outbox",
  seq: 1,
  execution_id: "a",
  body: '{"id":"e","kind":"K"}',
  reason: "attempts",
  attempts: 1,
  error: "",
  died_at: 1.5
}

const asked = {
  seq: 7,
  execution_id: "a",
  key: "k",
  name: "charge",
  limit_key: "",
  payload: "{}",
  version: 1,
  asked_at: 1.5,
  ready_at: 1.5,
  attempts: 0
}

const data = JSON.stringify({ id: "bad", definition_id: "order", version: 1 })

/** Rows of tables of the shared format, which any store may hold: the row's key, and what is wrong with it. */
const shared: ReadonlyArray<readonly [table: Table, row: Row, key: string, problem: string]> = [
  ["executions", { id: "bad", definition_id: "order", data: "{", version: 1 }, "bad", "not JSON"],
  ["executions", { id: "bad", definition_id: "order", data, version: 2 }, "bad", "version: 1 is not the column's 2"],
  ["executions", { id: "", definition_id: "order", data, version: 1 }, "", "id: must not be empty"],
  ["outbox", { seq: 50, target_id: "a", event: "{}" }, "50", "event.id: is missing"],
  [
    "spawns",
    { seq: 50, parent_id: "a", child_id: "c", root_path: "R", context: "[]" },
    "50",
    "context: expected an object"
  ],
  ["trace", { execution_id: "a", idx: 3, entry: "none" }, "a 3", "not JSON"]
]

/** Rows of tables that take anything. */
const anything: ReadonlyArray<readonly [table: Table, row: Row, key: string, problem: string]> = [
  [
    "executions",
    { id: "bad", definition_id: "order", data, version: "one" },
    "bad",
    "version: expected an integer below 2^53, found a text"
  ],
  [
    "outbox",
    { seq: beyond, target_id: "a", event: "{}" },
    String(beyond),
    `seq: expected an integer below 2^53, found ${beyond}`
  ],
  ["outbox", { seq: -1, target_id: "a", event: '{"id":"e","kind":"K"}' }, "-1", "seq: is not above 0"],
  ["spawns", { seq: 0, parent_id: "a", child_id: "c", root_path: "R", context: "{}" }, "0", "seq: is not above 0"],
  ["timers", { execution_id: "a", path: "p", fire_at: "soon" }, "a p", "fire_at: expected a number, found a text"],
  [
    "trace",
    { execution_id: "a", idx: "first", entry: "{}" },
    "a first",
    "idx: expected an integer below 2^53, found a text"
  ],
  [
    "definitions",
    { definition_id: "d", version: "one", digest: "", source: "", published_at: null },
    "d one",
    "version: expected an integer below 2^53, found a text"
  ],
  [
    "definitions",
    { definition_id: "d", version: 1, digest: "", source: "", published_at: "today" },
    "d 1",
    "published_at: expected a finite number, found a text"
  ],
  [
    "holdfast_listing",
    { id: "ghost", definition_id: "order", status: "DONE", parent_id: null, root: 1 },
    "ghost",
    "id: there is no such execution"
  ],
  [
    "holdfast_marks",
    { execution_id: "a", event_id: "e", marked_at: "then" },
    "a e",
    "marked_at: expected a finite number"
  ],
  [
    "holdfast_delayed",
    { seq: 1, due_at: "garbage", target_id: "a", event: '{"id":"e","kind":"K"}' },
    "1",
    "due_at: expected a finite number, found a text"
  ],
  [
    "holdfast_delayed",
    { seq: 1, due_at: Number.POSITIVE_INFINITY, target_id: "a", event: '{"id":"e","kind":"K"}' },
    "1",
    "due_at: expected a finite number, found Inf"
  ],
  ["holdfast_delayed", { seq: 1, due_at: 5, target_id: "a", event: "{}" }, "1", "event.id: is missing"],
  [
    "holdfast_members",
    { pool: "p", holder: "h", beat: "b", ttl: "long", renewed_at: 1.5 },
    "p h",
    "ttl: expected a finite number"
  ],
  [
    "holdfast_leases",
    { pool: "p", name: "n", holder: null, fence: beyond },
    "p n",
    `fence: expected an integer below 2^53, found ${beyond}`
  ],
  [
    "holdfast_outbox_failures",
    { seq: 1, ...failure, attempts: "many" },
    "1",
    "attempts: expected an integer below 2^53"
  ],
  ["holdfast_spawn_failures", { seq: 1, ...failure, retry_at: "soon" }, "1", "retry_at: expected a finite number"],
  [
    "holdfast_timer_failures",
    { execution_id: "a", path: "p", fire_at: 1, ...failure, failed_at: "then" },
    "a p",
    "failed_at: expected a finite number"
  ],
  ["holdfast_activities", { ...asked, payload: "[]" }, "7", "payload: expected an object"],
  ["holdfast_activities", { ...asked, seq: 0 }, "0", "seq: is not above 0"],
  ["holdfast_activities", { ...asked, ready_at: "soon" }, "7", "ready_at: expected a finite number, found a text"],
  [
    "holdfast_attributes",
    { execution_id: "a", name: "n", value: "1" },
    "a n",
    "execution_id: there is no such execution"
  ],
  [
    "holdfast_activity_starts",
    { name: "n", key: "k", started_at: 1, n: 1, until: "soon" },
    "n k 1",
    "until: expected a finite number, found a text"
  ],
  [
    "holdfast_dead_letters",
    { id: 1, ...letter, kind: "Letter" },
    "1",
    "kind: expected one of Outbox, Spawn, Timer, Activity"
  ],
  ["holdfast_dead_letters", { id: 1, ...letter, died_at: "then" }, "1", "died_at: expected a finite number"],
  [
    "holdfast_dead_letters",
    { id: beyond, ...letter },
    String(beyond),
    `id: expected an integer below 2^53, found ${beyond}`
  ]
]

/** All pages of a check: how many rows were read, and what is corrupt. */
const verified = (limit?: number) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const corrupt: Array<unknown> = []
    const cursors = new Set<string>()
    let rows = 0
    let page = yield* store.verify({ limit })
    for (;;) {
      rows += page.rows
      corrupt.push(...page.corrupt)
      if (Option.isNone(page.nextCursor)) return { rows, corrupt }
      const cursor = page.nextCursor.value
      // A check whose pages do not go on must fail the test, not keep it from ending.
      if (cursors.has(cursor)) throw new Error(`a page begins where one did before: ${cursor}`)
      cursors.add(cursor)
      page = yield* store.verify({ cursor, limit })
    }
  })

/**
 * @since 0.1.0
 * @category tests
 */
export const verify = ({ hasRaw, rawTest, test }: Subject): void => {
  describe("verify", () => {
    test("an empty store and one with something of everything are sound, read in pages of any size", () =>
      Effect.gen(function* () {
        expect((yield* verified()).corrupt).toEqual([])
        yield* fill
        const whole = yield* verified()
        expect(whole.corrupt).toEqual([])
        expect(whole.rows).toBeGreaterThan(10)
        for (const limit of [1, 2, 3, 1000]) expect(yield* verified(limit)).toEqual(whole)
      }))

    test("a limit that is none and a cursor that no page gave are refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const limit of [0, -1, 1001, 1.5, Number.NaN]) yield* refuses(store.verify({ limit }), "limit")
        for (const cursor of ["", "garbage", "e30", "eyJ0YWJsZSI6ImlkIn0", "YWZ0ZXI6YQ"]) {
          yield* refuses(store.verify({ cursor }), "cursor")
        }
      }))

    if (!hasRaw) return

    for (const [table, row, key, problem] of shared) {
      rawTest(`reports a row of ${table}: ${problem}`, (insert) =>
        Effect.gen(function* () {
          yield* fill
          const { rows } = yield* verified()
          yield* insert(table, row)
          for (const limit of [1, 1000]) {
            const found = yield* verified(limit)
            expect(found.rows).toBeGreaterThan(rows)
            expect(found.corrupt).toHaveLength(1)
            reports(found.corrupt[0], table, key, problem)
          }
          expect(Chunk.toReadonlyArray(yield* Stream.runCollect(streamCorrupt({ limit: 7 })))).toHaveLength(1)
        })
      )
    }
  })
}

/**
 * The same for stores whose tables take anything.
 *
 * @since 0.1.0
 * @category tests
 */
export const verifyAnything = ({ hasRaw, rawTest }: Subject): void => {
  if (!hasRaw) return
  describe("verify, of tables that take anything", () => {
    for (const [table, row, key, problem] of anything) {
      rawTest(`reports a row of ${table}: ${problem}`, (insert) =>
        Effect.gen(function* () {
          yield* insert(table, row)
          for (const limit of [1, 1000]) {
            const { corrupt } = yield* verified(limit)
            expect(corrupt).toHaveLength(1)
            reports(corrupt[0], table, key, problem)
          }
        })
      )
    }

    rawTest("what can be given up is named as the work that it is", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("outbox", { seq: 4, target_id: "a", event: "none" })
        yield* insert("spawns", { seq: 5, parent_id: "a", child_id: "c", root_path: "R", context: "none" })
        yield* insert("timers", { execution_id: "a", path: "p", fire_at: "soon" })
        const corrupt = Chunk.toReadonlyArray(yield* Stream.runCollect(streamCorrupt()))
        expect(corrupt.map((row) => row.work)).toEqual([
          { _tag: "Outbox", seq: 4 },
          { _tag: "Timer", executionId: "a", path: "p", fireAt: 0 },
          { _tag: "Spawn", seq: 5 }
        ])
        for (const { work } of corrupt) {
          if (work === undefined) continue
          expect(yield* store.deadLetters.bury(work, { reason: "corrupt", attempts: 0, error: "" })).toBe(true)
        }
        expect((yield* verified()).corrupt).toEqual([])
      })
    )

    rawTest("delayed events without a time are counted, and those with one are released", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.enqueue([{ ...emit("1"), dueAt: 5 }])
        const row = { target_id: "a", event: '{"id":"e","kind":"K"}' }
        yield* insert("holdfast_delayed", { seq: 7, due_at: "garbage", ...row })
        yield* insert("holdfast_delayed", { seq: 8, due_at: Number.POSITIVE_INFINITY, ...row })
        expect((yield* store.stats).delayed).toEqual({ count: 3, corrupt: 2, oldest: Option.some(5) })
        expect(yield* store.delayed.next).toEqual(Option.some(5))
        expect(yield* store.delayed.release(1e12)).toBe(1)
        expect((yield* store.stats).delayed).toEqual({ count: 2, corrupt: 2, oldest: Option.none() })
      })
    )
  })
}
