/**
 * Integers that a double does not hold, in every column of them: reported by their digits, and in nobody's way. For stores whose tables
 * take anything.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Burial } from "../../DeadLetter.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { corrupts, reports } from "../internal/assertions.js"
import { emit, order, spawn, step } from "../internal/samples.js"
import { deadLetters, listing, outbox, spawns, timers } from "../internal/state.js"
import type { Row, Subject } from "../Subject.js"

const beyond = 2n ** 53n + 1n
const last = 2n ** 63n - 1n

const event = '{"id":"e","kind":"K"}'

const why: Burial = { reason: "attempts", attempts: 1, error: "no answer" }

/** Rows of the numbered tables with a number that no double holds, the table that is out of numbers then, and a write that needs one. */
const numbered: ReadonlyArray<{
  readonly what: string
  readonly table: "outbox" | "spawns" | "holdfast_delayed"
  readonly row: Row
  readonly needs: (store: ExecutionStore) => ReadonlyArray<Effect.Effect<unknown, unknown>>
}> = [
  {
    what: "the outbox",
    table: "outbox",
    row: { seq: last, target_id: "a", event },
    needs: (store) => [
      store.commit(order("b"), { emits: [emit("1")] }),
      store.commit(order("b"), { emits: Array.from({ length: 9 }, (_, i) => emit(String(i))) }),
      store.enqueue([emit("1")]),
      store.enqueue(Array.from({ length: 9 }, (_, i) => emit(String(i))))
    ]
  },
  {
    what: "the spawns",
    table: "spawns",
    row: { seq: last, parent_id: "a", child_id: "c", root_path: "R", context: "{}" },
    needs: (store) => [store.commit(order("b"), { spawns: [spawn("c")] })]
  },
  {
    what: "the delayed events",
    table: "holdfast_delayed",
    row: { seq: last, due_at: 1e12, target_id: "a", event },
    needs: (store) => [
      store.commit(order("b"), { emits: [{ ...emit("1"), dueAt: 5 }] }),
      store.enqueue([{ ...emit("1"), dueAt: 5 }])
    ]
  }
]

/** Checks that a write fails because a table is out of numbers, and says so. */
const isExhausted = (write: Effect.Effect<unknown, unknown>, table: string) =>
  Effect.map(Effect.flip(write), (error) => {
    expect(error).toMatchObject({ _tag: "StoreRejected", reason: "exhausted" })
    expect(error).toHaveProperty("message", expect.stringMatching(`no numbers are left in .*${table}`))
  })

/**
 * @since 0.1.0
 * @category tests
 */
