import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Support from "../support/workers.js"

const { event, eventually, execution, load, recorder, seen } = Support

const many = Array.from({ length: 20 }, (_, i) => `endless-${i}`)

/** Work of each kind that never ends. */
const options = {
  definitions: { recorder, endless: () => Effect.never },
  deliverExternal: () => Effect.never,
  child: () => Effect.uninterruptible(Effect.never),
  maxAttempts: 2
}

const runtimeOn = (store: ExecutionStore.ExecutionStore) =>
  Effect.provideService(ExecutionRuntime.make(options), ExecutionStore.ExecutionStore, store)

Support.onEach("What never ends", (makeStore) => {
  it.scoped("keeps others waiting for a minute, is tried again, and is a dead letter at last", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const runtime = yield* runtimeOn(store)
      for (const id of many) {
        yield* runtime.create(execution(id, { definitionId: "endless" }))
        yield* runtime.send(id, event("e"))
      }
      yield* runtime.create(execution("z"), { spawns: [{ childId: "c", rootPath: "R", context: {} }] })
      yield* runtime.send("z", event("e1"))
      yield* runtime.send(null, event("out"))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(seen(yield* load(store, "z")), [])

      // said within seconds, and not where a place is free
      const { outbox, problems, ready, spawns } = yield* runtime.health
      assert.isFalse(ready)
      assert.deepStrictEqual(problems, [
        "outbox: all its places have been taken for 5 s by work that does not end; all else waits"
      ])
      assert.deepStrictEqual([outbox.saturatedSince._tag, spawns.saturatedSince._tag], ["Some", "None"])

      yield* TestClock.adjust("1 minute")
      yield* eventually(Effect.map(load(store, "z"), seen), ["e1"])
      yield* TestClock.adjust("20 minutes")
      yield* eventually(
        Effect.map(store.stats, ({ outbox, spawns }) => [outbox.count, spawns.count]),
        [0, 0]
      )
      const letters = (yield* store.deadLetters.list()).entries
      assert.strictEqual(letters.length, many.length + 2)
      const errors = new Set(
        letters.map(({ attempts, error, reason }) => `${attempts} ${reason} ${error.split(" seconds")[0]}`)
      )
      assert.deepStrictEqual(Array.from(errors).toSorted(), [
        "2 attempts child took more than 60",
        '2 attempts definition "endless" took more than 60',
        "2 attempts deliverExternal took more than 60"
      ])
      assert.isTrue((yield* runtime.health).ready)
    })
  )
})
