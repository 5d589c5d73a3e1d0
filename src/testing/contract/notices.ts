/**
 * What a store tells the workers of its process.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { cancelTimer, type OutboxEntry, scheduleTimer } from "../../Commit.js"
import { ExecutionStore, type Notice } from "../../ExecutionStore.js"
import { conflicts, refuses } from "../internal/assertions.js"
import { emit, everything, order, spawn } from "../internal/samples.js"
import type { Subject } from "../Subject.js"

const listening = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const notices: Array<Omit<Notice, "outbox">> = []
  // Which events were added has a test of its own.
  yield* store.listen(({ outbox: _, ...notice }) => notices.push(notice))
  return notices
})

/** A notice of a write that left nothing to do. */
const quiet = {
  committed: Option.none(),
  emits: 0,
  spawns: 0,
  activities: 0,
  nextTimer: Option.none(),
  nextDelayed: Option.none()
}

/**
 * @since 0.1.0
 * @category tests
 */
export const notices = ({ test }: Subject): void => {
  describe("notices", () => {
    test("a commit tells what it committed and how much work it left", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const heard = yield* listening
        const committed = yield* store.commit(order("a"), {
          emits: [emit("1"), emit("2")],
          spawns: [spawn("c")],
          timers: [scheduleTimer("p", 30), scheduleTimer("q", 10.5), cancelTimer("r"), scheduleTimer("s", 20)]
        })
        expect(heard).toEqual([
          { ...quiet, committed: Option.some(committed), emits: 2, spawns: 1, nextTimer: Option.some(10.5) }
        ])
        const next = yield* store.commit(committed.execution)
        expect(heard.slice(1)).toEqual([{ ...quiet, committed: Option.some(next) }])
      }))

    test("enqueueing tells how many events it added", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const heard = yield* listening
        yield* store.enqueue([])
        expect(heard).toEqual([])
        yield* store.enqueue([emit("1"), emit("2")])
        expect(heard).toEqual([{ ...quiet, emits: 2 }])
      }))

    test("the events that a notice tells are those that a read gives", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const told: Array<OutboxEntry> = []
        yield* store.listen((notice) => told.push(...(notice.outbox?.() ?? [])))
        yield* store.enqueue([emit("1"), emit("2")])
        yield* store.commit(order("a"), { emits: [emit("3")] })
        const { entries } = yield* store.pendingOutbox()
        expect(entries).toHaveLength(3)
        expect(told).toEqual(entries)
      }))

    test("what was written can be read when the notice comes", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const heard = yield* listening
        yield* store.commit(order("a"), { emits: [emit("1")] })
        expect(heard).toHaveLength(1)
        expect((yield* store.pendingOutbox()).entries).toHaveLength(1)
      }))

    test("a write that fails tells nothing", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        yield* store.save(first)
        const heard = yield* listening
        yield* conflicts(store.commit(first, everything("e")), { executionId: "a", expected: 1, found: 2 })
        yield* refuses(store.commit(order(""), everything("e")), "id")
        yield* refuses(store.enqueue([emit("")]), "emits[0].event.id")
        expect(heard).toEqual([])
      }))

    test("each listener hears until its scope closes", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const always = yield* listening
        const first = yield* Effect.scoped(
          Effect.gen(function* () {
            const briefly = yield* listening
            yield* store.enqueue([emit("1")])
            return briefly
          })
        )
        yield* store.enqueue([emit("2")])
        expect(first).toHaveLength(1)
        expect(always).toHaveLength(2)
      }))
  })
}
