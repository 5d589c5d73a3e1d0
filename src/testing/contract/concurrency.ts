/**
 * Many fibers at once.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import type { Commit } from "../../Commit.js"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Generators from "../Generators.js"
import { emit, everything, order, spawn, step } from "../internal/samples.js"
import { loaded, outbox, spawns, timers, trace } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const unbounded = { concurrency: "unbounded" } as const

const range = (count: number) => Array.from({ length: count }, (_, i) => i)

/** Reads the execution and commits it with one more in its counter, again and again until nobody was faster. */
const increment = (id: string, by: string) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const execution = yield* loaded(id)
    yield* Effect.yieldNow()
    const counter = Number(execution.context["counter"]) + 1
    return yield* store.commit({ ...execution, context: { counter } }, { processed: by, emits: [emit(by)] })
  }).pipe(
    // each conflict means that another one won: a right store is done long before
    Effect.retry({ while: (error) => error._tag === "StoreConflict", times: 500 }),
    Effect.map((committed) => committed.seqs)
  )

/**
 * @since 0.1.0
 * @category tests
 */
export const concurrency = ({ property, test }: Subject): void => {
  describe("concurrency", () => {
    test("steps that read and commit one execution at once, retrying conflicts, are all there, once each", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a", { context: { counter: 0 } }))
        const writers = range(12)
        yield* Effect.forEach(
          writers,
          (writer) => Effect.forEach(range(3), (n) => increment("a", `${writer}:${n}`), { discard: true }),
          unbounded
        )
        const execution = yield* loaded("a")
        expect(execution.context).toEqual({ counter: 36 })
        expect(execution.version).toBe(37)
        const names = writers.flatMap((writer) => range(3).map((n) => `${writer}:${n}`))
        expect((yield* outbox()).map((entry) => entry.event.id).toSorted()).toEqual(names.toSorted())
        for (const name of names) expect(yield* store.isProcessed("a", name)).toBe(true)
      }))

    test("of many first commits of one id one wins", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const results = yield* Effect.forEach(
          range(10),
          (n) => Effect.either(store.commit(order("a", { context: { n } }), everything(`e${n}`))),
          unbounded
        )
        const won = results.filter(Either.isRight)
        expect(won).toHaveLength(1)
        for (const result of results.filter(Either.isLeft)) expect(result.left._tag).toBe("StoreConflict")
        expect(won.map((result) => result.right.execution)).toEqual([yield* loaded("a")])
        expect(yield* outbox()).toHaveLength(1)
        expect(yield* spawns()).toHaveLength(1)
        expect(yield* timers()).toHaveLength(1)
        expect(yield* trace("a")).toHaveLength(1)
      }))

    test("commits of many executions at once each have seqs of their own, in the order of their emits", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const committed = yield* Effect.forEach(
          range(40),
          (n) => store.commit(order(`a${n}`), { emits: range(n % 4).map((i) => emit(`${n}:${i}`, `t${n}`)) }),
          unbounded
        )
        const entries = new Map((yield* outbox()).map((entry) => [entry.seq, entry.event.id]))
        committed.forEach(({ seqs }, n) => {
          expect(seqs.map((seq) => entries.get(seq))).toEqual(range(n % 4).map((i) => `${n}:${i}`))
        })
        expect(entries.size).toBe(committed.flatMap(({ seqs }) => seqs).length)
      }))

    test("events enqueued at once are all there, each list in its order", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const lists = range(10).map((n) => range(5).map((i) => emit(`${n}:${i}`)))
        const seqs = yield* Effect.forEach(lists, (emits) => store.enqueue(emits), unbounded)
        const entries = yield* outbox()
        expect(entries).toHaveLength(50)
        seqs.forEach((given, n) => {
          const ids = given.map((seq) => entries.find((entry) => entry.seq === seq)?.event.id)
          expect(ids).toEqual(lists[n]?.map((emit) => emit.event.id))
        })
      }))

    test("two relays on one outbox: each entry is there until it is acked, by whomever", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.enqueue(range(30).map((n) => emit(`${n}`)))
        const delivered: Array<string> = []
        const relay = Effect.gen(function* () {
          for (const _ of range(100)) {
            const { entries } = yield* store.pendingOutbox({ limit: 4 })
            if (entries.length === 0) return
            for (const entry of entries) {
              delivered.push(entry.event.id)
              yield* Effect.yieldNow()
              yield* store.ackOutbox(entry.seq)
            }
          }
        })
        yield* Effect.all([relay, relay], unbounded)
        // at least once each; receivers tell a second delivery by its id
        expect(new Set(delivered).size).toBe(30)
        expect(yield* outbox()).toEqual([])
      }))

    test("an event that two relays deliver into the store at once is consumed once", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.save(order("a", { context: { counter: 0 } }))
        const [seq = 0] = yield* store.enqueue([emit("pay", "a")])
        const deliver = Effect.gen(function* () {
          const { execution, processed } = yield* store.loadForEvent("a", "pay")
          yield* Effect.yieldNow()
          if (processed || execution._tag === "None") return
          const counter = Number(execution.value.context["counter"]) + 1
          const ack = { _tag: "Outbox", seq } as const
          yield* store.commit({ ...execution.value, context: { counter } }, { processed: "pay", ack })
        }).pipe(Effect.retry({ while: (error) => error._tag === "StoreConflict", times: 500 }))
        yield* Effect.all([deliver, deliver, deliver], unbounded)
        expect((yield* loaded("a")).context).toEqual({ counter: 1 })
        expect(yield* outbox()).toEqual([])
      }))

    test("of two sweeps that fire one timer one removes it", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* store.commit(order("a"), { timers: range(5).map((n) => scheduleTimer(`p${n}`, 10)) })
        const sweep = Effect.gen(function* () {
          const due = (yield* store.dueTimers(10)).entries
          yield* Effect.yieldNow()
          return yield* Effect.forEach(due, store.deleteTimer)
        })
        const removed = yield* Effect.all([sweep, sweep, sweep], unbounded)
        expect(removed.flat().filter((gone) => gone)).toHaveLength(5)
        expect(yield* timers()).toEqual([])
      }))

    test("steps appended to one trace at once get an index each", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* Effect.forEach(range(20), (n) => store.appendTrace("a", step(`${n}`)), unbounded)
        expect((yield* trace("a")).map((entry) => entry.index)).toEqual(range(20))
      }))

    test("a purge and a commit at once: either the commit won, or it conflicts and leaves nothing", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const n of range(5)) {
          const first = yield* store.save(order(`a${n}`))
          const [committed, purged] = yield* Effect.all(
            [Effect.either(store.commit(first, everything("e"))), store.purge(`a${n}`, 1)],
            unbounded
          )
          expect(Either.isRight(committed)).toBe(!purged)
          expect(yield* store.isProcessed(`a${n}`, "e")).toBe(!purged)
        }
      }))

    const racing = FastCheck.array(
      FastCheck.record({ id: FastCheck.constantFrom("a", "b"), commit: Generators.commit }),
      { minLength: 2, maxLength: 12 }
    )

    property("of random commits at once exactly the winners' writes are there", racing, 15, (racing) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const id of ["a", "b"]) yield* store.save(order(id))
        const writers = racing.map(({ commit, id }, n): { id: string; commit: Commit } => ({
          id,
          commit: { ...commit, processed: `writer ${n}`, spawns: [spawn(`writer ${n}`)] }
        }))
        const results = yield* Effect.forEach(
          writers,
          ({ commit, id }) => Effect.flatMap(loaded(id), (execution) => Effect.either(store.commit(execution, commit))),
          unbounded
        )
        const won = writers.filter((_, n) => results.slice(n, n + 1).some(Either.isRight))
        const seqs = results.filter(Either.isRight).flatMap((result) => result.right.seqs)
        const entries = yield* outbox()
        expect(entries.map((entry) => entry.seq)).toEqual(seqs.toSorted((a, b) => a - b))
        expect(entries).toHaveLength(won.flatMap(({ commit }) => commit.emits ?? []).length)
        expect((yield* spawns()).map((entry) => entry.childId).toSorted()).toEqual(
          won.flatMap(({ commit }) => (commit.spawns ?? []).map((spawn) => spawn.childId)).toSorted()
        )
        for (const id of ["a", "b"]) {
          const mine = won.filter((writer) => writer.id === id)
          expect((yield* loaded(id)).version).toBe(1 + mine.length)
          expect(yield* trace(id)).toHaveLength(mine.filter(({ commit }) => commit.trace !== undefined).length)
          for (const [n, writer] of writers.entries()) {
            const consumed = writer.id === id && won.includes(writer)
            expect(yield* store.isProcessed(id, `writer ${n}`)).toBe(consumed)
          }
        }
      })
    )
  })
}
