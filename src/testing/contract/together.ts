/**
 * Several loads, or commits, at once: the same as one by one, and what is wrong with one of them is no matter to the others.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type Commit, cancelTimer, scheduleTimer } from "../../Commit.js"
import type { Execution } from "../../Execution.js"
import { ExecutionStore, type Notice } from "../../ExecutionStore.js"
import { conflicts, corrupts, refuses } from "../internal/assertions.js"
import { awkwardTexts, emit, everything, order } from "../internal/samples.js"
import { outbox } from "../internal/state.js"
import type { Subject } from "../Subject.js"

interface Asked {
  readonly execution: Execution
  readonly commit?: Commit
}

const commitEach = (commits: ReadonlyArray<Asked>) =>
  Effect.flatMap(ExecutionStore, (store) => store.commitEach(commits))

const loadForEvents = (pairs: ReadonlyArray<readonly [id: string, eventId: string]>) =>
  Effect.flatMap(ExecutionStore, (store) => store.loadForEvents(pairs.map(([id, eventId]) => ({ id, eventId }))))

const nth = <A, E>(exits: ReadonlyArray<Exit.Exit<A, E>>, i: number): Exit.Exit<A, E> =>
  exits[i] ?? Exit.die(new Error(`there is no outcome ${i}`))

/** More than any backend puts into one transaction. */
const many = Array.from({ length: 150 }, (_, i) => `many-${i}`)

const loads = ({ rawTest, test }: Subject): void => {
  test("several loads for events give what each gives by itself, in their order", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a", { context: { n: 1n << 70n } }), { processed: "e1" })
      yield* store.commit(order("b"))
      const pairs = [
        ["b", "e1"],
        ["a", "e2"],
        ["missing", "e1"],
        ["a", "e1"],
        ["b", "e1"]
      ] as const
      const expected = yield* Effect.forEach(pairs, ([id, eventId]) => Effect.exit(store.loadForEvent(id, eventId)))
      expect(yield* loadForEvents(pairs)).toEqual(expected)
      expect(expected.map((exit) => Exit.isSuccess(exit) && exit.value.processed)).toEqual(
        pairs.map(([id, eventId]) => id === "a" && eventId === "e1")
      )
      expect(yield* loadForEvents([])).toEqual([])
    }))

  test("texts of every kind are ids that several loads find", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      for (const text of awkwardTexts) yield* store.commit(order(text), { processed: text })
      const loaded = yield* loadForEvents(awkwardTexts.map((text) => [text, text]))
      const found = loaded.map((exit) => Exit.isSuccess(exit) && exit.value.processed && exit.value.execution)
      expect(found).toEqual(yield* Effect.forEach(awkwardTexts, (text) => store.load(text)))
    }))

  test("several loads tell of a timer whether it is armed for exactly that time", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const at = 1_700_000_000.123
      for (const id of ["a", "b", "c"]) {
        yield* store.commit(order(id), { timers: [scheduleTimer("p", at)], processed: "e" })
      }
      yield* store.commit({ ...order("b"), version: 1 }, { timers: [cancelTimer("p")] })
      const ask = (id: string, path: string, fireAt: number) => ({ id, eventId: "e", timer: { path, fireAt } })
      const queries = [
        ask("a", "p", at),
        ask("a", "p", at + 1e-6),
        ask("a", "q", at),
        ask("b", "p", at),
        ask("missing", "p", at),
        { id: "c", eventId: "e" }
      ]
      const armed = [true, false, false, false, undefined, undefined]
      const told = (exits: ReadonlyArray<Exit.Exit<{ readonly armed?: boolean | undefined }, unknown>>) =>
        exits.map((exit) => (Exit.isSuccess(exit) ? exit.value.armed : "failed"))
      const together = yield* store.loadForEvents(queries)
      expect(told(together)).toEqual(armed)
      expect(together.map((exit) => Exit.isSuccess(exit) && exit.value.processed)).toEqual(
        queries.map(({ id }) => id !== "missing")
      )
      for (const [i, query] of queries.entries()) expect(told(yield* store.loadForEvents([query]))).toEqual([armed[i]])
    }))

  test("a timer that is none is the failure of its own load", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.save(order("a"))
      const loaded = yield* store.loadForEvents([
        { id: "a", eventId: "e", timer: { path: "p", fireAt: Number.NaN } },
        { id: "a", eventId: "e" }
      ])
      yield* refuses(nth(loaded, 0), "timer.fireAt")
      expect(nth(loaded, 1)).toEqual(yield* Effect.exit(store.loadForEvent("a", "e")))
    }))

  test("paths of every kind are those of timers that several loads find", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      for (const text of awkwardTexts) yield* store.commit(order(text), { timers: [scheduleTimer(text, 1.5)] })
      const loaded = yield* store.loadForEvents(
        awkwardTexts.map((text) => ({ id: text, eventId: "e", timer: { path: text, fireAt: 1.5 } }))
      )
      expect(loaded.map((exit) => Exit.isSuccess(exit) && exit.value.armed)).toEqual(awkwardTexts.map(() => true))
    }))

  test("an id that is none is the failure of its own load", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.save(order("a"))
      const loaded = yield* loadForEvents([
        ["", "e"],
        ["a", "e"],
        ["a", ""]
      ])
      yield* refuses(nth(loaded, 0), "id")
      yield* refuses(nth(loaded, 2), "eventId")
      expect(nth(loaded, 1)).toEqual(yield* Effect.exit(store.loadForEvent("a", "e")))
    }))

  rawTest("a row that does not decode is the failure of its own load", (insert) =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* insert("executions", { id: "bad", definition_id: "order", data: "{", version: 1 })
      yield* store.save(order("a"))
      const loaded = yield* loadForEvents([
        ["bad", "e"],
        ["a", "e"]
      ])
      yield* corrupts(nth(loaded, 0), "executions", "bad", "not JSON")
      expect(nth(loaded, 1)).toEqual(yield* Effect.exit(store.loadForEvent("a", "e")))
    })
  )
}

