import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as GroupCommit from "holdfast/internal/groupCommit/groupCommit"
import type { LazyDriver } from "holdfast/internal/groupCommit/lazyDriver"
import type { Statement } from "holdfast/SqlDriver"
import { StoreRejected, StoreUnavailable } from "holdfast/StoreError"

const statement = (name: string): Statement => ({ sql: name, params: [] })
const call = (id: string) => ({ operation: "commit", executionId: id })

/** Records the lists it runs; a statement named "poison" is rejected, and `gate` holds back the first list. */
const recorder = (gate?: Deferred.Deferred<void>, fail?: StoreUnavailable) => {
  const lists: Array<ReadonlyArray<string>> = []
  const driver: LazyDriver = {
    query: () => Effect.succeed([]),
    transaction: (call, take) =>
      Effect.gen(function* () {
        const statements = take()
        lists.push(statements.map((statement) => statement.sql))
        if (gate !== undefined && lists.length === 1) yield* Effect.uninterruptible(Deferred.await(gate))
        if (fail !== undefined && lists.length > 1) return yield* fail
        if (statements.some((statement) => statement.sql === "poison")) {
          return yield* new StoreRejected({ ...call, reason: "constraint", detail: "poison" })
        }
        return statements.map((statement, i) => ({ changes: statement.sql.length, lastRowid: i }))
      })
  }
  return { driver, lists }
}

const limits = { maxCommits: 64, maxBytes: 1_000_000 }

