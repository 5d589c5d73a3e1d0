/**
 * The activities that commits ask for: who runs them, and how they end.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { type ActivityEntry, cancelActivity, runActivity } from "../../Commit.js"
import * as Event from "../../Event.js"
import type { Status } from "../../Execution.js"
import { type ActivityClaim, type ClaimedActivity, ExecutionStore, type Notice } from "../../ExecutionStore.js"
import { conflicts, refuses } from "../internal/assertions.js"
import { activity, order } from "../internal/samples.js"
import { deadLetters, loaded, activities as stored } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const pool = "activities"

const join = (holder: string) =>
  Effect.flatMap(ExecutionStore, (store) => store.leases.renew({ pool, holder, ttl: 10 }))

/** Claims as a member of the pool. */
const claim = (owner = "one", what: Partial<ActivityClaim> = {}) =>
  Effect.gen(function* () {
    yield* join(owner)
    const store = yield* ExecutionStore
    return yield* store.activities.claim({ name: "charge", owner, limit: 100, ...what })
  })

const keysOf = ({ entries }: { readonly entries: ReadonlyArray<{ readonly key: string }> }) =>
  entries.map(({ key }) => key)

const claimKeys = (owner?: string, what?: Partial<ActivityClaim>) => Effect.map(claim(owner, what), keysOf)

const ended = (run: ActivityEntry): Event.Event =>
  Event.make({
    id: Event.activityId(run.executionId, run.key, run.version),
    kind: Event.WellKnownKind.ActivityEnded,
    data: { key: run.key }
  })

const complete = (run: ClaimedActivity | undefined) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    if (run === undefined) throw new Error("nothing was claimed")
    return yield* store.activities.complete(run, run.executionId, ended(run))
  })

const outcomes = Effect.flatMap(ExecutionStore, (store) =>
  Effect.map(store.pendingOutbox({ limit: 1000 }), ({ entries }) =>
    entries.map(({ event, targetId }) => [targetId, event.id])
  )
)

const some = (...keys: ReadonlyArray<string>) => keys.map((key) => activity(key))

/** Activities of one execution after the other, each with a key to limit them by. */
const limited = (...limitKeys: ReadonlyArray<string>) =>
  limitKeys.map((limitKey, i) => runActivity({ key: `${limitKey}${i}`, name: "charge", limitKey }))

/**
 * @since 0.1.0
 * @category tests
 */
export const activities = (subject: Subject): void => {
  describe("activities", () => {
    asking(subject)
    claiming(subject)
    ending(subject)
    owners(subject)
    limits(subject)
    letters(subject)
  })
}

