import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as Commit from "holdfast/Commit"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { extent, longer } from "../support/extent.js"
import * as Temp from "../support/temp.js"
import { execution, recorder } from "../support/workers.js"

type Store = ExecutionStore.ExecutionStore

setFlagsFromString("--expose-gc")
const collect: unknown = runInNewContext("gc")

/** The bytes that are in use, once what is not is collected. */
const heap = Effect.sync(() => {
  if (typeof collect === "function") for (let i = 0; i < 3; i++) Reflect.apply(collect, undefined, [])
  return process.memoryUsage().heapUsed
})

const concurrency = 16

const Note = Activity.make("note", { payload: Schema.Struct({ text: Schema.String }), concurrency })

const processOn = (store: Store, handler: () => Effect.Effect<void>) =>
  Layer.build(
    Note.toLayer(handler).pipe(
      // What still runs at the end of a test is not waited for: nobody moves the clock then.
      Layer.provideMerge(ExecutionRuntime.layer({ shutdownTimeout: 0, definitions: { recorder } })),
      Layer.provide(Layer.succeed(ExecutionStore.ExecutionStore, store))
    )
  )

/** The same store, which counts what a process has claimed and not ended, and what it was given at once. */
const watched = (store: Store) => {
  const seen = { claimed: 0, mostClaimed: 0, mostNames: 0, ended: 0 }
  const { activities } = store
  const asked: Store = {
    ...store,
    activities: {
      ...activities,
      waiting: (owner) =>
        Effect.tap(activities.waiting(owner), ({ names }) =>
          Effect.sync(() => {
            seen.mostNames = Math.max(seen.mostNames, names.length)
          })
        ),
      claim: (query) =>
        Effect.tap(activities.claim(query), ({ entries }) =>
          Effect.sync(() => {
            seen.claimed += entries.length
            seen.mostClaimed = Math.max(seen.mostClaimed, seen.claimed)
          })
        ),
      complete: (...run) =>
        Effect.tap(activities.complete(...run), () =>
          Effect.sync(() => {
            seen.claimed--
            seen.ended++
          })
        )
    }
  }
  return { store: asked, seen }
}

describe("activities that wait", () => {
  it.scoped(longer("cost a process no memory beyond those that it has places for"), () =>
    Effect.gen(function* () {
      const count = extent({ quick: 2000, long: 100_000 })
      const each = extent({ quick: 250, long: 500 })
      // Far more in all than the process may keep of them.
      const text = "x".repeat(extent({ quick: 20_000, long: 1000 }))
      const made = yield* SqliteStore.make({ filename: yield* Temp.database, durability: "normal" })
      const { seen, store } = watched(made)
      const gate = yield* Deferred.make<void>()
      let handled = 0
      yield* processOn(store, () =>
        Effect.zipRight(
          Deferred.await(gate),
          Effect.sync(() => void handled++)
        )
      )
      const before = yield* heap
      for (let i = 0; i < count; i += each) {
        yield* made.commit(execution(`e${i}`), {
          activities: Array.from({ length: each }, (_, k) =>
            Commit.runActivity({ key: `k${k}`, name: "note", payload: { text } })
          )
        })
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual((yield* made.stats).activities.count, count)
      const enough = (count * text.length) / 4
      assert.isBelow((yield* heap) - before, enough)
      assert.deepStrictEqual(seen, { claimed: concurrency, mostClaimed: concurrency, mostNames: 1, ended: 0 })

      // Nor does what has run leave anything behind.
      yield* Deferred.succeed(gate, undefined)
      const some = extent({ quick: 500, long: 5000 })
      yield* Effect.repeat(TestClock.adjust("10 millis"), { until: () => handled >= some, times: 10_000 })
      assert.isAtLeast(handled, some)
      assert.isAtMost(seen.mostClaimed, concurrency)
      assert.isBelow((yield* heap) - before, enough)
    })
  )
})
