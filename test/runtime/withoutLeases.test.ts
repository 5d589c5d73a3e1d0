import { isDeepStrictEqual } from "node:util"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type * as Processor from "holdfast/Processor"
import * as SqliteStore from "holdfast/SqliteStore"
import type { StoreError } from "holdfast/StoreError"
import * as Temp from "../support/temp.js"
import * as Support from "../support/workers.js"

const { event, execution, load, pendingIds, recorder, seen } = Support

const run = <E>(store: ExecutionStore.ExecutionStore, transition: Processor.Transition<E>) =>
  Effect.provideService(
    ExecutionRuntime.make({ definitions: { recorder: transition }, maxAttempts: 1 }),
    ExecutionStore.ExecutionStore,
    store
  )

const letters = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.deadLetters.list(), ({ entries }) => entries.map(({ executionId, reason }) => [executionId, reason]))

const seenBy = (store: ExecutionStore.ExecutionStore, id: string) => Effect.map(load(store, id), seen)

/** Waits until a value is as expected, while the clock goes on: processes look at a file again after a time, and try again what another was ahead of. */
const comes = <A, E, R>(effect: Effect.Effect<A, E, R>, expected: A): Effect.Effect<void, E, R> =>
  Effect.repeat(Effect.zipRight(TestClock.adjust("50 millis"), effect), {
    until: (actual) => isDeepStrictEqual(actual, expected),
    times: 400
  }).pipe(Effect.map((actual) => assert.deepStrictEqual(actual, expected)))

/** What two processes have of one store: in memory the same, on a file each its own connection. */
const stores: ReadonlyArray<
  readonly [
    name: string,
    make: Effect.Effect<
      readonly [one: ExecutionStore.ExecutionStore, other: ExecutionStore.ExecutionStore],
      StoreError,
      Scope.Scope
    >
  ]
> = [
  ["in memory", Effect.map(MemoryStore.make(), (store) => [store, store] as const)],
  [
    "on an SQLite file",
    Effect.flatMap(Temp.database, (filename) =>
      Effect.all([SqliteStore.make({ filename }), SqliteStore.make({ filename })])
    )
  ]
]

for (const [name, make] of stores) {
  it.scoped(
    `Without leases, ${name}, one process gives up what another still runs: it takes effect once all the same, behind what came after it`,
    () =>
      Effect.gen(function* () {
        const [store, other] = yield* make
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
        yield* comes(Deferred.isDone(begun), true)
        yield* run(other, (given, happened) =>
          happened.id === "e1" ? Effect.fail("broken here") : recorder(given, happened)
        )
        yield* comes(letters(store), [["x", "attempts"]])
        yield* store.enqueue([{ targetId: "x", event: event("e2") }])
        yield* comes(seenBy(store, "x"), ["e2"])
        yield* Deferred.succeed(late, undefined)
        // Its commit loses a race, and is tried again after a pause.
        yield* comes(seenBy(store, "x"), ["e2", "e1"])
        // The dead letter stays, and to redrive it does nothing more.
        const [letter] = (yield* store.deadLetters.list()).entries
        assert.isTrue(yield* store.deadLetters.redrive(letter?.id ?? 0))
        yield* comes(pendingIds(store), [])
        assert.deepStrictEqual([yield* seenBy(store, "x"), yield* letters(store)], [["e2", "e1"], []])
      })
  )
}
