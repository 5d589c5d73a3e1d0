/**
 * Stored rows that do not decode: reported by name, and in nobody's way.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore, streamExecutions } from "../../ExecutionStore.js"
import { conflicts, corrupts, reports } from "../internal/assertions.js"
import { emit, everything, order, spawn, step } from "../internal/samples.js"
import { listing, outbox, spawns } from "../internal/state.js"
import type { Row, Subject } from "../Subject.js"

const row = (data: unknown, version: number = 1): Row => ({
  id: "bad",
  definition_id: "order",
  data: typeof data === "string" ? data : JSON.stringify(data),
  version
})

const good = { id: "bad", definition_id: "order", version: 1 }
const child = { root_path: "R" }
const event = { id: "e", kind: "K" }

/** Rows that a load reports, and the key that is to blame. */
const executions: ReadonlyArray<readonly [what: string, problem: string, row: Row]> = [
  ["that is not JSON", "not JSON", row('{"id":"bad",')],
  ["that is empty", "not JSON", row("")],
  ["that is no object", "expected an object", row([good])],
  ["that is null", "expected an object", row("null")],
  ["with Python's NaN", "not JSON", row('{"id":"bad","definition_id":"order","version":1,"context":{"x":NaN}}')],
  [
    "with a number that no double holds",
    "context.prices[1]: a number that is larger than any double",
    row('{"id":"bad","definition_id":"order","version":1,"context":{"prices":[1e308,-1E400]}}')
  ],
  [
    "with such a number as a time",
    "created_at: a number that is larger than any double",
    row('{"id":"bad","definition_id":"order","version":1,"created_at":1e+0400}')
  ],
  ["with an unknown status", "status: expected one of PENDING", row({ ...good, status: "EXPIRED" })],
  ["with a status in lower case", "status: expected one of PENDING", row({ ...good, status: "done" })],
  ["with a status that is null", "status: expected one of PENDING", row({ ...good, status: null })],
  ["without an id", "id: is missing", row({ definition_id: "order", version: 1 })],
  ["with another's id", "id: the row is another's", row({ ...good, id: "other" })],
  ["without definition_id", "definition_id: is missing", row({ id: "bad", version: 1 })],
  ["with a numeric outcome", "outcome: expected a string, found 3", row({ ...good, outcome: 3 })],
  ["with priority 9", "priority: expected a priority of 0 to 4, found 9", row({ ...good, priority: 9 })],
  ["with a null priority", "priority: expected an integer", row({ ...good, priority: null })],
  ["with a null history", "history: expected an object, found null", row({ ...good, history: null })],
  ["with an array as context", "context: expected an object, found an array", row({ ...good, context: [] })],
  ["with null children", "children: expected an object, found null", row({ ...good, children: null })],
  ["with a child without root_path", "children.c.root_path: is missing", row({ ...good, children: { c: {} } })],
  [
    "with a child whose result is null",
    "children.c.result: expected an object, found null",
    row({ ...good, children: { c: { ...child, result: null } } })
  ],
  ["with null as deferred", "deferred: expected an array, found null", row({ ...good, deferred: null })],
  [
    "with a deferred event without kind",
    "deferred[1].kind: is missing",
    row({ ...good, deferred: [event, { id: "e" }] })
  ],
  ["with a counter that is null", "processed_events: expected an integer", row({ ...good, processed_events: null })],
  ["with null as invoke_seq", "invoke_seq: expected an object", row({ ...good, invoke_seq: null })],
  ["with a time that is none", "created_at: expected a finite number", row({ ...good, created_at: "today" })],
  ["with another version than its column", "version: 2 is not the column's 1", row({ ...good, version: 2 })],
  ["without a version", "version: 0 is not the column's 1", row({ id: "bad", definition_id: "order" })]
]

/** Rows that a listing reports, which reads only some parts. */
const listed: ReadonlyArray<readonly [what: string, problem: string, row: Row]> = [
  ["that is not JSON", "data: not a JSON object", row('{"id":')],
  ["that is no object", "data: not a JSON object", row("[1]")],
  ["with an unknown status", "status: expected one of PENDING", row({ ...good, status: "EXPIRED" })],
  ["with a status that is an object", "status: expected one of PENDING", row({ ...good, status: {} })],
  ["with a numeric outcome", "outcome: expected a string", row({ ...good, outcome: 3 })],
  ["with a parent that is a number", "parent_id: expected a string", row({ ...good, parent_id: 7 })],
  ["with a finished_at that is none", "finished_at: expected a finite number", row({ ...good, finished_at: "x" })],
  [
    "with a finished_at that no double holds",
    "finished_at: expected a finite number",
    row('{"id":"bad","definition_id":"order","version":1,"finished_at":1e400}')
  ]
]

/**
 * @since 0.1.0
 * @category tests
 */
