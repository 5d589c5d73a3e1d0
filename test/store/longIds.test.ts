import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import * as Support from "../support/workers.js"

const longest = (character: string) => character.repeat(1024)

/** Spawns a child and arms a timer at its start; each with the longest id there is. */
const definition: Processor.Transition = (execution, event) =>
  Effect.succeed({
    execution: Support.note(execution, event),
    commit:
      event.kind === "Start" && execution.parentId === null
        ? {
            spawns: [{ childId: longest("c"), rootPath: longest("r"), context: {} }],
            timers: [Commit.scheduleTimer(longest("p"), 12.345678901234567)]
          }
        : {}
  })

Support.onEach("the longest ids", (make) => {
  it.scoped("are those of executions that start, spawn and have timers that fire", () =>
    Effect.gen(function* () {
      const store = yield* make
      const id = longest("x")
      const runtime = yield* Effect.provideService(
        ExecutionRuntime.make({ definitions: { recorder: definition } }),
        ExecutionStore.ExecutionStore,
        store
      )
      yield* runtime.start(Support.execution(id))
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(Support.seen(yield* Support.load(store, id)), [
        `start:${id}`,
        Event.timeoutId(id, longest("p"), 12.345678901234567)
      ])
      assert.deepStrictEqual(Support.seen(yield* Support.load(store, longest("c"))), [`start:${longest("c")}`])
      assert.deepStrictEqual(yield* store.timers.next, Option.none())
      assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
    })
  )
})
