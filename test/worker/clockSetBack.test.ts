import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as otherWrites from "holdfast/internal/supervision/otherWrites"
import * as laneTable from "holdfast/internal/worker/laneTable"
import { arm, recording, sweeperOn, wallClock } from "../support/timers.js"
import * as Support from "../support/workers.js"

const { armed, deaf, event, execution, pendingIds } = Support

const hour = 3600

Support.onEach("Where the clock is set back", (makeStore) => {
  it.scoped("a timer that failed is fired when it is due once more, also where that is after its next try", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      assert.isTrue(store.exclusive)
      const { setBack, wall } = yield* wallClock
      yield* TestClock.setTime(100_000)
      yield* arm(store, "a", [["t", 90]])
      // What was fired after it has taken the sweeper past it.
      yield* arm(store, "b", [["other", 95]])
      const { deliver, fired } = recording()
      let broken = true
      const failing = Effect.suspend(() => {
        broken = false
        setBack(50)
        return Effect.fail("broken")
      })
      const sweeper = yield* Effect.withClock(
        sweeperOn(store, {
          retry: Schedule.spaced("1 second"),
          deliver: (timer, event) => (broken && timer.path === "t" ? failing : deliver(timer, event))
        }),
        wall
      )
      yield* sweeper.awaitQuiet
      assert.isFalse(broken)
      assert.deepStrictEqual(yield* armed(store), [["a", "t", 90]])
      fired.length = 0
      // By the clock it is 89 seconds.
      yield* TestClock.adjust("39 seconds")
      assert.deepStrictEqual(fired, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(fired, [["t", 90]])
    })
  )

  it.scoped("a timer of another process is fired that is due before those that were fired by the clock as it was", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { setBack, wall } = yield* wallClock
      yield* TestClock.setTime(hour * 1000)
      yield* arm(store, "a", [["before", hour]])
      const { deliver, fired } = recording()
      const sweeper = yield* Effect.withClock(sweeperOn(deaf(store), { deliver, pollInterval: "5 seconds" }), wall)
      yield* sweeper.awaitQuiet
      assert.deepStrictEqual(fired, [["before", hour]])
      setBack(hour)
      yield* arm(store, "b", [["after", 3]])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(fired.slice(1), [["after", 5]])
    })
  )

  it.scoped("a delayed event is released when it is due once more", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { setBack, wall } = yield* wallClock
      yield* TestClock.setTime(100_000)
      yield* store.save(execution("a"))
      yield* store.enqueue([{ targetId: "a", event: event("later"), dueAt: 110 }])
      yield* Effect.withClock(sweeperOn(store, recording()), wall)
      yield* TestClock.adjust("9 seconds")
      setBack(50)
      yield* TestClock.adjust("50 seconds")
      assert.deepStrictEqual(yield* pendingIds(store), [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* pendingIds(store), ["later"])
    })
  )
})

describe("Where the clock is set back", () => {
  it.scoped("a write of another process is looked for as soon as before", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      let tell = () => {}
      const listenToOthers = (listener: () => void) =>
        Effect.sync(() => {
          tell = listener
        })
      yield* TestClock.setTime(hour * 1000)
      yield* otherWrites.heed({ listenToOthers }, 100, (at) => asked.push(at))
      tell()
      yield* TestClock.setTime(1000)
      tell()
      tell()
      assert.deepStrictEqual(asked, [hour * 1000, 1100, 1100])
    })
  )

  it("what is left to other processes is looked at again at once, and not as much later", () => {
    const table = laneTable.make<string>({ depth: 1, most: 1, owns: () => true })
    assert.isFalse(laneTable.isToLookAgain(table, 0))
    laneTable.lookAgainBy(table, hour + 10, hour)
    laneTable.lookAgainBy(table, hour + 20, hour + 5)
    assert.isFalse(laneTable.isToLookAgain(table, hour + 9))
    assert.isTrue(laneTable.isToLookAgain(table, hour + 10))
    assert.isTrue(laneTable.isToLookAgain(table, 0))
    assert.isTrue(laneTable.takeBack(table))
    assert.isFalse(laneTable.isToLookAgain(table, 0))
  })
})
