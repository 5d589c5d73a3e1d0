/**
 * Work of other definitions, which the pages of work pass over.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { Timer } from "../../Commit.js"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore, type UnservedDefinition } from "../../ExecutionStore.js"
import { activity, awkwardTexts, emit, order, spawn } from "../internal/samples.js"
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

const waiting = (definitionId: string, parts: Partial<UnservedDefinition>): UnservedDefinition => ({
  definitionId,
  outbox: 0,
  spawns: 0,
  timers: 0,
  oldest: Option.none(),
  ...parts
})

/** What waits for others, by name. */
const unserved = (definitions: ReadonlyArray<string> = [], activities: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const found = yield* store.unserved({ definitions, activities })
    return {
      definitions: found.definitions.toSorted((a, b) => (a.definitionId < b.definitionId ? -1 : 1)),
      activities: found.activities.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      more: found.more
    }
  })

const nothing = { definitions: [], activities: [], more: false }

const unservedTests = ({ test }: Subject): void => {
  test("what waits for others is told by definition and activity: how much, and since when", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      expect(yield* unserved()).toEqual(nothing)
      yield* TestClock.setTime(2500)
      const named = { ...spawn("named"), context: { __invoke_fqn__: "stock" } }
      yield* store.commit(of("a", "order"), {
        emits: [emit("1", "a"), emit("2", "b"), emit("3", null), emit("4", "missing")],
        spawns: [spawn("a:1"), spawn("a:2"), named],
        timers: [scheduleTimer("early", -1.5), scheduleTimer("due", 2.5), scheduleTimer("later", 1e6)],
        activities: [activity("k", "charge"), activity("l", "ship")]
      })
      yield* TestClock.setTime(4000)
      yield* store.commit(of("b", "bill"), {
        emits: [emit("5", "b"), emit("6", "a")],
        activities: [activity("k", "charge")]
      })
      const order = waiting("order", { outbox: 2, spawns: 2, timers: 2, oldest: Option.some(-1.5) })
      const bill = waiting("bill", { outbox: 2, oldest: Option.some(2.5) })
      const stock = waiting("stock", { spawns: 1 })
      const charge = { name: "charge", count: 2, oldest: Option.some(2.5) }
      const ship = { name: "ship", count: 1, oldest: Option.some(2.5) }
      expect(yield* unserved()).toEqual({ definitions: [bill, order, stock], activities: [charge, ship], more: false })
      expect(yield* unserved(["order", "nobody's"], ["ship"])).toEqual({
        definitions: [bill, stock],
        activities: [charge],
        more: false
      })
      expect(yield* unserved(["bill", "order", "stock", "", "\ud800"], ["charge", "ship"])).toEqual(nothing)
      yield* TestClock.setTime(1e9)
      expect((yield* unserved(["bill", "stock"], ["charge", "ship"])).definitions).toEqual([{ ...order, timers: 3 }])
    }))

  test("an activity that somebody runs waits for nobody", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(of("a", "order"), { activities: [activity("k", "charge"), activity("l", "charge")] })
      yield* store.leases.renew({ pool: "activities", holder: "one", ttl: 10 })
      yield* store.activities.claim({ name: "charge", owner: "one", limit: 1 })
      expect((yield* unserved()).activities).toMatchObject([{ name: "charge", count: 1 }])
    }))

  test("any text is told as a name", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      for (const [i, text] of awkwardTexts.entries()) {
        yield* store.commit(of(`e${i}`, text), { emits: [emit(`${i}`, `e${i}`)], activities: [activity("k", text)] })
      }
      const all = yield* unserved()
      expect(all.definitions.map(({ definitionId }) => definitionId)).toEqual(awkwardTexts.toSorted())
      expect(all.activities.map(({ name }) => name)).toEqual(awkwardTexts.toSorted())
      expect(yield* unserved(awkwardTexts, awkwardTexts)).toEqual(nothing)
    }))

  test("the oldest 10,000 events are looked at, and whether there are more", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(of("a", "order"))
      yield* store.commit(of("b", "bill"))
      const [first = 0] = yield* store.enqueue(Array.from({ length: 10_000 }, (_, i) => emit(`${i}`, "a")))
      expect(yield* unserved(["order"])).toEqual(nothing)
      yield* store.enqueue([emit("last", "b")])
      expect(yield* unserved(["order"])).toEqual({ ...nothing, more: true })
      yield* store.ackOutbox(first)
      expect(yield* unserved(["order"])).toMatchObject({ definitions: [{ definitionId: "bill" }], more: false })
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
    unservedTests(subject)

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
