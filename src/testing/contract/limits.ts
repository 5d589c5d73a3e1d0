/**
 * How large input may be.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { cancelTimer, type Emit, scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { JsonObject } from "../../Json.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import { emit, order, spawn, step } from "../internal/samples.js"
import { loaded, outbox, visible } from "../internal/state.js"
import type { Subject } from "../Subject.js"

type Write = Effect.Effect<unknown, StoreConflict | StoreError, ExecutionStore>

/** Checks that a write is refused for its size, and that the error says by which limit; gives the path that it names. */
const tooLarge = (write: Write, option: string) =>
  Effect.map(Effect.flip(write), (error) => {
    expect(error).toMatchObject({ _tag: "StoreRejected", reason: "invalid-input" })
    expect(error.message).toContain(`(${option})`)
    expect(error.message).toContain("or raise the limit")
    return error._tag === "StoreRejected" ? error.path : error._tag
  })

const isTooLarge = (write: Write, option: string, path?: string) =>
  Effect.map(tooLarge(write, option), (found) => expect(found).toBe(path))

const withStore = <A>(
  use: (store: ExecutionStore) => Effect.Effect<A, StoreConflict | StoreError>
): Effect.Effect<A, StoreConflict | StoreError, ExecutionStore> => Effect.flatMap(ExecutionStore, use)

const withData = (data: JsonObject, id = "e", kind = "Happened"): Emit => ({
  targetId: null,
  event: { ...emit(id).event, kind, data }
})

const text = (bytes: number): JsonObject => ({ text: "x".repeat(bytes) })

/** Texts of so many bytes, of characters that take one, two, three and four. */
const texts = (bytes: number): ReadonlyArray<JsonObject> =>
  ["x", "\u00e9", "\u20ac", "\u{1f600}"].map((character, i) => {
    const each = i + 1
    return { text: character.repeat(Math.floor(bytes / each)) + "x".repeat(bytes % each) }
  })

/** Each place where something is limited, the option that limits it, and the path that an error names. */
const places: ReadonlyArray<
  readonly [what: string, option: string, path: string | undefined, write: (data: JsonObject, id: string) => Write]
> = [
  [
    "an event that is enqueued",
    "maxEventBytes",
    "emits[0].event",
    (data, id) => withStore((store) => store.enqueue([withData(data, id)]))
  ],
  [
    "an event that a commit emits",
    "maxEventBytes",
    "emits[1].event",
    (data, id) => withStore((store) => store.commit(order(id), { emits: [emit("1"), withData(data)] }))
  ],
  [
    "an event for later",
    "maxEventBytes",
    "emits[0].event",
    (data, id) => withStore((store) => store.commit(order(id), { emits: [{ ...withData(data), dueAt: 5 }] }))
  ],
  [
    "what a child tells its parent",
    "maxResultBytes",
    "emits[0].event",
    (data, id) => withStore((store) => store.commit(order(id), { emits: [withData(data, id, "Finished")] }))
  ],
  [
    "what an execution ends with",
    "maxResultBytes",
    "result",
    (result, id) => withStore((store) => store.commit(order(id, { status: "DONE", result })))
  ],
  [
    "a context",
    "maxContextBytes",
    "context",
    (context, id) => withStore((store) => store.save(order(id, { context })))
  ],
  [
    "the context of a child to create",
    "maxContextBytes",
    "spawns[1].context",
    (data, id) => withStore((store) => store.commit(order(id), { spawns: [spawn("1"), spawn("2", data)] }))
  ],
  [
    "a row",
    "maxCommitBytes",
    undefined,
    (data, id) => withStore((store) => store.save(order(id, { deferred: [emit("e").event, withData(data).event] })))
  ],
  [
    "a commit altogether",
    "maxCommitBytes",
    undefined,
    (data, id) =>
      withStore((store) => store.commit(order(id), { emits: [withData({})], trace: step("e", { contextOut: data }) }))
  ],
  [
    "a step of a trace",
    "maxCommitBytes",
    undefined,
    (data) => withStore((store) => store.appendTrace("a", step("e", { eventData: data })))
  ],
  [
    "a definition",
    "maxCommitBytes",
    "source",
    (data, id) =>
      withStore((store) =>
        store.publishDefinition({
          definitionId: id,
          version: 1,
          digest: "d",
          source: String(data["text"]),
          publishedAt: null
        })
      )
  ]
]

const small = {
  maxEventBytes: 600,
  maxResultBytes: 500,
  maxContextBytes: 700,
  maxCommitBytes: 2500,
  maxCommitItems: 4
}

