/**
 * Leases: members of a pool, what they hold, and how it changes hands.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { Renewal } from "../../Lease.js"
import { refuses } from "../internal/assertions.js"
import { awkwardTexts } from "../internal/samples.js"
import type { Subject } from "../Subject.js"

const renew = (holder: string, what: Partial<Omit<Renewal, "holder">> = {}) =>
  Effect.flatMap(ExecutionStore, (store) => store.leases.renew({ pool: "p", holder, ttl: 10, ...what }))

/** The leases of a pool, each as its holder and its fencing number. */
const held = (pool = "p") =>
  Effect.gen(function* () {
    const { leases } = yield* Effect.flatMap(ExecutionStore, (store) => store.leases.load(pool))
    return Object.fromEntries(leases.map(({ fence, holder, name }) => [name, [holder, fence]]))
  })

const members = (pool = "p") =>
  Effect.map(
    Effect.flatMap(ExecutionStore, (store) => store.leases.load(pool)),
    ({ members }) => members
  )

const beatOf = (holder: string) =>
  Effect.map(members(), (members) => members.find((member) => member.holder === holder)?.beat ?? "none")

/** Removes a member as one that sees it dead does. */
const evict = (by: string, holder: string, what: Partial<Renewal> = {}) =>
  Effect.flatMap(beatOf(holder), (beat) => renew(by, { ...what, evict: [{ holder, beat }] }))

/**
 * @since 0.1.0
 * @category tests
 */