const asking = ({ test }: Subject): void => {
  test("they keep what they were asked with, in order", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* TestClock.setTime(1_790_000_000_125)
      const payload = { amount: 39.98, nested: [{ x: null }], big: 10n ** 30n, nul: "\u0000" }
      const { execution } = yield* store.commit(order("a"), { activities: [activity("k", "charge", payload)] })
      yield* store.commit(execution, { activities: [runActivity({ key: "l", name: "ship", limitKey: "eu" })] })
      const common = { executionId: "a", traceparent: null, attempts: 0, error: null, owner: null }
      const at = { askedAt: 1_790_000_000.125, readyAt: 1_790_000_000.125 }
      const entries = yield* stored()
      expect(entries.map(({ seq: _, ...entry }) => entry)).toEqual([
        { ...common, ...at, key: "k", name: "charge", limitKey: "", payload, version: 1 },
        { ...common, ...at, key: "l", name: "ship", limitKey: "eu", payload: {}, version: 2 }
      ])
      expect(yield* store.activities.of("a")).toEqual(entries)
      expect(yield* store.activities.of("b")).toEqual([])
    }))

  test("asking for one of a key again changes nothing while it has not ended, and of two in a commit the first counts", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const first = activity("k", "charge", { n: 1 })
      const { execution } = yield* store.commit(order("a"), { activities: [first, activity("k", "ship", { n: 2 })] })
      yield* store.commit(execution, { activities: [activity("k", "ship", { n: 3 })] })
      yield* store.commit(order("b"), { activities: [activity("k", "charge", { n: 4 })] })
      expect((yield* stored()).map(({ executionId, name, payload }) => [executionId, name, payload])).toEqual([
        ["a", "charge", { n: 1 }],
        ["b", "charge", { n: 4 }]
      ])
      const { entries } = yield* claim()
      yield* complete(entries[0])
      yield* store.commit(yield* loaded("a"), { activities: [activity("k", "ship", { n: 5 })] })
      expect((yield* store.activities.of("a")).map(({ payload, version }) => [payload, version])).toEqual([
        [{ n: 5 }, 3]
      ])
    }))

  test("one that is taken back is gone, and can be asked for anew by the same commit", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const { execution } = yield* store.commit(order("a"), { activities: some("k", "l", "m") })
      const { entries } = yield* claim()
      yield* store.commit(execution, {
        activities: [
          cancelActivity("k"),
          cancelActivity("l"),
          activity("l", "charge", { again: true }),
          cancelActivity("none"),
          activity("n"),
          cancelActivity("n")
        ]
      })
      expect((yield* store.activities.of("a")).map(({ key, owner, payload }) => [key, payload, owner])).toEqual([
        ["l", { again: true }, null],
        ["m", {}, "one"]
      ])
      expect(yield* Effect.forEach(entries, complete)).toEqual([false, false, true])
      expect(yield* outcomes).toEqual([["a", "activity:a:m:1"]])
    }))

  test("a commit that loses asks for none and takes none back", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k") })
      const lost = { activities: [cancelActivity("k"), activity("l")] }
      yield* conflicts(store.commit(order("a"), lost), { executionId: "a", expected: 0, found: 1 })
      expect((yield* stored()).map(({ key }) => key)).toEqual(["k"])
    }))

  test("they go with their execution where it is done, cancelled or being cancelled, and with its purge", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const statuses: ReadonlyArray<Status> = ["RUNNING", "SUSPENDED", "FAILED", "DONE", "CANCELLED", "CANCELLING"]
      for (const status of statuses) {
        const { execution } = yield* store.commit(order(status), { activities: some("k") })
        yield* store.commit({ ...execution, status }, { activities: some("l") })
      }
      expect((yield* stored()).map(({ executionId, key }) => [executionId, key])).toEqual([
        ["RUNNING", "k"],
        ["RUNNING", "l"],
        ["SUSPENDED", "k"],
        ["SUSPENDED", "l"],
        ["FAILED", "k"],
        ["FAILED", "l"]
      ])
      const cancelling = yield* loaded("CANCELLING")
      yield* store.commit({ ...cancelling, status: "RUNNING" }, { activities: some("compensation") })
      expect((yield* store.activities.of("CANCELLING")).map(({ key }) => key)).toEqual(["compensation"])
      expect(yield* store.purge("RUNNING", 2)).toBe(true)
      expect(yield* store.activities.of("RUNNING")).toEqual([])
      expect(yield* store.activities.of("SUSPENDED")).toHaveLength(2)
    }))

  test("what was given back is ready when its execution goes on, and what waits for its next attempt waits on", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      for (const status of ["SUSPENDED", "FAILED"] as const) {
        yield* store.commit(order(status), { activities: some("k", "l") })
        const { entries } = yield* claim()
        yield* store.commit({ ...(yield* loaded(status)), status })
        for (const run of entries) {
          yield* run.key === "k"
            ? store.activities.release(run, 1e9)
            : store.activities.fail(run, { attempts: 1, error: "no", retryAt: 1e9 })
        }
        const times = Effect.map(store.activities.of(status), (all) => all.map(({ readyAt }) => readyAt))
        const [asked] = entries.map(({ askedAt }) => askedAt)
        yield* store.save(yield* loaded(status))
        expect(yield* times).toEqual([1e9, 1e9])
        yield* store.save({ ...(yield* loaded(status)), status: "RUNNING" })
        expect(yield* times).toEqual([asked, 1e9])
        expect(yield* claimKeys()).toEqual(["k"])
      }
    }))

  test("what is given back for its execution alone is ready at once where that has gone on since the claim", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      for (const status of ["SUSPENDED", "FAILED"] as const) {
        yield* store.commit(order(status), { activities: some("k", "l") })
        yield* store.commit({ ...(yield* loaded(status)), status })
        const { entries } = yield* claim()
        const [one, other] = entries
        if (one === undefined || other === undefined) throw new Error("two were asked for")
        const times = Effect.map(store.activities.of(status), (all) => all.map(({ readyAt }) => readyAt))
        expect(yield* store.activities.release(one, 1e9, { whileHalted: true })).toBe(true)
        expect(yield* times).toEqual([1e9, other.readyAt])
        yield* store.save({ ...(yield* loaded(status)), status: "RUNNING" })
        expect(yield* store.activities.release(other, 1e9, { whileHalted: true })).toBe(true)
        expect(yield* times).toEqual([one.askedAt, other.askedAt])
        const again = yield* claim()
        expect(keysOf(again)).toEqual(["k", "l"])
        // Where it is not for the execution, the time counts.
        for (const run of again.entries) yield* store.activities.release(run, 1e9)
        expect(yield* times).toEqual([1e9, 1e9])
        expect(yield* store.activities.release(one, 5, { whileHalted: true })).toBe(false)
      }
    }))

  test("seqs are never used again, and pages reassemble them", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k") })
      const [first] = yield* stored()
      yield* complete((yield* claim()).entries[0])
      const keys = Array.from({ length: 10 }, (_, i) => `k${i}`)
      yield* store.commit(yield* loaded("a"), { activities: some(...keys) })
      for (const limit of [1, 4, 10, 11]) expect((yield* stored(limit)).map(({ key }) => key)).toEqual(keys)
      expect((yield* stored())[0]?.seq).toBeGreaterThan(first?.seq ?? 0)
    }))

  test("an execution has many, in the order of their keys", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const keys = ["\u{1f600}", "b", "a:1", "\ufffd", "a", "B"]
      yield* store.commit(order("a"), { activities: some(...keys) })
      expect((yield* store.activities.of("a")).map(({ key }) => key)).toEqual([
        "B",
        "a",
        "a:1",
        "b",
        "\ufffd",
        "\u{1f600}"
      ])
    }))

  test("what a store cannot keep exactly is refused", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const ask = (op: Partial<Parameters<typeof runActivity>[0]>) =>
        store.commit(order("a"), { activities: [activity("fine"), runActivity({ key: "k", name: "n", ...op })] })
      yield* refuses(ask({ key: "" }), "activities[1].key")
      yield* refuses(ask({ key: "\ud800" }), "activities[1].key")
      yield* refuses(ask({ name: "" }), "activities[1].name")
      yield* refuses(ask({ limitKey: "\ud800" }), "activities[1].limitKey")
      yield* refuses(ask({ payload: { bad: Number.NaN } }), "activities[1].payload.bad")
      yield* refuses(store.commit(order("a"), { activities: [cancelActivity("")] }), "activities[0].key")
      const asking = { name: "n", owner: "one", limit: 1 }
      yield* refuses(store.activities.claim({ ...asking, name: "" }), "name")
      yield* refuses(store.activities.claim({ ...asking, owner: "" }), "owner")
      yield* refuses(store.activities.claim({ ...asking, limit: 0 }), "limit")
      yield* refuses(store.activities.claim({ ...asking, concurrency: 0 }), "concurrency")
      yield* refuses(store.activities.claim({ ...asking, rate: { limit: 0, window: 1 } }), "rate.limit")
      yield* refuses(store.activities.claim({ ...asking, rate: { limit: 1, window: 0 } }), "rate.window")
      yield* refuses(store.activities.release({ seq: -1, claim: "c" }, 1), "run.seq")
      yield* refuses(store.activities.release({ seq: 1, claim: "c" }, Number.NaN), "readyAt")
      expect(yield* stored()).toEqual([])
    }))
}

