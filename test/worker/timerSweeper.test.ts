import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import { arm, counting, processing, recording, seconds, sweeperOn } from "../support/timers.js"
import * as Support from "../support/workers.js"

const { armed, deaf, load, recorder, seen } = Support

Support.onEach("TimerSweeper", (makeStore) => {
  it.scoped("fires at exactly the time, once, with the event of that timer", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "a", [
        ["one", 1.5],
        ["two", 60.1]
      ])
      const { deliver, events, fired } = recording()
      yield* sweeperOn(store, { deliver })
      yield* TestClock.adjust("1499 millis")
      assert.deepStrictEqual(fired, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(fired, [["one", 1.5]])
      assert.deepStrictEqual(yield* armed(store), [["a", "two", 60.1]])
      yield* TestClock.setTime(60_099)
      assert.strictEqual(fired.length, 1)
      yield* TestClock.setTime(60_100)
      assert.deepStrictEqual(fired.slice(1), [["two", 60.1]])
      assert.deepStrictEqual(yield* armed(store), [])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(fired.length, 2)
      assert.deepStrictEqual(
        events.map((event) => [event.id, event.kind, event.data]),
        [
          ["timeout:a:one:1.5", "Timeout", { path: "one", fire_at: 1.5 }],
          ["timeout:a:two:60.1", "Timeout", { path: "two", fire_at: 60.1 }]
        ]
      )
    })
  )

  it.scoped("fires at the first millisecond that is not before a time with more digits, at today's times too", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* TestClock.setTime(1_790_000_000_000)
      yield* arm(store, "a", [
        ["tenth", 1_790_000_060.1],
        ["micro", 1_790_000_060.100_001],
        ["odd", 1_790_000_061.001]
      ])
      const { deliver, fired } = recording()
      yield* sweeperOn(store, { deliver })
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(fired, [
        ["tenth", 1_790_000_060.1],
        ["micro", 1_790_000_060.101],
        ["odd", 1_790_000_061.001]
      ])
    })
  )

  it.scoped("is not a millisecond late or early where a thousandfold of the time is rounded", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "a", [
        ["down", 1.1260000000000001],
        ["up", 2.007]
      ])
      const { deliver, fired } = recording()
      yield* sweeperOn(store, { deliver })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(fired, [
        ["down", 1.127],
        ["up", 2.007]
      ])
    })
  )

  it.scoped("reads the store at the interval, and not more often, while nothing is due", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { counted, reads } = counting(store)
      yield* arm(store, "a", [["far", 1e9]])
      const sweeper = yield* sweeperOn({ ...counted, exclusive: false }, recording())
      yield* sweeper.awaitQuiet
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(reads.count, 13)
    })
  )

  it.scoped("does not read a store again to which nobody else writes, until the timer is due", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { counted, reads } = counting(store)
      yield* arm(store, "a", [["far", 1e9]])
      const sweeper = yield* sweeperOn(counted, recording())
      yield* sweeper.awaitQuiet
      assert.isTrue(store.exclusive)
      yield* TestClock.adjust("1 day")
      assert.strictEqual(reads.count, 1)
    })
  )

  it.scoped("wakes early where this process arms an earlier timer, and sleeps on where it arms a later one", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { counted, reads } = counting(store)
      const { deliver, fired } = recording()
      const sweeper = yield* sweeperOn(counted, { deliver, pollInterval: "1 hour" })
      yield* sweeper.awaitQuiet
      const first = yield* arm(counted, "a", [["later", 1000]])
      yield* TestClock.adjust("10 seconds")
      const before = reads.count
      yield* arm(counted, "b", [["latest", 2000]])
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(reads.count, before)
      yield* counted.commit(first, { timers: [Commit.scheduleTimer("early", 21)] })
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(fired, [["early", 21]])
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(fired, [
        ["early", 21],
        ["later", 1000]
      ])
    })
  )

  it.scoped("fires at once what is armed for a time that has passed", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { deliver, fired } = recording()
      yield* TestClock.setTime(100_000)
      yield* arm(store, "a", [["due", 99]])
      const sweeper = yield* sweeperOn(store, { deliver })
      yield* sweeper.awaitQuiet
      yield* arm(store, "b", [["past", 5]])
      yield* sweeper.awaitQuiet
      assert.deepStrictEqual(fired, [
        ["due", 100],
        ["past", 100]
      ])
    })
  )

  it.scoped("finds at the next poll what other processes arm, also for times that were swept already", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { deliver, fired } = recording()
      yield* arm(store, "a", [["due", 0]])
      const sweeper = yield* sweeperOn(deaf(store), { deliver })
      yield* sweeper.awaitQuiet
      yield* arm(store, "b", [
        ["soon", 6],
        ["past", -50]
      ])
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(fired, [["due", 0]])
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(fired, [
        ["due", 0],
        ["past", 5],
        ["soon", 6]
      ])
    })
  )

  it.scoped("fires what is overdue after a downtime once, at once, in order", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "a", [
        ["third", 62],
        ["first", 60],
        ["second", 61],
        ["not yet", 5_184_000]
      ])
      yield* TestClock.setTime(90_000)
      const { deliver, fired } = recording()
      const sweeper = yield* sweeperOn(store, { deliver })
      yield* sweeper.awaitQuiet
      assert.deepStrictEqual(fired, [
        ["first", 90],
        ["second", 90],
        ["third", 90]
      ])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(fired.length, 3)
      assert.deepStrictEqual(yield* armed(store), [["a", "not yet", 5_184_000]])
    })
  )

  it.scoped("fires a thousand that are due at the same moment in pages, each once", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const limits: Array<number> = []
      const paged: ExecutionStore.ExecutionStore = {
        ...store,
        dueTimers: (now, query) => {
          limits.push(query?.limit ?? 0)
          return store.dueTimers(now, query)
        }
      }
      yield* Effect.forEach(
        Array.from({ length: 100 }, (_, i) => i),
        (i) =>
          arm(
            store,
            `x${i}`,
            Array.from({ length: 10 }, (_, n) => [`x${i}.${n}`, 10])
          ),
        { discard: true }
      )
      const { deliver, fired } = recording()
      const sweeper = yield* sweeperOn(paged, { deliver, pageSize: 50 })
      yield* TestClock.adjust("10 seconds")
      yield* sweeper.awaitQuiet
      assert.strictEqual(fired.length, 1000)
      assert.strictEqual(new Set(fired.map(([path]) => path)).size, 1000)
      assert.deepStrictEqual(yield* armed(store), [])
      assert.isTrue(limits.every((limit) => limit === 50))
      assert.isAtMost(limits.length, 40)
    })
  )

  it.scoped("never fires a timer that was cancelled, also by the step of another that fires before it", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const first = yield* arm(store, "a", [["cancelled", 10]])
      yield* arm(store, "b", [
        ["first", 10],
        ["second", 10],
        ["third", 11]
      ])
      const deliver = yield* processing(store, (execution, event) =>
        Effect.map(recorder(execution, event), (step) => ({
          ...step,
          commit: { timers: [Commit.cancelTimer("second"), Commit.cancelTimer("third")] }
        }))
      )
      const sweeper = yield* sweeperOn(store, { deliver })
      yield* TestClock.adjust("5 seconds")
      yield* store.commit(first, { timers: [Commit.cancelTimer("cancelled")] })
      yield* TestClock.adjust("1 minute")
      yield* sweeper.awaitQuiet
      assert.deepStrictEqual(seen(yield* load(store, "a")), [])
      assert.deepStrictEqual(seen(yield* load(store, "b")), ["timeout:b:first:10.0"])
    })
  )

  it.scoped("lets a timer survive that is armed anew while it fires", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const first = yield* arm(store, "a", [["t", 10]])
      const began = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const { deliver, fired } = recording()
      yield* sweeperOn(store, {
        deliver: (timer, event) =>
          Deferred.succeed(began, undefined).pipe(
            Effect.zipRight(Deferred.await(gate)),
            Effect.zipRight(deliver(timer, event))
          )
      })
      yield* TestClock.adjust("10 seconds")
      yield* Deferred.await(began)
      yield* store.commit(first, { timers: [Commit.scheduleTimer("t", 20)] })
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(fired, [["t", 10]])
      assert.deepStrictEqual(yield* armed(store), [["a", "t", 20]])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(fired, [
        ["t", 10],
        ["t", 20]
      ])
    })
  )

  it.scoped("fires again and again where each firing arms the next", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "a", [["tick", 1]])
      const deliver = yield* processing(store, (execution, event) =>
        Effect.gen(function* () {
          const { execution: next } = yield* recorder(execution, event)
          return { execution: next, commit: { timers: [Commit.scheduleTimer("tick", (yield* seconds) + 1)] } }
        })
      )
      yield* sweeperOn(store, { deliver })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(
        seen(yield* load(store, "a")),
        [1, 2, 3, 4, 5].map((n) => `timeout:a:tick:${n}.0`)
      )
    })
  )

  it.scoped("waits for a far future, however far, without an overflow", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { counted, reads } = counting(store)
      const { deliver, fired } = recording()
      const years = 60 * 366 * 86_400
      yield* arm(counted, "a", [
        ["days", 60 * 86_400],
        ["years", years],
        ["never", 2 ** 53]
      ])
      const scope = yield* Scope.make()
      const sweeper = yield* Scope.extend(sweeperOn(counted, { deliver, pollInterval: "100 days" }), scope)
      yield* sweeper.awaitQuiet
      yield* arm(counted, "b", [["never", 2 ** 53]])
      yield* TestClock.adjust("59 days")
      assert.deepStrictEqual(fired, [])
      assert.isAtMost(reads.count, 65)
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(fired, [["days", 60 * 86_400]])
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.setTime(years * 1000 - 1)
      yield* sweeperOn(counted, { deliver })
      yield* TestClock.adjust(0)
      assert.strictEqual(fired.length, 1)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(fired.slice(1), [["years", years]])
    })
  )

  it.scoped("holds back the timers of a failing execution alone, neither starving others nor spinning", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      const { counted, reads } = counting(store)
      for (let i = 0; i < 25; i++) {
        yield* arm(store, `bad${i}`, [
          ["one", 1],
          ["two", 1.5]
        ])
      }
      yield* arm(store, "good", [
        ["a", 2],
        ["b", 3],
        ["c", 4]
      ])
      let broken = true
      const tries: Array<string> = []
      const { deliver, fired } = recording()
      const sweeper = yield* sweeperOn(counted, {
        pageSize: 10,
        retry: Schedule.spaced("5 seconds"),
        deliver: (timer, event) =>
          Effect.suspend(() => {
            tries.push(`${timer.executionId} ${timer.path}`)
            return broken && timer.executionId !== "good" ? Effect.fail("broken") : deliver(timer, event)
          })
      })
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(fired, [
        ["a", 2],
        ["b", 3],
        ["c", 4]
      ])
      yield* Support.eventually(
        Effect.sync(() => tries.length),
        25 + 3
      )
      // How often it reads depends on when deliveries end; one that spins reads thousands of times.
      assert.isAtMost(reads.count, 10 * tries.length)
      assert.strictEqual((yield* sweeper.health).held, 25)
      yield* TestClock.adjust("4 seconds")
      yield* Support.eventually(
        Effect.sync(() => tries.length),
        25 + 3 + 25
      )
      assert.isTrue(tries.every((tried) => !tried.endsWith("two")))
      assert.strictEqual(logs.lines.filter((line) => line.startsWith("WARN")).length, 25)
      broken = false
      yield* TestClock.adjust("5 seconds")
      yield* Support.eventually(
        Effect.sync(() => fired.length),
        3 + 50
      )
      assert.deepStrictEqual(yield* armed(store), [])
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("fires while another execution's timer never ends", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "stuck", [
        ["x", 1],
        ["y", 2]
      ])
      yield* arm(store, "good", [["a", 3]])
      const fired = yield* Queue.unbounded<string>()
      yield* sweeperOn(store, {
        shutdownTimeout: 0,
        deliver: (timer) =>
          timer.executionId === "stuck" ? Effect.never : Effect.as(fired.offer(timer.path), "Delivered" as const)
      })
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* Queue.take(fired), "a")
    })
  )

  it.scoped("leaves the timers in the store when its scope ends", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "a", [["t", 10]])
      const { deliver, fired } = recording()
      const scope = yield* Scope.make()
      yield* Scope.extend(sweeperOn(store, { deliver }), scope)
      yield* TestClock.adjust("9 seconds")
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(fired, [])
      assert.deepStrictEqual(yield* armed(store), [["a", "t", 10]])
    })
  )
})
