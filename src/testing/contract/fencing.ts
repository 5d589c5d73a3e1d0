/**
 * Fencing: what settles work under a lease is written where the lease is held, and nowhere else.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Commit, WorkItem } from "../../Commit.js"
import * as Commits from "../../Commit.js"
import { type BuryOptions, ExecutionStore } from "../../ExecutionStore.js"
import * as Lease from "../../Lease.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import { conflicts, refuses } from "../internal/assertions.js"
import { timer, timerWork, why } from "../internal/deadLetters.js"
import { awkwardTexts, emit, everything, order, spawn } from "../internal/samples.js"
import { deadLetters, failures, loaded, outbox, spawns, timers, visible } from "../internal/state.js"
import type { Subject } from "../Subject.js"

type Write = Effect.Effect<unknown, StoreConflict | StoreError, ExecutionStore>

const store = ExecutionStore

const renew = (holder: string, what: Partial<Omit<Lease.Renewal, "holder">> = {}) =>
  Effect.flatMap(store, (store) => store.leases.renew({ pool: "p", holder, ttl: 10, ...what }))

/** Takes a lease, and gives what its holder fences its writes by. */
const take = (holder: string, name = "1", pool = "p") =>
  Effect.gen(function* () {
    yield* renew(holder, { pool, claim: [name] })
    const { leases } = yield* Effect.flatMap(store, (store) => store.leases.load(pool))
    const lease = leases.find((lease) => lease.name === name && lease.holder === holder)
    if (lease === undefined) throw new Error(`${holder} did not get lease ${name}`)
    return { pool, name, holder, fence: lease.fence } satisfies Lease.FencingToken
  })

const giveBack = ({ fence, holder, name, pool }: Lease.FencingToken) =>
  renew(holder, { pool, release: [{ name, fence }] })

/** Checks that the write is refused because its lease is lost. */
const refusesAsLost = (write: Write, token: Lease.FencingToken) =>
  Effect.map(Effect.flip(Lease.fencedBy(write, token)), (error) => {
    expect(error).toMatchObject({ _tag: "StoreRejected", reason: "lease-lost" })
    // whoever reads it must see which lease, and that it is no damage
    expect(error.message).toContain(JSON.stringify(token.name))
    expect(error.message).toContain("nothing was written")
  })

const due = timer("late", 1_790_000_060)

/** Work of each kind: an execution with a timer, events to it and children to create; gives the seqs. */
const work = Effect.gen(function* () {
  const self = yield* store
  const { execution, seqs } = yield* self.commit(order("a", { status: "RUNNING" }), {
    emits: [emit("e1", "a"), emit("e2", "a")],
    timers: [Commits.scheduleTimer(due.path, due.fireAt)],
    spawns: [spawn("child-1"), spawn("child-2")]
  })
  const [first = -1] = seqs
  const [child] = yield* spawns()
  return { execution, event: first, spawn: child?.seq ?? -1 }
})

type Work = Effect.Effect.Success<typeof work>

/** A commit with one of everything. */
const all = (ack: WorkItem): Commit => ({
  ...everything("x"),
  emits: [emit("m1"), emit("m2", null), { ...emit("m3"), dueAt: 1_790_000_300 }],
  timers: [Commits.cancelTimer("other"), Commits.scheduleTimer("p1", 1.5), Commits.scheduleTimer("p2", 2.5)],
  ack
})