const claiming = ({ test }: Subject): void => {
  test("those of a name are taken that are ready the longest, each once", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: [...some("k1", "k2"), activity("other", "ship")] })
      yield* TestClock.adjust("1 second")
      yield* store.commit(order("b"), { activities: some("k3", "k4", "k5") })
      const first = yield* claim("one", { limit: 3 })
      expect(keysOf(first)).toEqual(["k1", "k2", "k3"])
      expect(first.entries[0]).toMatchObject({ executionId: "a", owner: "one", status: Option.some("PENDING") })
      expect(yield* claimKeys("two", { limit: 3 })).toEqual(["k4", "k5"])
      expect(yield* claimKeys("two")).toEqual([])
      expect(yield* claimKeys("two", { name: "ship" })).toEqual(["other"])
    }))

  test("whoever is no member takes none", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k") })
      const query = { name: "charge", owner: "one", limit: 1 }
      expect(keysOf(yield* store.activities.claim(query))).toEqual([])
      expect(keysOf(yield* store.activities.claim({ ...query, concurrency: 1 }))).toEqual([])
      yield* store.leases.renew({ pool: "another", holder: "one", ttl: 10 })
      expect(keysOf(yield* store.activities.claim(query))).toEqual([])
      yield* join("one")
      expect(keysOf(yield* store.activities.claim(query))).toEqual(["k"])
    }))

  test("what waits is told by name, with when the first may run, and whether others run any", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      expect(yield* store.activities.waiting("one")).toEqual({ names: [], foreign: false })
      yield* TestClock.setTime(2500)
      yield* store.commit(order("a"), { activities: [...some("k1", "k2"), activity("s", "ship"), activity("Z", "Z")] })
      const { entries } = yield* claim("one", { limit: 1 })
      for (const run of entries) yield* store.activities.fail(run, { attempts: 1, error: "no", retryAt: 100.25 })
      expect(yield* store.activities.waiting("one")).toEqual({
        names: [
          { name: "Z", readyAt: 2.5 },
          { name: "charge", readyAt: 2.5 },
          { name: "ship", readyAt: 2.5 }
        ],
        foreign: false
      })
      yield* claim("one")
      const after = [
        { name: "Z", readyAt: 2.5 },
        { name: "charge", readyAt: 100.25 },
        { name: "ship", readyAt: 2.5 }
      ]
      expect(yield* store.activities.waiting("one")).toEqual({ names: after, foreign: false })
      expect(yield* store.activities.waiting("two")).toEqual({ names: after, foreign: true })
      expect(yield* store.activities.waiting("a")).toMatchObject({ foreign: true })
    }))

  test("of many who claim at the same time each gets others", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const keys = Array.from({ length: 20 }, (_, i) => `k${i}`)
      yield* store.commit(order("a"), { activities: some(...keys) })
      const owners = ["one", "two", "three", "four"]
      yield* Effect.forEach(owners, join)
      const claims = yield* Effect.forEach(owners, (owner) => claim(owner, { limit: 7 }), { concurrency: "unbounded" })
      const taken = claims.flatMap(keysOf)
      expect(taken.toSorted()).toEqual(keys.toSorted())
      expect(claims.every(({ entries }) => entries.every((entry) => entry.owner !== null))).toBe(true)
    }))

  test("one that is not ready yet is left", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k", "l") })
      const { entries } = yield* claim()
      for (const run of entries) expect(yield* store.activities.release(run, 10.5)).toBe(true)
      yield* TestClock.setTime(10_499)
      expect(yield* claimKeys()).toEqual([])
      yield* TestClock.setTime(10_500)
      expect(yield* claimKeys()).toEqual(["k", "l"])
    }))
}

