/**
 * The compare-and-swap of a commit.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Commit from "../../Commit.js"
import type { Execution } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { conflicts } from "../internal/assertions.js"
import { emit, everything, order, spawn, step } from "../internal/samples.js"
import { loaded, visible } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const freeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  return value
}

/**
 * @since 0.1.0
 * @category tests
 */
export const commit = ({ test }: Subject): void => {
  describe("commit", () => {
    test("version 0 inserts and gives version 1", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { execution, seqs } = yield* store.commit(order("a", { context: { qty: 2 } }))
        expect(execution.version).toBe(1)
        expect(seqs).toEqual([])
        expect(yield* loaded("a")).toEqual(execution)
      }))

    test("what is not stored is none", () =>
      Effect.gen(function* () {
        expect(Option.isNone(yield* (yield* ExecutionStore).load("nobody"))).toBe(true)
      }))

    test("each commit advances by one and replaces the whole state", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        let execution: Execution = order("a", { context: { n: 0, first: true } })
        for (let n = 1; n <= 5; n++) {
          execution = yield* store.save({ ...execution, context: { n } })
          expect(execution.version).toBe(n)
          expect(yield* loaded("a")).toEqual(execution)
        }
        expect(execution.context).toEqual({ n: 5 })
      }))

    test("every field is kept", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const full = order("child", {
          definitionVersion: 3,
          definitionFqn: "shop.order.Order",
          rootPath: "Work.Pick",
          status: "SUSPENDED",
          outcome: "failed",
          error: 'ValueError: card "declined" – código 7',
          activePath: "Work.Pick",
          history: { "": "Work", Work: "Work.Pick" },
          context: { unicode: "ñ 😀", nested: { list: [1, null, true, "x", { y: 1.5 }] } },
          processedEvents: 7,
          priority: 4,
          parentId: "parent",
          childId: "child",
          deferred: [{ ...emit("held").event, createdTime: "2026-09-21T10:00:00.123456Z", extra: { hop: 1 } }],
          children: {
            "child:Fraud:0": {
              rootPath: "Fraud",
              finished: true,
              outcome: "success",
              result: { score: 7 },
              submachine: false,
              key: "Fraud",
              extra: { seen: [1] }
            }
          },
          invokeSeq: { Fraud: 1 },
          expiresAt: 1790003600.125,
          extra: { note: "kept", deep: { a: [{}] } }
        })
        yield* store.save(full)
        expect(yield* loaded("child")).toEqual({ ...full, version: 1, createdAt: 0, updatedAt: 0 })
      }))

    test("a changed definition is stored", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        yield* store.save({ ...first, definitionId: "refund" })
        expect((yield* loaded("a")).definitionId).toBe("refund")
      }))

    test("version 0 of a taken id conflicts and names the stored version", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        yield* conflicts(store.save(order("a")), { executionId: "a", expected: 0, found: 1 })
        yield* store.save(first)
        yield* conflicts(store.save(order("a")), { executionId: "a", expected: 0, found: 2 })
      }))

    test("a stale commit conflicts, names the stored version, and the winner stands", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        const second = yield* store.save({ ...first, context: { by: "winner" } })
        yield* conflicts(store.save({ ...first, context: { by: "loser" } }), {
          executionId: "a",
          expected: 1,
          found: 2
        })
        const third = yield* store.save(second)
        yield* conflicts(store.save(first), { executionId: "a", expected: 1, found: 3 })
        expect(yield* loaded("a")).toEqual(third)
      }))

    test("the same value committed twice conflicts the second time", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        yield* store.commit(first, everything("e"))
        yield* conflicts(store.commit(first, everything("e")), { executionId: "a", expected: 1, found: 2 })
      }))

    test("a version ahead of the stored one conflicts", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        yield* conflicts(store.save({ ...first, version: 7 }), { executionId: "a", expected: 7, found: 1 })
        expect(yield* loaded("a")).toEqual(first)
      }))

    test("version n of an execution that was never stored conflicts and writes nothing", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const before = yield* visible(["ghost"], ["e"])
        const ghost = { ...order("ghost"), version: 3 }
        yield* conflicts(store.commit(ghost, everything("e")), { executionId: "ghost", expected: 3, found: null })
        expect(yield* visible(["ghost"], ["e"])).toEqual(before)
      }))

    test("a stale copy of a purged execution conflicts and does not rise again", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        expect(yield* store.purge("a", 1)).toBe(true)
        const before = yield* visible(["a"], ["e"])
        yield* conflicts(store.commit(first, everything("e")), { executionId: "a", expected: 1, found: null })
        expect(yield* visible(["a"], ["e"])).toEqual(before)
      }))

    test("a conflict writes nothing: no event, marker, timer, spawn or trace step", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        const { seqs } = yield* store.commit(first, everything("won"))
        const spawned = (yield* store.pendingSpawns()).entries[0]
        const events = ["won", "lost"]
        const before = yield* visible(["a"], events)
        const losers: ReadonlyArray<Execution> = [order("a"), first, { ...first, version: 9 }]
        const acks: ReadonlyArray<Commit.WorkItem> = [
          { _tag: "Outbox", seq: seqs[0] ?? 0 },
          { _tag: "Spawn", seq: spawned?.seq ?? 0 },
          { _tag: "Timer", executionId: "a", path: "won-path", fireAt: 1790000060 }
        ]
        for (const loser of losers) {
          for (const ack of acks) {
            const lost = { ...everything("lost"), timers: [Commit.cancelTimer("won-path")], ack }
            expect(Exit.isFailure(yield* Effect.exit(store.commit(loser, lost)))).toBe(true)
            expect(yield* visible(["a"], events)).toEqual(before)
          }
        }
      }))

    test("of two writers with the same bytes from the same version one loses and leaves nothing", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        // the clock stands still: both would store the same row
        const winner = yield* store.commit(first, everything("won"))
        const before = yield* visible(["a"], ["won", "lost"])
        yield* conflicts(store.commit(first, everything("lost")), { executionId: "a", expected: 1, found: 2 })
        expect(yield* visible(["a"], ["won", "lost"])).toEqual(before)
        expect(yield* loaded("a")).toEqual(winner.execution)
      }))

    test("of many writers with the same bytes at the same time one wins", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        const names = Array.from({ length: 8 }, (_, i) => `writer-${i}`)
        const exits = yield* Effect.forEach(names, (name) => Effect.exit(store.commit(first, everything(name))), {
          concurrency: "unbounded"
        })
        const winner = names.filter((_, i) => exits.slice(i, i + 1).some(Exit.isSuccess))
        expect(winner).toHaveLength(1)
        const state = yield* visible(["a"], names)
        expect(state.outbox.map((entry) => entry.event.id)).toEqual([`${winner[0]}-emitted`])
        expect(state.spawns.map((entry) => entry.childId)).toEqual([`${winner[0]}-child`])
        expect(state.timers.map((timer) => timer.path)).toEqual([`${winner[0]}-path`])
        expect(state.traces[0]?.map((entry) => entry.eventKind)).toEqual(winner)
        expect(state.processed[0]).toEqual(names.map((name) => name === winner[0]))
        expect((yield* loaded("a")).version).toBe(2)
      }))

    test("the caller's value stays as it is, committed or not", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const mine = freeze(order("a", { context: { list: [1, { x: "y" }] }, history: { "": "A" } }))
        const steps = freeze({ ...everything("e"), emits: [emit("1"), emit("2", null)] })
        const copy = structuredClone(mine)
        const { execution } = yield* store.commit(mine, steps)
        expect(mine).toEqual(copy)
        freeze(execution)
        yield* store.commit(execution, steps)
        yield* conflicts(store.commit(execution, steps), { executionId: "a", expected: 1, found: 2 })
        expect(execution.version).toBe(1)
        expect(steps).toEqual({ ...everything("e"), emits: [emit("1"), emit("2", null)] })
      }))

    test("a change of the caller's objects after the commit changes nothing stored", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const list = [1]
        yield* store.save(order("a", { context: { list } }))
        list.push(2)
        expect((yield* loaded("a")).context).toEqual({ list: [1] })
      }))

    test("a commit touches only its own execution", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("bystander"), everything("e1"))
        const before = yield* visible(["bystander"], ["e1", "e2"])
        const { execution } = yield* store.commit(order("a"), everything("e2"))
        yield* store.save(execution)
        const after = yield* visible(["bystander"], ["e1", "e2"])
        expect(after.executions).toEqual(before.executions)
        expect(after.traces).toEqual(before.traces)
        expect(after.processed).toEqual(before.processed)
        expect(after.timers.filter((timer) => timer.executionId === "bystander")).toEqual(before.timers)
      }))

    test("a commit with everything writes everything, on the first insert too", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { execution, seqs } = yield* store.commit(order("a"), everything("e1"))
        const next = yield* store.commit(execution, everything("e2"))
        const state = yield* visible(["a"], ["e1", "e2", "e3"])
        expect(state.outbox).toEqual([
          { seq: seqs[0], ...emit("e1-emitted") },
          { seq: next.seqs[0], ...emit("e2-emitted") }
        ])
        expect(state.spawns.map(({ seq: _, ...entry }) => entry)).toEqual([
          { parentId: "a", ...spawn("e1-child") },
          { parentId: "a", ...spawn("e2-child") }
        ])
        expect(state.timers).toEqual([
          { executionId: "a", path: "e1-path", fireAt: 1790000060 },
          { executionId: "a", path: "e2-path", fireAt: 1790000060 }
        ])
        expect(state.traces).toEqual([
          [
            { index: 0, ...step("e1") },
            { index: 1, ...step("e2") }
          ]
        ])
        expect(state.processed).toEqual([[true, true, false]])
      }))
  })
}
