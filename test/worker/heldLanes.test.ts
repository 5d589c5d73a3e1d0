import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import type { OutboxEntry } from "holdfast/Commit"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type { Delivered } from "holdfast/QueueWorker"
import * as catchUp from "../../src/internal/worker/catchUp.js"
import type { Work } from "../../src/internal/worker/lane.js"
import * as laneTable from "../../src/internal/worker/laneTable.js"
import { fill, relayOn } from "../support/outbox.js"
import { pendingIds } from "../support/workers.js"

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

  it("is read again from where it stopped, although later ones were offered to it since", () => {
    const table = laneTable.make<number>({ depth: 1, most: 10, owns: () => true })
    const work = (position: number): Work<number> => ({
      lane: "a",
      id: position,
      position,
      label: () => `row ${position}`,
      item: position,
      recorded: undefined,
      waitsFor: undefined
    })
    const run = (now: number, failedUntil: number | undefined): void => {
      laneTable.offer(table, work(1), now)
      const lane = laneTable.takeReady(table, now)
      if (lane === undefined) {
        assert.fail("the lane is not ready")
      }
      const state = { attempts: 1, waits: 0, logged: undefined, progress: undefined }
      if (failedUntil === undefined) laneTable.finish(table, lane, work(1))
      else laneTable.hold(table, lane, work(1), { state: { ...state, retryAt: failedUntil }, now, takenBack: 0 })
      laneTable.yieldPlace(table, lane)
    }
    run(0, 1_000)
    const again = catchUp.begin(table, 1_000, 1)
    run(1_000, 2_000)
    // Rows 2 to 8 were read before, and are not read now.
    catchUp.skip(again, table, 1)
    catchUp.end(again, table)
    laneTable.offer(table, work(9), 1_500)
    catchUp.begin(table, 2_000, 1)
    run(2_000, undefined)
    assert.isBelow(catchUp.begin(table, 2_000, 1).first, 2)
  })
})

describe("A lane whose work is another process's", () => {
  for (const [what, isTakenBack] of [
    ["is left to others", false],
    ["is held back where all of that was taken back since", true]
  ] as const) {
    it(what, () => {
      const table = laneTable.make<number>({ depth: 1, most: 10, owns: () => true })
      const work = { lane: "a", id: 1, position: 1, label: () => "", item: 1, recorded: undefined, waitsFor: undefined }
      laneTable.offer(table, work, 0)
      const lane = laneTable.takeReady(table, 0)
      if (lane === undefined) assert.fail("the lane is not ready")
      const { takenBack } = table
      // A definition is registered while it is found to be missing.
      if (isTakenBack) laneTable.takeBack(table)
      const state = {
        attempts: 1,
        waits: 1,
        logged: undefined,
        progress: undefined,
        retryAt: 500,
        elsewhere: true
      } as const
      laneTable.hold(table, lane, work, { state, now: 0, takenBack })
      laneTable.yieldPlace(table, lane)
      assert.strictEqual(table.aside.has("a"), !isTakenBack)
      assert.strictEqual(
        laneTable.nextReadableAt(table) < Number.POSITIVE_INFINITY || table.lanes.has("a"),
        isTakenBack
      )
    })
  }
})
