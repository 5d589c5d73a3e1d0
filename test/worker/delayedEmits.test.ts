import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { relayOn } from "../support/outbox.js"
import { arm, recording, seconds, sweeperOn } from "../support/timers.js"
import * as Support from "../support/workers.js"

const { event, execution } = Support

Support.onEach("An emit that is delayed", (makeStore) => {
  it.scoped("is put into the outbox when it is due, in order, also where this process arms an earlier one", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const sweeper = yield* sweeperOn(store, { ...recording(), pollInterval: "1 day" })
      yield* sweeper.awaitQuiet
      yield* store.commit(execution("x"), {
        emits: [
          { targetId: "x", event: event("late"), dueAt: 100 },
          { targetId: "x", event: event("now") }
        ]
      })
      yield* store.enqueue([{ targetId: "x", event: event("early"), dueAt: 50.5 }])
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["now"])
      yield* TestClock.adjust(50_499)
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["now"])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["now", "early"])
      yield* TestClock.setTime(99_999)
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["now", "early"])
      yield* TestClock.setTime(100_000)
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["now", "early", "late"])
    })
  )

  it.scoped("is found by polling where another process made it, and after a downtime at once", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* store.enqueue([{ targetId: "x", event: event("overdue"), dueAt: 1 }])
      yield* TestClock.setTime(10_000)
      const sweeper = yield* sweeperOn(Support.deaf(store), recording())
      yield* sweeper.awaitQuiet
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["overdue"])
      yield* store.enqueue([{ targetId: "x", event: event("theirs"), dueAt: 12 }])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["overdue", "theirs"])
    })
  )

  it.scoped("comes in pages where many are due, and while no timer's delivery ever ends", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* arm(store, "stuck", [["t", 1]])
      const limits: Array<number> = []
      const began = yield* Deferred.make<void>()
      yield* sweeperOn(
        {
          ...store,
          delayed: {
            ...store.delayed,
            release: (now, limit = 0) =>
              Effect.suspend(() => {
                limits.push(limit)
                return store.delayed.release(now, limit)
              })
          }
        },
        {
          pageSize: 20,
          concurrency: 1,
          shutdownTimeout: 0,
          deliver: () => Effect.zipRight(Deferred.succeed(began, undefined), Effect.never)
        }
      )
      yield* store.enqueue(Array.from({ length: 250 }, (_, i) => ({ targetId: "x", event: event(`e${i}`), dueAt: 10 })))
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(yield* Deferred.isDone(began))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(
        yield* Support.pendingIds(store),
        Array.from({ length: 250 }, (_, i) => `e${i}`)
      )
      assert.isTrue(limits.every((limit) => limit === 20))
      assert.strictEqual(limits.length, 13)
    })
  )

  it.scoped("is delivered by the relay as soon as it is due", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const at: Array<number> = []
      yield* sweeperOn(store, recording())
      yield* relayOn(store, {
        pollInterval: "1 day",
        deliver: () =>
          Effect.map(seconds, (now) => {
            at.push(now)
            return "Delivered" as const
          })
      })
      yield* store.enqueue([{ targetId: "x", event: event("e"), dueAt: 7.25 }])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(at, [7.25])
    })
  )
})
