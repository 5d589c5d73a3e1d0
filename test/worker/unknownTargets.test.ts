import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Processor from "holdfast/Processor"
import { type Delivered, TargetNotFound } from "holdfast/QueueWorker"
import * as SpawnRelay from "holdfast/SpawnRelay"
import { fill, recording, relayOn } from "../support/outbox.js"
import { rawStores } from "../support/rawStores.js"
import * as Support from "../support/workers.js"

const { event, execution, load, pendingIds, seen } = Support

const letters = (store: ExecutionStore.ExecutionStore) => Effect.map(store.deadLetters.list(), (page) => page.entries)

/** Delivers through a processor, as a runtime does. */
const processing = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(
    Effect.provideService(
      Processor.make({ definitions: { recorder: Support.recorder } }),
      ExecutionStore.ExecutionStore,
      store
    ),
    ({ process }) =>
      ({ event, seq, targetId }: { event: Parameters<typeof process>[1]; seq: number; targetId: string | null }) =>
        Effect.as(process(String(targetId), event, { ack: { _tag: "Outbox", seq } }), "Acknowledged" as const)
  )

const spawn = (childId: string) => ({ childId, rootPath: "Root", context: {} })

Support.onEach("An event for a target that does not exist", (makeStore) => {
  it.scoped("is a dead letter by default, and what comes behind it too", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* store.save(execution("here"))
      yield* fill(store, ["gone", "here", "gone"])
      const relay = yield* relayOn(store, { deliver: yield* processing(store) })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), [])
      assert.deepStrictEqual(seen(yield* load(store, "here")), ["here:1"])
      assert.deepStrictEqual(
        (yield* letters(store)).map(({ attempts, executionId, reason }) => [executionId, reason, attempts]),
        [
          ["gone", "no-target", 1],
          ["gone", "no-target", 1]
        ]
      )
      const [letter] = yield* letters(store)
      assert.include(letter?.error, 'there is no execution "gone"')
      yield* store.save(execution("gone"))
      yield* store.deadLetters.redrive(letter?.id ?? 0)
      yield* relay.awaitQuiet
      assert.deepStrictEqual(seen(yield* load(store, "gone")), ["gone:0"])
    })
  )

  it.scoped("is removed where the policy is to drop it", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["gone", "gone"])
      const relay = yield* relayOn(store, { unknownTarget: "drop", deliver: yield* processing(store) })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), [])
      assert.deepStrictEqual(yield* letters(store), [])
      assert.strictEqual((yield* relay.health).deadLetters, 0)
    })
  )

  it.scoped("waits where the policy is to wait, for ever, and goes at once when the target is created", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["late", "late"])
      const relay = yield* relayOn(store, {
        unknownTarget: "wait",
        maxAttempts: 1,
        pollInterval: "1 day",
        deliver: yield* processing(store)
      })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* pendingIds(store), ["late:0", "late:1"])
      assert.strictEqual((yield* relay.health).held, 1)
      yield* store.save(execution("late"))
      yield* relay.awaitQuiet
      assert.deepStrictEqual(seen(yield* load(store, "late")), ["late:0", "late:1"])
    })
  )

  it.scoped("is told by a delivery of any kind", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", null])
      const relay = yield* relayOn(store, {
        deliver: ({ targetId }): Effect.Effect<Delivered, TargetNotFound> => new TargetNotFound({ targetId })
      })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(
        (yield* letters(store)).map(({ executionId, reason }) => [executionId, reason]).sort(),
        [
          [null, "no-target"],
          ["a", "no-target"]
        ].sort()
      )
    })
  )

  it.scoped("is a failure like others where it is not the event's own target", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a"])
      const { process } = yield* Effect.provideService(
        Processor.make({ definitions: { recorder: Support.recorder } }),
        ExecutionStore.ExecutionStore,
        store
      )
      const relay = yield* relayOn(store, {
        deliver: ({ event }) => Effect.as(process("another", event), "Delivered" as const)
      })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), ["a:0"])
      assert.strictEqual((yield* store.pendingOutbox()).failures[0]?.attempts, 1)
    })
  )

  for (const policy of ["drop", "dead-letter", "wait"] as const) {
    it.scoped(
      `is never judged while a spawn of it is pending, also under "${policy}", and no warning is logged`,
      () => {
        const logs = Support.logs()
        return Effect.gen(function* () {
          const store = yield* makeStore
          const deliver = yield* processing(store)
          const relay = yield* relayOn(store, { unknownTarget: policy, deliver })
          yield* store.commit(execution("p"), {
            emits: [{ targetId: "p:1", event: event("hello") }],
            spawns: [spawn("p:1")]
          })
          yield* relay.awaitQuiet
          yield* TestClock.adjust("1 minute")
          assert.deepStrictEqual(yield* pendingIds(store), ["hello"])
          const spawns = yield* Effect.provideService(SpawnRelay.make(), ExecutionStore.ExecutionStore, store)
          yield* spawns.awaitQuiet
          yield* relay.awaitQuiet
          assert.deepStrictEqual(seen(yield* load(store, "p:1")), ["hello", "start:p:1"])
          assert.deepStrictEqual(yield* letters(store), [])
          assert.deepStrictEqual(
            logs.lines.filter((line) => line.startsWith("WARN") || line.startsWith("ERROR")),
            []
          )
        }).pipe(Effect.provide(logs.layer))
      }
    )
  }

  it.scoped(
    "is not judged where the spawn is carried out between the look at the target and the look at the spawns",
    () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        const deliver = yield* processing(store)
        yield* store.commit(execution("p"), { spawns: [spawn("p:1")] })
        const late: ExecutionStore.ExecutionStore = {
          ...store,
          spawns: {
            ...store.spawns,
            isPending: (id) =>
              Effect.zipRight(
                Effect.catchTag(
                  store.commit(execution("p:1"), { ack: { _tag: "Spawn", seq: 1 } }),
                  "StoreConflict",
                  () => Effect.void
                ),
                store.spawns.isPending(id)
              )
          }
        }
        const relay = yield* relayOn(late, { deliver })
        yield* store.enqueue([{ targetId: "p:1", event: event("hello") }])
        yield* relay.awaitQuiet
        assert.deepStrictEqual(seen(yield* load(store, "p:1")), ["hello"])
        assert.deepStrictEqual(yield* letters(store), [])
      })
  )
})

