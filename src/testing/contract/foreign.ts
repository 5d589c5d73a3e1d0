/**
 * Rows of other programs that share the format: what they may leave out, what they add, how they write numbers.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Execution from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { conflicts } from "../internal/assertions.js"
import { emit, step } from "../internal/samples.js"
import { listed, loaded, outbox, spawns, timers, trace } from "../internal/state.js"
import type { Row, Subject } from "../Subject.js"

const row = (id: string, version: number, data: string, definitionId = "order"): Row => ({
  id,
  definition_id: definitionId,
  data,
  version
})

/**
 * @since 0.1.0
 * @category tests
 */
export const foreign = ({ hasRaw, rawTest }: Subject): void => {
  if (!hasRaw) return
  describe("rows of others", () => {
    rawTest("missing keys have their defaults", (insert) =>
      Effect.gen(function* () {
        yield* insert("executions", row("a", 1, '{"id":"a","definition_id":"order","version":1}'))
        expect(yield* loaded("a")).toEqual({ ...Execution.make({ id: "a", definitionId: "order" }), version: 1 })
        expect(yield* listed({ status: ["PENDING"], rootsOnly: true, definitionId: "order" })).toEqual(["a"])
      })
    )

    rawTest("the version of a definition is listed and sought as it is read", (insert) =>
      Effect.gen(function* () {
        const counters = [
          '{"@definition_version":2}',
          '{"@definition_version":"2"}',
          '{"s":2}',
          '{"@definition_version":0}'
        ]
        for (const [i, stored] of counters.entries()) {
          const id = `e${i}`
          yield* insert(
            "executions",
            row(id, 1, `{"id":"${id}","definition_id":"order","version":1,"invoke_seq":${stored}}`)
          )
        }
        const of = (definitionVersion: number) => listed({ definitionId: "order", definitionVersion })
        expect(yield* of(2)).toEqual(["e0", "e1"])
        expect(yield* of(1)).toEqual(["e2"])
        const store = yield* ExecutionStore
        const { corrupt, items } = yield* store.listExecutions()
        expect(items.map(({ definitionVersion }) => definitionVersion)).toEqual([2, 2, 1])
        expect(corrupt).toMatchObject([{ key: "e3" }])
      })
    )

    rawTest("a child and a deferred event have theirs", (insert) =>
      Effect.gen(function* () {
        const data =
          '{"id":"a","definition_id":"order","version":1,"children":{"c":{"root_path":"R"}},"deferred":[{"id":"e","kind":"K"}]}'
        yield* insert("executions", row("a", 1, data))
        const execution = yield* loaded("a")
        expect(execution.children).toEqual({
          c: { rootPath: "R", finished: false, outcome: null, result: {}, submachine: false, key: "", extra: {} }
        })
        expect(execution.deferred).toEqual([
          { id: "e", kind: "K", createdTime: null, receivedTime: null, data: {}, extra: {} }
        ])
      })
    )

    rawTest("numbers may be numeric texts or whole floats, keys in any order, white space anywhere", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const data =
          ' {"version" : "3", "created_at":"1790000000.5",\n "updated_at":1790000001,\t"priority":2.0, "processed_events":"7", "definition_id":"order","id":"a","invoke_seq":{"s":"1"} } '
        yield* insert("executions", row("a", 3, data))
        const execution = yield* loaded("a")
        expect(execution).toMatchObject({
          version: 3,
          createdAt: 1790000000.5,
          updatedAt: 1790000001,
          priority: 2,
          processedEvents: 7,
          invokeSeq: { s: 1 }
        })
        expect((yield* store.save(execution)).version).toBe(4)
      })
    )

    rawTest("unknown keys of every level are kept when the row is written again", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const data = JSON.stringify({
          id: "a",
          definition_id: "order",
          version: 1,
          status: "RUNNING",
          zone: { deep: [1, { x: null }] },
          children: { c: { root_path: "R", retries: 3 } },
          deferred: [{ id: "e", kind: "K", data: { own: 1 }, hop: "h" }]
        })
        yield* insert("executions", row("a", 1, data))
        const check = (execution: Execution.Execution) => {
          expect(execution.extra).toEqual({ zone: { deep: [1, { x: null }] } })
          expect(execution.children["c"]?.extra).toEqual({ retries: 3 })
          expect(execution.deferred[0]?.extra).toEqual({ hop: "h" })
        }
        const first = yield* loaded("a")
        check(first)
        yield* store.save({ ...first, status: "DONE" })
        check(yield* loaded("a"))
        check(yield* store.save(yield* loaded("a")))
      })
    )

    rawTest("unknown keys of events and trace steps are read", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("outbox", { seq: 5, target_id: null, event: '{"id":"e","kind":"K","hop":"h"}' })
        yield* insert("trace", {
          execution_id: "a",
          idx: 3,
          entry: '{"event_kind": "E", "timestamp": 1.5, "index": 99, "took": 0.25}'
        })
        expect((yield* outbox()).map((entry) => entry.event.extra)).toEqual([{ hop: "h" }])
        // the index is the row's, whatever the entry says
        expect(yield* trace("a")).toMatchObject([{ index: 3, timestamp: 1.5, extra: { took: 0.25 } }])
        yield* store.appendTrace("a", step("next"))
        expect((yield* trace("a")).map((entry) => entry.index)).toEqual([3, 4])
      })
    )

    rawTest("integers that a double cannot hold keep their digits through a commit", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const digits = "1000000000000000000000000000001"
        const data = `{"id":"a","definition_id":"order","version":1,"context":{"big":1152921504606846976,"list":[${digits},-${digits}]},"n":${digits}}`
        yield* insert("executions", row("a", 1, data))
        const first = yield* loaded("a")
        const context = { big: 1152921504606846976n, list: [BigInt(digits), -BigInt(digits)] }
        expect(first.context).toStrictEqual(context)
        yield* store.save(first)
        const second = yield* loaded("a")
        expect(second.context).toStrictEqual(context)
        expect(second.extra).toStrictEqual({ n: BigInt(digits) })
      })
    )

    rawTest("escapes, floats and ASCII-only texts are read as any", (insert) =>
      Effect.gen(function* () {
        const data =
          '{"id":"a","definition_id":"order","version":1,"context":{"u":"\\u00f1 \\ud83d\\ude00 \\u2028","f":1.0,"e":1e+16,"m":-0.0,"tiny":5e-324,"nul":"\\u0000"}}'
        yield* insert("executions", row("a", 1, data))
        expect((yield* loaded("a")).context).toEqual({
          u: "ñ 😀 \u2028",
          f: 1,
          e: 1e16,
          m: -0,
          tiny: 5e-324,
          nul: "\u0000"
        })
      })
    )

    rawTest("Python's NaN and Infinity in a trace entry and a spawn's context are read as null", (insert) =>
      Effect.gen(function* () {
        yield* insert("trace", {
          execution_id: "a",
          idx: 0,
          entry:
            '{"event_kind": "Pay NaN", "event_data": {"x": NaN, "list": [Infinity, -Infinity, 1.5]}, "timestamp": 1.0, "context_out": {"NaN": "Infinity \\"NaN"}}'
        })
        yield* insert("spawns", {
          seq: 1,
          parent_id: "a",
          child_id: "c",
          root_path: "R",
          context: '{"x": NaN, "text": "say \\"NaN\\" twice: NaN", "\\u00f1": -Infinity}'
        })
        expect(yield* trace("a")).toMatchObject([
          {
            eventKind: "Pay NaN",
            eventData: { x: null, list: [null, null, 1.5] },
            contextOut: { NaN: 'Infinity "NaN' }
          }
        ])
        expect((yield* spawns())[0]?.context).toEqual({ x: null, text: 'say "NaN" twice: NaN', ñ: null })
      })
    )

    rawTest("a commit by a program that knows no token is a commit by another", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        // as an older writer would have left it: no token, keys of ours erased
        yield* insert("executions", row("a", 2, '{"id":"a","definition_id":"order","version":2,"status":"RUNNING"}'))
        const stale = { ...Execution.make({ id: "a", definitionId: "order" }), version: 1 }
        yield* conflicts(store.save(stale), { executionId: "a", expected: 1, found: 2 })
        yield* conflicts(store.save({ ...stale, version: 0 }), { executionId: "a", expected: 0, found: 2 })
        const next = yield* store.save(yield* loaded("a"))
        expect(next).toMatchObject({ version: 3, status: "RUNNING" })
      })
    )

    rawTest("a token that is there is no part of the model", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const data = '{"id":"a","definition_id":"order","version":1,"commit_token":"somebody\'s"}'
        yield* insert("executions", row("a", 1, data))
        const execution = yield* loaded("a")
        expect(execution.extra).toEqual({})
        const saved = yield* store.save(execution)
        expect(saved.extra).toEqual({})
        expect((yield* loaded("a")).extra).toEqual({})
      })
    )

    rawTest("a definition in data that differs from its column lists under the column", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const data = '{"id":"a","definition_id":"new","version":1}'
        yield* insert("executions", row("a", 1, data, "old"))
        expect((yield* loaded("a")).definitionId).toBe("new")
        expect(yield* listed({ definitionId: "old" })).toEqual(["a"])
        // the next commit puts them right
        yield* store.save(yield* loaded("a"))
        expect(yield* listed({ definitionId: "old" })).toEqual([])
        expect(yield* listed({ definitionId: "new" })).toEqual(["a"])
      })
    )

    rawTest("seqs and indexes go on behind those of others", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("outbox", { seq: 41, target_id: "x", event: '{"id":"e","kind":"K"}' })
        const seqs = yield* store.enqueue([emit("f")])
        expect(seqs).toEqual([42])
      })
    )

    rawTest("timers of any finite time are found and can be removed", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const times = [2 ** -20, 1e-300, 2 ** 60, 1e300, 5]
        for (const [i, time] of times.entries()) {
          yield* insert("timers", { execution_id: "a", path: `p${i}`, fire_at: time })
        }
        const found = yield* timers()
        expect(found.map((timer) => timer.fireAt)).toEqual(times.toSorted((a, b) => a - b))
        expect(yield* store.timers.next).toEqual(Option.some({ executionId: "a", path: "p1", fireAt: 1e-300 }))
        for (const timer of found) expect(yield* store.deleteTimer(timer)).toBe(true)
      })
    )
  })
}