describe("group commit", () => {
  it.scoped("runs what waits at the same time as one list, in order, and gives each caller its own results", () =>
    Effect.gen(function* () {
      const { driver, lists } = recorder()
      const group = yield* GroupCommit.make(driver, limits)
      const results = yield* Effect.forEach(
        ["a", "bb", "ccc"],
        (name) => group.transaction(call(name), [statement(name), statement(`${name}!`)]),
        { concurrency: "unbounded" }
      )
      expect(lists).toEqual([["a", "a!", "bb", "bb!", "ccc", "ccc!"]])
      expect(results.map((result) => result.map(({ changes }) => changes))).toEqual([
        [1, 2],
        [2, 3],
        [3, 4]
      ])
    })
  )

  it.scoped("bounds a list by commits and by bytes, and lets a larger one through alone", () =>
    Effect.gen(function* () {
      const { driver, lists } = recorder()
      const group = yield* GroupCommit.make(driver, { maxCommits: 2, maxBytes: 100 })
      const big = { sql: "big", params: ["x".repeat(200)] }
      yield* Effect.forEach(
        [statement("a"), statement("b"), statement("c"), big, statement("d")],
        (statement) => group.transaction(call(statement.sql), [statement]),
        { concurrency: "unbounded" }
      )
      expect(lists).toEqual([["a", "b"], ["c"], ["big"], ["d"]])
    })
  )

  it.scoped(
    "tells many callers in turns of the event loop, in their order, and begins no other list before all are told",
    () =>
      Effect.gen(function* () {
        const { driver, lists } = recorder()
        const turns: Array<() => void> = []
        const group = yield* GroupCommit.make(
          { ...driver, inTurn: (task) => void turns.push(task) },
          { ...limits, maxCommits: 100 }
        )
        const told: Array<number> = []
        const commit = (i: number) => Effect.asVoid(group.transaction(call(`${i}`), [statement(`${i}`)]))
        const twice = (i: number) =>
          Effect.zipRight(
            Effect.tap(commit(i), () => told.push(i)),
            commit(i)
          )
        const all = yield* Effect.fork(
          Effect.forEach(
            Array.from({ length: 100 }, (_, i) => i),
            twice,
            { concurrency: "unbounded", discard: true }
          )
        )
        const settled = Effect.repeatN(Effect.yieldNow(), 20)
        yield* settled
        expect([told.length, lists.length, turns.length]).toEqual([0, 1, 1])
        turns.shift()?.()
        yield* settled
        expect([told.length, lists.length, turns.length]).toEqual([64, 1, 1])
        turns.shift()?.()
        yield* settled
        expect(told).toEqual(Array.from({ length: 100 }, (_, i) => i))
        expect(lists.map((list) => list.length)).toEqual([100, 100])
        for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
          turn()
          yield* settled
        }
        yield* Fiber.join(all)
      })
  )

  describe("on a driver that runs on the spot", () => {
    /** Runs everything on the spot, in turns that are given by hand. */
    const onTheSpot = () => {
      const { driver, lists } = recorder()
      const turns: Array<() => void> = []
      let hasTime = false
      const turned = () => {
        hasTime = true
        turns.shift()?.()
        hasTime = false
      }
      const inTurns: LazyDriver = {
        ...driver,
        transaction: () => Effect.dieMessage("a fiber was started"),
        inTurn: (task) => void turns.push(task),
        attempt: (call, take) => (hasTime ? Effect.runSync(Effect.either(driver.transaction(call, take))) : undefined)
      }
      return { driver: inTurns, lists, turned, turns }
    }
    const settled = Effect.repeatN(Effect.yieldNow(), 20)

    it.scoped("waits for a turn without a fiber, and takes with it what comes meanwhile", () =>
      Effect.gen(function* () {
        const { driver, lists, turned, turns } = onTheSpot()
        const group = yield* GroupCommit.make(driver, limits)
        const first = yield* Effect.fork(group.transaction(call("a"), [statement("a")]))
        yield* settled
        expect([lists.length, turns.length]).toEqual([0, 1])
        const second = yield* Effect.fork(group.transaction(call("bb"), [statement("bb")]))
        yield* settled
        expect([lists.length, turns.length]).toEqual([0, 1])
        turned()
        expect(lists).toEqual([["a", "bb"]])
        expect(yield* Fiber.join(first)).toEqual([{ changes: 1, lastRowid: 0 }])
        expect(yield* Fiber.join(second)).toEqual([{ changes: 2, lastRowid: 1 }])
      })
    )

    it.scoped("writes nothing of who was interrupted before its turn came", () =>
      Effect.gen(function* () {
        const { driver, lists, turned } = onTheSpot()
        const group = yield* GroupCommit.make(driver, limits)
        const gone = yield* Effect.fork(group.transaction(call("gone"), [statement("gone")]))
        yield* settled
        yield* Fiber.interrupt(gone)
        turned()
        yield* settled
        expect(lists).toEqual([])
        const next = yield* Effect.fork(group.transaction(call("next"), [statement("next")]))
        yield* settled
        turned()
        yield* Fiber.join(next)
        expect(lists).toEqual([["next"]])
      })
    )

    it.effect("runs what waits for its turn before it closes", () =>
      Effect.gen(function* () {
        const { driver, lists, turned } = onTheSpot()
        const scope = yield* Scope.make()
        const group = yield* Scope.extend(GroupCommit.make(driver, limits), scope)
        const waiting = yield* Effect.fork(group.transaction(call("a"), [statement("a")]))
        yield* settled
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* settled
        turned()
        yield* Fiber.join(waiting)
        yield* Fiber.join(closing)
        expect(lists).toEqual([["a"]])
      })
    )
  })

  it.scoped("fails only the member that is rejected", () =>
    Effect.gen(function* () {
      const { driver, lists } = recorder()
      const group = yield* GroupCommit.make(driver, limits)
      const results = yield* Effect.forEach(
        ["a", "poison", "c"],
        (name) => Effect.either(group.transaction(call(name), [statement(name)])),
        { concurrency: "unbounded" }
      )
      expect(results.map(Either.isRight)).toEqual([true, false, true])
      expect(lists).toEqual([["a", "poison", "c"], ["a"], ["poison"], ["c"]])
      expect(Either.getLeft(results[1] ?? Either.right([]))).toMatchObject({ value: { executionId: "poison" } })
    })
  )

  it.scoped("tells each member of an unavailable store in its own name", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const busy = new StoreUnavailable({ operation: "commit", reason: "busy", outcome: "unknown", detail: "locked" })
      const { driver } = recorder(gate, busy)
      const group = yield* GroupCommit.make(driver, limits)
      const first = yield* Effect.fork(group.transaction(call("first"), [statement("first")]))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(first)
      const errors = yield* Effect.forEach(
        ["a", "b"],
        (name) => Effect.flip(group.transaction(call(name), [statement(name)])),
        { concurrency: "unbounded" }
      )
      expect(errors).toMatchObject([
        { _tag: "StoreUnavailable", executionId: "a", outcome: "unknown", detail: "locked" },
        { _tag: "StoreUnavailable", executionId: "b", outcome: "unknown", detail: "locked" }
      ])
    })
  )

  it.scoped("writes nothing of a caller interrupted while it waits, and lets a running one finish", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { driver, lists } = recorder(gate)
      const group = yield* GroupCommit.make(driver, limits)
      const running = yield* Effect.fork(group.transaction(call("running"), [statement("running")]))
      yield* Effect.repeatN(Effect.yieldNow(), 5)
      expect(lists).toEqual([["running"]])
      const waiting = yield* Effect.fork(group.transaction(call("waiting"), [statement("waiting")]))
      yield* Effect.repeatN(Effect.yieldNow(), 5)
      expect(Exit.isInterrupted(yield* Fiber.interrupt(waiting))).toBe(true)
      const interrupting = yield* Effect.fork(Fiber.interrupt(running))
      yield* Effect.repeatN(Effect.yieldNow(), 5)
      expect(yield* Fiber.poll(interrupting)).toMatchObject({ _tag: "None" })
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(interrupting)
      yield* group.transaction(call("next"), [statement("next")])
      expect(lists).toEqual([["running"], ["next"]])
    })
  )

  it.scoped("stops waiting for a lock when nobody waits for the outcome any more", () =>
    Effect.gen(function* () {
      const locked: LazyDriver = { query: () => Effect.succeed([]), transaction: () => Effect.never }
      const group = yield* GroupCommit.make(locked, limits)
      const fibers = yield* Effect.forEach(["a", "b"], (name) =>
        Effect.fork(group.transaction(call(name), [statement(name)]))
      )
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      const [a, b] = yield* Effect.forEach(fibers, (fiber) => Effect.fork(Fiber.interrupt(fiber)))
      if (a === undefined || b === undefined) return expect.fail("two fibers were forked")
      expect(Exit.isInterrupted(yield* Fiber.join(a))).toBe(true)
      expect(Exit.isInterrupted(yield* Fiber.join(b))).toBe(true)
    })
  )

  it.scoped("decides who shares a transaction when it has begun", () =>
    Effect.gen(function* () {
      const lock = yield* Effect.makeLatch(false)
      const { driver, lists } = recorder()
      const patient: LazyDriver = {
        ...driver,
        transaction: (call, take) => Effect.zipRight(lock.await, driver.transaction(call, take))
      }
      const group = yield* GroupCommit.make(patient, limits)
      const first = yield* Effect.fork(group.transaction(call("first"), [statement("first")]))
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      const second = yield* Effect.fork(group.transaction(call("second"), [statement("second")]))
      const third = yield* Effect.fork(group.transaction(call("third"), [statement("third")]))
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      expect(Exit.isInterrupted(yield* Fiber.interrupt(second))).toBe(true)
      yield* lock.open
      yield* Fiber.joinAll([first, third])
      expect(lists).toEqual([["first", "third"]])
    })
  )

  it.scoped("fails what waited for a transaction that could not begin, and not what came since", () =>
    Effect.gen(function* () {
      const lock = yield* Effect.makeLatch(false)
      const { driver } = recorder()
      let attempts = 0
      const busy = new StoreUnavailable({
        operation: "commit",
        reason: "busy",
        outcome: "not-applied",
        detail: "locked"
      })
      const patient: LazyDriver = {
        ...driver,
        transaction: (call, take) =>
          Effect.suspend(() => (++attempts === 1 ? Effect.zipRight(lock.await, busy) : driver.transaction(call, take)))
      }
      const group = yield* GroupCommit.make(patient, limits)
      const first = yield* Effect.fork(Effect.flip(group.transaction(call("first"), [statement("first")])))
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      const second = yield* Effect.fork(group.transaction(call("second"), [statement("second")]))
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      yield* lock.open
      expect(yield* Fiber.join(first)).toMatchObject({ reason: "busy", executionId: "first" })
      expect(yield* Fiber.join(second)).toHaveLength(1)
    })
  )

  it.scoped("tells the outcome first to a caller that leaves while its group runs", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { driver, lists } = recorder(gate)
      const group = yield* GroupCommit.make(driver, limits)
      const fibers = yield* Effect.forEach(["a", "poison"], (name) =>
        Effect.fork(group.transaction(call(name), [statement(name)]))
      )
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      expect(lists).toEqual([["a", "poison"]])
      const [a, poison] = fibers
      if (a === undefined || poison === undefined) return expect.fail("two fibers were forked")
      const leaving = yield* Effect.fork(Fiber.interrupt(a))
      yield* Effect.repeatN(Effect.yieldNow(), 5)
      yield* Deferred.succeed(gate, undefined)
      expect(Exit.isInterrupted(yield* Fiber.join(leaving))).toBe(true)
      expect(Exit.isFailure(yield* Fiber.await(poison))).toBe(true)
      expect(lists).toEqual([["a", "poison"], ["a"], ["poison"]])
    })
  )

  it.scoped("runs on the spot where the driver can, and as a transaction where it cannot or where that fails", () =>
    Effect.gen(function* () {
      const { driver, lists } = recorder()
      const spot: Array<ReadonlyArray<string>> = []
      let locked = false
      const group = yield* GroupCommit.make(
        {
          ...driver,
          attempt: (_, take) => {
            if (locked) return undefined
            const names = take().map((statement) => statement.sql)
            spot.push(names)
            return names.includes("poison")
              ? undefined
              : Either.right(names.map((name, i) => ({ changes: name.length, lastRowid: i })))
          }
        },
        limits
      )
      const run = (names: ReadonlyArray<string>) =>
        Effect.forEach(names, (name) => Effect.either(group.transaction(call(name), [statement(name)])), {
          concurrency: "unbounded"
        })
      expect((yield* run(["a", "bb"])).map(Either.getOrThrow)).toEqual([
        [{ changes: 1, lastRowid: 0 }],
        [{ changes: 2, lastRowid: 1 }]
      ])
      expect(lists).toEqual([])
      expect((yield* run(["c", "poison", "d"])).map(Either.isRight)).toEqual([true, false, true])
      expect(lists).toEqual([["c", "poison", "d"], ["c"], ["poison"], ["d"]])
      locked = true
      expect((yield* run(["e"])).map(Either.isRight)).toEqual([true])
      expect(lists.slice(4)).toEqual([["e"]])
      expect(spot).toEqual([
        ["a", "bb"],
        ["c", "poison", "d"]
      ])
    })
  )

  it.scoped("does not run again what failed on the spot and may be applied", () =>
    Effect.gen(function* () {
      const { driver, lists } = recorder()
      const torn = new StoreUnavailable({
        operation: "commit",
        reason: "connection",
        outcome: "unknown",
        detail: "the disk failed"
      })
      const group = yield* GroupCommit.make(
        {
          ...driver,
          attempt: (_, take) => {
            take()
            return Either.left(torn)
          }
        },
        limits
      )
      const run = (names: ReadonlyArray<string>) =>
        Effect.forEach(names, (name) => Effect.flip(group.transaction(call(name), [statement(name)])), {
          concurrency: "unbounded"
        })
      expect(yield* run(["a", "b"])).toMatchObject([
        { executionId: "a", outcome: "unknown" },
        { executionId: "b", outcome: "unknown" }
      ])
      expect(yield* run(["c"])).toMatchObject([{ outcome: "unknown" }])
      expect(lists).toEqual([])
    })
  )

  it.scoped("lets nobody wait for a fiber that calls twice in a row, and does where another came in between", () =>
    Effect.gen(function* () {
      const { driver, lists } = recorder()
      const group = yield* GroupCommit.make(
        { ...driver, attempt: (_, take) => Either.right(take().map((_, i) => ({ changes: 1, lastRowid: i }))) },
        limits
      )
      const commit = (name: string) => group.transaction(call(name), [statement(name)])
      const turns: Array<string> = []
      const other = (name: string) => Effect.fork(Effect.sync(() => turns.push(name)))

      yield* commit("a")
      yield* other("first")
      expect(yield* commit("b")).toEqual([{ changes: 1, lastRowid: 0 }])
      expect(turns).toEqual([])

      yield* Fiber.join(yield* Effect.fork(commit("c")))
      yield* other("second")
      yield* commit("d")
      expect(turns).toEqual(["first", "second"])
      expect(lists).toEqual([])
    })
  )

  it.scoped("begins nothing for callers that have left by then, and goes on with the next", () =>
    Effect.gen(function* () {
      const { driver, lists } = recorder()
      const group = yield* GroupCommit.make(driver, limits)
      const leaving = yield* Effect.forEach(["a", "b"], (name) =>
        Effect.fork(group.transaction(call(name), [statement(name)]))
      )
      yield* Effect.yieldNow()
      yield* Fiber.interruptAll(leaving)
      yield* group.transaction(call("next"), [statement("next")])
      expect(lists).toEqual([["next"]])
    })
  )

  it.effect("drains when its scope closes, and refuses what comes later", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const gate = yield* Deferred.make<void>()
      const { driver, lists } = recorder(gate)
      const group = yield* Scope.extend(GroupCommit.make(driver, limits), scope)
      const fibers = yield* Effect.forEach(["a", "b"], (name) =>
        Effect.zipLeft(
          Effect.fork(group.transaction(call(name), [statement(name)])),
          Effect.repeatN(Effect.yieldNow(), 5)
        )
      )
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* Effect.repeatN(Effect.yieldNow(), 5)
      const late = yield* Effect.flip(group.transaction(call("late"), [statement("late")]))
      expect(late).toMatchObject({ _tag: "StoreUnavailable", reason: "shutdown", outcome: "not-applied" })
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      for (const fiber of fibers) expect(Exit.isSuccess(yield* Fiber.await(fiber))).toBe(true)
      expect(lists).toEqual([["a"], ["b"]])
    })
  )
})
