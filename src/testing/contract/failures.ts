/**
 * Work that failed: what is remembered of it, and for how long.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import type { Timer, WorkItem } from "../../Commit.js"
import { cancelTimer, scheduleTimer } from "../../Commit.js"
import { type DueQuery, ExecutionStore } from "../../ExecutionStore.js"
import { conflicts, refuses } from "../internal/assertions.js"
import { awkwardTexts, emit, order, spawn } from "../internal/samples.js"
import { endOfTime, spawns } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const timer = (path: string, fireAt: number): Timer & WorkItem => ({ _tag: "Timer", executionId: "a", path, fireAt })

const outboxWork = (seq: number): WorkItem => ({ _tag: "Outbox", seq })

/** One event, spawn and timer of the execution "a", at version 1, and the work that they are. */
const oneOfEach = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const { execution, seqs } = yield* store.commit(order("a"), {
    emits: [emit("1", "a")],
    spawns: [spawn("c")],
    timers: [scheduleTimer("p", 10)]
  })
  const outbox = outboxWork(seqs[0] ?? 0)
  const [child] = yield* spawns()
  const spawnWork: WorkItem = { _tag: "Spawn", seq: child?.seq ?? 0 }
  return { execution, outbox, spawn: spawnWork, timer: timer("p", 10) }
})

const fail = (work: WorkItem, attempts = 1, error = "no answer", retryAt = 60.5) =>
  Effect.flatMap(ExecutionStore, (store) => store.deadLetters.recordFailure({ work, attempts, error, retryAt }))

/** How many failures are remembered, of each kind, by the count and by the pages. */
const remembered = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const stats = yield* store.stats
  const pages = [yield* store.pendingOutbox(), yield* store.pendingSpawns(), yield* store.dueTimers(endOfTime)]
  const counts = [stats.outbox.failing, stats.spawns.failing, stats.timers.failing]
  expect(counts).toEqual(pages.map((page) => page.failures.length))
  return counts
})

/** A failure of each kind of work, and what makes it forgotten. */
const ends: ReadonlyArray<
  readonly [
    what: string,
    end: (work: Effect.Effect.Success<typeof oneOfEach>) => Effect.Effect<unknown, unknown, ExecutionStore>,
    left: ReadonlyArray<number>
  ]
> = [
  [
    "an event is acknowledged",
    ({ outbox }) => Effect.flatMap(ExecutionStore, (store) => store.ackOutbox("seq" in outbox ? outbox.seq : 0)),
    [0, 1, 1]
  ],
  [
    "a spawn is acknowledged",
    ({ spawn }) => Effect.flatMap(ExecutionStore, (store) => store.ackSpawn("seq" in spawn ? spawn.seq : 0)),
    [1, 0, 1]
  ],
  ["a timer is removed", ({ timer }) => Effect.flatMap(ExecutionStore, (store) => store.deleteTimer(timer)), [1, 1, 0]],
  [
    "a commit finishes the event",
    ({ execution, outbox }) => Effect.flatMap(ExecutionStore, (store) => store.commit(execution, { ack: outbox })),
    [0, 1, 1]
  ],
  [
    "a commit finishes the spawn",
    ({ spawn }) => Effect.flatMap(ExecutionStore, (store) => store.commit(order("c"), { ack: spawn })),
    [1, 0, 1]
  ],
  [
    "a commit finishes the timer",
    ({ execution, timer }) => Effect.flatMap(ExecutionStore, (store) => store.commit(execution, { ack: timer })),
    [1, 1, 0]
  ],
  [
    "a commit cancels the timer",
    ({ execution }) =>
      Effect.flatMap(ExecutionStore, (store) => store.commit(execution, { timers: [cancelTimer("p")] })),
    [1, 1, 0]
  ],
  ["the execution is purged", () => Effect.flatMap(ExecutionStore, (store) => store.purge("a", 1)), [0, 0, 0]],
  ["the spawns are dropped", () => Effect.flatMap(ExecutionStore, (store) => store.spawns.drop("a")), [1, 0, 1]]
]

/**
 * @since 0.1.0
 * @category tests
 */
