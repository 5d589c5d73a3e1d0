import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import type * as Processor from "holdfast/Processor"
import * as SqlDriver from "holdfast/SqlDriver"
import { execution } from "../support/workers.js"

const ids = Array.from({ length: 50 }, (_, i) => `e${i}`)

const Note = Activity.make("note", { concurrency: ids.length })

const withActivity: Processor.Transition = (execution, event) =>
  Effect.succeed({
    execution,
    commit: event.kind === "Paid" ? { activities: [Commit.runActivity({ key: "k", name: "note", payload: {} })] } : {}
  })

const withEvent: Processor.Transition = (execution, event) => {
  const next = Event.make({ id: `${event.id}-noted`, kind: "Noted" })
  return Effect.succeed({
    execution,
    commit: event.kind === "Paid" ? { emits: [{ targetId: execution.id, event: next }] } : {}
  })
}

/** How many transactions of each kind a store writes where each execution is sent an event, from there to the commit of what comes of it. */
const transactions = (transition: Processor.Transition) =>
  Effect.gen(function* () {
    const driver = yield* sqliteDriver.make({ filename: ":memory:" })
    const counts = new Map<string, number>()
    const count = (operation: string, by: number) => counts.set(operation, (counts.get(operation) ?? 0) + by)
    const store = yield* SqlDriver.make({
      ...driver,
      transaction: (call, statements) => {
        count(call.operation, 1)
        return driver.transaction(call, statements)
      }
    })
    const ended: Array<string> = []
    yield* Layer.build(
      Note.toLayer(() => Effect.void).pipe(
        Layer.provideMerge(
          ExecutionRuntime.layer({
            definitions: {
              recorder: (execution, event) => {
                if (event.kind !== "Paid") ended.push(execution.id)
                return transition(execution, event)
              }
            }
          })
        ),
        Layer.provide(Layer.succeed(ExecutionStore.ExecutionStore, store))
      )
    )
    for (const id of ids) yield* store.save(execution(id))
    yield* TestClock.adjust("1 second")
    counts.clear()
    yield* store.enqueue(
      ids.map((targetId) => ({ targetId, event: Event.make({ id: `paid-${targetId}`, kind: "Paid" }) }))
    )
    yield* Effect.repeat(TestClock.adjust("10 millis"), { until: () => ended.length === ids.length, times: 1000 })
    yield* TestClock.adjust("10 millis")
    assert.sameMembers(ended, ids)
    return counts
  })

it.scoped("an activity adds one transaction to those of its two events, and a claim that many share", () =>
  Effect.gen(function* () {
    const event = yield* transactions(withEvent)
    const activity = yield* transactions(withActivity)
    assert.strictEqual(activity.get("commit"), event.get("commit"))
    assert.strictEqual(activity.get("endActivity"), ids.length)
    assert.isAtMost(activity.get("claimActivities") ?? 0, 5)
    const all = (counts: ReadonlyMap<string, number>) => Array.from(counts.values()).reduce((sum, n) => sum + n, 0)
    // A sign of life is a write for all that a process runs.
    assert.isAtMost(all(activity) - all(event), ids.length + 8)
  })
)