for (const { make, name } of rawStores) {
  describe(`Rows that do not decode, on ${name}`, () => {
    it.scoped("are dead letters at once, and stop no others", () => {
      const logs = Support.logs()
      return Effect.gen(function* () {
        const { insert, store } = yield* make
        yield* insert("outbox", { seq: 1, target_id: "a", event: "{" })
        yield* fill(store, ["a", "b"])
        yield* insert("outbox", { seq: 4, target_id: "b", event: "7" })
        const { deliver, delivered } = recording()
        const relay = yield* relayOn(store, { deliver, pageSize: 1 })
        yield* relay.awaitQuiet
        assert.deepStrictEqual(delivered, ["a:0", "b:1"])
        const dead = yield* letters(store)
        assert.deepStrictEqual(
          dead.map(({ attempts, executionId, reason, work }) => [work, executionId, reason, attempts]),
          [
            [{ _tag: "Outbox", seq: 1 }, "a", "corrupt", 0],
            [{ _tag: "Outbox", seq: 4 }, "b", "corrupt", 0]
          ]
        )
        assert.deepStrictEqual(
          dead.map(({ row }) => row._tag),
          ["None", "None"]
        )
        assert.strictEqual(logs.lines.filter((line) => line.includes("does not decode")).length, 2)
        const { deadLetters, lastError } = yield* relay.health
        assert.strictEqual(deadLetters, 2)
        assert.include(Option.getOrThrow(lastError).message, 'outbox "4"')
        assert.strictEqual((yield* store.stats).outbox.count, 0)
        // one that is redriven as it is, is one again
        yield* store.deadLetters.redrive(dead[0]?.id ?? 0)
        yield* relay.awaitQuiet
        assert.deepStrictEqual(
          (yield* letters(store)).map(({ reason }) => reason),
          ["corrupt", "corrupt"]
        )
      }).pipe(Effect.provide(logs.layer))
    })

    it.scoped("are dead letters of the spawns too", () =>
      Effect.gen(function* () {
        const { insert, store } = yield* make
        yield* insert("spawns", { seq: 1, parent_id: "p", child_id: "p:1", root_path: "Root", context: "[" })
        yield* store.commit(execution("p"), { spawns: [spawn("p:2")] })
        const relay = yield* Effect.provideService(SpawnRelay.make(), ExecutionStore.ExecutionStore, store)
        yield* relay.awaitQuiet
        assert.deepInclude((yield* letters(store))[0], { _tag: "Spawn", executionId: "p", reason: "corrupt" })
        assert.isTrue(Option.isSome(yield* store.load("p:2")))
      })
    )
  })
}
