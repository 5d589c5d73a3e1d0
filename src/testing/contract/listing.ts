/**
 * Listing executions.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Status } from "../../Execution.js"
import { ExecutionStore, type ListQuery, streamExecutions } from "../../ExecutionStore.js"
import { refuses } from "../internal/assertions.js"
import { order } from "../internal/samples.js"
import { listing as list, listed } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const statuses: ReadonlyArray<Status> = ["PENDING", "RUNNING", "DONE"]

/** Twelve executions: two definitions, three statuses, roots and children, each combination once. */
const seeded = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const all = ["order", "refund"].flatMap((definitionId) =>
    statuses.flatMap((status) =>
      [null, "parent"].map((parentId) =>
        order(`${definitionId}:${status}:${parentId ?? "root"}`, { definitionId, status, parentId })
      )
    )
  )
  // not in the order of the listing
  yield* Effect.forEach(all.toReversed(), store.save)
  return all
})

const filters: ReadonlyArray<ListQuery> = [
  {},
  { definitionId: "order" },
  { definitionId: "orde" },
  { definitionId: "ORDER" },
  { status: ["DONE"] },
  { status: ["DONE", "PENDING"] },
  { status: ["PENDING", "DONE", "DONE", "FAILED"] },
  { status: ["FAILED"] },
  { rootsOnly: true },
  { rootsOnly: false },
  { definitionId: "refund", status: ["RUNNING"] },
  { definitionId: "refund", status: ["RUNNING", "DONE"], rootsOnly: true },
  { status: ["RUNNING"], rootsOnly: true },
  { definitionId: "order", rootsOnly: true },
  { idPrefix: "" },
  { idPrefix: "order:" },
  { idPrefix: "order:D" },
  { idPrefix: "refund:DONE:root" },
  { idPrefix: "Order" },
  { idPrefix: "order:", status: ["DONE", "RUNNING"] },
  { idPrefix: "refund", definitionId: "order" },
  { idPrefix: "r", definitionId: "refund", status: ["PENDING"], rootsOnly: true }
]

/**
 * @since 0.1.0
 * @category tests
 */
