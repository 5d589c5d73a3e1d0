import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import type { OutboxEntry } from "holdfast/Commit"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type { Delivered } from "holdfast/QueueWorker"
import { fill, relayOn } from "../support/outbox.js"
import { event, pendingIds } from "../support/workers.js"

/** Delivers, and fails for some events at first; tells what was delivered. */
const failing = (failures: Map<string, number>) => {
  const delivered: Array<string> = []
  const deliver = ({ event }: OutboxEntry): Effect.Effect<Delivered, string> =>
    Effect.suspend(() => {
      const left = failures.get(event.id) ?? 0
      failures.set(event.id, left - 1)
      if (left > 0) return Effect.fail("not yet")
      delivered.push(event.id)
      return Effect.succeed("Delivered")
    })
  return { delivered, deliver }
}

/** A store in which what was offered from one page comes to its end before the next one is there. */
const slow = (store: ExecutionStore.ExecutionStore): ExecutionStore.ExecutionStore => ({
  ...store,
  pendingOutbox: (query) => Effect.tap(store.pendingOutbox(query), () => Effect.repeatN(Effect.yieldNow(), 50))
})

describe("A lane that fails again while its rows are read again", () => {
  it.scoped("loses none of those that were not offered to it yet, where others come before it is tried again", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryStore.make()
      yield* fill(memory, ["a", "a", "a", "a"])
      const failures = new Map([
        ["a:0", 1],
        ["a:1", 1]
      ])
      const { deliver, delivered } = failing(failures)
      const relay = yield* relayOn(slow(memory), { pageSize: 1, retry: Schedule.spaced("1 second"), deliver })
      yield* TestClock.adjust("1500 millis")
      yield* memory.enqueue([{ targetId: "a", event: event("late") }])
      yield* TestClock.adjust("10 seconds")
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0", "a:1", "a:2", "a:3", "late"])
      assert.deepStrictEqual(yield* pendingIds(memory), [])
    })
  )

  it.scoped("loses none of those that were not offered to it yet", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryStore.make()
      yield* fill(memory, ["a", "a", "a", "a"])
      const failures = new Map([
        ["a:0", 1],
        ["a:1", 1]
      ])
      const { deliver, delivered } = failing(failures)
      const relay = yield* relayOn(slow(memory), { pageSize: 1, retry: Schedule.spaced("1 second"), deliver })
      yield* TestClock.adjust("10 seconds")
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0", "a:1", "a:2", "a:3"])
      assert.deepStrictEqual(yield* pendingIds(memory), [])
    })
  )
})
