import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import { type Delivered, Postponed, Refused, TargetNotFound } from "holdfast/QueueWorker"
import * as SqliteStore from "holdfast/SqliteStore"
import { relayOn } from "../support/outbox.js"
import { rawStores } from "../support/rawStores.js"
import * as temp from "../support/temp.js"
import { arm, processing, recording, seconds, sweeperOn } from "../support/timers.js"
import * as Support from "../support/workers.js"

const { armed, event, execution, load, note, recorder, seen } = Support

const letters = (store: ExecutionStore) => Effect.map(store.deadLetters.list(), (page) => page.entries)

const far = 2 ** 40

Support.onEach("A timer that fails", (makeStore) => {
  it.scoped("backs off by itself, keeps its attempts over restarts, and becomes a dead letter", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "bad", [
        ["one", 1],
        ["two", 2]
      ])
      yield* arm(store, "good", [["a", 3]])
      const tries: Array<readonly [path: string, attempt: number, at: number]> = []
      const { deliver, fired } = recording()
      const run = (duration: number) =>
        Effect.gen(function* () {
          const scope = yield* Scope.make()
          yield* sweeperOn(store, {
            retry: Schedule.spaced("10 seconds"),
            maxAttempts: 3,
            deliver: (timer, event, { attempt }): Effect.Effect<Delivered, string> =>
              Effect.gen(function* () {
                if (timer.path !== "one") return yield* deliver(timer, event)
                tries.push([timer.path, attempt, yield* seconds])
                return yield* Effect.fail("broken")
              })
          }).pipe(Scope.extend(scope))
          yield* TestClock.adjust(duration * 1000)
          yield* Scope.close(scope, Exit.void)
        })
      yield* run(5)
      assert.deepStrictEqual(fired, [["a", 3]])
      const [failure] = (yield* store.dueTimers(far)).failures
      assert.deepInclude(failure, { attempts: 1, error: "broken", failedAt: 1, retryAt: 11 })
      yield* run(10)
      yield* run(10)
      assert.deepStrictEqual(tries, [
        ["one", 1, 1],
        ["one", 2, 11],
        ["one", 3, 21]
      ])
      // its own execution was held back, and goes on now
      assert.deepStrictEqual(fired, [
        ["a", 3],
        ["two", 21]
      ])
      const [letter] = yield* letters(store)
      assert.deepInclude(letter, {
        _tag: "Timer",
        executionId: "bad",
        reason: "attempts",
        attempts: 3,
        error: "broken",
        diedAt: 21
      })
      assert.deepStrictEqual(letter?.work, { _tag: "Timer", executionId: "bad", path: "one", fireAt: 1 })
      assert.deepStrictEqual(yield* armed(store), [])
    })
  )

  it.scoped("fires at once when it is redriven, with the same event", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "a", [["t", 1]])
      let broken = true
      const { deliver, events } = recording()
      const sweeper = yield* sweeperOn(store, {
        maxAttempts: 1,
        deliver: (timer, event) => (broken ? Effect.fail("broken") : deliver(timer, event))
      })
      yield* TestClock.adjust("2 seconds")
      const [letter] = yield* letters(store)
      broken = false
      assert.isTrue(yield* store.deadLetters.redrive(letter?.id ?? 0))
      yield* sweeper.awaitQuiet
      assert.deepStrictEqual(
        events.map(({ id }) => id),
        ["timeout:a:t:1.0"]
      )
      assert.deepStrictEqual(yield* letters(store), [])
    })
  )

  it.scoped("is a dead letter at once where it is refused, or where there is nobody", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "a", [["t", 1]])
      yield* arm(store, "b", [["t", 1]])
      yield* sweeperOn(store, {
        deliver: ({ executionId }): Effect.Effect<Delivered, Refused | TargetNotFound> =>
          executionId === "a" ? new Refused({ reason: "no" }) : new TargetNotFound({ targetId: executionId })
      })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(
        (yield* letters(store)).map(({ executionId, reason }) => [executionId, reason]),
        [
          ["a", "rejected"],
          ["b", "no-target"]
        ]
      )
    })
  )

  it.scoped("waits uncounted where it is put off, and goes at once when its execution is advanced", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const first = yield* arm(store, "a", [["t", 1]])
      let early = true
      const attempts: Array<number> = []
      const { deliver, fired } = recording()
      const sweeper = yield* sweeperOn(store, {
        maxAttempts: 1,
        pollInterval: "1 day",
        deliver: (timer, event, { attempt }): Effect.Effect<Delivered, Postponed> => {
          attempts.push(attempt)
          return early ? new Postponed({ reason: "suspended" }) : deliver(timer, event)
        }
      })
      yield* TestClock.adjust("5 minutes")
      assert.isAbove(attempts.length, 5)
      assert.isTrue(attempts.every((attempt) => attempt === 1))
      early = false
      yield* store.save(first)
      yield* sweeper.awaitQuiet
      assert.deepStrictEqual(fired, [["t", 300]])
    })
  )

  it.scoped("is another timer when it is armed anew: it starts afresh", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const first = yield* arm(store, "a", [["t", 1]])
      const tries: Array<readonly [number, number]> = []
      yield* sweeperOn(store, {
        retry: Schedule.spaced("1 minute"),
        deliver: (timer, _, { attempt }) => Effect.fail(tries.push([timer.fireAt, attempt]))
      })
      yield* TestClock.adjust("1 second")
      yield* store.commit(first, { timers: [Commit.scheduleTimer("t", 10)] })
      yield* TestClock.adjust("70 seconds")
      assert.deepStrictEqual(tries.slice(0, 2), [
        [1, 1],
        [10, 1]
      ])
    })
  )

  it.scoped("is the same event, and does not fire again, where it is armed anew for exactly its time", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "a", [["t", 1]])
      const deliver = yield* processing(store, (execution, event) =>
        Effect.succeed({ execution: note(execution, event), commit: { timers: [Commit.scheduleTimer("t", 1)] } })
      )
      yield* sweeperOn(store, { deliver })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(seen(yield* load(store, "a")), ["timeout:a:t:1.0"])
      assert.deepStrictEqual(yield* armed(store), [])
    })
  )
})

