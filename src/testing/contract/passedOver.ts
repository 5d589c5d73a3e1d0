/**
 * Work of other definitions, which the pages of work pass over.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Timer } from "../../Commit.js"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { awkwardTexts, emit, order, spawn } from "../internal/samples.js"
import { endOfTime } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const of = (id: string, definitionId: string) => order(id, { definitionId })

/** The ids of the events that are not passed over, read in pages, and the seqs that these reach. */
const eventIds = (except: ReadonlyArray<string>, limit = 100) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const ids: Array<string> = []
    let after: number | undefined
    for (;;) {
      const page = yield* store.pendingOutbox({ after, limit, except })
      ids.push(...page.entries.map(({ event }) => event.id))
      if (Option.isNone(page.next)) return { ids, reached: page.reached }
      expect(page.reached).toEqual(page.next)
      after = page.next.value
    }
  })

const childIds = (except: ReadonlyArray<string>, limit = 100) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const ids: Array<string> = []
    let after: number | undefined
    for (;;) {
      const page = yield* store.pendingSpawns({ after, limit, except })
      ids.push(...page.entries.map(({ childId }) => childId))
      if (Option.isNone(page.next)) return { ids, reached: page.reached }
      after = page.next.value
    }
  })

const paths = (except: ReadonlyArray<string>, limit = 100) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const paths: Array<string> = []
    let after: Timer | undefined
    for (;;) {
      const page = yield* store.dueTimers(endOfTime, { after, limit, except })
      paths.push(...page.entries.map(({ path }) => path))
      if (Option.isNone(page.next)) return paths
      after = page.next.value
    }
  })

const outboxTests = ({ test }: Subject): void => {
  test("events of executions of these definitions are passed over, those without a target or whose target is missing are not", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(of("a", "order"))
      yield* store.commit(of("b", "bill"))
      yield* store.commit(of("c", "ship"))
      const targets = ["b", "a", null, "b", "missing", "c", "b", "a", "c"]
      const seqs = yield* store.enqueue(targets.map((target, i) => emit(`${i}`, target)))
      const last = Option.fromNullable(seqs.at(-1))
      for (const limit of [1, 2, 3, 100]) {
        expect(yield* eventIds(["bill", "ship"], limit)).toEqual({ ids: ["1", "2", "4", "7"], reached: last })
        expect((yield* eventIds(["bill"], limit)).ids).toEqual(["1", "2", "4", "5", "7", "8"])
        expect((yield* eventIds(["nobody's"], limit)).ids).toHaveLength(targets.length)
        expect((yield* eventIds([], limit)).ids).toHaveLength(targets.length)
      }
    }))

  test("a page reaches the last event, also where it is passed over, and nothing behind it", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(of("b", "bill"))
      const empty = { entries: [], corrupt: [], failures: [], next: Option.none() }
      expect(yield* store.pendingOutbox({ except: ["bill"] })).toEqual({ ...empty, reached: Option.none() })
      const seqs = yield* store.enqueue(Array.from({ length: 30 }, (_, i) => emit(`${i}`, "b")))
      const last = seqs.at(-1) ?? 0
      expect(yield* store.pendingOutbox({ except: ["bill"], limit: 1 })).toEqual({
        ...empty,
        reached: Option.some(last)
      })
      expect((yield* store.pendingOutbox()).reached).toEqual(Option.some(last))
      expect((yield* store.pendingOutbox({ limit: 7 })).reached).toEqual(Option.some(seqs[6]))
      expect((yield* store.pendingOutbox({ except: ["bill"], after: last })).reached).toEqual(Option.none())
    }))

  test("what is recorded of failures comes with the events that are not passed over", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(of("b", "bill"))
      yield* store.commit(of("a", "order"))
      const seqs = yield* store.enqueue([emit("1", "b"), emit("2", "a")])
      for (const seq of seqs) {
        yield* store.deadLetters.recordFailure({
          work: { _tag: "Outbox", seq },
          attempts: 2,
          error: "no",
          retryAt: 2
        })
      }
      const page = yield* store.pendingOutbox({ except: ["bill"] })
      expect(page.failures.map(({ work }) => work)).toEqual([{ _tag: "Outbox", seq: seqs[1] }])
    }))

  test("an execution that follows another definition by now is of that one", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const { execution } = yield* store.commit(of("b", "bill"))
      yield* store.enqueue([emit("1", "b")])
      yield* store.commit({ ...execution, definitionId: "order" })
      expect((yield* eventIds(["bill"])).ids).toEqual(["1"])
      expect((yield* eventIds(["order"])).ids).toEqual([])
    }))

  test("names of definitions may be any text", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      for (const [i, definitionId] of awkwardTexts.entries()) {
        yield* store.commit(of(`e${i}`, definitionId))
        yield* store.enqueue([emit(`${i}`, `e${i}`)])
      }
      expect((yield* eventIds(awkwardTexts)).ids).toEqual([])
      for (const [i, definitionId] of awkwardTexts.entries()) {
        const { ids } = yield* eventIds(awkwardTexts.filter((text) => text !== definitionId))
        expect(ids).toEqual([`${i}`])
      }
    }))
}

