/**
 * Ids by prefix.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ExecutionStore } from "../../ExecutionStore.js"
import { order } from "../internal/samples.js"
import type { Subject } from "../Subject.js"

// in the order of their UTF-8 bytes
const ids = [
  "%",
  "*",
  "A_b:1",
  "[a-z]",
  "[a-z]x",
  "\\",
  "\\x",
  "a",
  "a%b:1",
  "a*b:1",
  "aXb:1",
  "a[b]:1",
  "a\\b:1",
  "a_B:1",
  "a_b",
  "a_b:",
  "a_b:1",
  "a_b:2:x",
  "b",
  "\u00c9t",
  "\u00e9t",
  "\ud7ff",
  "\ud7ffx",
  "\ue000",
  "\ue000x",
  "\ufffd",
  "\uffff",
  "\u{10000}",
  "\u{1f600}",
  "\u{1f600}x",
  "\u{1f601}",
  "\u{10ffff}",
  "\u{10ffff}\u{10ffff}",
  "\u{10ffff}\u{10ffff}x"
]

/**
 * @since 0.1.0
 * @category tests
 */
export const prefix = ({ test }: Subject): void => {
  describe("idsWithPrefix", () => {
    test("it gives exactly the ids that begin with the text, in the order of their UTF-8 bytes", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* Effect.forEach(ids.toReversed(), (id) => store.save(order(id)))
        expect(yield* store.idsWithPrefix("")).toEqual(ids)
        const probes = [...ids, "a_", "A", "a_b:2", "[", "E\u0301", "zzz", "\u{1f60}", "_", "?", "\u0000", "a\u0000"]
        for (const probe of probes) {
          expect(yield* store.idsWithPrefix(probe)).toEqual(ids.filter((id) => id.startsWith(probe)))
        }
      }))

    test("it sees what is stored and not what is gone", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.idsWithPrefix("")).toEqual([])
        yield* store.save(order("tree:1"))
        yield* store.save(order("tree:2"))
        yield* store.purge("tree:1", 1)
        expect(yield* store.idsWithPrefix("tree:")).toEqual(["tree:2"])
      }))

    test("it gives all of a large tree", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const tree = Array.from({ length: 250 }, (_, i) => `tree:${String(i).padStart(3, "0")}`)
        yield* Effect.forEach(tree, (id) => store.save(order(id)))
        expect(yield* store.idsWithPrefix("tree:")).toEqual(tree)
        expect(yield* store.idsWithPrefix("tree:1")).toHaveLength(100)
      }))
  })
}
