import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type { Failure } from "holdfast/DeadLetter"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import { type Delivered, Postponed, Refused } from "holdfast/QueueWorker"
import { StoreRejected, StoreUnavailable } from "holdfast/StoreError"
import { fill, recording, relayOn } from "../support/outbox.js"
import * as Support from "../support/workers.js"

const { pendingIds } = Support

const everySecond = Schedule.spaced("1 second")

const letters = (store: ExecutionStore) => Effect.map(store.deadLetters.list(), (page) => page.entries)

const failures = (store: ExecutionStore) => Effect.map(store.pendingOutbox(), (page) => page.failures)

Support.onEach("A failing delivery", (makeStore) => {
  it.scoped("backs off by default: exponentially from a second, jittered, up to ten minutes", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const times: Array<number> = []
      yield* relayOn(store, {
        pollInterval: "1 day",
        deliver: () => Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(times.push(now)))
      })
      yield* fill(store, ["a"])
      yield* TestClock.adjust("3 hours")
      assert.strictEqual(times.length, 20)
      const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0))
      for (const [i, gap] of gaps.entries()) {
        const delay = Math.min(1000 * 2 ** i, 600_000)
        assert.isAtLeast(gap, delay * 0.8)
        assert.isAtMost(gap, Math.min(delay * 1.2, 600_000) + 100)
      }
      // none is quite like its base: it is jittered
      assert.isAbove(gaps.filter((gap, i) => i < 9 && Math.abs(gap - 1000 * 2 ** i) > 100).length, 2)
    })
  )

  it.scoped("keeps attempts and the last error in the store, and goes on counting after restarts", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a"])
      const attempts: Array<number> = []
      const run = (reason: string) =>
        Effect.gen(function* () {
          const scope = yield* Scope.make()
          yield* Scope.extend(
            relayOn(store, {
              retry: everySecond,
              maxAttempts: 5,
              deliver: (_, { attempt }) => Effect.suspend(() => Effect.fail(`${reason} ${attempts.push(attempt)}`))
            }),
            scope
          )
          yield* TestClock.adjust("1 second")
          yield* Scope.close(scope, Exit.void)
        })
      yield* run("first")
      assert.deepStrictEqual(attempts, [1, 2])
      const [failure] = yield* failures(store)
      assert.deepInclude(failure, { attempts: 2, error: "first 2", failedAt: 1, retryAt: 2 })
      yield* run("second")
      yield* run("third")
      assert.deepStrictEqual(attempts, [1, 2, 3, 4])
      yield* run("fourth")
      assert.deepStrictEqual(attempts, [1, 2, 3, 4, 5])
      assert.deepStrictEqual(yield* pendingIds(store), [])
      const [letter] = yield* letters(store)
      assert.deepInclude(letter, {
        _tag: "Outbox",
        executionId: "a",
        reason: "attempts",
        attempts: 5,
        error: "fourth 5",
        diedAt: 4
      })
    })
  )

  it.scoped("is not tried before its time after a restart, nor what comes behind it", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "a", "b"])
      const poison = new Set<string | null>(["a"])
      const { deliver, delivered, tries } = recording(poison)
      const retry = Schedule.spaced("1 minute")
      const scope = yield* Scope.make()
      const first = yield* Scope.extend(relayOn(store, { deliver, retry }), scope)
      yield* first.awaitQuiet
      yield* Scope.close(scope, Exit.void)
      poison.clear()
      const second = yield* relayOn(store, { deliver, retry })
      yield* second.awaitQuiet
      assert.strictEqual((yield* second.health).held, 1)
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(tries, ["a:0", "b:2"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(delivered, ["b:2", "a:0", "a:1"])
    })
  )

  it.scoped("is not tried by another process either, as long as the store says so", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const here = recording(new Set(["a"]))
      const there = recording(new Set(["a"]))
      yield* fill(store, ["a"])
      const options = { retry: Schedule.spaced("1 minute"), pollInterval: "20 seconds" } as const
      const relay = yield* relayOn(store, { ...options, deliver: here.deliver })
      yield* relay.awaitQuiet
      yield* relayOn(Support.deaf(store), { ...options, deliver: there.deliver })
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual([here.tries.length, there.tries.length], [1, 0])
      yield* TestClock.adjust("4 minutes")
      // both may try it, but neither starts counting afresh
      assert.isAtMost(here.tries.length + there.tries.length, 10)
      assert.isAtLeast((yield* failures(store))[0]?.attempts ?? 0, 5)
    })
  )

  it.scoped("holds back its own target alone, becomes a dead letter, and lets the next one of its target go on", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["bad", "good", "bad", null])
      const tries: Array<string> = []
      const relay = yield* relayOn(store, {
        retry: everySecond,
        maxAttempts: 3,
        deliver: ({ event }): Effect.Effect<Delivered, string> =>
          Effect.suspend(() => {
            tries.push(event.id)
            return event.id === "bad:0" ? Effect.fail("poison") : Effect.succeed("Delivered")
          })
      })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), ["bad:0", "bad:2"])
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(Array.from(tries).sort(), ["bad:0", "bad:0", "bad:0", "bad:2", "good:1", "null:3"])
      assert.deepStrictEqual(yield* pendingIds(store), [])
      const { deadLetters, held } = yield* relay.health
      assert.deepStrictEqual([deadLetters, held], [1, 0])
      assert.strictEqual(logs.lines.filter((line) => line.includes("is a dead letter")).length, 1)
      assert.include(Option.getOrThrow((yield* relay.health).lastError).message, "dead letter")
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("can be redriven, afresh, and may become a dead letter again", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a"])
      const poison = new Set<string | null>(["a"])
      const { deliver, deliveries, delivered } = recording(poison)
      const relay = yield* relayOn(store, { deliver, retry: everySecond, maxAttempts: 2 })
      yield* TestClock.adjust("1 second")
      const [first] = yield* letters(store)
      assert.isTrue(yield* store.deadLetters.redrive(first?.id ?? 0))
      yield* relay.awaitQuiet
      yield* TestClock.adjust("1 second")
      const [second] = yield* letters(store)
      assert.deepInclude(second, { reason: "attempts", attempts: 2, diedAt: 2 })
      poison.clear()
      assert.isTrue(yield* store.deadLetters.redrive(second?.id ?? 0))
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0"])
      assert.deepStrictEqual(yield* letters(store), [])
      assert.deepStrictEqual(
        deliveries.map(({ attempt }) => attempt),
        [1, 2, 1, 2, 1]
      )
      // it is the same event all along
      assert.strictEqual(new Set(deliveries.map(({ idempotencyKey }) => idempotencyKey)).size, 1)
    })
  )

  it.scoped("is tried as the user's schedule says, and is given up where that ends", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "b"])
      const times: Array<readonly [string | null, number]> = []
      const seen: Array<unknown> = []
      yield* relayOn(store, {
        pollInterval: "1 hour",
        retry: Schedule.spaced("10 seconds").pipe(
          Schedule.intersect(Schedule.recurs(2)),
          Schedule.tapInput(({ attempts, error, work }: Omit<Failure, "retryAt">) =>
            Effect.sync(() => seen.push([work, attempts, error]))
          ),
          Schedule.whileInput(({ error }) => error !== "poison b")
        ),
        deliver: ({ targetId }) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            times.push([targetId, now])
            return Effect.fail(`poison ${targetId}`)
          })
      })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(times, [
        ["a", 0],
        ["b", 0],
        ["a", 10_000],
        ["a", 20_000]
      ])
      assert.deepStrictEqual(
        (yield* letters(store)).map(({ attempts, executionId, reason }) => [executionId, reason, attempts]),
        [
          ["b", "attempts", 1],
          ["a", "attempts", 3]
        ]
      )
      assert.deepStrictEqual(seen[0], [{ _tag: "Outbox", seq: 1 }, 1, "poison a"])
    })
  )

  it.scoped("is a dead letter at once where it refuses for good", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "a"])
      const delivered: Array<string> = []
      const relay = yield* relayOn(store, {
        deliver: ({ event }): Effect.Effect<Delivered, Refused> => {
          if (event.id === "a:0") return new Refused({ reason: "410 Gone" })
          delivered.push(event.id)
          return Effect.succeed("Delivered")
        }
      })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:1"])
      const [letter] = yield* letters(store)
      assert.deepInclude(letter, { reason: "rejected", attempts: 1, error: "refused for good: 410 Gone" })
    })
  )

  it.scoped("waits without being counted where it only is not yet time, or a store is away", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "b"])
      const attempts: Array<number> = []
      const times: Array<number> = []
      let early = true
      yield* relayOn(store, {
        pollInterval: "1 day",
        maxAttempts: 2,
        deliver: ({ targetId }, { attempt }) =>
          Effect.gen(function* () {
            attempts.push(attempt)
            if (targetId === "a") times.push(yield* Clock.currentTimeMillis)
            if (!early) return "Delivered" as const
            return yield* targetId === "a"
              ? new Postponed({ reason: "closed on Sundays" })
              : new StoreUnavailable({
                  operation: "commit",
                  reason: "connection",
                  outcome: "not-applied",
                  detail: "the server is away"
                })
          })
      })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* failures(store), [])
      assert.isTrue(attempts.every((attempt) => attempt === 1))
      // at first at once, then every half minute
      assert.isAtMost(times[1] ?? Number.NaN, 400)
      assert.isAtLeast(times.length, 20)
      assert.isAtMost(times.length, 36)
      assert.deepStrictEqual(
        logs.lines.filter((line) => line.startsWith("WARN")),
        []
      )
      early = false
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* pendingIds(store), [])
      assert.deepStrictEqual(yield* letters(store), [])
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("is not counted where a shutdown cuts it off", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a"])
      const scope = yield* Scope.make()
      yield* Scope.extend(relayOn(store, { shutdownTimeout: 0, deliver: () => Effect.never }), scope)
      yield* TestClock.adjust(0)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* failures(store), [])
      const { deliver, deliveries } = recording()
      const relay = yield* relayOn(store, { deliver })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(
        deliveries.map(({ attempt }) => attempt),
        [1]
      )
    })
  )

  it.scoped("is tried again also where the store refuses to remember that it failed", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a"])
      const poison = new Set<string | null>(["a"])
      const { deliver, delivered } = recording(poison)
      const refused = new StoreRejected({ operation: "recordFailure", reason: "sql", detail: "read-only" })
      const relay = yield* relayOn(
        { ...store, deadLetters: { ...store.deadLetters, recordFailure: () => Effect.fail(refused) } },
        { deliver }
      )
      yield* relay.awaitQuiet
      assert.strictEqual(logs.lines.filter((line) => line.includes("read-only")).length, 1)
      poison.clear()
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(delivered, ["a:0"])
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("is tried again also where the user's schedule has a bug", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "a"])
      const poison = new Set<string | null>(["a"])
      const { deliver, delivered } = recording(poison)
      const buggy = Schedule.map(Schedule.spaced("1 second"), (): number => {
        throw new Error("a bug")
      })
      const relay = yield* relayOn(store, { deliver, retry: buggy })
      yield* relay.awaitQuiet
      assert.strictEqual((yield* relay.health).held, 1)
      assert.isTrue(logs.lines.some((line) => line.startsWith("WARN") && line.includes("a bug")))
      poison.clear()
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(delivered, ["a:0", "a:1"])
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("says nothing to people the first time, a warning from the second on, and that it went well then", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["once", "twice"])
      const left = new Map<string | null, number>([
        ["once", 1],
        ["twice", 3]
      ])
      yield* relayOn(store, {
        retry: everySecond,
        deliver: ({ targetId }): Effect.Effect<Delivered, string> =>
          Effect.suspend(() => {
            const more = left.get(targetId) ?? 0
            left.set(targetId, more - 1)
            return more > 0 ? Effect.fail("not now") : Effect.succeed("Delivered")
          })
      })
      yield* TestClock.adjust("5 seconds")
      const said = logs.lines.filter((line) => line.includes('"once"') || line.includes('"twice"'))
      assert.deepStrictEqual(
        said.map((line) => line.split(" ")[0]),
        ["WARN", "INFO"]
      )
      assert.isTrue(said.every((line) => line.includes('"twice"')))
    }).pipe(Effect.provide(logs.layer))
  })
})
