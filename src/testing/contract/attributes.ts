/**
 * What executions are found by.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type { Attributes } from "../../Execution.js"
import { type ExecutionFilter, ExecutionStore } from "../../ExecutionStore.js"
import * as Generators from "../Generators.js"
import { conflicts, corrupts, refuses } from "../internal/assertions.js"
import { awkwardTexts, order } from "../internal/samples.js"
import { listed, loaded } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const of = (id: string) => Effect.flatMap(ExecutionStore, (store) => store.attributes.of(id))

const commit = (id: string, attributes: Attributes | undefined, parts: Parameters<typeof order>[1] = {}) =>
  Effect.flatMap(ExecutionStore, (store) => store.commit(order(id, parts), { attributes }))

/** A filter's listing, read in pages of two, and its count, which must be that of the listing. */
const found = (filter: ExecutionFilter) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const ids = yield* listed({ ...filter, limit: 2 })
    expect(yield* store.countExecutions(filter)).toBe(ids.length)
    return ids
  })

const tooMany = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`n${i}`, i]))

const invalid: ReadonlyArray<readonly [Attributes, string]> = [
  [tooMany, "attributes"],
  [{ "": 1 }, "attributes"],
  [{ "a=b": 1 }, "attributes"],
  [{ "1st": 1 }, "attributes"],
  [{ ["x".repeat(65)]: 1 }, "attributes"],
  [{ n: Number.NaN }, "attributes.n"],
  [{ n: Number.POSITIVE_INFINITY }, "attributes.n"],
  [{ n: "x".repeat(1025) }, "attributes.n"],
  [{ n: "\ud800" }, "attributes.n"]
]

const selections = ({ test }: Subject): void => {
  test("a listing and a count select by all attributes together, beside definition, status and parent", () =>
    Effect.gen(function* () {
      yield* commit("a", { customer: "c-1", number: 1 })
      yield* commit("b", { customer: "c-1", number: 2 }, { status: "DONE" })
      yield* commit("c", { customer: "c-2", number: 1 }, { parentId: "a" })
      yield* commit("d", { customer: "c-1", number: 1 }, { definitionId: "refund" })
      yield* commit("e", {})
      yield* commit("f", undefined)
      expect(yield* found({ attributes: { customer: "c-1" } })).toEqual(["a", "b", "d"])
      expect(yield* found({ attributes: { number: 1 } })).toEqual(["a", "c", "d"])
      expect(yield* found({ attributes: { customer: "c-1", number: 1 } })).toEqual(["a", "d"])
      expect(yield* found({ attributes: { number: 1, customer: "c-1" }, definitionId: "order" })).toEqual(["a"])
      expect(yield* found({ attributes: { customer: "c-1" }, status: ["DONE", "FAILED"] })).toEqual(["b"])
      expect(yield* found({ attributes: { number: 1 }, rootsOnly: true })).toEqual(["a", "d"])
      expect(yield* found({ attributes: { number: 1 }, parentId: "a" })).toEqual(["c"])
      expect(yield* found({ attributes: { customer: "c-3" } })).toEqual([])
      expect(yield* found({ attributes: { name: "c-1" } })).toEqual([])
      expect(yield* found({ attributes: { customer: "c-1" }, status: [] })).toEqual([])
      expect(yield* found({ attributes: {} })).toEqual(["a", "b", "c", "d", "e", "f"])
    }))

  test("a count without attributes counts what a listing lists", () =>
    Effect.gen(function* () {
      yield* commit("a", undefined)
      yield* commit("b", undefined, { status: "DONE", parentId: "a" })
      yield* commit("c", undefined, { definitionId: "refund", status: "DONE" })
      for (const filter of [
        {},
        { definitionId: "order" },
        { status: ["DONE"] as const },
        { status: ["DONE", "PENDING"] as const, definitionId: "order" },
        { rootsOnly: true },
        { parentId: "a" },
        { status: [] }
      ]) {
        yield* found(filter)
      }
    }))

  test("values of other types are other values", () =>
    Effect.gen(function* () {
      const values = [
        "1",
        1,
        true,
        "true",
        "",
        0,
        false,
        1.5,
        2 ** 53,
        -(2 ** 60),
        5e-324,
        "1.5",
        "c",
        "C",
        "é",
        "e\u0301"
      ]
      for (const [i, value] of values.entries()) yield* commit(`e${i}`, { value })
      for (const [i, value] of values.entries()) {
        expect(yield* found({ attributes: { value } })).toEqual([`e${i}`])
        expect(yield* of(`e${i}`)).toEqual({ value })
      }
      // A negative zero is the same number.
      expect(yield* found({ attributes: { value: -0 } })).toEqual(["e5"])
    }))

  test("names that objects have are names like any other", () =>
    Effect.gen(function* () {
      const attributes = JSON.parse('{ "__proto__": 1, "constructor": true, "toString": "x" }')
      yield* commit("a", attributes)
      yield* commit("b", {})
      expect(yield* found({ attributes })).toEqual(["a"])
      expect(Object.entries(yield* of("a")).toSorted()).toEqual(Object.entries(attributes).toSorted())
    }))

  test("any text is found, and no other", () =>
    Effect.gen(function* () {
      for (const [i, text] of awkwardTexts.entries()) yield* commit(`e${i}`, { text })
      for (const [i, text] of awkwardTexts.entries()) {
        expect(yield* found({ attributes: { text } })).toEqual([`e${i}`])
        expect(yield* of(`e${i}`)).toEqual({ text })
      }
    }))
}