/** The most bytes of text that a write takes. */
const mostOf = (write: (data: JsonObject, id: string) => Write, bytes: number) =>
  Effect.gen(function* () {
    let [taken, refused] = [0, bytes + 1]
    while (refused - taken > 1) {
      const middle = Math.floor((taken + refused) / 2)
      const exit = yield* Effect.exit(write(text(middle), `b${middle}`.padEnd(8, "-")))
      if (exit._tag === "Success") taken = middle
      else refused = middle
    }
    return taken
  })

/**
 * @since 0.1.0
 * @category tests
 */
export const limits = ({ test, testWith }: Subject): void => {
  describe("limits", () => {
    for (const [what, option, path, write] of places) {
      testWith(small, `${what} takes so many bytes of UTF-8 and not one more: ${option}`, () =>
        Effect.gen(function* () {
          const most = yield* mostOf(write, small.maxCommitBytes)
          expect(most).toBeGreaterThan(200)
          for (const [i, data] of texts(most).entries()) yield* write(data, `as-many${i}`)
          const before = yield* visible(["a", "one-more"], ["e"])
          for (const data of texts(most + 1)) yield* isTooLarge(write(data, "one-more"), option, path)
          yield* tooLarge(write(text(100_000), "one-more"), option)
          expect(yield* visible(["a", "one-more"], ["e"])).toEqual(before)
        })
      )
    }

    testWith(small, "a commit has so many events, children and timers, and enqueue so many events", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const of = <A>(n: number, make: (name: string) => A) => Array.from({ length: n }, (_, i) => make(`${i}`))
        const commit = (n: number) => ({
          emits: of(n, (id) => emit(id)),
          spawns: of(n, (id) => spawn(id)),
          timers: of(n, (path) => scheduleTimer(path, 5))
        })
        yield* store.commit(order("a"), commit(4))
        yield* store.enqueue(commit(4).emits)
        const before = yield* visible(["a", "b"], ["e"])
        for (const path of ["emits", "spawns", "timers"] as const) {
          yield* isTooLarge(store.commit(order("b"), { [path]: commit(5)[path] }), "maxCommitItems", path)
        }
        const timers = of(5, () => cancelTimer("p"))
        yield* isTooLarge(store.commit(order("b"), { timers }), "maxCommitItems", "timers")
        yield* isTooLarge(store.enqueue(commit(5).emits), "maxCommitItems", "emits")
        expect(yield* visible(["a", "b"], ["e"])).toEqual(before)
      })
    )

    testWith(small, "the parts of a commit count together", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const parts = { emits: [withData(text(400)), withData(text(400))], spawns: [spawn("c", text(400))] }
        yield* store.commit(order("a", { context: text(400) }), parts)
        const emits = [...parts.emits, withData(text(400))]
        yield* isTooLarge(store.commit(order("b", { context: text(400) }), { ...parts, emits }), "maxCommitBytes")
        expect((yield* outbox()).length).toBe(2)
      })
    )

    test("by default they are 1 MiB an event, 4 MiB a context, 8 MiB and 10,000 of a kind a commit", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const before = yield* visible(["a"], ["e"])
        const MiB = 2 ** 20
        yield* isTooLarge(store.enqueue([withData(text(MiB))]), "maxEventBytes", "emits[0].event")
        const result = withData(text(MiB), "e", "Finished")
        yield* isTooLarge(store.commit(order("a"), { emits: [result] }), "maxEventBytes", "emits[0].event")
        yield* isTooLarge(store.save(order("a", { result: "x".repeat(MiB) })), "maxResultBytes", "result")
        yield* isTooLarge(store.save(order("a", { context: text(4 * MiB) })), "maxContextBytes", "context")
        const list = Array.from({ length: 9 }, (_, i) => withData(text(MiB - 500), `${i}`))
        yield* isTooLarge(store.enqueue(list), "maxCommitBytes")
        yield* isTooLarge(
          store.enqueue(Array.from({ length: 10_001 }, (_, i) => emit(`${i}`))),
          "maxCommitItems",
          "emits"
        )
        expect(yield* visible(["a"], ["e"])).toEqual(before)
        yield* store.commit(order("a", { context: text(MiB) }), { emits: [withData(text(MiB - 500))] })
        expect((yield* loaded("a")).context).toEqual(text(MiB))
      }))

    test("what is far too large is refused before the whole of it is looked at", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        let looked = 0
        // each part that is looked at counts
        const part = {
          get value() {
            looked++
            return "x".repeat(1000)
          }
        }
        const context = { list: Array.from({ length: 100_000 }, () => part) }
        yield* isTooLarge(store.save(order("a", { context })), "maxContextBytes", "context")
        expect(looked).toBeLessThan(50_000)
        expect(looked).toBeGreaterThan(1000)
      }))
  })
}