Support.onEach("The timer sweeper", (makeStore) => {
  it.scoped("fires a timer in time while the outbox is never empty", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "t", [["due", 10]])
      const at: Array<number> = []
      let deliveries = 0
      let atFiring = 0
      const end = yield* Deferred.make<void>()
      const relay = yield* relayOn(store, {
        deliver: () =>
          Effect.gen(function* () {
            deliveries++
            // an event makes the next one, and many wait anyway
            yield* store.enqueue([{ targetId: "busy", event: event(`e${deliveries}`) }])
            if (deliveries === 100) yield* TestClock.setTime(10_000)
            if (deliveries < 500) return "Delivered" as const
            yield* Deferred.succeed(end, undefined)
            return yield* Effect.never
          }),
        shutdownTimeout: 0
      })
      yield* sweeperOn(store, {
        deliver: () =>
          Effect.gen(function* () {
            at.push(yield* seconds)
            atFiring = deliveries
            return "Delivered" as const
          })
      })
      yield* store.enqueue(Array.from({ length: 50 }, (_, i) => ({ targetId: "busy", event: event(`first${i}`) })))
      yield* Deferred.await(end)
      assert.deepStrictEqual(at, [10])
      assert.isAtMost(atFiring, 300)
      assert.isAbove((yield* relay.health).backlog, 0)
    })
  )

  it.scoped("is paused and resumed with the emits that were delayed", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { deliver, fired } = recording()
      const sweeper = yield* sweeperOn(store, { deliver })
      yield* sweeper.awaitQuiet
      yield* sweeper.pause
      yield* arm(store, "a", [["t", 1]])
      yield* store.enqueue([{ targetId: "a", event: event("e"), dueAt: 1 }])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(fired, [])
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
      yield* sweeper.resume
      yield* sweeper.awaitQuiet
      assert.deepStrictEqual(fired, [["t", 60]])
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["e"])
    })
  )
})

describe("Timers in a file", () => {
  it.scoped("of 60 seconds fires once, at once, where the process was away until 90; one of 60 days does not", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      const { deliver, fired } = recording()
      const process = <A, E>(use: (store: ExecutionStore) => Effect.Effect<A, E, Scope.Scope>) =>
        Effect.scoped(Effect.flatMap(SqliteStore.make({ filename }), use))
      yield* process((store) =>
        Effect.gen(function* () {
          yield* sweeperOn(store, { deliver })
          yield* arm(store, "a", [
            ["minute", 60],
            ["days", 60 * 86_400]
          ])
          yield* TestClock.adjust("30 seconds")
        })
      )
      yield* TestClock.setTime(90_000)
      yield* process((store) =>
        Effect.gen(function* () {
          const sweeper = yield* sweeperOn(store, { deliver })
          yield* sweeper.awaitQuiet
          assert.deepStrictEqual(fired, [["minute", 90]])
          yield* TestClock.adjust("1 minute")
          assert.strictEqual(fired.length, 1)
          assert.deepStrictEqual(yield* armed(store), [["a", "days", 60 * 86_400]])
        })
      )
    })
  )

  it.scoped("keep the attempts of what failed when the file is opened again", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      const attempts: Array<number> = []
      const process = (duration: number) =>
        Effect.scoped(
          Effect.gen(function* () {
            const store = yield* SqliteStore.make({ filename })
            yield* sweeperOn(store, {
              retry: Schedule.spaced("1 second"),
              deliver: (_, __, { attempt }) => Effect.fail(attempts.push(attempt))
            })
            if (attempts.length === 0) yield* arm(store, "a", [["t", 1]])
            yield* TestClock.adjust(duration)
          })
        )
      yield* process(2000)
      yield* process(1000)
      assert.deepStrictEqual(attempts, [1, 2, 3])
    })
  )
})

describe("Timers that do not decode", () => {
  for (const { make, name } of rawStores.filter(({ name }) => name === "SQLite")) {
    it.scoped(`are dead letters at once and stop no others, on ${name}`, () =>
      Effect.gen(function* () {
        const { insert, store } = yield* make
        yield* store.commit(execution("a"))
        yield* insert("timers", { execution_id: "a", path: "broken", fire_at: "soon" })
        yield* arm(store, "b", [["t", 1]])
        const deliver = yield* processing(store, recorder)
        const sweeper = yield* sweeperOn(store, { deliver })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(seen(yield* load(store, "b")), ["timeout:b:t:1.0"])
        const [letter] = yield* letters(store)
        assert.deepInclude(letter, { _tag: "Timer", executionId: "a", reason: "corrupt", attempts: 0 })
        assert.strictEqual((yield* sweeper.health).deadLetters, 1)
        assert.isTrue(Option.isSome((yield* sweeper.health).lastError))
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* letters(store)).length, 1)
      })
    )
  }
})
