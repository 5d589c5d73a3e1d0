import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as BatchReads from "../../src/internal/groupCommit/readBatcher.js"

const unbounded = { concurrency: "unbounded" } as const
const limits = { maxReads: 100, maxBytes: 1_000_000, maxRequests: 2 }

interface Request {
  readonly asked: ReadonlyArray<string>
  readonly interrupted: Deferred.Deferred<void>
  /** Lets the request answer. */
  readonly answer: Effect.Effect<unknown>
  readonly fail: (error: string) => Effect.Effect<unknown>
}

const answerTo = (name: string): Either.Either<BatchReads.Rows, string> =>
  name.startsWith("bad") ? Either.left(`no ${name}`) : Either.right([[name]])

/** A database that answers when it is told to. */
const gated = (options: Partial<BatchReads.Options<string>> = {}) =>
  Effect.gen(function* () {
    const requests = yield* Queue.unbounded<Request>()
    const read = yield* BatchReads.make<string>({
      ...limits,
      isSplit: () => false,
      run: (statements) =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void, string>()
          const interrupted = yield* Deferred.make<void>()
          const asked = statements.map(({ sql }) => sql)
          const answer = Deferred.succeed(gate, undefined)
          yield* Queue.offer(requests, { asked, answer, interrupted, fail: (error) => Deferred.fail(gate, error) })
          yield* Effect.onInterrupt(Deferred.await(gate), () => Deferred.succeed(interrupted, undefined))
          return asked.map(answerTo)
        }),
      ...options
    })
    return { requests, read: (sql: string, params: ReadonlyArray<string> = []) => read({ sql, params }) }
  })

/** A database that answers at once, and what it was asked. */
const quick = (
  run: (asked: ReadonlyArray<string>) => Either.Either<ReadonlyArray<Either.Either<BatchReads.Rows, string>>, string>,
  options: Partial<BatchReads.Options<string>> = {}
) =>
  Effect.gen(function* () {
    const requests: Array<ReadonlyArray<string>> = []
    const read = yield* BatchReads.make<string>({
      ...limits,
      isSplit: () => false,
      run: (statements) =>
        Effect.suspend(() => {
          const asked = statements.map(({ sql }) => sql)
          requests.push(asked)
          return run(asked)
        }),
      ...options
    })
    return { requests, read: (sql: string, params: ReadonlyArray<string> = []) => read({ sql, params }) }
  })

const all = (asked: ReadonlyArray<string>) => Either.right(asked.map(answerTo))

describe("reads of the same moment", () => {
  it.effect("share one request, and each gets its own rows", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* quick(all)
      const rows = yield* Effect.forEach(["a", "b", "c"], (name) => read(name), unbounded)
      expect(rows).toEqual([[["a"]], [["b"]], [["c"]]])
      expect(requests).toEqual([["a", "b", "c"]])
    })
  )

  it.effect("or its own error", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* quick(all)
      const results = yield* Effect.forEach(["a", "bad", "c"], (name) => Effect.either(read(name)), unbounded)
      expect(results).toEqual([Either.right([["a"]]), Either.left("no bad"), Either.right([["c"]])])
      expect(requests).toEqual([["a", "bad", "c"]])
    })
  )

  it.effect("all fail where their request fails", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* quick(() => Either.left("no leader"))
      const results = yield* Effect.forEach(["a", "b"], (name) => Effect.either(read(name)), unbounded)
      expect(results).toEqual([Either.left("no leader"), Either.left("no leader")])
      expect(requests).toEqual([["a", "b"]])
      expect(yield* Effect.either(read("c"))).toEqual(Either.left("no leader"))
    })
  )

  it.effect("are asked one by one where all of them together were refused, so that the poisoned one fails alone", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* quick(
        (asked) => (asked.includes("poison") ? Either.left("refused") : all(asked)),
        { isSplit: (error) => error === "refused" }
      )
      const results = yield* Effect.forEach(["a", "poison", "c"], (name) => Effect.either(read(name)), unbounded)
      expect(results).toEqual([Either.right([["a"]]), Either.left("refused"), Either.right([["c"]])])
      expect(requests).toEqual([["a", "poison", "c"], ["a"], ["poison"], ["c"]])
    })
  )

  it.effect("all end with the defect that their request ends with", () =>
    Effect.gen(function* () {
      const { read } = yield* quick(() => {
        throw new Error("a bug")
      })
      const exits = yield* Effect.forEach(["a", "b"], (name) => Effect.exit(read(name)), unbounded)
      expect(exits).toEqual([Exit.die(new Error("a bug")), Exit.die(new Error("a bug"))])
    })
  )
})

describe("a read that comes alone", () => {
  it.effect("is asked at once", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* gated()
      const fiber = yield* Effect.fork(read("a"))
      const request = yield* Queue.take(requests)
      expect(request.asked).toEqual(["a"])
      yield* request.answer
      expect(yield* Fiber.join(fiber)).toEqual([["a"]])
    })
  )

  it.effect("is asked beside a request that takes long, and then others wait and share the next", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* gated()
      const first = yield* Effect.fork(read("a"))
      const slow = yield* Queue.take(requests)
      const second = yield* Effect.fork(read("b"))
      const other = yield* Queue.take(requests)
      const rest = yield* Effect.fork(Effect.forEach(["c", "d"], (name) => read(name), unbounded))
      yield* Effect.yieldNow()
      expect(yield* Queue.size(requests)).toBe(0)
      yield* other.answer
      expect(yield* Fiber.join(second)).toEqual([["b"]])
      const third = yield* Queue.take(requests)
      // What was asked before they came could not have seen what they must see.
      expect([slow.asked, other.asked, third.asked]).toEqual([["a"], ["b"], ["c", "d"]])
      yield* third.answer
      expect(yield* Fiber.join(rest)).toEqual([[["c"]], [["d"]]])
      yield* slow.answer
      expect(yield* Fiber.join(first)).toEqual([["a"]])
    })
  )
})

