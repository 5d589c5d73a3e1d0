/**
 * Published definitions.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { PublishedDefinition } from "../../PublishedDefinition.js"
import { refuses } from "../internal/assertions.js"
import { awkwardTexts } from "../internal/samples.js"
import type { Subject } from "../Subject.js"

const definition = (version: number, parts: Partial<PublishedDefinition> = {}): PublishedDefinition => ({
  definitionId: "order",
  version,
  digest: `digest-${version}`,
  source: `source of ${version}`,
  publishedAt: 1790000000.125,
  ...parts
})

/**
 * @since 0.1.0
 * @category tests
 */
export const definitions = ({ test }: Subject): void => {
  describe("definitions", () => {
    test("there is none before one is published", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.loadDefinition("order")).toEqual(Option.none())
        expect(yield* store.loadDefinition("order", 1)).toEqual(Option.none())
      }))

    test("a version is stored as it is given", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const given of [definition(1), definition(2, { publishedAt: null, digest: "", source: "" })]) {
          expect(yield* store.publishDefinition(given)).toEqual(given)
          expect(yield* store.loadDefinition("order", given.version)).toEqual(Option.some(given))
        }
      }))

    test("the first stored wins, and what is stored comes back", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.publishDefinition(definition(1))
        const second = definition(1, { digest: "other", source: "other", publishedAt: null })
        expect(yield* store.publishDefinition(second)).toEqual(first)
        expect(yield* store.loadDefinition("order", 1)).toEqual(Option.some(first))
      }))

    test("without a version the highest is loaded, in whatever order they came", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* Effect.forEach([9, 2, 11, 0, 10], (version) => store.publishDefinition(definition(version)))
        yield* store.publishDefinition(definition(99, { definitionId: "refund" }))
        expect(yield* store.loadDefinition("order")).toEqual(Option.some(definition(11)))
        expect(yield* store.loadDefinition("order", 0)).toEqual(Option.some(definition(0)))
        expect(yield* store.loadDefinition("order", 3)).toEqual(Option.none())
        expect(yield* store.loadDefinition("ORDER")).toEqual(Option.none())
      }))

    test("any text is kept, a long one too", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const texts = [...awkwardTexts, "x".repeat(1_000_000)]
        for (const [version, text] of texts.entries()) {
          const given = definition(version, { source: text, digest: text })
          expect(yield* store.publishDefinition(given)).toEqual(given)
        }
      }))

    test("of writers at the same time the first wins and all get what is stored", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const given = Array.from({ length: 6 }, (_, i) => definition(1, { digest: `digest of writer ${i}` }))
        const stored = yield* Effect.forEach(given, store.publishDefinition, { concurrency: "unbounded" })
        expect(new Set(stored.map((definition) => definition.digest)).size).toBe(1)
        expect(yield* store.loadDefinition("order")).toEqual(Option.fromNullable(stored[0]))
      }))

    test("what cannot be kept is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* refuses(store.publishDefinition(definition(-1)), "version")
        yield* refuses(store.publishDefinition(definition(1.5)), "version")
        yield* refuses(store.publishDefinition(definition(1, { digest: "\ud800" })), "digest")
        yield* refuses(store.publishDefinition(definition(1, { source: "\udc00" })), "source")
        yield* refuses(store.publishDefinition(definition(1, { publishedAt: Number.NaN })), "publishedAt")
        yield* refuses(store.loadDefinition("order", -1), "version")
        expect(yield* store.loadDefinition("order")).toEqual(Option.none())
      }))
  })
}