export const failures = ({ hasRaw, rawTest, test }: Subject): void => {
  describe("failures", () => {
    test("a failure is shown with its row, on the page that has the row", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const seqs = yield* store.enqueue([emit("1"), emit("2"), emit("3")])
        yield* TestClock.adjust("1500 millis")
        const work = outboxWork(seqs[1] ?? 0)
        yield* fail(work, 2, "no answer", 1790000060.1234567)
        const expected = [{ work, attempts: 2, error: "no answer", failedAt: 1.5, retryAt: 1790000060.1234567 }]
        expect((yield* store.pendingOutbox()).failures).toEqual(expected)
        expect((yield* store.pendingOutbox()).entries.map((entry) => entry.event.id)).toEqual(["1", "2", "3"])
        const first = yield* store.pendingOutbox({ limit: 1 })
        expect(first.failures).toEqual([])
        const second = yield* store.pendingOutbox({ after: seqs[0] ?? 0, limit: 1 })
        expect(second.failures).toEqual(expected)
        expect((yield* store.pendingOutbox({ after: seqs[1] ?? 0, limit: 1 })).failures).toEqual([])
      }))

    test("a failure of a spawn and of a timer is shown with its row", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { spawn, timer } = yield* oneOfEach
        yield* TestClock.adjust("3 seconds")
        yield* fail(spawn)
        yield* fail(timer, 7)
        const rest = { error: "no answer", failedAt: 3, retryAt: 60.5 }
        expect((yield* store.pendingSpawns()).failures).toEqual([{ work: spawn, attempts: 1, ...rest }])
        const page = yield* store.dueTimers(10)
        expect(page.failures).toEqual([{ work: timer, attempts: 7, ...rest }])
        expect((yield* store.dueTimers(9)).failures).toEqual([])
        const { _tag: _, ...after } = timer
        expect((yield* store.dueTimers(10, { after })).failures).toEqual([])
      }))

    test("a page of timers has no failures of the one behind it", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: [1, 2, 3].map((time) => scheduleTimer(`p${time}`, time)) })
        for (const time of [2, 3]) yield* fail(timer(`p${time}`, time))
        const failed = (query: DueQuery) =>
          Effect.map(store.dueTimers(10, query), ({ failures }) => failures.map(({ work }) => work))
        expect(yield* failed({ limit: 1 })).toEqual([])
        expect(yield* failed({ limit: 2 })).toEqual([timer("p2", 2)])
        expect(yield* failed({ limit: 3 })).toEqual([timer("p2", 2), timer("p3", 3)])
        const { _tag: _, ...after } = timer("p1", 1)
        expect(yield* failed({ limit: 1, after })).toEqual([timer("p2", 2)])
      }))

    test("the last failure counts, and one with fewer attempts comes late", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const work = yield* oneOfEach
        for (const each of [work.outbox, work.spawn, work.timer]) {
          yield* fail(each, 2, "first", 1)
          yield* fail(each, 2, "second", 2)
          yield* fail(each, 5, "third", 3)
          yield* fail(each, 4, "late", 4)
        }
        const pages = [yield* store.pendingOutbox(), yield* store.pendingSpawns(), yield* store.dueTimers(endOfTime)]
        for (const page of pages) {
          expect(page.failures).toMatchObject([{ attempts: 5, error: "third", retryAt: 3 }])
        }
        yield* fail(work.outbox, 5, "fourth", 5)
        expect((yield* store.pendingOutbox()).failures).toMatchObject([{ error: "fourth", retryAt: 5 }])
      }))

    test("nothing is remembered of work that is gone", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { outbox, spawn } = yield* oneOfEach
        for (const seq of [0, 99]) {
          yield* fail({ _tag: "Outbox", seq })
          yield* fail({ _tag: "Spawn", seq })
        }
        yield* fail(timer("p", 11))
        yield* fail(timer("q", 10))
        yield* fail({ _tag: "Timer", executionId: "b", path: "p", fireAt: 10 })
        expect(yield* remembered).toEqual([0, 0, 0])
        yield* store.ackOutbox("seq" in outbox ? outbox.seq : 0)
        yield* store.ackSpawn("seq" in spawn ? spawn.seq : 0)
        yield* fail(outbox)
        yield* fail(spawn)
        expect(yield* remembered).toEqual([0, 0, 0])
      }))

    for (const [what, end, left] of ends) {
      test(`a failure is forgotten when ${what}`, () =>
        Effect.gen(function* () {
          const work = yield* oneOfEach
          yield* Effect.forEach([work.outbox, work.spawn, work.timer], (each) => fail(each))
          expect(yield* remembered).toEqual([1, 1, 1])
          yield* end(work)
          expect(yield* remembered).toEqual(left)
        }))
    }

    for (const [what, fireAt] of [
      ["later", 20],
      ["earlier", 5],
      ["for the same time", 10]
    ] as const) {
      test(`a timer that is armed again ${what} did not fail yet`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const work = yield* oneOfEach
          yield* fail(work.timer, 3)
          yield* store.commit(work.execution, { timers: [scheduleTimer("p", fireAt)] })
          expect(yield* remembered).toEqual([0, 0, 0])
          yield* fail(timer("p", fireAt), 1)
          expect((yield* store.dueTimers(endOfTime)).failures).toMatchObject([
            { work: timer("p", fireAt), attempts: 1 }
          ])
        }))
    }

    test("a timer that is fired and armed again by one commit did not fail yet", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const work = yield* oneOfEach
        yield* fail(work.timer, 3)
        yield* store.commit(work.execution, { ack: work.timer, timers: [scheduleTimer("p", 10)] })
        expect(yield* remembered).toEqual([0, 0, 0])
      }))

    test("a commit that loses forgets nothing", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { execution, ...work } = yield* oneOfEach
        yield* Effect.forEach([work.outbox, work.spawn, work.timer], (each) => fail(each))
        yield* store.save(execution)
        for (const ack of [work.outbox, work.spawn, work.timer]) {
          const commit = store.commit(execution, { ack, timers: [scheduleTimer("p", 30)] })
          yield* conflicts(commit, { executionId: "a", expected: 1, found: 2 })
        }
        expect(yield* store.purge("a", 1)).toBe(false)
        expect(yield* remembered).toEqual([1, 1, 1])
      }))

    test("writing the row of one failure leaves the others alone", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { execution } = yield* store.commit(order("a"), {
          timers: [scheduleTimer("p", 10), scheduleTimer("q", 10)],
          spawns: [spawn("1"), spawn("2")],
          emits: [emit("1"), emit("2")]
        })
        yield* fail(timer("p", 10))
        yield* fail(timer("q", 10))
        yield* store.commit(execution, { timers: [cancelTimer("p")] })
        expect((yield* store.dueTimers(10)).failures).toMatchObject([{ work: timer("q", 10) }])
      }))

    test("any error's text is kept, a long one in part", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const { outbox } = yield* oneOfEach
        for (const [i, error] of ["", ...awkwardTexts].entries()) {
          yield* fail(outbox, i, error)
          expect((yield* store.pendingOutbox()).failures).toMatchObject([{ attempts: i, error }])
        }
        yield* fail(outbox, 1000, "x".repeat(100_000))
        expect((yield* store.pendingOutbox()).failures).toMatchObject([{ error: "x".repeat(10_000) }])
        yield* fail(outbox, 1001, "half \ud83d of a character")
        expect((yield* store.pendingOutbox()).failures).toMatchObject([{ error: "half \ufffd of a character" }])
      }))

    test("what cannot be is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const record = { work: outboxWork(1), attempts: 1, error: "", retryAt: 1 }
        for (const attempts of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
          yield* refuses(store.deadLetters.recordFailure({ ...record, attempts }), "attempts")
        }
        for (const time of [Number.NaN, Number.POSITIVE_INFINITY]) {
          yield* refuses(store.deadLetters.recordFailure({ ...record, retryAt: time }), "retryAt")
          yield* refuses(store.deadLetters.recordFailure({ ...record, work: timer("p", time) }), "work.fireAt")
        }
        for (const seq of [-1, 0.5, 2 ** 53]) {
          yield* refuses(store.deadLetters.recordFailure({ ...record, work: { _tag: "Spawn", seq } }), "work.seq")
        }
        yield* refuses(store.deadLetters.recordFailure({ ...record, work: timer("\ud800", 1) }), "work.path")
        const nobody = { _tag: "Timer", executionId: "\ud800", path: "p", fireAt: 1 } as const
        yield* refuses(store.deadLetters.recordFailure({ ...record, work: nobody }), "work.executionId")
      }))

    if (!hasRaw) return

    rawTest("a row that does not decode may have failed before", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("outbox", { seq: 1, target_id: "x", event: "{" })
        yield* fail(outboxWork(1), 3)
        const { corrupt, failures } = yield* store.pendingOutbox()
        expect(corrupt.map(({ work }) => work)).toEqual([outboxWork(1)])
        expect(failures).toMatchObject([{ work: outboxWork(1), attempts: 3 }])
      })
    )
  })
}
