/**
 * The children that commits leave to be created.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ExecutionStore } from "../../ExecutionStore.js"
import { conflicts } from "../internal/assertions.js"
import { order, spawn } from "../internal/samples.js"
import { spawns as pending } from "../internal/state.js"
import type { Subject } from "../Subject.js"

/**
 * @since 0.1.0
 * @category tests
 */
export const spawns = ({ test }: Subject): void => {
  describe("spawns", () => {
    test("they keep parent, child, root path and context, in order", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const given = [
          { childId: "a:Work:0", rootPath: "Work", context: { qty: 2, nested: [{ x: null }], big: 10n ** 30n } },
          { childId: "a:Ship:0", rootPath: "", context: {} },
          { childId: "a:Work:0", rootPath: "Work", context: { again: true } }
        ]
        const { execution } = yield* store.commit(order("a"), { spawns: given })
        yield* store.commit(execution, { spawns: [spawn("a:Last:0")] })
        const entries = yield* pending()
        expect(entries.map(({ seq: _, ...entry }) => entry)).toEqual(
          [...given, spawn("a:Last:0")].map((spawn) => ({ parentId: "a", ...spawn }))
        )
        const seqs = entries.map((entry) => entry.seq)
        expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
      }))

    test("an ack removes exactly its entry; a second one and one of an unknown seq are no errors", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { spawns: [spawn("1"), spawn("2"), spawn("3")] })
        const [first, second, third] = yield* pending()
        yield* store.ackSpawn(second?.seq ?? 0)
        yield* store.ackSpawn(second?.seq ?? 0)
        yield* store.ackSpawn((third?.seq ?? 0) + 1000)
        expect(yield* pending()).toEqual([first, third])
      }))

    test("seqs are never used again", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        let last = 0
        for (const id of ["a", "b", "c"]) {
          yield* store.commit(order(id), { spawns: [spawn(`${id}:1`)] })
          const entries = yield* pending()
          expect(entries).toHaveLength(1)
          for (const entry of entries) {
            expect(entry.seq).toBeGreaterThan(last)
            last = entry.seq
            yield* store.ackSpawn(entry.seq)
          }
        }
      }))

    test("pages hold at most their limit and reassemble the spawns", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const ids = Array.from({ length: 10 }, (_, i) => `child-${i}`)
        yield* store.commit(order("a"), { spawns: ids.map((id) => spawn(id)) })
        const page = yield* store.pendingSpawns({ limit: 4 })
        expect(page.entries.map((entry) => entry.childId)).toEqual(ids.slice(0, 4))
        expect(Option.isSome(page.next)).toBe(true)
        for (const limit of [1, 4, 5, 10, 11]) {
          expect((yield* pending(limit)).map((entry) => entry.childId)).toEqual(ids)
        }
        expect((yield* store.pendingSpawns({ limit: 10 })).next).toEqual(Option.none())
      }))

    test("the spawn that a commit carries out is removed with it, and only if it wins", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("parent"), { spawns: [spawn("child"), spawn("other")] })
        const [entry] = yield* pending()
        const ack = { _tag: "Spawn", seq: entry?.seq ?? 0 } as const
        const child = yield* store.save(order("taken"))
        yield* conflicts(store.commit(order("taken"), { ack }), { executionId: "taken", expected: 0, found: 1 })
        expect((yield* pending()).map((entry) => entry.childId)).toEqual(["child", "other"])
        yield* store.commit(order("child", { parentId: "parent", childId: "child" }), { ack })
        expect((yield* pending()).map((entry) => entry.childId)).toEqual(["other"])
        yield* store.commit(child, { ack })
        expect((yield* pending()).map((entry) => entry.childId)).toEqual(["other"])
      }))
  })
}