/** All that settles work, by name. */
const writes: ReadonlyArray<readonly [name: string, write: (work: Work) => Write]> = [
  ["commit, with an event", (w) => commit(w.execution, all({ _tag: "Outbox", seq: w.event }))],
  ["commit, with many events", (w) => commit(w.execution, many({ _tag: "Outbox", seq: w.event }))],
  ["commit, with a timer", (w) => commit(w.execution, all(timerWork(due)))],
  ["commit, of a child", (w) => commit(order("child-1"), all({ _tag: "Spawn", seq: w.spawn }))],
  ["commit, of nothing else", (w) => commit(w.execution, { ack: { _tag: "Outbox", seq: w.event } })],
  [
    "commitEach",
    ({ event, execution }) =>
      Effect.flatMap(store, (store) =>
        Effect.flatMap(
          store.commitEach([{ execution, commit: all({ _tag: "Outbox", seq: event }) }]),
          ([exit]): Effect.Effect<unknown, StoreConflict | StoreError> => exit ?? Effect.void
        )
      )
  ],
  ["ackOutbox", (w) => Effect.flatMap(store, (store) => store.ackOutbox(w.event))],
  ["ackSpawn", (w) => Effect.flatMap(store, (store) => store.ackSpawn(w.spawn))],
  ["deleteTimer", () => Effect.flatMap(store, (store) => store.deleteTimer(due))],
  ["recordFailure, of an event", (w) => record({ _tag: "Outbox", seq: w.event })],
  ["recordFailure, of a child", (w) => record({ _tag: "Spawn", seq: w.spawn })],
  ["recordFailure, of a timer", () => record(timerWork(due))],
  ["bury, an event", (w) => bury({ _tag: "Outbox", seq: w.event })],
  ["bury, a child", (w) => bury({ _tag: "Spawn", seq: w.spawn })],
  ["bury, a child, and tell of it", (w) => bury({ _tag: "Spawn", seq: w.spawn }, { emit: emit("told") })],
  ["bury, a timer", () => bury(timerWork(due))]
]

const commit = (...args: Parameters<ExecutionStore["commit"]>): Write =>
  Effect.flatMap(store, (store) => store.commit(...args))

/** More events and timers than have statements of their own. */
const many = (ack: WorkItem): Commit => {
  const names = Array.from({ length: 12 }, (_, i) => `n${i}`)
  return {
    ...all(ack),
    emits: names.map((name) => emit(name)),
    timers: names.map((name) => Commits.scheduleTimer(name, 3.5))
  }
}

const record = (work: WorkItem): Write =>
  Effect.flatMap(store, (store) =>
    store.deadLetters.recordFailure({ work, attempts: 3, error: "no answer", retryAt: 1_790_000_000 })
  )

const bury = (work: WorkItem, beside?: BuryOptions): Write =>
  Effect.flatMap(store, (store) => store.deadLetters.bury(work, why, beside))

const everythingVisible = visible(["a", "child-1"], ["x"])

/** How a lease of "a" is lost. */
const losses: ReadonlyArray<readonly [name: string, lose: (token: Lease.FencingToken) => Write]> = [
  ["was given back", giveBack],
  ["is another's", (token) => Effect.zipRight(giveBack(token), take("b"))],
  ["was given back and is the same holder's again", (token) => Effect.zipRight(giveBack(token), take("a"))],
  [
    "is another's since its holder was taken for dead",
    () =>
      Effect.gen(function* () {
        const { members } = yield* Effect.flatMap(store, (store) => store.leases.load("p"))
        yield* renew("b", { evict: members.filter(({ holder }) => holder === "a"), claim: ["1"] })
      })
  ],
  ["was left", () => Effect.flatMap(store, (store) => store.leases.leave("p", "a"))]
]

/**
 * @since 0.1.0
 * @category tests
 */