export const leases = ({ test }: Subject): void => {
  describe("leases", () => {
    test("a pool that nobody joined is empty", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.leases.load("p")).toEqual({ members: [], leases: [] })
      }))

    test("a renewal makes a member, and changes its beat each time", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1_790_000_000_125)
        yield* renew("a", { ttl: 2.5 })
        const [first] = yield* members()
        expect(first).toMatchObject({ holder: "a", ttl: 2.5, renewedAt: 1_790_000_000.125 })
        const beats = [first?.beat]
        for (let i = 0; i < 3; i++) {
          if (i > 0) yield* TestClock.adjust(1)
          yield* renew("a", { ttl: 7 })
          beats.push(yield* beatOf("a"))
        }
        expect(new Set(beats).size).toBe(4)
        expect(yield* members()).toEqual([{ holder: "a", ttl: 7, renewedAt: 1_790_000_000.127, beat: beats[3] }])
      }))

    test("members and leases are in the order of their names, by UTF-8 bytes", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const names = ["\u{1f600}", "b", "\ufffd", "B", "10", "9"]
        for (const name of names) yield* renew(name, { claim: [name] })
        const sorted = ["10", "9", "B", "b", "\ufffd", "\u{1f600}"]
        const pool = yield* store.leases.load("p")
        expect(pool.members.map((member) => member.holder)).toEqual(sorted)
        expect(pool.leases.map((lease) => lease.name)).toEqual(sorted)
      }))

    test("what is free can be claimed, and by one alone", () =>
      Effect.gen(function* () {
        yield* renew("a", { claim: ["1", "2", "2"] })
        yield* renew("b", { claim: ["2", "3"] })
        expect(yield* held()).toEqual({ 1: ["a", 1], 2: ["a", 1], 3: ["b", 1] })
        // claiming what one holds changes nothing
        yield* renew("a", { claim: ["1", "3"] })
        expect(yield* held()).toEqual({ 1: ["a", 1], 2: ["a", 1], 3: ["b", 1] })
      }))

    test("of many that claim at the same time each lease goes to one", () =>
      Effect.gen(function* () {
        const holders = Array.from({ length: 8 }, (_, i) => `h${i}`)
        const claim = Array.from({ length: 20 }, (_, i) => `${i}`)
        yield* Effect.forEach(holders, (holder) => renew(holder, { claim }), { concurrency: "unbounded" })
        const leases = Object.values(yield* held())
        expect(leases).toHaveLength(20)
        expect(leases.every(([holder, fence]) => fence === 1 && holders.some((name) => name === holder))).toBe(true)
      }))

    test("what is given back is free; the fencing number grows each time that it is taken", () =>
      Effect.gen(function* () {
        yield* renew("a", { claim: ["1", "2"] })
        yield* renew("a", { release: [{ name: "1", fence: 1 }] })
        expect(yield* held()).toEqual({ 1: [null, 1], 2: ["a", 1] })
        yield* renew("b", { claim: ["1", "2"] })
        expect(yield* held()).toEqual({ 1: ["b", 2], 2: ["a", 1] })
        yield* renew("b", { release: [{ name: "1", fence: 2 }] })
        yield* renew("b", { claim: ["1"] })
        expect(yield* held()).toEqual({ 1: ["b", 3], 2: ["a", 1] })
      }))

    test("only its holder gives a lease back, and only the one that it knows", () =>
      Effect.gen(function* () {
        yield* renew("a", { claim: ["1"] })
        yield* renew("b", { release: [{ name: "1", fence: 1 }] })
        yield* renew("a", {
          release: [
            { name: "1", fence: 0 },
            { name: "1", fence: 2 },
            { name: "2", fence: 1 }
          ]
        })
        expect(yield* held()).toEqual({ 1: ["a", 1] })
      }))

    test("what is given back can be claimed in the same renewal", () =>
      Effect.gen(function* () {
        yield* renew("a", { claim: ["1", "2"] })
        yield* renew("a", { release: [{ name: "1", fence: 1 }], claim: ["1"] })
        expect(yield* held()).toEqual({ 1: ["a", 2], 2: ["a", 1] })
      }))

    test("what a member held that was evicted is free, for whoever evicts it and for others", () =>
      Effect.gen(function* () {
        yield* renew("dead", { claim: ["1", "2", "3"] })
        yield* evict("a", "dead", { claim: ["1"] })
        expect((yield* members()).map((member) => member.holder)).toEqual(["a"])
        expect(yield* held()).toEqual({ 1: ["a", 2], 2: ["dead", 1], 3: ["dead", 1] })
        yield* renew("b", { claim: ["1", "2"] })
        expect(yield* held()).toEqual({ 1: ["a", 2], 2: ["b", 2], 3: ["dead", 1] })
      }))

    test("a member that moved since it was seen is not evicted, and keeps what it holds", () =>
      Effect.gen(function* () {
        yield* renew("a", { claim: ["1"] })
        const seen = yield* beatOf("a")
        yield* renew("a")
        yield* renew("b", { evict: [{ holder: "a", beat: seen }], claim: ["1"] })
        expect((yield* members()).map((member) => member.holder)).toEqual(["a", "b"])
        expect(yield* held()).toEqual({ 1: ["a", 1] })
      }))

    test("one that was evicted and comes back has what nobody took meanwhile, and seems to have moved", () =>
      Effect.gen(function* () {
        yield* renew("a", { claim: ["1", "2"] })
        const seen = yield* beatOf("a")
        yield* TestClock.adjust("20 seconds")
        yield* evict("b", "a", { claim: ["1"] })
        yield* renew("a", { claim: ["1"] })
        expect(yield* held()).toEqual({ 1: ["b", 2], 2: ["a", 1] })
        expect(yield* beatOf("a")).not.toBe(seen)
        yield* renew("b", { evict: [{ holder: "a", beat: seen }], claim: ["2"] })
        expect(yield* held()).toEqual({ 1: ["b", 2], 2: ["a", 1] })
      }))

    test("who leaves gives back all and is no member; one that is none is no error", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* renew("a", { claim: ["1", "2"] })
        yield* renew("b", { claim: ["3"] })
        yield* store.leases.leave("p", "a")
        yield* store.leases.leave("p", "a")
        yield* store.leases.leave("q", "b")
        expect((yield* members()).map((member) => member.holder)).toEqual(["b"])
        expect(yield* held()).toEqual({ 1: [null, 1], 2: [null, 1], 3: ["b", 1] })
      }))

    test("pools have nothing to do with each other", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* renew("a", { claim: ["1"] })
        yield* renew("a", { pool: "q", claim: ["1"] })
        yield* renew("b", { pool: "q", claim: ["2"] })
        yield* store.leases.leave("q", "a")
        expect(yield* held()).toEqual({ 1: ["a", 1] })
        expect(yield* held("q")).toEqual({ 1: [null, 1], 2: ["b", 1] })
        expect((yield* members("q")).map((member) => member.holder)).toEqual(["b"])
      }))

    test("pools are told by name, with what is in them", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        expect(yield* store.leases.pools).toEqual([])
        yield* TestClock.setTime(1_790_000_000_125)
        yield* renew("b", { claim: ["2", "1"] })
        yield* renew("a", { ttl: 2 })
        yield* renew("b", { pool: "\u{1f4a1}", claim: ["1"] })
        yield* renew("b", { pool: "\uff01" })
        yield* store.leases.leave("\u{1f4a1}", "b")
        const told = yield* store.leases.pools
        expect(told.map(({ name }) => name)).toEqual(["p", "\uff01", "\u{1f4a1}"])
        expect(told[0]).toEqual({ name: "p", ...(yield* store.leases.load("p")) })
        expect(told[0]?.members).toMatchObject([
          { holder: "a", ttl: 2, renewedAt: 1_790_000_000.125 },
          { holder: "b", ttl: 10 }
        ])
        expect(told[2]).toEqual({ name: "\u{1f4a1}", members: [], leases: [{ name: "1", holder: null, fence: 1 }] })
      }))

    test("names are any texts", () =>
      Effect.gen(function* () {
        for (const name of awkwardTexts) {
          yield* renew(name, { pool: name, claim: awkwardTexts })
          yield* renew("b", { pool: name })
          yield* renew(name, { pool: name, release: [{ name, fence: 1 }] })
          yield* evict("b", name, { pool: name })
          const leases = yield* held(name)
          expect(Object.keys(leases)).toHaveLength(awkwardTexts.length)
          expect(leases[name]).toEqual([null, 1])
        }
      }))

    test("what is no name, time or number is refused, and nothing is written", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const name of ["", "\ud800", "x".repeat(1025)]) {
          yield* refuses(store.leases.load(name), "pool")
          yield* refuses(store.leases.leave(name, "a"), "pool")
          yield* refuses(store.leases.leave("p", name), "holder")
          yield* refuses(renew(name), "holder")
          yield* refuses(renew("a", { pool: name }), "pool")
          yield* refuses(renew("a", { claim: ["1", name] }), "claim[1]")
          yield* refuses(renew("a", { release: [{ name, fence: 1 }] }), "release[0]")
          yield* refuses(renew("a", { evict: [{ holder: "b", beat: name }] }), "evict[0].beat")
          yield* refuses(renew("a", { evict: [{ holder: name, beat: "b" }] }), "evict[0]")
        }
        for (const number of [-1, 0.5, Number.NaN, 2 ** 53]) {
          yield* refuses(renew("a", { release: [{ name: "1", fence: number }] }), "release[0].fence")
        }
        for (const ttl of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) yield* refuses(renew("a", { ttl }), "ttl")
        yield* refuses(renew("a", { evict: [{ holder: "a", beat: "b" }] }), "evict[0]")
        expect(yield* store.leases.load("p")).toEqual({ members: [], leases: [] })
      }))
  })
}