export const numbers = ({ hasRaw, rawTest }: Subject): void => {
  if (!hasRaw) return
  describe("numbers", () => {
    rawTest("events with a seq from 2^53 on are reported by it, beside the others", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const seqs = yield* store.enqueue([emit("1"), emit("2")])
        yield* insert("outbox", { seq: beyond, target_id: "a", event })
        yield* insert("outbox", { seq: last, target_id: "a", event })
        for (const limit of [1, 2, 3, 100]) {
          expect((yield* outbox(limit)).map((entry) => entry.seq)).toEqual(seqs)
        }
        const { corrupt, next } = yield* store.pendingOutbox()
        expect(corrupt.map((row) => [row.key, row.work])).toEqual([
          [String(beyond), undefined],
          [String(last), undefined]
        ])
        reports(corrupt[0], "outbox", String(beyond), "seq: expected an integer below 2^53")
        expect(next).toEqual(Option.none())
        const page = yield* store.pendingOutbox({ limit: 3 })
        expect([page.entries.length, page.corrupt.length, page.next]).toEqual([2, 1, Option.none()])
      })
    )

    rawTest("spawns with a seq from 2^53 on are reported by it, beside the others", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { spawns: [spawn("b")] })
        const row = { parent_id: "a", child_id: "c", root_path: "R", context: "{}" }
        yield* insert("spawns", { seq: beyond, ...row })
        yield* insert("spawns", { seq: last, ...row })
        for (const limit of [1, 2, 100]) expect(yield* spawns(limit)).toHaveLength(1)
        const { corrupt } = yield* store.pendingSpawns()
        expect(corrupt.map((row) => [row.key, row.work])).toEqual([
          [String(beyond), undefined],
          [String(last), undefined]
        ])
        reports(corrupt[1], "spawns", String(last), "seq: expected an integer below 2^53")
      })
    )

    rawTest("dead letters with an id or a seq from 2^53 on are reported, beside the others", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const [seq = 0] = yield* store.enqueue([emit("1", "a")])
        yield* store.deadLetters.bury({ _tag: "Outbox", seq }, why)
        const row = { kind: "Outbox", execution_id: "a", body: event, reason: "attempts", error: "", died_at: 1.5 }
        yield* insert("holdfast_dead_letters", { id: 7, seq: beyond, attempts: 1, ...row })
        yield* insert("holdfast_dead_letters", { id: beyond, seq: 3, attempts: 1, ...row })
        for (const query of [
          {},
          { executionId: "a" },
          { kind: "Outbox" },
          { executionId: "a", kind: "Outbox" }
        ] as const) {
          for (const limit of [1, 2, 3]) expect(yield* deadLetters({ ...query, limit })).toHaveLength(1)
          const { corrupt } = yield* store.deadLetters.list(query)
          expect(corrupt.map((row) => row.key)).toEqual(["7", String(beyond)])
          reports(corrupt[0], "holdfast_dead_letters", "7", "seq: expected an integer below 2^53")
          reports(corrupt[1], "holdfast_dead_letters", String(beyond), "id: expected an integer below 2^53")
        }
      })
    )

    rawTest("an execution at a version from 2^53 on is corrupt, and others go on", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const version of [beyond, last]) {
          const data = `{"id":"v${version}","definition_id":"order","version":${version}}`
          yield* insert("executions", { id: `v${version}`, definition_id: "order", data, version })
        }
        yield* store.save(order("fine"))
        for (const version of [beyond, last]) {
          yield* corrupts(
            store.load(`v${version}`),
            "executions",
            `v${version}`,
            "version: expected an integer below 2^53"
          )
          yield* corrupts(store.save(order(`v${version}`)), "executions", `v${version}`, "version: expected an integer")
        }
        const { corrupt, items } = yield* listing({ limit: 1 })
        expect(items.map((item) => item.id)).toEqual(["fine"])
        expect(corrupt.map((row) => row.key)).toEqual([`v${beyond}`, `v${last}`])
        reports(corrupt[1], "executions", `v${last}`, `found "${last}"`)
      })
    )

    rawTest(
      "a step of a trace with an index that is none is reported, and later steps are numbered behind the others",
      (insert) =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const entry = '{"event_kind":"E","timestamp":1}'
          const { execution } = yield* store.commit(order("a"), { trace: step("1") })
          for (const idx of [beyond, last, "first", 0.5]) yield* insert("trace", { execution_id: "a", idx, entry })
          yield* store.commit(execution, { trace: step("2") })
          yield* store.appendTrace("a", step("3"))
          const { corrupt, entries } = yield* store.readTrace("a")
          expect(entries.map(({ eventKind, index }) => [index, eventKind])).toEqual([
            [0, "1"],
            [1, "2"],
            [2, "3"]
          ])
          expect(corrupt.map((row) => row.key)).toEqual(["a 0.5", `a ${beyond}`, `a ${last}`, "a first"])
          reports(corrupt[1], "trace", `a ${beyond}`, "idx: expected an integer below 2^53")
        })
    )

    rawTest("a published version from 2^53 on is corrupt, and others are found", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const definition = { definitionId: "d", version: 1, digest: "x", source: "{}", publishedAt: null }
        yield* store.publishDefinition(definition)
        const row = { definition_id: "d", digest: "y", source: "{}", published_at: null }
        yield* insert("definitions", { ...row, version: beyond })
        yield* corrupts(
          store.loadDefinition("d"),
          "definitions",
          `d ${beyond}`,
          "version: expected an integer below 2^53"
        )
        expect(yield* store.loadDefinition("d", 1)).toEqual(Option.some(definition))
      })
    )

    for (const { needs, row, table, what } of numbered) {
      rawTest(`where ${what} are out of numbers, what needs one fails with a sentence and writes nothing`, (insert) =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          yield* store.save(order("a"))
          yield* insert(table, row)
          for (const write of needs(store)) yield* isExhausted(write, table)
          expect(Option.isNone(yield* store.load("b"))).toBe(true)
          // What needs none goes on.
          const { execution } = yield* store.commit(order("b"), {
            timers: [{ _tag: "Schedule", path: "p", fireAt: 5 }]
          })
          expect(execution.version).toBe(1)
          expect(yield* timers()).toHaveLength(1)
        })
      )
    }

    rawTest(
      "a delayed event, a dead letter and work to give up stay where they are while they find no number",
      (insert) =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const seqs = yield* store.enqueue([emit("1"), emit("2"), { ...emit("3"), dueAt: 5 }])
          yield* store.deadLetters.bury({ _tag: "Outbox", seq: seqs[0] ?? 0 }, why)
          const [letter] = yield* deadLetters()
          yield* insert("outbox", { seq: last, target_id: "a", event })
          yield* isExhausted(store.delayed.release(10), "outbox")
          yield* isExhausted(store.deadLetters.redrive(letter?.id ?? 0), "outbox")
          expect(yield* store.delayed.next).toEqual(Option.some(5))
          expect(yield* deadLetters()).toEqual([letter])
          const row = {
            kind: "Timer",
            execution_id: "x",
            path: "p",
            fire_at: 1,
            reason: "attempts",
            error: "",
            died_at: 1.5
          }
          yield* insert("holdfast_dead_letters", { id: last, attempts: 1, ...row })
          yield* isExhausted(store.deadLetters.bury({ _tag: "Outbox", seq: seqs[1] ?? 0 }, why), "dead_letters")
          expect((yield* outbox()).map((entry) => entry.seq)).toEqual([seqs[1]])
        })
    )
  })
}