const ending = ({ test }: Subject): void => {
  test("its outcome is an event to its execution, exactly once, and it is gone", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k", "l") })
      const [run] = (yield* claim("one", { limit: 1 })).entries
      expect(yield* Effect.all([complete(run), complete(run), complete(run)], { concurrency: "unbounded" })).toEqual([
        true,
        false,
        false
      ])
      expect(yield* outcomes).toEqual([["a", "activity:a:k:1"]])
      expect((yield* stored()).map(({ key }) => key)).toEqual(["l"])
    }))

  test("a failure leaves attempts, error and time, and frees it; the claim falls", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k") })
      const [run] = (yield* claim()).entries
      if (run === undefined) throw new Error("nothing was claimed")
      const failure = { attempts: 3, error: `no answer ${"\ud800"} ${"x".repeat(20_000)}`, retryAt: 60.125 }
      expect(yield* store.activities.fail(run, failure)).toBe(true)
      const [entry] = yield* stored()
      expect(entry).toMatchObject({ attempts: 3, readyAt: 60.125, owner: null })
      expect(entry?.error?.slice(0, 11)).toBe("no answer \ufffd")
      expect(entry?.error).toHaveLength(10_000)
      expect(yield* store.activities.fail(run, failure)).toBe(false)
      expect(yield* store.activities.release(run, 1)).toBe(false)
      expect(yield* store.activities.drop(run)).toBe(false)
      expect(yield* complete(run)).toBe(false)
      expect(yield* outcomes).toEqual([])
    }))

  test("one that is dropped is gone without an event", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k") })
      for (const run of (yield* claim()).entries) expect(yield* store.activities.drop(run)).toBe(true)
      expect(yield* stored()).toEqual([])
      expect(yield* outcomes).toEqual([])
    }))

  test("while its execution is FAILED it does not end: the event would be for nobody", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const { execution } = yield* store.commit(order("a"), { activities: some("k") })
      const [run] = (yield* claim()).entries
      const failed = yield* store.save({ ...execution, status: "FAILED" })
      expect(yield* complete(run)).toBe(false)
      expect(yield* store.activities.cancel("a", "k", ended)).toBe(false)
      yield* store.save({ ...failed, status: "RUNNING" })
      expect(yield* complete(run)).toBe(true)
    }))

  test("whoever runs it, it can be cancelled with an event", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k", "l") })
      const [run] = (yield* claim("one", { limit: 1 })).entries
      expect(yield* store.activities.cancel("a", "k", ended)).toBe(true)
      expect(yield* store.activities.cancel("a", "k", ended)).toBe(false)
      expect(yield* store.activities.cancel("a", "l", ended)).toBe(true)
      expect(yield* store.activities.cancel("b", "l", ended)).toBe(false)
      expect(yield* complete(run)).toBe(false)
      expect(yield* outcomes).toEqual([
        ["a", "activity:a:k:1"],
        ["a", "activity:a:l:1"]
      ])
    }))

  test("listeners hear of it", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const heard: Array<Notice> = []
      yield* store.listen((notice) => heard.push(notice))
      const { execution } = yield* store.commit(order("a"), { activities: some("k", "l", "m") })
      yield* store.commit(execution, { activities: [cancelActivity("m")] })
      const [run, other] = (yield* claim()).entries
      yield* complete(run)
      yield* complete(run)
      if (other !== undefined) yield* store.activities.release(other, 1)
      yield* store.activities.cancel("a", "l", ended)
      expect(heard.map(({ activities, emits }) => [activities, emits])).toEqual([
        [3, 0],
        [1, 0],
        [0, 1],
        [1, 0],
        [1, 1]
      ])
    }))
}

