import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type * as Processor from "holdfast/Processor"
import * as Support from "../support/workers.js"

const { event, eventually, execution, load, pendingIds, recorder, seen } = Support

const run = <E>(store: ExecutionStore.ExecutionStore, transition: Processor.Transition<E>) =>
  Effect.provideService(
    ExecutionRuntime.make({ definitions: { recorder: transition }, maxAttempts: 1 }),
    ExecutionStore.ExecutionStore,
    store
  )

const letters = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.deadLetters.list(), ({ entries }) => entries.map(({ executionId, reason }) => [executionId, reason]))

const seenBy = (store: ExecutionStore.ExecutionStore, id: string) => Effect.map(load(store, id), seen)

it.scoped(
  "Without leases one process gives up what another still runs: it takes effect once all the same, behind what came after it",
  () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      yield* store.save(execution("x"))
      const begun = yield* Deferred.make<void>()
      const late = yield* Deferred.make<void>()
      yield* run(store, (given, happened) =>
        happened.id === "e1"
          ? Deferred.succeed(begun, undefined).pipe(
              Effect.zipRight(Deferred.await(late)),
              Effect.zipRight(recorder(given, happened))
            )
          : recorder(given, happened)
      )
      yield* store.enqueue([{ targetId: "x", event: event("e1") }])
      yield* eventually(Deferred.isDone(begun), true)
      yield* run(store, (given, happened) =>
        happened.id === "e1" ? Effect.fail("broken here") : recorder(given, happened)
      )
      yield* eventually(letters(store), [["x", "attempts"]])
      yield* store.enqueue([{ targetId: "x", event: event("e2") }])
      yield* eventually(seenBy(store, "x"), ["e2"])
      yield* Deferred.succeed(late, undefined)
      // Its commit lost a race, and is tried again after a pause.
      yield* TestClock.adjust("1 second")
      yield* eventually(seenBy(store, "x"), ["e2", "e1"])
      // The dead letter stays, and to redrive it does nothing more.
      const [letter] = (yield* store.deadLetters.list()).entries
      assert.isTrue(yield* store.deadLetters.redrive(letter?.id ?? 0))
      yield* eventually(pendingIds(store), [])
      assert.deepStrictEqual([yield* seenBy(store, "x"), yield* letters(store)], [["e2", "e1"], []])
    })
)