/**
 * @since 0.1.0
 * @category tests
 */
export const passedOver = (subject: Subject): void => {
  const { test } = subject
  describe("work of definitions that is passed over", () => {
    outboxTests(subject)

    test("children are passed over by the definition that they name, or else by their parent's", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const named = { __invoke_fqn__: "ship", qty: 10n ** 30n }
        const other = { __invoke_fqn__: 7 }
        yield* store.commit(of("a", "order"), { spawns: [spawn("a:1"), spawn("a:2", named), spawn("a:3", other)] })
        yield* store.commit(of("b", "bill"), { spawns: [spawn("b:1"), spawn("b:2", named), spawn("b:3", other)] })
        const { reached } = yield* childIds([])
        for (const limit of [1, 2, 100]) {
          expect(yield* childIds(["bill"], limit)).toEqual({ ids: ["a:1", "a:2", "a:3", "b:2"], reached })
          expect((yield* childIds(["ship"], limit)).ids).toEqual(["a:1", "a:3", "b:1", "b:3"])
          expect((yield* childIds(["ship", "order", "bill"], limit)).ids).toEqual([])
        }
        expect((yield* store.pendingSpawns({ except: ["ship", "order", "bill"] })).reached).toEqual(reached)
      }))

    test("timers of executions of these definitions are passed over, in each page", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const at = (...times: ReadonlyArray<number>) => times.map((time) => scheduleTimer(`p${time}`, time))
        yield* store.commit(of("a", "order"), { timers: at(1, 3, 5) })
        yield* store.commit(of("b", "bill"), { timers: at(0, 2, 6, 7) })
        yield* store.commit(of("c", "ship"), { timers: at(4) })
        for (const limit of [1, 2, 100]) {
          expect(yield* paths(["bill"], limit)).toEqual(["p1", "p3", "p4", "p5"])
          expect(yield* paths(["order", "ship"], limit)).toEqual(["p0", "p2", "p6", "p7"])
          expect(yield* paths(["bill", "order", "ship"], limit)).toEqual([])
          expect(yield* paths([], limit)).toHaveLength(8)
        }
      }))

    test("names that are none, and more than 1,000, are refused", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const many = Array.from({ length: 1001 }, (_, i) => `d${i}`)
        for (const except of [[""], ["fine", "\ud800"], many]) {
          const refused = { _tag: "StoreRejected", reason: "invalid-input" }
          expect(yield* Effect.flip(store.pendingOutbox({ except }))).toMatchObject(refused)
          expect(yield* Effect.flip(store.pendingSpawns({ except }))).toMatchObject(refused)
          expect(yield* Effect.flip(store.dueTimers(1, { except }))).toMatchObject(refused)
        }
        expect((yield* store.pendingOutbox({ except: many.slice(1) })).entries).toEqual([])
      }))
  })
}