const owners = ({ test }: Subject): void => {
  test("who runs how many is told, also of whom is no member any more", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      expect(yield* store.activities.owners).toEqual([])
      yield* store.commit(order("a"), { activities: some("k", "l", "m", "n") })
      yield* claim("two", { limit: 2 })
      const [run] = (yield* claim("one", { limit: 1 })).entries
      expect(yield* store.activities.owners).toEqual([
        { owner: "one", count: 1 },
        { owner: "two", count: 2 }
      ])
      yield* complete(run)
      yield* store.leases.leave(pool, "two")
      expect(yield* store.activities.owners).toEqual([{ owner: "two", count: 2 }])
    }))

  test("what is claimed by whom is no member any more is freed, and that owner writes nothing", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k", "l") })
      const [run] = (yield* claim("one", { limit: 1 })).entries
      yield* claim("two", { limit: 1 })
      expect(yield* store.activities.releaseOrphans).toBe(0)
      yield* store.leases.leave(pool, "one")
      expect(yield* store.activities.releaseOrphans).toBe(1)
      const [again] = (yield* claim("two")).entries
      expect(again).toMatchObject({ key: "k", attempts: 0, owner: "two" })
      expect(yield* complete(run)).toBe(false)
      expect(
        yield* store.activities.fail(again ?? { seq: 0, claim: "none" }, { attempts: 1, error: "", retryAt: 0 })
      ).toBe(true)
      expect(yield* complete(run)).toBe(false)
      expect(yield* outcomes).toEqual([])
    }))

  test("an owner who lost one and claims it again is another run of it", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k") })
      const [run] = (yield* claim()).entries
      yield* store.leases.leave(pool, "one")
      yield* store.activities.releaseOrphans
      const [again] = (yield* claim()).entries
      expect(yield* complete(run)).toBe(false)
      expect(yield* complete(again)).toBe(true)
    }))

  test("all claims of an owner can be given back, and are told", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: some("k", "l", "m") })
      const { entries } = yield* claim("one", { limit: 2 })
      yield* claim("two")
      expect(yield* store.activities.owned("one")).toEqual(entries.map(({ claim, seq }) => ({ seq, claim })))
      yield* store.activities.releaseAll("one")
      expect(yield* store.activities.owned("one")).toEqual([])
      expect(yield* store.activities.owned("two")).toHaveLength(1)
      expect(yield* claimKeys("two")).toEqual(["k", "l"])
    }))
}

