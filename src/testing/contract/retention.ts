/**
 * Removing old events from the dedupe ledger.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { ExecutionStore, type PendingQuery } from "../../ExecutionStore.js"
import { refuses } from "../internal/assertions.js"
import { emit, order } from "../internal/samples.js"
import type { Subject } from "../Subject.js"

/** An execution consumes events, in this order. */
const consumed = (id: string, ...events: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    for (const processed of events) {
      const found = yield* store.load(id)
      yield* store.commit(
        Option.getOrElse(found, () => order(id)),
        { processed }
      )
    }
  })

/** Which of these events the execution still knows. */
const known = (id: string, ...events: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    return yield* Effect.filter(events, (event) => store.isProcessed(id, event))
  })

const mark = Effect.flatMap(ExecutionStore, (store) => store.ledger.mark)

const prune = (before: number, query?: PendingQuery) =>
  Effect.flatMap(ExecutionStore, (store) => store.ledger.prune(before, query))

const nothing = { removed: 0, next: Option.none() }

const at = (seconds: number) => TestClock.setTime(seconds * 1000)

/**
 * @since 0.1.0
 * @category tests
 */
export const retention = ({ test }: Subject): void => {
  describe("retention of the dedupe ledger", () => {
    test("what is older than a marked event goes, the marked one and what came after it stay", () =>
      Effect.gen(function* () {
        yield* consumed("a", "1", "2")
        yield* consumed("b", "3")
        yield* at(100)
        yield* mark
        yield* consumed("a", "4")
        expect(yield* prune(99.5)).toEqual(nothing)
        expect(yield* prune(100)).toEqual({ removed: 2, next: Option.none() })
        expect(yield* known("a", "1", "2", "4")).toEqual(["4"])
        expect(yield* known("b", "3")).toEqual(["3"])
        expect(yield* prune(1e6)).toEqual(nothing)
      }))

    test("nothing goes where nothing was marked, or where the ledger was empty then", () =>
      Effect.gen(function* () {
        yield* mark
        yield* consumed("a", "1", "2", "3")
        expect(yield* prune(1e6)).toEqual(nothing)
        expect(yield* known("a", "1", "2", "3")).toEqual(["1", "2", "3"])
      }))

    test("an event keeps the time at which it was marked first", () =>
      Effect.gen(function* () {
        yield* consumed("a", "1", "2")
        yield* at(100)
        yield* mark
        yield* at(200)
        yield* mark
        expect(yield* prune(150)).toEqual({ removed: 1, next: Option.none() })
        expect(yield* known("a", "1", "2")).toEqual(["2"])
      }))

    test("the youngest mark that is old enough counts", () =>
      Effect.gen(function* () {
        for (const time of [100, 200, 300]) {
          yield* at(time)
          yield* consumed("a", `${time} first`, `${time} last`)
          yield* mark
        }
        expect(yield* prune(250)).toEqual({ removed: 3, next: Option.none() })
        expect(yield* known("a", "100 first", "100 last", "200 first", "200 last", "300 first", "300 last")).toEqual([
          "200 last",
          "300 first",
          "300 last"
        ])
      }))

    test("it goes in pages", () =>
      Effect.gen(function* () {
        const events = Array.from({ length: 8 }, (_, i) => `${i}`)
        yield* consumed("a", ...events)
        yield* mark
        const first = yield* prune(0, { limit: 3 })
        expect(first.removed).toBe(3)
        expect(yield* known("a", ...events)).toEqual(events.slice(3))
        const after = Option.getOrThrow(first.next)
        const second = yield* prune(0, { limit: 3, after })
        expect(second.removed).toBe(3)
        const third = yield* prune(0, { limit: 3, after: Option.getOrThrow(second.next) })
        expect(third).toEqual({ removed: 1, next: Option.none() })
        expect(yield* known("a", ...events)).toEqual(["7"])
      }))

    test("events of an execution to which one is pending stay, and are passed over", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* consumed("a", "1", "2")
        yield* consumed("b", "3", "4", "5")
        yield* mark
        const [seq = -1] = yield* store.enqueue([emit("1", "a")])
        const first = yield* prune(0, { limit: 2 })
        expect(first.removed).toBe(0)
        expect(yield* prune(0, { after: Option.getOrThrow(first.next) })).toEqual({ removed: 2, next: Option.none() })
        expect(yield* known("a", "1", "2")).toEqual(["1", "2"])
        expect(yield* known("b", "3", "4", "5")).toEqual(["5"])
        yield* store.ackOutbox(seq)
        expect(yield* prune(0)).toEqual({ removed: 2, next: Option.none() })
        expect(yield* known("a", "1", "2")).toEqual([])
      }))

    test("events of an execution stay to which one comes after a delay, or of which there is a dead letter", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const id of ["a", "b", "c"]) yield* consumed(id, "1", "2")
        yield* mark
        yield* store.enqueue([{ ...emit("1", "a"), dueAt: 1000 }])
        const [seq = -1] = yield* store.enqueue([emit("1", "b")])
        yield* store.deadLetters.bury({ _tag: "Outbox", seq }, { reason: "rejected", attempts: 1, error: "no" })
        expect(yield* prune(0)).toEqual({ removed: 1, next: Option.none() })
        expect(yield* known("a", "1", "2")).toEqual(["1", "2"])
        expect(yield* known("b", "1", "2")).toEqual(["1", "2"])
        expect(yield* known("c", "1", "2")).toEqual(["2"])
      }))

    test("a mark goes with its event: the same ids, consumed anew, are young", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* consumed("a", "1")
        yield* consumed("b", "2", "3")
        yield* mark
        yield* store.purge("b", 2)
        yield* at(100)
        yield* consumed("c", "4")
        yield* consumed("b", "3")
        expect(yield* prune(50)).toEqual(nothing)
        expect(yield* known("a", "1")).toEqual(["1"])
        expect(yield* known("c", "4")).toEqual(["4"])
      }))

    test("marking again after all was purged begins anew", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* consumed("a", "1", "2")
        yield* mark
        yield* store.purge("a", 2)
        yield* at(100)
        yield* consumed("a", "1", "2")
        yield* mark
        expect(yield* prune(50)).toEqual(nothing)
        expect(yield* prune(100)).toEqual({ removed: 1, next: Option.none() })
        expect(yield* known("a", "1", "2")).toEqual(["2"])
      }))

    test("input that makes no sense is refused", () =>
      Effect.gen(function* () {
        yield* refuses(prune(Number.NaN), "before")
        yield* refuses(prune(0, { limit: 0 }), "limit")
        yield* refuses(prune(0, { limit: 1001 }), "limit")
        yield* refuses(prune(0, { after: -1 }), "after")
      }))
  })
}
