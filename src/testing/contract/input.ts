/**
 * Input that no store takes.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { cancelTimer, scheduleTimer } from "../../Commit.js"
import * as Event from "../../Event.js"
import type * as Execution from "../../Execution.js"
import { ExecutionStore, type ListQuery } from "../../ExecutionStore.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import { refuses } from "../internal/assertions.js"
import { emit, order, spawn, step } from "../internal/samples.js"
import { loaded, visible } from "../internal/state.js"
import type { Subject } from "../Subject.js"

type Call = (store: ExecutionStore, id: string) => Effect.Effect<unknown, StoreConflict | StoreError>

/** Each place where an id is given, by the path that refuses it. */
const places: ReadonlyArray<readonly [name: string, path: string, call: Call]> = [
  ["load", "id", (store, id) => store.load(id)],
  ["loadForEvent", "id", (store, id) => store.loadForEvent(id, "e")],
  ["loadForEvent", "eventId", (store, id) => store.loadForEvent("a", id)],
  ["isProcessed", "id", (store, id) => store.isProcessed(id, "e")],
  ["isProcessed", "eventId", (store, id) => store.isProcessed("a", id)],
  ["commit", "id", (store, id) => store.commit(order(id))],
  ["commit", "definitionId", (store, id) => store.commit(order("a", { definitionId: id }))],
  ["commit", "processed", (store, id) => store.commit(order("a"), { processed: id })],
  ["commit", "emits[1].targetId", (store, id) => store.commit(order("a"), { emits: [emit("1"), emit("2", id)] })],
  ["commit", "emits[1].event.id", (store, id) => store.commit(order("a"), { emits: [emit("1"), emit(id)] })],
  ["commit", "spawns[1].childId", (store, id) => store.commit(order("a"), { spawns: [spawn("1"), spawn(id)] })],
  [
    "commit",
    "ack.executionId",
    (store, id) => store.commit(order("a"), { ack: { _tag: "Timer", executionId: id, path: "p", fireAt: 1 } })
  ],
  ["save", "id", (store, id) => store.save(order(id))],
  ["enqueue", "emits[0].targetId", (store, id) => store.enqueue([emit("1", id)])],
  ["enqueue", "emits[0].event.id", (store, id) => store.enqueue([emit(id)])],
  ["listExecutions", "definitionId", (store, id) => store.listExecutions({ definitionId: id })],
  [
    "dueTimers",
    "after.executionId",
    (store, id) => store.dueTimers(1, { after: { executionId: id, path: "", fireAt: 1 } })
  ],
  ["isArmed", "executionId", (store, id) => store.timers.isArmed({ executionId: id, path: "p", fireAt: 1 })],
  ["deleteTimer", "executionId", (store, id) => store.deleteTimer({ executionId: id, path: "p", fireAt: 1 })],
  ["appendTrace", "executionId", (store, id) => store.appendTrace(id, step("e"))],
  ["readTrace", "executionId", (store, id) => store.readTrace(id)],
  [
    "publishDefinition",
    "definitionId",
    (store, id) =>
      store.publishDefinition({ definitionId: id, version: 1, digest: "d", source: "s", publishedAt: null })
  ],
  ["loadDefinition", "definitionId", (store, id) => store.loadDefinition(id)]
]

/** Each place where a text is given that may be empty. */
const texts: ReadonlyArray<readonly [name: string, path: string, call: Call]> = [
  [
    "commit",
    "timers[1].path",
    (store, path) => store.commit(order("a"), { timers: [scheduleTimer("p", 1), scheduleTimer(path, 1)] })
  ],
  ["commit", "timers[0].path", (store, path) => store.commit(order("a"), { timers: [cancelTimer(path)] })],
  [
    "commit",
    "spawns[0].rootPath",
    (store, path) => store.commit(order("a"), { spawns: [{ ...spawn("c"), rootPath: path }] })
  ],
  [
    "commit",
    "ack.path",
    (store, path) => store.commit(order("a"), { ack: { _tag: "Timer", executionId: "a", path, fireAt: 1 } })
  ],
  ["isArmed", "path", (store, path) => store.timers.isArmed({ executionId: "a", path, fireAt: 1 })],
  ["deleteTimer", "path", (store, path) => store.deleteTimer({ executionId: "a", path, fireAt: 1 })],
  ["dueTimers", "after.path", (store, path) => store.dueTimers(1, { after: { executionId: "a", path, fireAt: 1 } })],
  ["idsWithPrefix", "prefix", (store, prefix) => store.idsWithPrefix(prefix)]
]

