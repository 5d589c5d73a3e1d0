import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import { fill, relayOn } from "../support/outbox.js"
import { pendingIds } from "../support/workers.js"

describe("A lane that fails again while its rows are read again", () => {
  it.scoped("loses none of those that were not offered to it yet", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryStore.make()
      yield* fill(memory, ["a", "a", "a", "a"])
      const store: ExecutionStore.ExecutionStore = {
        ...memory,
        // What was offered from one page comes to its end before the next one is there.
        pendingOutbox: (query) => Effect.tap(memory.pendingOutbox(query), () => Effect.repeatN(Effect.yieldNow(), 50))
      }
      const failures = new Map([
        ["a:0", 1],
        ["a:1", 1]
      ])
      const delivered: Array<string> = []
      const relay = yield* relayOn(store, {
        pageSize: 1,
        retry: Schedule.spaced("1 second"),
        deliver: ({ event }) => {
          const left = failures.get(event.id) ?? 0
          failures.set(event.id, left - 1)
          return left > 0
            ? Effect.fail("not yet")
            : Effect.sync(() => delivered.push(event.id)).pipe(Effect.as("Delivered"))
        }
      })
      yield* TestClock.adjust("10 seconds")
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0", "a:1", "a:2", "a:3"])
      assert.deepStrictEqual(yield* pendingIds(memory), [])
    })
  )
})