const limits = ({ test }: Subject): void => {
  test("no more of a key run at once than may, by all owners", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: limited("a", "a", "a", "b", "b", "", "") })
      const two = { concurrency: 2 }
      const first = yield* claim("one", two)
      expect(keysOf(first).toSorted()).toEqual(["5", "6", "a0", "a1", "b3", "b4"])
      expect(yield* claimKeys("two", two)).toEqual([])
      yield* complete(first.entries.find(({ key }) => key === "a1"))
      expect(yield* claimKeys("two", two)).toEqual(["a2"])
    }))

  test("keys have their turn, from behind the one that came last", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: limited("a", "a", "b", "b", "c", "c") })
      const what = { concurrency: 2, limit: 1 }
      const taken: Array<string> = []
      let after: string | undefined
      for (let i = 0; i < 6; i++) {
        const page = yield* claim("one", { ...what, after })
        taken.push(...keysOf(page))
        after = Option.getOrUndefined(page.last)
        expect(after).toBe(taken.at(-1)?.slice(0, 1))
      }
      expect(taken).toEqual(["a0", "b2", "c4", "a1", "b3", "c5"])
    }))

  test("no more of a key begin in any time of that length than may, and it is told when the next one may", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: limited("a", "a", "a", "a", "a", "b") })
      const what = { rate: { limit: 2, window: 10 } }
      const claimedAt = (millis: number, owner = "two") =>
        Effect.zipRight(TestClock.setTime(millis), claim(owner, { ...what, limit: 1 }))
      const begins = (millis: number) => Effect.map(claimedAt(millis), keysOf)
      const nextAt = (millis: number) => Effect.map(claimedAt(millis, "one"), ({ nextAt }) => Option.getOrThrow(nextAt))
      yield* TestClock.setTime(1000)
      expect(yield* begins(1000)).toEqual(["a0"])
      expect(yield* begins(7000)).toEqual(["a1"])
      // The other key is not held back.
      expect(yield* begins(7000)).toEqual(["b5"])
      expect(yield* begins(7000)).toEqual([])
      const free = yield* nextAt(8000)
      expect(free).toBeGreaterThanOrEqual(11)
      expect(free).toBeLessThan(11.001)
      expect(yield* begins(10_999)).toEqual([])
      expect(yield* begins(11_001)).toEqual(["a2"])
      expect(yield* begins(11_001)).toEqual([])
      expect(yield* nextAt(16_000)).toBeLessThan(17.001)
      expect(yield* begins(16_999)).toEqual([])
      expect(yield* begins(17_001)).toEqual(["a3"])
      expect(yield* begins(1_000_000)).toEqual(["a4"])
    }))

  test("where a rate holds back more than begin, it is told when the next one may", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: limited("a", "a", "a") })
      const first = yield* claim("one", { rate: { limit: 2, window: 10 } })
      expect(keysOf(first)).toEqual(["a0", "a1"])
      expect(Option.getOrThrow(first.nextAt)).toBeGreaterThanOrEqual(10)
    }))

  test("a rate counts starts, whatever became of them, and by the limit and window of who asks", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: limited(...Array.from({ length: 8 }, () => "a")) })
      yield* TestClock.setTime(1_790_000_000_003)
      const taken = (limit: number, window: number) => claimKeys("one", { rate: { limit, window } })
      const { entries } = yield* claim("one", { rate: { limit: 3, window: 60 } })
      expect(entries).toHaveLength(3)
      for (const run of entries) yield* complete(run)
      expect(yield* taken(3, 60)).toEqual([])
      expect(yield* taken(4, 60)).toHaveLength(1)
      yield* TestClock.adjust("30001 millis")
      expect(yield* taken(2, 60)).toEqual([])
      expect(yield* taken(2, 30)).toHaveLength(2)
      yield* TestClock.adjust("30 seconds")
      expect(yield* taken(3, 60)).toHaveLength(1)
      yield* TestClock.adjust("1 hour")
      expect(yield* taken(5, 60)).toHaveLength(1)
    }))

  test("however activities come and processes ask, a rate is never exceeded", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const starts: Array<number> = []
      const [limit, window] = [5, 7]
      const owners = ["one", "two", "three"]
      yield* Effect.forEach(owners, join)
      yield* store.commit(order("a"), { activities: limited(...Array.from({ length: 60 }, () => "a")) })
      let at = 0
      for (let i = 0; i < 60; i++) {
        at += [1, 250, 999, 1700, 40][i % 5] ?? 0
        yield* TestClock.setTime(at)
        const what = { rate: { limit, window }, limit: 1 + (i % 4) }
        const claims = yield* Effect.forEach(owners, (owner) => claimKeys(owner, what), { concurrency: "unbounded" })
        for (const _ of claims.flat()) starts.push(at / 1000)
      }
      const most = Math.max(...starts.map((from) => starts.filter((at) => at >= from && at < from + window).length))
      expect(most).toBe(limit)
      // nor is it kept from what it may: each time that many in a window, until all have begun
      expect(starts.length).toBeGreaterThanOrEqual(Math.floor((at / 1000 / window) * limit) - limit)
    }))

  test("of many who claim at the same time no more get any than may", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.commit(order("a"), { activities: limited("a", "a", "a", "a", "a", "a") })
      const owners = ["one", "two", "three"]
      yield* Effect.forEach(owners, join)
      const what = { concurrency: 4, rate: { limit: 3, window: 60 } }
      const claims = yield* Effect.forEach(owners, (owner) => claim(owner, what), { concurrency: "unbounded" })
      expect(claims.flatMap(keysOf)).toHaveLength(3)
    }))
}