/** The ids of events may be longer than others, since some are made of these. */
const maxBytes = (path: string): number =>
  path === "eventId" || path === "processed" || path.endsWith(".event.id") ? 2 * 1024 + 64 : 1024

const surrogates = ["\ud800", "a\udc00b", "\udc00\ud800"]
const sized = ["x", "\u00e9", "\u20ac", "\u{1f600}"]
const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** Texts of each width of characters, as long as may be. */
const longest = (bytes: number): ReadonlyArray<string> =>
  sized.map((character) => {
    const text = character.repeat(Math.floor(bytes / bytesOf(character)))
    return text + "x".repeat(bytes - bytesOf(text))
  })
const tooLong = (bytes: number): ReadonlyArray<string> => longest(bytes).map((text) => `${text}x`)

const wholeNumbers = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]
const limits = [0, -1, 1001, 1.5, Number.NaN, Number.POSITIVE_INFINITY]

/**
 * @since 0.1.0
 * @category tests
 */
export const input = ({ test, testWith }: Subject): void => {
  describe("input", () => {
    const nothing = visible(["a"], ["e"])

    for (const [name, calls] of Object.entries(Arr.groupBy(places, ([name]) => name))) {
      test(`${name} refuses an id that is empty, no Unicode or too long: ${calls.map(([, path]) => path).join(", ")}`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const before = yield* nothing
          for (const [, path, call] of calls) {
            for (const id of ["", ...surrogates, ...tooLong(maxBytes(path))]) yield* refuses(call(store, id), path)
          }
          expect(yield* nothing).toEqual(before)
        }))
    }

    for (const [name, calls] of Object.entries(Arr.groupBy(texts, ([name]) => name))) {
      test(`${name} refuses a text that is no Unicode or too long: ${calls.map(([, path]) => path).join(", ")}`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const before = yield* nothing
          for (const [, path, call] of calls) {
            for (const text of [...surrogates, ...tooLong(1024)]) yield* refuses(call(store, text), path)
          }
          expect(yield* nothing).toEqual(before)
        }))
    }

    test("a text that is no id may be empty", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const [i, [, , call]] of texts.entries()) {
          // each on an execution of its own
          yield* call({ ...store, commit: (_, commit) => store.commit(order(`a${i}`), commit) }, "")
        }
        expect(yield* store.timers.isArmed({ executionId: "a0", path: "", fireAt: 1 })).toBe(true)
      }))

    test("ids of exactly 1,024 bytes are ids", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const id of longest(1024)) {
          yield* store.commit(order(id, { definitionId: id }), {
            processed: id,
            emits: [emit(id, id)],
            spawns: [spawn(id)],
            timers: [scheduleTimer(id, 1)]
          })
          expect((yield* loaded(id)).definitionId).toBe(id)
          expect(yield* store.isProcessed(id, id)).toBe(true)
          expect(yield* store.idsWithPrefix(id)).toEqual([id])
        }
      }))

    test("ids of events that are made of the longest ids are ids", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const id of longest(1024)) {
          const timeout = Event.timeoutId(id, id, -1762397297.7676091)
          const emits = [Event.timeout(id, id, -1762397297.7676091), Event.start(id)].map((event) => ({
            targetId: id,
            event
          }))
          yield* store.enqueue(emits, { reservedIds: "accept" })
          yield* store.commit(order(id), { processed: timeout, emits })
          expect((yield* store.loadForEvent(id, timeout)).processed).toBe(true)
          expect(yield* store.isProcessed(id, Event.start(id).id)).toBe(false)
        }
        for (const id of longest(2 * 1024 + 64)) {
          yield* store.enqueue([emit(id)])
          expect(yield* store.isProcessed("a", id)).toBe(false)
        }
      }))

    test("an event from outside has no id that engines make, unless it is said to be an engine's", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const before = yield* nothing
        const reserved = [
          Event.timeoutId("a", "p", 60),
          Event.start("a").id,
          "start:",
          "timeout:",
          "emit:a:1:2:0",
          "finished:c:1:2",
          "cancel:a:1"
        ]
        for (const id of reserved) {
          yield* refuses(store.enqueue([emit("1", "a"), emit(id, "a")]), "emits[1].event.id")
          yield* refuses(store.enqueue([{ ...emit(id), dueAt: 1 }], { reservedIds: "refuse" }), "emits[0].event.id")
        }
        expect(yield* nothing).toEqual(before)

        const others = ["starts:a", "Timeout:a", " emit:a", "finished", Event.externalId("timeout", "a")]
        yield* store.enqueue([...others.map((id) => emit(id, "b"))])
        yield* store.enqueue(
          reserved.map((id) => emit(id, "b")),
          { reservedIds: "accept" }
        )
        // what a step emits, and what a worker commits, is the engine's own
        yield* store.commit(order("a"), {
          processed: Event.timeoutId("a", "p", 60),
          emits: reserved.map((id) => emit(id, "a"))
        })
        const pending = (yield* store.pendingOutbox()).entries.map((entry) => entry.event.id)
        expect(pending).toEqual([...others, ...reserved, ...reserved])
      }))

    testWith({ maxIdBytes: 5 }, "the bound of ids is an option", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("order", { definitionId: "d" }))
        yield* refuses(store.save(order("orders", { definitionId: "d" })), "id")
        yield* refuses(store.load("\u00e9\u00e9\u00e9"), "id")
        yield* refuses(store.idsWithPrefix("orders"), "prefix")
        yield* store.enqueue([emit("x".repeat(74))].map((emit) => ({ ...emit, targetId: "order" })))
        yield* refuses(store.enqueue([{ ...emit("x".repeat(75)), targetId: "order" }]), "emits[0].event.id")
      })
    )

    test("an id that is none can be purged, since other programs store such", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const id of ["", ...tooLong(1024)]) expect(yield* store.purge(id, 1)).toBe(false)
        for (const id of surrogates) yield* refuses(store.purge(id, 1), "id")
      }))

    test("a version that is none is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const version of wholeNumbers) {
          yield* refuses(store.save({ ...order("a"), version }), "version")
          yield* refuses(store.purge("a", version), "expectedVersion")
        }
        expect(yield* store.idsWithPrefix("")).toEqual([])
      }))

    test("a seq that is none is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const seq of wholeNumbers) {
          yield* refuses(store.ackOutbox(seq), "seq")
          yield* refuses(store.ackSpawn(seq), "seq")
          yield* refuses(store.pendingOutbox({ after: seq }), "after")
          yield* refuses(store.pendingSpawns({ after: seq }), "after")
          yield* refuses(store.commit(order("a"), { ack: { _tag: "Outbox", seq } }), "ack.seq")
          yield* refuses(store.commit(order("a"), { ack: { _tag: "Spawn", seq } }), "ack.seq")
        }
        expect(yield* store.idsWithPrefix("")).toEqual([])
      }))

    for (const limit of limits) {
      test(`a limit of ${limit} is refused`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          yield* refuses(store.listExecutions({ limit }), "limit")
          yield* refuses(store.listExecutions({ limit, status: [] }), "limit")
          yield* refuses(store.pendingOutbox({ limit }), "limit")
          yield* refuses(store.pendingSpawns({ limit }), "limit")
          yield* refuses(store.dueTimers(1, { limit }), "limit")
        }))
    }

    test("a limit of 1,000 is a limit", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a"))
        expect((yield* store.listExecutions({ limit: 1000 })).items).toHaveLength(1)
        expect((yield* store.pendingOutbox({ limit: 1000 })).entries).toEqual([])
        expect((yield* store.pendingSpawns({ limit: 1000 })).entries).toEqual([])
        expect((yield* store.dueTimers(1, { limit: 1000 })).entries).toEqual([])
      }))

    test("a cursor that no page gave is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a"))
        const garbage = ["", "garbage", "Nw==", "Nw", "MTQ=", "YWZ0ZXI", "\u{1f600}", " ", "YWZ0ZXI6YQ==", "null", "7"]
        for (const cursor of garbage) {
          yield* refuses(store.listExecutions({ cursor }), "cursor")
          yield* refuses(store.listExecutions({ cursor, status: [] }), "cursor")
        }
      }))

    test("an unknown status is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const status of ["done", "", "EXPIRED"]) {
          // what a caller without types could pass
          const query: ListQuery = JSON.parse(JSON.stringify({ status: [status] }))
          yield* refuses(store.listExecutions(query), "status")
        }
      }))

    const moments = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

    test("a time that is none is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const time of moments) {
          yield* refuses(store.dueTimers(time), "now")
          yield* refuses(store.dueTimers(1, { after: { executionId: "a", path: "", fireAt: time } }), "after.fireAt")
          yield* refuses(store.timers.isArmed({ executionId: "a", path: "", fireAt: time }), "fireAt")
          yield* refuses(store.deleteTimer({ executionId: "a", path: "", fireAt: time }), "fireAt")
          const ack = { _tag: "Timer", executionId: "a", path: "", fireAt: time } as const
          yield* refuses(store.commit(order("a"), { ack }), "ack.fireAt")
          yield* refuses(store.save(order("a", { createdAt: time })), "created_at")
          yield* refuses(store.save(order("a", { expiresAt: time })), "expires_at")
          yield* refuses(store.appendTrace("a", step("e", { timestamp: time })), "timestamp")
        }
      }))

    test("a timer is refused where not every backend could keep its double", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const time of [...moments, 2 ** -11, -(2 ** -11), Number.MIN_VALUE, 2 ** 53 + 2, Number.MAX_VALUE]) {
          const timers = [cancelTimer("p"), scheduleTimer("q", time)]
          yield* refuses(store.commit(order("a"), { timers }), "timers[1].fireAt")
        }
        expect(yield* store.idsWithPrefix("")).toEqual([])
      }))

    const noTimes = [
      "",
      "noon",
      "1790000000",
      "2026-02-30T10:00:00Z",
      "2026-02-29",
      "2026-13-01T10:00:00Z",
      "2026-00-10",
      "2026-01-00",
      "0000-01-01T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T25:00:00",
      "2026-01-01T23:60:00Z",
      "2026-01-01T23:59:60Z",
      "2026-01-01T10:00:00+99:99",
      "2026-01-01T10:00:00-24:00",
      "2026-01-01T10:00:00+02:60",
      "2026-01-01T10",
      "2026-01-01T10:00:00Z "
    ]

    test("the time of an event that is none is refused, wherever an event is stored", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const before = yield* nothing
        for (const time of noTimes) {
          for (const [key, part] of [
            ["created_time", { createdTime: time }],
            ["received_time", { receivedTime: time }]
          ] as const) {
            const event = { ...emit("e").event, ...part }
            yield* refuses(store.enqueue([{ targetId: null, event }]), `emits[0].event.${key}`)
            yield* refuses(
              store.commit(order("a"), { emits: [{ targetId: "b", event, dueAt: 1 }] }),
              `emits[0].event.${key}`
            )
            yield* refuses(store.save(order("a", { deferred: [event] })), `deferred[0].${key}`)
          }
        }
        expect(yield* nothing).toEqual(before)
      }))

    const wrong: ReadonlyArray<readonly [path: string, parts: Partial<Execution.Execution>]> = [
      ["priority", { priority: 5 }],
      ["priority", { priority: -1 }],
      ["priority", { priority: 1.5 }],
      ["processed_events", { processedEvents: 0.5 }],
      ["processed_events", { processedEvents: 2 ** 60 }],
      ["invoke_seq.site", { invokeSeq: { site: Number.NaN } }],
      ['invoke_seq["@definition_version"]', { invokeSeq: { "@definition_version": 2 } }],
      ["definition_version", { definitionVersion: 0 }],
      ["definition_version", { definitionVersion: 1.5 }],
      ["deferred[0].created_time", { deferred: [{ ...emit("e").event, createdTime: "yesterday" }] }],
      ["extra.status", { extra: { status: "DONE" } }],
      ["extra.commit_token", { extra: { commit_token: "mine" } }],
      ["deferred[1].extra.id", { deferred: [emit("e").event, { ...emit("f").event, extra: { id: "x" } }] }],
      ["error", { error: "\ud800" }]
    ]
    for (const [path, parts] of wrong) {
      test(`an execution is refused by the part that is wrong: ${path}`, () =>
        Effect.gen(function* () {
          const store = yield* ExecutionStore
          const saved = yield* store.save(order("a"))
          const before = yield* nothing
          yield* refuses(store.save(order("b", parts)), path)
          yield* refuses(store.commit({ ...saved, ...parts }, { emits: [emit("e")], processed: "e" }), path)
          expect(yield* nothing).toEqual(before)
        }))
    }

    test("the error names the operation and the execution", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const error = yield* Effect.flip(store.commit(order("a", { context: { f: () => 1 } })))
        expect(error).toMatchObject({ operation: "commit", executionId: "a" })
        expect(error.message).toBe('commit of execution "a" was refused: context.f: JSON cannot carry a function')
      }))
  })
}
