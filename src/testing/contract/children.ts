/**
 * Trees of executions: whose children there are, and which are still to be created.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { originOfEvent } from "../../Commit.js"
import * as Event from "../../Event.js"
import { ExecutionStore, type Notice } from "../../ExecutionStore.js"
import { refuses } from "../internal/assertions.js"
import { order, spawn } from "../internal/samples.js"
import { listed, listing, spawns } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const child = (id: string, parentId: string, parts: Parameters<typeof order>[1] = {}) =>
  order(id, { ...parts, parentId, childId: id })

const seeded = Effect.gen(function* () {
  const store = yield* ExecutionStore
  yield* store.save(order("p"))
  yield* store.save(order("q"))
  yield* store.save(child("z", "p", { status: "DONE" }))
  yield* store.save(child("b", "p", { status: "RUNNING", definitionId: "other" }))
  yield* store.save(child("a", "p", { status: "DONE", definitionId: "other" }))
  yield* store.save(child("c", "q"))
  yield* store.save(child("p1", "a"))
})

/**
 * @since 0.1.0
 * @category tests
 */
export const children = ({ rawTest, test }: Subject): void => {
  describe("children", () => {
    test("a listing gives the children of one execution, whatever their ids", () =>
      Effect.gen(function* () {
        yield* seeded
        expect(yield* listed({ parentId: "p" })).toEqual(["a", "b", "z"])
        expect(yield* listed({ parentId: "q" })).toEqual(["c"])
        expect(yield* listed({ parentId: "a" })).toEqual(["p1"])
        expect(yield* listed({ parentId: "c" })).toEqual([])
        expect(yield* listed({ parentId: "P" })).toEqual([])
      }))

    test("the children are filtered as all are", () =>
      Effect.gen(function* () {
        yield* seeded
        expect(yield* listed({ parentId: "p", status: ["DONE"] })).toEqual(["a", "z"])
        expect(yield* listed({ parentId: "p", status: ["DONE", "RUNNING"] })).toEqual(["a", "b", "z"])
        expect(yield* listed({ parentId: "p", definitionId: "other" })).toEqual(["a", "b"])
        expect(yield* listed({ parentId: "p", definitionId: "other", status: ["DONE"] })).toEqual(["a"])
        expect(yield* listed({ parentId: "p", status: [] })).toEqual([])
        // a root has no parent
        expect(yield* listed({ parentId: "p", rootsOnly: true })).toEqual([])
        expect(yield* listed({ parentId: "p", rootsOnly: true, status: ["DONE"] })).toEqual([])
      }))

    test("the children come in pages", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const ids = Array.from({ length: 7 }, (_, i) => `c${i}`)
        yield* Effect.forEach(ids, (id) => store.save(child(id, "p")))
        const all = yield* listing({ parentId: "p", limit: 3 })
        expect(all.items.map(({ id }) => id)).toEqual(ids)
        expect(all.sizes).toEqual([3, 3, 1])
      }))

    test("a child that is given to another parent moves, one that is purged goes", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const a = yield* store.save(child("a", "p"))
        yield* store.save(child("b", "p"))
        yield* store.save({ ...a, parentId: "q" })
        expect(yield* listed({ parentId: "p" })).toEqual(["b"])
        expect(yield* listed({ parentId: "q" })).toEqual(["a"])
        yield* store.purge("b", 1)
        expect(yield* listed({ parentId: "p" })).toEqual([])
      }))

    rawTest("children that another program wrote are found", (insert) =>
      Effect.gen(function* () {
        yield* insert("executions", {
          id: "a",
          definition_id: "order",
          data: '{"id":"a","definition_id":"order","parent_id":"p","version":1}',
          version: 1
        })
        expect(yield* listed({ parentId: "p" })).toEqual(["a"])
      })
    )

    test("an execution is a parent of spawns as long as one of them is pending", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("p"), { spawns: [spawn("p:1"), spawn("p:2")] })
        yield* store.commit(order("q"), { spawns: [spawn("q:1")] })
        expect(yield* store.spawns.isParent("p")).toBe(true)
        expect(yield* store.spawns.isParent("p:1")).toBe(false)
        for (const { parentId, seq } of yield* spawns()) if (parentId === "p") yield* store.ackSpawn(seq)
        expect(yield* store.spawns.isParent("p")).toBe(false)
        expect(yield* store.spawns.isParent("q")).toBe(true)
      }))

    test("the spawns of one execution can be dropped", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("p"), { spawns: [spawn("p:1"), spawn("p:2")] })
        yield* store.commit(order("q"), { spawns: [spawn("p")] })
        yield* store.spawns.drop("p")
        yield* store.spawns.drop("nobody")
        expect((yield* spawns()).map(({ childId, parentId }) => [parentId, childId])).toEqual([["q", "p"]])
      }))

    test("ids that are none are refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* refuses(store.listExecutions({ parentId: "" }), "parentId")
        yield* refuses(store.spawns.isParent(""), "parentId")
        yield* refuses(store.spawns.drop(""), "parentId")
      }))

    test("why a commit was made is told and not stored", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const heard: Array<Notice> = []
        yield* store.listen((notice) => heard.push(notice))
        const saved = yield* store.save(order("a"))
        const origin = originOfEvent(saved, Event.make({ id: "e", kind: "Paid" }))
        const { execution } = yield* store.commit({ ...saved, status: "RUNNING" }, { origin })
        expect(heard.map((notice) => notice.origin)).toEqual([
          undefined,
          { status: "PENDING", activePath: null, event: { id: "e", kind: "Paid" }, command: null }
        ])
        expect((yield* store.load("a")).pipe((found) => found._tag === "Some" && found.value)).toEqual(execution)
      }))
  })
}