export const listing = ({ test }: Subject): void => {
  describe("listing", () => {
    test("an empty store has one empty page", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.listExecutions()).toEqual({ items: [], corrupt: [], nextCursor: Option.none() })
      }))

    test("a line shows its nine fields and nothing else", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a", { context: { secret: 1 }, history: { "": "A" }, activePath: "A.B" }))
        yield* store.save(
          order("b", { status: "DONE", outcome: "success", parentId: "a", definitionVersion: 3, invokeSeq: { s: 1 } })
        )
        expect((yield* store.listExecutions()).items).toEqual([
          {
            id: "a",
            definitionId: "order",
            definitionVersion: 1,
            status: "PENDING",
            outcome: null,
            activePath: "A.B",
            version: 1,
            parentId: null,
            finishedAt: null
          },
          {
            id: "b",
            definitionId: "order",
            definitionVersion: 3,
            status: "DONE",
            outcome: "success",
            activePath: null,
            version: 1,
            parentId: "a",
            finishedAt: 0
          }
        ])
      }))

    for (const filter of filters) {
      test(`the filter ${JSON.stringify(filter)} selects what it says, in pages of any size`, () =>
        Effect.gen(function* () {
          const expected = (yield* seeded)
            .filter((execution) => filter.definitionId === undefined || filter.definitionId === execution.definitionId)
            .filter((execution) => filter.status === undefined || filter.status.includes(execution.status))
            .filter((execution) => filter.rootsOnly !== true || execution.parentId === null)
            .filter((execution) => execution.id.startsWith(filter.idPrefix ?? ""))
            .map((execution) => execution.id)
            .toSorted()
          expect(yield* listed(filter)).toEqual(expected)
          for (const limit of [1, 4, 12]) {
            const { items, sizes } = yield* list({ ...filter, limit })
            expect(items.map((item) => item.id)).toEqual(expected)
            expect(sizes).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)))
            expect(Math.max(...sizes)).toBeLessThanOrEqual(limit)
          }
        }))
    }

    test("an empty list of statuses matches nothing", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* seeded
        expect(yield* store.listExecutions({ status: [], limit: 1 })).toEqual({
          items: [],
          corrupt: [],
          nextCursor: Option.none()
        })
      }))

    test("the order is that of the ids' UTF-8 bytes", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const ids = ["B", "a", "a\u0000", "a!", "aa", "\u00e9", "\ud7ff", "\ue000", "\ufffd", "\u{1f600}", "\u{10ffff}"]
        yield* Effect.forEach(ids.toReversed(), (id) => store.save(order(id)))
        for (const limit of [1, 3, 1000]) expect(yield* listed({ limit })).toEqual(ids)
      }))

    test("a page has 100 lines where nothing is said", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const ids = Array.from({ length: 101 }, (_, i) => `e${String(i).padStart(3, "0")}`)
        yield* Effect.forEach(ids, (id) => store.save(order(id)))
        const page = yield* store.listExecutions()
        expect(page.items).toHaveLength(100)
        expect(Option.isSome(page.nextCursor)).toBe(true)
        expect(yield* listed()).toEqual(ids)
      }))

    test("a cursor goes on where its page ended, whatever came or went meanwhile", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* Effect.forEach(["b", "d", "f", "h"], (id) => store.save(order(id)))
        const page = yield* store.listExecutions({ limit: 2 })
        yield* store.purge("d", 1)
        yield* Effect.forEach(["a", "c", "e", "i"], (id) => store.save(order(id)))
        const rest = yield* store.listExecutions({ cursor: Option.getOrThrow(page.nextCursor) })
        expect(rest.items.map((item) => item.id)).toEqual(["e", "f", "h", "i"])
      }))

    test("a cursor works with another limit and another filter", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* Effect.forEach(["a", "b", "c", "d"], (id) =>
          store.save(order(id, { status: id === "d" ? "DONE" : "RUNNING" }))
        )
        const page = yield* store.listExecutions({ limit: 1, status: ["RUNNING"] })
        const cursor = Option.getOrThrow(page.nextCursor)
        expect(yield* listed({ cursor, limit: 2 })).toEqual(["b", "c", "d"])
        expect(yield* listed({ cursor, status: ["DONE"] })).toEqual(["d"])
      }))

    test("a row that changes moves between the filters", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a", { status: "PENDING" }))
        expect(yield* listed({ status: ["PENDING"] })).toEqual(["a"])
        const second = yield* store.save({ ...first, status: "DONE", definitionId: "refund", parentId: "p" })
        expect(yield* listed({ status: ["PENDING"] })).toEqual([])
        expect(yield* listed({ status: ["DONE"] })).toEqual(["a"])
        expect(yield* listed({ definitionId: "order" })).toEqual([])
        expect(yield* listed({ definitionId: "refund" })).toEqual(["a"])
        expect(yield* listed({ rootsOnly: true })).toEqual([])
        const { items } = yield* list()
        expect(items).toMatchObject([{ version: 2, definitionId: "refund", status: "DONE", parentId: "p" }])
        yield* store.purge("a", second.version)
        expect(yield* listed({ status: ["DONE"] })).toEqual([])
        yield* store.save(order("a"))
        expect(yield* listed({ status: ["PENDING"], definitionId: "order", rootsOnly: true })).toEqual(["a"])
      }))

    test("a version of a definition is a filter beside all others, in pages of any size, and of counts", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const all = [1, 2, 3].flatMap((definitionVersion) =>
          (["DONE", "RUNNING"] as const).flatMap((status) =>
            [null, "p"].map((parentId) =>
              order(`${status}:${parentId ?? "root"}:${definitionVersion}`, { definitionVersion, status, parentId })
            )
          )
        )
        yield* Effect.forEach(all, (execution) => store.commit(execution, { attributes: { kind: execution.status } }))
        yield* store.save(order("other", { definitionId: "refund", definitionVersion: 2 }))
        const queries: ReadonlyArray<ListQuery> = [
          {},
          { status: ["RUNNING"] },
          { status: ["RUNNING", "DONE"], rootsOnly: true },
          { rootsOnly: true },
          { parentId: "p", status: ["DONE"] },
          { idPrefix: "RUNNING:" },
          { attributes: { kind: "DONE" } },
          { attributes: { kind: "DONE" }, parentId: "p" }
        ]
        for (const definitionVersion of [1, 2, 4]) {
          for (const query of queries) {
            const filter = { ...query, definitionId: "order", definitionVersion }
            const expected = all
              .filter((one) => one.definitionVersion === definitionVersion)
              .filter(({ status }) => query.status === undefined || query.status.includes(status))
              .filter(({ parentId }) => query.rootsOnly !== true || parentId === null)
              .filter(({ parentId }) => query.parentId === undefined || query.parentId === parentId)
              .filter(({ id }) => id.startsWith(query.idPrefix ?? ""))
              .filter(({ status }) => query.attributes === undefined || query.attributes["kind"] === status)
              .map(({ id }) => id)
              .toSorted()
            expect(yield* listed({ ...filter, limit: 1 })).toEqual(expected)
            expect(yield* store.countExecutions(filter)).toBe(expected.length)
          }
        }
        expect(yield* listed({ definitionId: "refund", definitionVersion: 2 })).toEqual(["other"])
        expect(yield* listed({ definitionId: "refund", definitionVersion: 1 })).toEqual([])
      }))

    test("a row that is migrated moves between the versions", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        const of = (definitionVersion: number) => listed({ definitionId: "order", definitionVersion })
        expect([yield* of(1), yield* of(2)]).toEqual([["a"], []])
        yield* store.save({ ...first, definitionVersion: 2 })
        expect([yield* of(1), yield* of(2)]).toEqual([[], ["a"]])
      }))

    test("what is no version, or of no definition, is refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const definitionVersion of [0, -1, 1.5, Number.NaN]) {
          yield* refuses(store.listExecutions({ definitionId: "order", definitionVersion }), "definitionVersion")
          yield* refuses(store.countExecutions({ definitionId: "order", definitionVersion }), "definitionVersion")
        }
        yield* refuses(store.listExecutions({ definitionVersion: 1 }), "definitionVersion")
        yield* refuses(store.countExecutions({ definitionVersion: 1 }), "definitionVersion")
      }))

    test("a lost commit changes no filter", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const first = yield* store.save(order("a"))
        yield* store.save(first)
        yield* Effect.exit(store.save({ ...first, status: "DONE", definitionId: "refund" }))
        expect(yield* listed({ status: ["DONE"] })).toEqual([])
        expect(yield* listed({ definitionId: "refund" })).toEqual([])
      }))

    test("the stream gives all pages", () =>
      Effect.gen(function* () {
        const all = yield* seeded
        const ids = (query: ListQuery) =>
          Stream.runCollect(streamExecutions(query)).pipe(
            Effect.map((items) => Chunk.toReadonlyArray(items).map((item) => item.id))
          )
        expect(yield* ids({ limit: 5 })).toEqual(all.map((execution) => execution.id).toSorted())
        expect(yield* ids({ limit: 1, status: ["DONE"] })).toEqual(yield* listed({ status: ["DONE"] }))
        expect(yield* ids({ status: [] })).toEqual([])
      }))
  })
}