describe("one request is bounded", () => {
  const names = (count: number, prefix = "r") => Array.from({ length: count }, (_, i) => `${prefix}${i}`)
  const sizes = (requests: ReadonlyArray<ReadonlyArray<string>>) => requests.map((asked) => asked.length)

  it.effect("by the number of reads", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* quick(all, { maxReads: 4 })
      const rows = yield* Effect.forEach(names(10), (name) => read(name), unbounded)
      expect(rows).toEqual(names(10).map((name) => [[name]]))
      expect(sizes(requests)).toEqual([4, 4, 2])
    })
  )

  it.effect("by the bytes that it asks with, but a read that is larger goes alone", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* quick(all, { maxBytes: 1000 })
      const read3 = Effect.forEach(
        ["a", "big", "b", "c"],
        (name) => read(name, ["x".repeat(name === "big" ? 900 : 100)]),
        unbounded
      )
      expect(yield* read3).toEqual([[["a"]], [["big"]], [["b"]], [["c"]]])
      expect(requests).toEqual([["a"], ["big"], ["b", "c"]])
    })
  )

  it.effect("by the bytes that the reads before brought, as long as they bring so much", () =>
    Effect.gen(function* () {
      const text = { value: "x".repeat(1000) }
      const { read, requests } = yield* quick((asked) => Either.right(asked.map(() => Either.right([[text.value]]))), {
        maxBytes: 5000
      })
      for (const _ of names(5)) yield* read("one")
      yield* Effect.forEach(names(6), (name) => read(name), unbounded)
      expect(sizes(requests).slice(5)).toEqual([2, 2, 2])
      text.value = "x"
      for (const _ of names(10)) yield* read("one")
      yield* Effect.forEach(names(6), (name) => read(name), unbounded)
      expect(sizes(requests).slice(18)).toEqual([6])
    })
  )
})

describe("a caller that is interrupted", () => {
  it.effect("is not asked for where it still waited", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* gated({ maxRequests: 1 })
      const first = yield* Effect.fork(read("a"))
      const request = yield* Queue.take(requests)
      const [left, stays] = [yield* Effect.fork(read("left")), yield* Effect.fork(read("stays"))]
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(left)
      yield* request.answer
      yield* Fiber.join(first)
      const next = yield* Queue.take(requests)
      expect(next.asked).toEqual(["stays"])
      yield* next.answer
      expect(yield* Fiber.join(stays)).toEqual([["stays"]])
    })
  )

  it.effect("leaves at once and disturbs nobody, also where it was the one that came first", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* gated()
      const first = yield* Effect.fork(read("a"))
      const others = yield* Effect.forEach(["b", "c"], (name) => Effect.fork(read(name)))
      const request = yield* Queue.take(requests)
      expect(request.asked).toEqual(["a", "b", "c"])
      expect(Exit.isInterrupted(yield* Fiber.interrupt(first))).toBe(true)
      yield* request.answer
      expect(yield* Fiber.join(Fiber.all(others))).toEqual([[["b"]], [["c"]]])
    })
  )

  it.effect("ends the request where it was the last, and the next read is asked anew", () =>
    Effect.gen(function* () {
      const { read, requests } = yield* gated({ maxRequests: 1 })
      const fibers = yield* Effect.forEach(["a", "b"], (name) => Effect.fork(read(name)))
      const request = yield* Queue.take(requests)
      yield* Fiber.interruptAll(fibers)
      yield* Deferred.await(request.interrupted)
      const next = yield* Effect.fork(read("c"))
      const after = yield* Queue.take(requests)
      expect(after.asked).toEqual(["c"])
      yield* after.answer
      expect(yield* Fiber.join(next)).toEqual([["c"]])
    })
  )
})

const traffic = FastCheck.array(
  FastCheck.record({ bad: FastCheck.boolean(), yields: FastCheck.nat(4), leaves: FastCheck.boolean() }),
  { maxLength: 40 }
)

it.effect.prop(
  "random callers each get their own answer, in requests within bounds",
  [traffic, FastCheck.integer({ min: 1, max: 5 })],
  ([callers, maxReads]) =>
    Effect.gen(function* () {
      const sizes: Array<number> = []
      const read = yield* BatchReads.make<string>({
        ...limits,
        maxReads,
        isSplit: () => false,
        run: (statements) =>
          Effect.gen(function* () {
            sizes.push(statements.length)
            for (const _ of statements) yield* Effect.yieldNow()
            return statements.map(({ sql }) => answerTo(sql))
          })
      })
      const results = yield* Effect.forEach(
        callers,
        ({ bad, leaves, yields }, i) =>
          Effect.gen(function* () {
            for (let n = 0; n < yields; n++) yield* Effect.yieldNow()
            const fiber = yield* Effect.fork(read({ sql: bad ? `bad ${i}` : `good ${i}`, params: [] }))
            for (let n = 0; leaves && n < yields; n++) yield* Effect.yieldNow()
            return yield* leaves ? Fiber.interrupt(fiber) : Fiber.await(fiber)
          }),
        unbounded
      )
      callers.forEach(({ bad, leaves }, i) => {
        const own = bad ? Exit.fail(`no bad ${i}`) : Exit.succeed([[`good ${i}`]])
        const result = results[i]
        if (leaves && result !== undefined && Exit.isInterrupted(result)) return
        expect(result).toEqual(own)
      })
      for (const size of sizes) expect(size).toBeLessThanOrEqual(maxReads)
    }),
  { fastCheck: { numRuns: 50, seed: 7 } }
)