const commits = ({ test }: Subject): void => {
  test("several commits are all applied, each with the seqs of its own events", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const asked = many.map((id, i) => ({
        execution: order(id),
        commit: { emits: Array.from({ length: i % 7 }, (_, n) => emit(`${id}-${n}`)), processed: id }
      }))
      const exits = yield* commitEach(asked)
      const rows = new Map((yield* outbox(1000)).map(({ event, seq }) => [event.id, seq]))
      for (const [i, { commit, execution }] of asked.entries()) {
        const exit = exits[i]
        const stored = yield* store.load(execution.id)
        const seqs = commit.emits.map(({ event }) => rows.get(event.id))
        expect(exit).toEqual(Exit.succeed({ execution: Option.getOrNull(stored), seqs }))
        expect(yield* store.isProcessed(execution.id, execution.id)).toBe(true)
      }
      expect(yield* commitEach([])).toEqual([])
    }))

  test("of several commits, one that is refused or comes too late writes nothing, and the others are applied", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const { execution } = yield* store.commit(order("late"))
      yield* store.commit(execution)
      const exits = yield* commitEach([
        { execution: order("before"), commit: everything("e1") },
        { execution, commit: everything("e2") },
        { execution: order("refused"), commit: { ...everything("e3"), processed: "" } },
        { execution: order("behind"), commit: everything("e4") }
      ])
      yield* conflicts(nth(exits, 1), { executionId: "late", expected: 1, found: 2 })
      yield* refuses(nth(exits, 2), "processed")
      expect(exits.map(Exit.isSuccess)).toEqual([true, false, false, true])
      expect((yield* outbox()).map(({ event }) => event.id)).toEqual(["e1-emitted", "e4-emitted"])
      expect(Option.isNone(yield* store.load("refused"))).toBe(true)
      expect(yield* store.isProcessed("late", "e2")).toBe(false)
    }))

  test("several commits of one execution come one after the other", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const first = order("a")
      const second = { ...first, version: 1, outcome: "second" }
      const exits = yield* commitEach([{ execution: first }, { execution: first }, { execution: second }])
      expect(Exit.isSuccess(nth(exits, 0))).toBe(true)
      // The version that is there when the last of them is done may be told, too.
      expect(yield* Effect.flip(nth(exits, 1))).toMatchObject({ _tag: "StoreConflict", executionId: "a", expected: 0 })
      expect(nth(exits, 2)).toEqual(Exit.succeed({ execution: Option.getOrNull(yield* store.load("a")), seqs: [] }))
    }))

  test("each of several commits is fenced by its own lease", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const [seq = -1] = yield* store.enqueue([emit("e", "a")])
      yield* store.leases.renew({ pool: "p", holder: "h", ttl: 10, claim: ["1"] })
      const { leases } = yield* store.leases.load("p")
      const { fence = -1, name = "" } = leases.find(({ holder }) => holder === "h") ?? {}
      const held = { pool: "p", name, holder: "h", fence }
      const commit = { processed: "e", ack: { _tag: "Outbox", seq } } as const
      const exits = yield* store.commitEach([
        { execution: order("lost"), commit, fence: { ...held, fence: fence + 1 } },
        { execution: order("none"), commit, fence: { ...held, holder: "" } },
        { execution: order("held"), commit, fence: held },
        { execution: order("free"), commit: { processed: "e" } }
      ])
      expect(yield* Effect.flip(nth(exits, 0))).toMatchObject({ _tag: "StoreRejected", reason: "lease-lost" })
      yield* refuses(nth(exits, 1), "fence.holder")
      expect(exits.map(Exit.isSuccess)).toEqual([false, false, true, true])
      expect(yield* outbox()).toEqual([])
      expect(Option.isNone(yield* store.load("lost"))).toBe(true)
    }))

  test("each of several commits is told by itself, in their order", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const heard: Array<Notice> = []
      yield* store.listen((notice) => heard.push(notice))
      yield* commitEach([
        { execution: order("a"), commit: { emits: [emit("1")] } },
        { execution: { ...order("none"), version: 3 } },
        { execution: order("b") }
      ])
      const told = heard.map(({ committed, emits }) => [Option.getOrNull(committed)?.execution.id, emits])
      expect(told).toEqual([
        ["a", 1],
        ["b", 0]
      ])
    }))
}

/**
 * @since 0.1.0
 * @category tests
 */
export const together = (subject: Subject): void => {
  describe("together", () => {
    loads(subject)
    commits(subject)
  })
}
