import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Execution from "holdfast/Execution"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Turn from "../../src/internal/sqlite/eventLoop.js"

/** Takes the processor for itself for some milliseconds, as a synchronous database does. */
const busy = (millis: number) =>
  Effect.sync(() => {
    const end = performance.now() + millis
    while (performance.now() < end);
  })

describe("a turn of the event loop", () => {
  it.live("is waited for where there was none for a while", () =>
    Effect.gen(function* () {
      const turn = Turn.make().wait
      let turned = false
      setImmediate(() => {
        turned = true
      })
      yield* turn
      yield* busy(25)
      assert.isFalse(turned)
      yield* turn
      assert.isTrue(turned)
    })
  )

  it.live("is not waited for otherwise", () =>
    Effect.gen(function* () {
      const turn = Turn.make(60_000).wait
      let turned = false
      setImmediate(() => {
        turned = true
      })
      yield* turn
      yield* turn
      assert.isFalse(turned)
    })
  )

  it.live("comes between those who waited for it, who go on in their order", () =>
    Effect.gen(function* () {
      const turn = Turn.make()
      const told: Array<string> = []
      const watch = () => {
        told.push("turn")
        if (told.filter((what) => what.startsWith("work")).length < 4) setImmediate(watch)
      }
      const work = (name: string) =>
        Effect.zipRight(
          turn.wait,
          Effect.zipRight(
            Effect.sync(() => told.push(name)),
            busy(25)
          )
        )
      setImmediate(watch)
      yield* Effect.forEach(["work 1", "work 2", "work 3", "work 4"], work, { concurrency: "unbounded", discard: true })
      // Each of them is longer than a turn may be.
      assert.deepStrictEqual(
        told.filter((what, i) => what !== "turn" || told[i - 1] !== "turn"),
        ["work 1", "turn", "work 2", "turn", "work 3", "turn", "work 4"]
      )
    })
  )

  it.live("is given between tasks that wait for it, which run in their order", () =>
    Effect.gen(function* () {
      const turn = Turn.make()
      const turns: Array<number> = []
      yield* Effect.async<void>((resume) => {
        for (const i of [0, 1, 2]) {
          turn.run(() => {
            turns[i] = turn.count()
            Effect.runSync(busy(25))
            if (i === 2) resume(Effect.void)
          })
        }
      })
      assert.deepStrictEqual(turns, [1, 2, 3])
    })
  )

  it.effect("is not waited for under a test's clock", () =>
    Effect.gen(function* () {
      const turn = Turn.make().wait
      let turned = false
      setImmediate(() => {
        turned = true
      })
      yield* turn
      yield* busy(25)
      yield* turn
      assert.isFalse(turned)
    })
  )

  it.live("comes to others while a store is busy", () =>
    Effect.gen(function* () {
      const store = yield* SqliteStore.make({ filename: ":memory:" })
      let execution = yield* store.save(Execution.make({ id: "e", definitionId: "d" }))
      let turned = false
      setImmediate(() => {
        turned = true
      })
      // Each step is far below what Effect itself counts before it lets others run.
      for (let i = 0; i < 100; i++) {
        yield* busy(1)
        execution = yield* store.save(execution)
      }
      assert.isTrue(turned)
    }).pipe(Effect.scoped)
  )
})