const letters = ({ test }: Subject): void => {
  const why = { reason: "rejected", attempts: 2, error: "no such payload" } as const

  test("one that is given up is a dead letter with all that it was, and comes back so", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const payload = { deep: { big: 2n ** 70n }, text: "x'41' \"quoted\" \\u0000" }
      const asked = runActivity({ key: "k", name: "charge", payload, limitKey: "eu" })
      yield* store.commit(order("a"), { activities: [asked, activity("l")] })
      const [entry] = yield* stored()
      yield* TestClock.setTime(2500)
      yield* claim()
      const work = { _tag: "Activity", seq: entry?.seq ?? 0 } as const
      expect(yield* store.deadLetters.bury(work, why)).toBe(true)
      expect(yield* store.deadLetters.bury(work, why)).toBe(false)
      expect((yield* stored()).map(({ key }) => key)).toEqual(["l"])
      const [letter] = yield* deadLetters({ kind: "Activity", executionId: "a" })
      const row = { executionId: "a", key: "k", name: "charge", limitKey: "eu", payload, version: 1 }
      expect(letter).toMatchObject({ _tag: "Activity", ...why, executionId: "a", diedAt: 2.5, work })
      expect(letter?.row).toEqual(Option.some(row))
      expect(yield* store.deadLetters.redrive(letter?.id ?? 0)).toBe(true)
      expect(yield* deadLetters()).toEqual([])
      const again = (yield* stored()).find(({ key }) => key === "k")
      expect(again).toMatchObject({ ...row, attempts: 0, error: null, owner: null, askedAt: 2.5, readyAt: 2.5 })
      expect(again?.seq).toBeGreaterThan(entry?.seq ?? 0)
    }))

  test("one that was given up is gone once it is taken back or asked for anew, and no other is", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const { execution } = yield* store.commit(order("a"), { activities: some("again", "kept", "stopped") })
      yield* store.commit(order("b"), { activities: some("again", "stopped") })
      for (const { seq } of yield* stored()) yield* store.deadLetters.bury({ _tag: "Activity", seq }, why)
      const before = yield* deadLetters()
      yield* store.commit(execution, { activities: [activity("again", "ship"), cancelActivity("stopped")] })
      expect(yield* deadLetters()).toEqual(before.filter(({ executionId }, i) => executionId === "b" || i === 1))
      const redriven = yield* Effect.forEach(before, (letter) => store.deadLetters.redrive(letter.id))
      expect(redriven).toEqual([false, true, false, true, true])
      const names = (yield* stored()).filter(({ executionId }) => executionId === "a").map(({ name }) => name)
      expect(names.toSorted()).toEqual(["charge", "ship"])
    }))

  test("they are counted", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* TestClock.setTime(2500)
      yield* store.commit(order("a"), { activities: some("k", "l", "m") })
      yield* TestClock.setTime(5000)
      const [run] = (yield* claim("one", { limit: 2 })).entries
      if (run !== undefined) yield* store.activities.fail(run, { attempts: 1, error: "", retryAt: 9 })
      expect((yield* store.stats).activities).toEqual({ count: 3, failing: 1, running: 1, oldest: Option.some(2.5) })
    }))
}
