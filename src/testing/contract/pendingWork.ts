/**
 * What is still to be done for one execution.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { refuses } from "../internal/assertions.js"
import { emit, order, spawn } from "../internal/samples.js"
import type { Subject } from "../Subject.js"

const nothing = {
  events: [],
  delayed: [],
  timers: [],
  spawns: [],
  failures: [],
  corrupt: [],
  nextCursor: Option.none()
}

/**
 * @since 0.1.0
 * @category tests
 */
export const pendingWork = ({ hasRaw, rawTest, test }: Subject): void => {
  describe("the work of an execution", () => {
    test("is nothing where there is none, or no execution", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.workOf("a")).toEqual(nothing)
        yield* store.commit(order("b"), { emits: [emit("1", "c"), emit("2", null)], spawns: [spawn("a")] })
        expect(yield* store.workOf("a")).toEqual(nothing)
      }))

    test("is what waits for it, and nothing of others", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const timers = [30, 10, 20].map((time) => scheduleTimer(`p${time}`, time))
        yield* store.commit(order("a"), {
          emits: [emit("1", "a"), emit("2", "b"), { ...emit("4", "a"), dueAt: 9 }, { ...emit("3", "a"), dueAt: 8.5 }],
          timers,
          spawns: [spawn("a:1", { n: 1 }), spawn("a:2")]
        })
        yield* store.commit(order("ab"), { emits: [emit("5", "a")], timers, spawns: [spawn("ab:1")] })
        const work = yield* store.workOf("a")
        expect(work.events.map(({ event, targetId }) => [event.id, targetId])).toEqual([
          ["1", "a"],
          ["5", "a"]
        ])
        expect(work.delayed.map(({ dueAt, event }) => [event.id, dueAt])).toEqual([
          ["3", 8.5],
          ["4", 9]
        ])
        expect(work.timers).toEqual([10, 20, 30].map((time) => ({ executionId: "a", path: `p${time}`, fireAt: time })))
        expect(work.spawns.map(({ childId, context, parentId }) => [childId, context, parentId])).toEqual([
          ["a:1", { n: 1 }, "a"],
          ["a:2", {}, "a"]
        ])
        expect(work.corrupt).toEqual([])
      }))

    test("comes with what is recorded of its failures", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { seqs } = yield* store.commit(order("a"), {
          emits: [emit("1", "a")],
          timers: [scheduleTimer("p", 10)],
          spawns: [spawn("a:1")]
        })
        const [spawned] = (yield* store.workOf("a")).spawns
        const items = [
          { _tag: "Outbox", seq: seqs[0] ?? 0 },
          { _tag: "Timer", executionId: "a", path: "p", fireAt: 10 },
          { _tag: "Spawn", seq: spawned?.seq ?? 0 }
        ] as const
        yield* Effect.forEach(items, (work) =>
          store.deadLetters.recordFailure({ work, attempts: 2, error: "no answer", retryAt: 5 })
        )
        expect((yield* store.workOf("a")).failures).toEqual(
          items.map((work) => ({ work, attempts: 2, error: "no answer", failedAt: 0, retryAt: 5 }))
        )
      }))

    test("is at most as much of each kind as asked for", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const names = ["1", "2", "3", "4"]
        yield* store.commit(order("a"), {
          emits: names.flatMap((name) => [emit(name, "a"), { ...emit(`d${name}`, "a"), dueAt: Number(name) + 1 }]),
          timers: names.map((name) => scheduleTimer(name, Number(name))),
          spawns: names.map((name) => spawn(`a:${name}`))
        })
        for (const limit of [1, 3, 4, 5]) {
          const { delayed, events, spawns, timers } = yield* store.workOf("a", { limit })
          const most = Math.min(limit, 4)
          expect([events.length, delayed.length, timers.length, spawns.length]).toEqual([most, most, most, most])
          expect(events.map(({ event }) => event.id)).toEqual(names.slice(0, most))
        }
        yield* refuses(store.workOf("a", { limit: 0 }), "limit")
        yield* refuses(store.workOf("a", { limit: 1001 }), "limit")
        for (const cursor of ["", "?", "bm9uZQ"]) yield* refuses(store.workOf("a", { cursor }), "cursor")
        yield* refuses(store.workOf(""), "executionId")
      }))

    test("is all in its pages, each kind of which goes on for as long as there is any of it", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const names = (count: number) => Array.from({ length: count }, (_, i) => String(i))
        yield* store.commit(order("a"), {
          emits: [
            ...names(5).map((name) => emit(name, "a")),
            // Not in the order in which they are due.
            ...[9, 3, 6].map((dueAt) => ({ ...emit(`d${dueAt}`, "a"), dueAt }))
          ],
          timers: ["\u{10ffff}", "", "\ue000"].map((path, i) => scheduleTimer(path, 9 - i)),
          spawns: [spawn("a:1")]
        })
        yield* store.commit(order("b"), { emits: [emit("5", "a"), emit("6", "b")] })
        for (const limit of [1, 2, 5, 100]) {
          const found = { events: names(0), delayed: names(0), timers: names(0), spawns: names(0) }
          let cursor: string | undefined
          let pages = 0
          do {
            const page = yield* store.workOf("a", { limit, cursor })
            found.events.push(...page.events.map(({ event }) => event.id))
            found.delayed.push(...page.delayed.map(({ event }) => event.id))
            found.timers.push(...page.timers.map(({ path }) => path))
            found.spawns.push(...page.spawns.map(({ childId }) => childId))
            cursor = Option.getOrUndefined(page.nextCursor)
            pages++
          } while (cursor !== undefined && pages < 20)
          expect(pages).toBe(Math.ceil(6 / limit))
          expect(found.events).toEqual(names(6))
          expect(found.delayed.toSorted()).toEqual(["d3", "d6", "d9"])
          expect(found.timers.toSorted()).toEqual(["", "\ue000", "\u{10ffff}"].toSorted())
          expect(found.spawns).toEqual(["a:1"])
        }
      }))

    if (!hasRaw) return

    rawTest("reports the rows of it that do not decode, beside the others", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("outbox", { seq: 1, target_id: "a", event: "{" })
        yield* insert("spawns", { seq: 1, parent_id: "a", child_id: "b", root_path: "", context: "[]" })
        yield* store.enqueue([emit("2", "a")])
        const work = yield* store.workOf("a")
        expect(work.events.map(({ event }) => event.id)).toEqual(["2"])
        expect(work.corrupt.map(({ key, table, work }) => [table, key, work?._tag])).toEqual([
          ["outbox", "1", "Outbox"],
          ["spawns", "1", "Spawn"]
        ])
      })
    )
  })
}