export const fencing = ({ test }: Subject): void => {
  describe("fencing", () => {
    for (const [name, write] of writes) {
      test(`${name}: is applied under a lease that is held`, () =>
        Effect.gen(function* () {
          const token = yield* take("a")
          const begun = yield* work
          yield* Lease.fencedBy(write(begun), token)
          expect(yield* settledWork(name, begun)).toBe(true)
        }))

      test(`${name}: is refused under a lease that is lost, and nothing is written`, () =>
        Effect.gen(function* () {
          const begun = yield* work
          for (const [how, lose] of losses) {
            const token = yield* take("a")
            yield* lose(token)
            const before = yield* everythingVisible
            yield* refusesAsLost(write(begun), token)
            expect(yield* everythingVisible, how).toEqual(before)
            for (const holder of ["a", "b"]) yield* Effect.flatMap(store, (store) => store.leases.leave("p", holder))
          }
        }))
    }

    test("a lease that nobody ever held, of another pool or another name, is lost", () =>
      Effect.gen(function* () {
        const token = yield* take("a")
        const begun = yield* work
        const before = yield* everythingVisible
        for (const wrong of [{ pool: "q" }, { name: "2" }, { holder: "b" }, { fence: token.fence + 1 }, { fence: 0 }]) {
          for (const [, write] of writes) yield* refusesAsLost(write(begun), { ...token, ...wrong })
        }
        expect(yield* everythingVisible).toEqual(before)
      }))

    test("the lease of one member says nothing of another's", () =>
      Effect.gen(function* () {
        const self = yield* store
        const [a, b] = [yield* take("a", "1"), yield* take("b", "2")]
        const [first = -1, second = -1] = yield* self.enqueue([emit("e1"), emit("e2")])
        yield* giveBack(a)
        yield* refusesAsLost(self.ackOutbox(first), a)
        yield* Lease.fencedBy(self.ackOutbox(second), b)
        expect((yield* outbox()).map(({ seq }) => seq)).toEqual([first])
      }))

    test("a commit to another version is a conflict, whether its lease is held or lost", () =>
      Effect.gen(function* () {
        const self = yield* store
        const token = yield* take("a")
        const { event, execution, spawn } = yield* work
        yield* self.save(execution)
        const stale = self.commit({ ...execution, version: 1 }, { ack: { _tag: "Outbox", seq: event } })
        const taken = self.commit(order("a"), { ack: { _tag: "Spawn", seq: spawn } })
        const gone = self.commit({ ...order("gone"), version: 3 }, { ack: { _tag: "Outbox", seq: event } })
        const check = Effect.all([
          conflicts(Lease.fencedBy(stale, token), { executionId: "a", expected: 1, found: 2 }),
          conflicts(Lease.fencedBy(taken, token), { executionId: "a", expected: 0, found: 2 }),
          conflicts(Lease.fencedBy(gone, token), { executionId: "gone", expected: 3, found: null })
        ])
        yield* check
        yield* giveBack(token)
        yield* check
        expect((yield* outbox()).map(({ seq }) => seq)).toContain(event)
      }))

    test("work that is gone is no error under a lease that is held", () =>
      Effect.gen(function* () {
        const self = yield* store
        const token = yield* take("a")
        const fenced = Lease.fencedBy(token)
        yield* fenced(self.ackOutbox(404))
        yield* fenced(self.ackSpawn(404))
        expect(yield* fenced(self.deleteTimer(due))).toBe(false)
        yield* fenced(record({ _tag: "Outbox", seq: 404 }))
        expect(yield* fenced(bury({ _tag: "Outbox", seq: 404 }))).toBe(false)
        expect(yield* deadLetters()).toEqual([])
      }))

    test("what settles no work is not fenced", () =>
      Effect.gen(function* () {
        const self = yield* store
        const token = yield* take("a")
        yield* giveBack(token)
        yield* Effect.gen(function* () {
          const { execution } = yield* self.commit(order("a"), everything("x"))
          yield* self.save(execution)
          yield* self.enqueue([emit("e1")])
        }).pipe(Lease.fencedBy(token))
        expect((yield* loaded("a")).version).toBe(2)
        expect(yield* outbox()).toHaveLength(2)
      }))

    test("a fence ends with the effect that it is for, and the inner one counts", () =>
      Effect.gen(function* () {
        const self = yield* store
        const lost = yield* take("a")
        yield* giveBack(lost)
        const held = yield* take("b")
        const seqs = yield* self.enqueue([emit("e1"), emit("e2")])
        const [first = -1, second = -1] = seqs
        yield* self.ackOutbox(first).pipe(Lease.fencedBy(held), Lease.fencedBy(lost))
        yield* refusesAsLost(self.ackOutbox(second).pipe(Lease.fencedBy(lost)), lost)
        yield* self.ackOutbox(second)
        expect(yield* outbox()).toEqual([])
      }))

    test("a commit that was applied is there, also when its lease is lost behind it", () =>
      Effect.gen(function* () {
        const self = yield* store
        const token = yield* take("a")
        const { event, execution } = yield* work
        const ack = { _tag: "Outbox", seq: event } as const
        const { seqs } = yield* Lease.fencedBy(self.commit(execution, { ...many(ack), processed: "e1" }), token)
        yield* giveBack(token)
        const stored = (yield* outbox()).map(({ seq }) => seq)
        expect(seqs).toHaveLength(12)
        expect(stored).toEqual(expect.arrayContaining([...seqs]))
        expect(yield* self.isProcessed("a", "e1")).toBe(true)
        expect((yield* loaded("a")).version).toBe(2)
      }))

    test("whatever is written at the same time as a lease is lost is written whole or not at all", () =>
      Effect.gen(function* () {
        const self = yield* store
        const token = yield* take("a")
        const ids = Array.from({ length: 24 }, (_, i) => `x${i}`)
        const seqs = yield* self.enqueue(ids.map((id) => emit(`e-${id}`, id)))
        const step = (id: string, i: number) =>
          self.commit(order(id), { ...everything(id), ack: { _tag: "Outbox", seq: seqs[i] ?? -1 } })
        const results = yield* Effect.all(
          ids.map((id, i) => {
            const fenced = Effect.either(Lease.fencedBy(step(id, i), token))
            return i === 12 ? Effect.zipLeft(fenced, giveBack(token)) : fenced
          }),
          { concurrency: "unbounded" }
        )
        const left = new Set((yield* outbox()).map(({ event }) => event.id))
        for (const [i, id] of ids.entries()) {
          const result = results[i]
          const applied = result !== undefined && Either.isRight(result)
          if (result !== undefined && Either.isLeft(result)) expect(result.left).toMatchObject({ reason: "lease-lost" })
          expect(Option.isSome(yield* self.load(id))).toBe(applied)
          expect(left.has(`e-${id}`)).toBe(!applied)
          expect(left.has(`${id}-emitted`)).toBe(applied)
          expect(yield* self.isProcessed(id, id)).toBe(applied)
        }
        expect(results.some(Either.isRight)).toBe(true)
      }))

    test("names may be any text", () =>
      Effect.gen(function* () {
        const self = yield* store
        for (const text of awkwardTexts) {
          const token = yield* take(text, text, text)
          const [first = -1, second = -1] = yield* self.enqueue([emit("e1"), emit("e2")])
          yield* Lease.fencedBy(self.ackOutbox(first), token)
          yield* giveBack(token)
          yield* Effect.flip(Lease.fencedBy(self.ackOutbox(second), token))
          expect((yield* outbox()).map(({ seq }) => seq)).toEqual([second])
          yield* self.ackOutbox(second)
        }
      }))

    test("a token that is none is refused", () =>
      Effect.gen(function* () {
        const self = yield* store
        const token = yield* take("a")
        const [seq = -1] = yield* self.enqueue([emit("e1")])
        for (const part of ["pool", "name", "holder"] as const) {
          for (const text of ["", "\ud800", "x".repeat(2000)]) {
            yield* refuses(Lease.fencedBy(self.ackOutbox(seq), { ...token, [part]: text }), `fence.${part}`)
          }
        }
        for (const fence of [-1, 0.5, Number.NaN, 2 ** 53]) {
          yield* refuses(Lease.fencedBy(self.ackOutbox(seq), { ...token, fence }), "fence.fence")
        }
        expect(yield* outbox()).toHaveLength(1)
      }))
  })
}

/** Whether a write has settled its work. */
const settledWork = (name: string, { event, execution, spawn }: Work) =>
  Effect.gen(function* () {
    const self = yield* store
    if (name.startsWith("recordFailure")) {
      const { outbox, spawns, timers } = yield* failures
      return [...outbox, ...spawns, ...timers].flat().some(({ error }) => error === "no answer")
    }
    if (name.startsWith("bury")) return (yield* deadLetters()).length === 1
    const gone = {
      event: !(yield* outbox()).some(({ seq }) => seq === event),
      spawn: !(yield* spawns()).some(({ seq }) => seq === spawn),
      timer: !(yield* timers()).some(({ path }) => path === due.path)
    }
    if (Object.values(gone).filter((gone) => gone).length !== 1) return false
    if (!name.startsWith("commit")) return true
    if (name.includes("child")) return Option.isSome(yield* self.load("child-1"))
    return (yield* loaded("a")).version === execution.version + 1
  })