const writes = ({ property, test }: Subject): void => {
  test("a commit replaces them, and one without leaves them", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const { execution: first } = yield* commit("a", { customer: "c-1", number: 1 })
      expect(yield* of("a")).toEqual({ customer: "c-1", number: 1 })
      const { execution: second } = yield* store.commit(first, { attributes: { number: 2, paid: true } })
      expect(yield* of("a")).toEqual({ number: 2, paid: true })
      expect(yield* found({ attributes: { customer: "c-1" } })).toEqual([])
      const { execution: third } = yield* store.commit(second)
      expect(yield* of("a")).toEqual({ number: 2, paid: true })
      yield* store.commit(third, { attributes: {} })
      expect(yield* of("a")).toEqual({})
      expect(yield* of("nobody")).toEqual({})
    }))

  test("a commit that is lost to another leaves them", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const { execution } = yield* commit("a", { customer: "c-1" })
      yield* store.commit(execution, { attributes: { customer: "c-2" } })
      const expected = { executionId: "a", expected: 1, found: 2 }
      yield* conflicts(store.commit(execution, { attributes: { customer: "c-3" } }), expected)
      yield* conflicts(store.commit(order("a"), { attributes: { other: 1 } }), { ...expected, expected: 0 })
      expect(yield* of("a")).toEqual({ customer: "c-2" })
    }))

  test("commits of one moment each write their own", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commitEach(
        ["a", "b", "c"].map((id) => ({ execution: order(id), commit: { attributes: { customer: id } } }))
      )
      expect(yield* found({ attributes: { customer: "b" } })).toEqual(["b"])
    }))

  test("they go when the execution is purged, and do not come again with one of the same id", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* commit("a", { customer: "c-1" })
      yield* commit("b", { customer: "c-1" })
      expect(yield* store.purge("a", 1)).toBe(true)
      expect(yield* of("a")).toEqual({})
      expect(yield* found({ attributes: { customer: "c-1" } })).toEqual(["b"])
      yield* commit("a", undefined)
      expect(yield* found({ attributes: { customer: "c-1" } })).toEqual(["b"])
    }))

  test("set replaces them at the version that is expected, and leaves the execution as it is", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* commit("a", { customer: "c-1", number: 1 })
      const before = yield* loaded("a")
      yield* store.attributes.set("a", 1, { customer: "c-2" })
      expect(yield* of("a")).toEqual({ customer: "c-2" })
      expect(yield* loaded("a")).toEqual(before)
      yield* store.attributes.set("a", 2, { customer: "c-3" })
      yield* store.attributes.set("nobody", 1, { customer: "c-3" })
      expect(yield* of("a")).toEqual({ customer: "c-2" })
      expect(yield* of("nobody")).toEqual({})
      yield* store.attributes.set("a", 1, {})
      expect(yield* of("a")).toEqual({})
    }))

  test("what is none is refused before anything is written", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      for (const [attributes, path] of invalid) {
        yield* refuses(commit("a", attributes), path)
        yield* refuses(store.attributes.set("a", 1, attributes), path)
        yield* refuses(store.listExecutions({ attributes }), path)
        yield* refuses(store.countExecutions({ attributes }), path)
      }
      yield* refuses(store.attributes.set("a", 0, {}), "expectedVersion")
      yield* refuses(store.attributes.of(""), "executionId")
      expect(yield* listed()).toEqual([])
      yield* commit("a", Object.fromEntries(Object.entries(tooMany).slice(1)))
      yield* commit("b", { n: "x".repeat(1024), ["x".repeat(64)]: 1 })
    }))

  property(
    "what was written last is what each is found by",
    FastCheck.array(FastCheck.tuple(FastCheck.constantFrom("a", "b", "c"), Generators.attributes), {
      minLength: 1,
      maxLength: 8
    }),
    15,
    (steps) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const last = new Map<string, Attributes>()
        for (const [id, attributes] of steps) {
          const before = last.has(id) ? yield* loaded(id) : order(id)
          yield* store.commit(before, { attributes })
          last.set(id, attributes)
        }
        for (const [id, attributes] of last) {
          expect(yield* of(id)).toEqual(attributes)
          for (const [name, value] of Object.entries(attributes)) {
            const expected = Array.from(last).flatMap(([other, has]) => (has[name] === value ? [other] : []))
            expect(yield* found({ attributes: { [name]: value } })).toEqual(expected.toSorted())
          }
        }
      })
  )
}

/**
 * @since 0.1.0
 * @category tests
 */
export const attributes = (subject: Subject): void => {
  describe("attributes", () => {
    writes(subject)
    selections(subject)

    subject.rawTest("one that another program wrote is reported where it is none", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a"))
        yield* insert("holdfast_attributes", { execution_id: "a", name: "n", value: "[1]" })
        yield* corrupts(store.attributes.of("a"), "holdfast_attributes", "a n", "value: expected a string")
      })
    )
  })
}