export const corruption = ({ hasRaw, rawTest }: Subject): void => {
  if (!hasRaw) return
  describe("corruption", () => {
    for (const [what, problem, bad] of executions) {
      rawTest(`loading a row ${what} fails and names it; others load`, (insert) =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          yield* insert("executions", bad)
          yield* store.save(order("fine"))
          yield* corrupts(store.load("bad"), "executions", "bad", problem)
          yield* corrupts(store.loadForEvent("bad", "e"), "executions", "bad", problem)
          expect(Option.isSome(yield* store.load("fine"))).toBe(true)
        })
      )
    }

    for (const [what, problem, bad] of listed) {
      rawTest(`a listing goes on past a row ${what} and reports it`, (insert) =>
        Effect.gen(function* () {
          yield* Effect.forEach(["a", "b", "c", "z"], (id) => Effect.flatMap(ExecutionStore, (s) => s.save(order(id))))
          yield* insert("executions", bad)
          for (const limit of [1, 2, 3, 100]) {
            const { corrupt, items } = yield* listing({ limit })
            expect(items.map((item) => item.id)).toEqual(["a", "b", "c", "z"])
            expect(corrupt).toHaveLength(1)
            reports(corrupt[0], "executions", "bad", problem)
          }
          const definition = yield* listing({ definitionId: "order", limit: 2 })
          expect(definition.items).toHaveLength(4)
          expect(definition.corrupt).toHaveLength(1)
          const streamed = yield* Stream.runCollect(streamExecutions({ limit: 2 }))
          expect(Chunk.toReadonlyArray(streamed).map((item) => item.id)).toEqual(["a", "b", "c", "z"])
        })
      )
    }

    rawTest("an execution whose id is empty or too long is reported by every listing, and can be purged", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const ids = ["", "a".repeat(1025)]
        for (const id of ids) {
          const data = JSON.stringify({ id, definition_id: "order", status: "DONE", version: 3 })
          yield* insert("executions", { id, definition_id: "order", data, version: 3 })
        }
        yield* store.save(order("b", { status: "DONE" }))
        for (const query of [{}, { definitionId: "order" }, { status: ["DONE"] }, { rootsOnly: true }] as const) {
          for (const limit of [1, 2, 100]) {
            const { corrupt, items } = yield* listing({ ...query, limit })
            expect(items.map((item) => item.id)).toEqual(["b"])
            expect(corrupt).toHaveLength(2)
            reports(corrupt[0], "executions", "", "id: must not be empty; it can be purged, at version 3")
            reports(
              corrupt[1],
              "executions",
              ids[1] ?? "",
              "id: longer than 1024 bytes; it can be purged, at version 3"
            )
          }
        }
        for (const id of ids) {
          expect(yield* store.purge(id, 2)).toBe(false)
          expect(yield* store.purge(id, 3)).toBe(true)
        }
        expect((yield* listing()).corrupt).toEqual([])
      })
    )

    rawTest("a filter by status passes over rows without a right one", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("fine"))
        yield* insert("executions", row("not JSON"))
        yield* insert("executions", { ...row({ ...good, id: "lower", status: "pending" }), id: "lower" })
        const { corrupt, items } = yield* listing({ status: ["PENDING", "DONE"] })
        expect(items.map((item) => item.id)).toEqual(["fine"])
        expect(corrupt).toEqual([])
      })
    )

    rawTest("a corrupt row is an id like any other, can be purged, and conflicts where it should", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("executions", row("not JSON", 4))
        expect(yield* store.idsWithPrefix("b")).toEqual(["bad"])
        for (const version of [0, 1, 2, 3, 5]) {
          const stale = { ...order("bad"), version }
          yield* conflicts(store.commit(stale, everything("e")), { executionId: "bad", expected: version, found: 4 })
        }
        expect(yield* outbox()).toEqual([])
        expect(yield* store.purge("bad", 3)).toBe(false)
        expect(yield* store.purge("bad", 4)).toBe(true)
        expect(yield* store.load("bad")).toEqual(Option.none())
      })
    )

    rawTest("a new execution conflicts with a corrupt row at version 1", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("executions", row("not JSON", 1))
        yield* conflicts(store.save(order("bad")), { executionId: "bad", expected: 0, found: 1 })
      })
    )

    rawTest("a commit at its version repairs a corrupt row", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("executions", row("not JSON", 4))
        const repaired = yield* store.save({ ...order("bad", { status: "DONE" }), version: 4 })
        expect(yield* store.load("bad")).toEqual(Option.some(repaired))
        expect((yield* listing({ status: ["DONE"] })).items.map((item) => item.id)).toEqual(["bad"])
      })
    )

    const events: ReadonlyArray<readonly [problem: string, event: string]> = [
      ["not JSON", "{"],
      ["event: expected an object", "[]"],
      ["event.id: is missing", '{"kind":"K"}'],
      ["event.kind: is missing", '{"id":"e"}'],
      ["event.kind: expected a string", '{"id":"e","kind":null}'],
      ["event.data: expected an object", '{"id":"e","kind":"K","data":null}'],
      ["event.data.x: a number that is larger than any double", '{"id":"e","kind":"K","data":{"x":1e400}}'],
      ["event.created_time: expected an ISO 8601", '{"id":"e","kind":"K","created_time":"noon"}']
    ]
    for (const [problem, event] of events) {
      rawTest(`the outbox goes on past the event ${event} and reports it by its seq`, (insert) =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const [first = 0] = yield* store.enqueue([emit("1")])
          yield* insert("outbox", { seq: first + 1, target_id: "x", event })
          const [last = 0] = yield* store.enqueue([emit("2")])
          for (const limit of [1, 2, 3, 100]) {
            expect((yield* outbox(limit)).map((entry) => entry.seq)).toEqual([first, last])
          }
          const page = yield* store.pendingOutbox()
          expect(page.corrupt).toHaveLength(1)
          reports(page.corrupt[0], "outbox", String(first + 1), problem)
          yield* store.ackOutbox(first + 1)
          expect((yield* store.pendingOutbox()).corrupt).toEqual([])
        })
      )
    }

    const contexts: ReadonlyArray<readonly [problem: string, context: string]> = [
      ["not JSON", ""],
      ["not JSON", '{"x": NaN'],
      ["context.x: a number that is larger than any double", '{"x": 1e400, "y": NaN}'],
      ["context: expected an object", '"text"'],
      ["context: expected an object", "NaN"]
    ]
    for (const [problem, context] of contexts) {
      rawTest(`the spawns go on past the context ${JSON.stringify(context)} and report it by its seq`, (insert) =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const { execution } = yield* store.commit(order("a"), { spawns: [spawn("1")] })
          const first = (yield* spawns())[0]?.seq ?? 0
          yield* insert("spawns", { seq: first + 1, parent_id: "a", child_id: "c", root_path: "R", context })
          yield* store.commit(execution, { spawns: [spawn("2")] })
          for (const limit of [1, 2, 100]) {
            expect((yield* spawns(limit)).map((entry) => entry.childId)).toEqual(["1", "2"])
          }
          const page = yield* store.pendingSpawns()
          expect(page.corrupt).toHaveLength(1)
          reports(page.corrupt[0], "spawns", String(first + 1), problem)
        })
      )
    }

    const entries: ReadonlyArray<readonly [problem: string, entry: string]> = [
      ["not JSON", "{"],
      ["entry: expected an object", "[]"],
      ["entry.event_kind: is missing", '{"timestamp": 1.0}'],
      ["entry.timestamp: is missing", '{"event_kind": "E"}'],
      ["entry.timestamp: expected a finite number", '{"event_kind": "E", "timestamp": NaN}'],
      ["entry.context_out.x: a number", '{"event_kind": "E", "timestamp": 1, "context_out": {"x": -1e400}}'],
      ["entry.actions[1]: expected a string", '{"event_kind": "E", "timestamp": 1, "actions": ["a", 1]}']
    ]
    for (const [problem, entry] of entries) {
      rawTest(`the trace goes on past the step ${entry} and reports it by its index`, (insert) =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          yield* store.appendTrace("a", step("first"))
          yield* insert("trace", { execution_id: "a", idx: 1, entry })
          yield* store.appendTrace("a", step("last"))
          const trace = yield* store.readTrace("a")
          expect(trace.entries.map((entry) => [entry.index, entry.eventKind])).toEqual([
            [0, "first"],
            [2, "last"]
          ])
          expect(trace.corrupt).toHaveLength(1)
          reports(trace.corrupt[0], "trace", "a 1", problem)
        })
      )
    }

    rawTest("a timer at no time hides no other", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        // another program may store infinities
        yield* insert("timers", { execution_id: "a", path: "never", fire_at: Number.POSITIVE_INFINITY })
        yield* insert("timers", { execution_id: "a", path: "always", fire_at: Number.NEGATIVE_INFINITY })
        expect(yield* store.timers.next).toEqual(Option.none())
        expect((yield* store.dueTimers(1e12)).entries).toEqual([])
        yield* store.commit(order("b"), { timers: [scheduleTimer("p", 10)] })
        const timer = { executionId: "b", path: "p", fireAt: 10 }
        expect(yield* store.timers.next).toEqual(Option.some(timer))
        expect((yield* store.dueTimers(1e12)).entries).toEqual([timer])
        expect((yield* store.dueTimers(1e12, { limit: 1 })).entries).toEqual([timer])
      })
    )

    rawTest("the message says what to look for", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("executions", row({ ...good, priority: 9 }))
        expect((yield* Effect.flip(store.load("bad"))).message).toBe(
          'load met a row that does not decode: executions "bad": priority: expected a priority of 0 to 4, found 9'
        )
      })
    )
  })
}
