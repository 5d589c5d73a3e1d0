import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Metrics from "holdfast/Metrics"
import * as OutboxRelay from "holdfast/OutboxRelay"
import * as Processor from "holdfast/Processor"
import * as QueueWorker from "holdfast/QueueWorker"
import type * as Shards from "holdfast/Shards"
import * as SpawnRelay from "holdfast/SpawnRelay"
import * as TimerSweeper from "holdfast/TimerSweeper"
import * as outboxRelay from "../../src/internal/relays/outboxRelay.js"
import { shareOfTests } from "../support/extent.js"
import { counted, isolated } from "../support/metrics.js"
import { type Process, start } from "../support/processes.js"
import * as Support from "../support/workers.js"

type Store = ExecutionStore.ExecutionStore
const delivered: QueueWorker.Delivered = "Delivered"

type Delivery = Effect.Effect<QueueWorker.Delivered, unknown>

const provided = <A, E, R>(store: Store, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, ExecutionStore.ExecutionStore, store)

/** Two processes of which the first has the only shard, and a delivery of it that ends when `late` does. */
const world = (store: Store) =>
  Effect.gen(function* () {
    const a = yield* start(store, { holder: "a", count: 1 })
    yield* TestClock.adjust("1 second")
    const b = yield* start(store, { holder: "b", count: 1 })
    assert.deepStrictEqual([a.owned(), b.owned()], [[0], []])
    const log: Array<string> = []
    return { a, b, late: yield* Deferred.make<void>(), log }
  })

type World = Effect.Effect.Success<ReturnType<typeof world>>

/** The first one is cut off from the leases, and the second takes its shard. */
const takeOver = ({ a, b }: World) =>
  Effect.gen(function* () {
    yield* a.cutOff
    yield* TestClock.adjust("20 seconds")
    assert.deepStrictEqual([a.owned(), b.owned()], [[], [0]])
  })

/** What the first process still takes for true: it was stopped for so long that it has not noticed. */
const unaware = ({ shards }: Process): Shards.Shards => {
  const token = shards.token("x")
  return { ...shards, owns: () => true, token: () => token, forfeit: () => Effect.void }
}

/** A worker of each kind with one piece of work; `deliver` runs for each attempt. `settled` says whether the work is gone from the store. */
const kinds: ReadonlyArray<{
  readonly name: string
  readonly fill: (store: Store) => Effect.Effect<unknown, unknown>
  readonly worker: (
    store: Store,
    shards: Shards.Shards,
    deliver: Delivery,
    options?: QueueWorker.Options
  ) => Effect.Effect<QueueWorker.QueueWorker, unknown, Scope.Scope>
  readonly pending: (store: Store) => Effect.Effect<readonly [rows: number, failures: number], unknown>
}> = [
  {
    name: "OutboxRelay",
    fill: (store) => store.enqueue([{ targetId: "x", event: Support.event("e1") }]),
    worker: (store, shards, deliver, options) =>
      provided(store, OutboxRelay.make({ ...options, shards, deliver: () => deliver })),
    pending: (store) =>
      Effect.map(store.pendingOutbox(), ({ entries, failures }) => [entries.length, failures.length] as const)
  },
  {
    name: "TimerSweeper",
    fill: (store) => store.commit(Support.execution("x"), { timers: [Commit.scheduleTimer("p", 1)] }),
    worker: (store, shards, deliver, options) =>
      provided(store, TimerSweeper.make({ ...options, shards, deliver: () => deliver })),
    pending: (store) =>
      Effect.map(store.dueTimers(1e9), ({ entries, failures }) => [entries.length, failures.length] as const)
  },
  {
    name: "SpawnRelay",
    fill: (store) =>
      store.commit(Support.execution("parent"), { spawns: [{ childId: "x", rootPath: "", context: {} }] }),
    worker: (store, shards, deliver, options) =>
      provided(
        store,
        SpawnRelay.make({
          ...options,
          shards,
          child: (spawn, parent) => Effect.zipRight(deliver, SpawnRelay.defaultChild(spawn, parent))
        })
      ),
    pending: (store) =>
      Effect.map(store.pendingSpawns(), ({ entries, failures }) => [entries.length, failures.length] as const)
  }
]

/** What the late delivery comes to. */
const ends: ReadonlyArray<readonly [name: string, end: Delivery, options?: QueueWorker.Options]> = [
  ["goes well", Effect.succeed("Delivered")],
  ["fails", Effect.fail("connection reset")],
  ["fails for the last time", Effect.fail("connection reset"), { maxAttempts: 1 }],
  ["is refused", Effect.suspend(() => new QueueWorker.Refused({ reason: "never" }))],
  ["has no target", Effect.suspend(() => new QueueWorker.TargetNotFound({ targetId: "x" }))],
  ["dies", Effect.die("a bug")]
]

Support.onEach("A worker that has lost its lease", (makeStore, onStore) => {
  for (const { fill, name, pending, worker } of kinds) {
    // By default some of them on each of the two stores.
    for (const [[how, end, options], named] of shareOfTests(ends, onStore === "memory" ? 0 : 3, 6)) {
      for (const knows of ["knows", "does not know"]) {
        it.scoped(named(`${name}: writes nothing where the delivery ${how} late, and it ${knows}`), () =>
          Effect.gen(function* () {
            const store = yield* makeStore
            yield* TestClock.setTime(10_000)
            const there = yield* world(store)
            const { a, b, late, log } = there
            const of = (shards: Shards.Shards, deliver: Delivery) =>
              worker(Support.deaf(store), shards, deliver, options)
            const shards = knows === "knows" ? a.shards : unaware(a)
            const first = yield* of(shards, Effect.zipRight(note(log, "a"), Effect.zipRight(Deferred.await(late), end)))
            yield* fill(store)
            yield* TestClock.adjust("6 seconds")
            assert.deepStrictEqual(log, ["a"])
            yield* takeOver(there)
            const before = yield* pending(store)
            yield* Deferred.succeed(late, undefined)
            yield* TestClock.adjust(0)
            // what is to become of it is the second one's to say
            assert.deepStrictEqual(yield* pending(store), before)
            assert.deepStrictEqual(before, [1, 0])
            assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
            assert.deepStrictEqual((yield* first.health).lastError, Option.none())
            assert.strictEqual((yield* first.health).deadLetters, 0)
            if (knows === "knows") assert.strictEqual((yield* first.health).held, 0)
            yield* of(b.shards, Effect.as(note(log, "b"), "Delivered"))
            yield* TestClock.adjust("20 seconds")
            assert.deepStrictEqual(yield* pending(store), [0, 0])
            assert.strictEqual(log.filter((who) => who === "b").length, 1)
            // a target that is missing is looked for twice
            const asked = how === "has no target" && name === "OutboxRelay" ? ["a", "a"] : ["a"]
            if (knows === "knows") assert.deepStrictEqual(log, [...asked, "b"])
            assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
          })
        )
      }
    }
  }

  it.scoped("finishes a step, whose commit is refused, and the step takes effect once", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const there = yield* world(store)
      const { a, b, late, log } = there
      yield* store.save(Support.execution("x", { status: "RUNNING" }))
      const relay = (shards: Shards.Shards, name: string, wait: Effect.Effect<unknown>) =>
        Effect.gen(function* () {
          const { process } = yield* Processor.make({
            definitions: {
              recorder: (execution, event) =>
                Effect.zipRight(Effect.zipRight(note(log, name), wait), Support.recorder(execution, event))
            }
          })
          return yield* OutboxRelay.make({
            shards,
            deliver: ({ event, seq, targetId }) =>
              Effect.as(process(targetId ?? "", event, { ack: { _tag: "Outbox", seq } }), "Acknowledged" as const)
          })
        }).pipe((relay) => provided(store, relay))
      yield* relay(unaware(a), "a", Deferred.await(late))
      yield* store.enqueue([{ targetId: "x", event: Support.event("e1") }])
      yield* TestClock.adjust("2 seconds")
      yield* takeOver(there)
      const before = yield* Support.load(store, "x")
      yield* Deferred.succeed(late, undefined)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* Support.load(store, "x"), before)
      assert.isFalse(yield* store.isProcessed("x", "e1"))
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["e1"])
      yield* relay(b.shards, "b", Effect.void)
      yield* TestClock.adjust("2 seconds")
      const after = yield* Support.load(store, "x")
      assert.deepStrictEqual([after.version, Support.seen(after)], [before.version + 1, ["e1"]])
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
      assert.strictEqual(log.filter((who) => who === "b").length, 1)
    })
  )

  it.scoped("gives up the shard at once, and does not run its work again", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { a, late, log } = yield* world(store)
      const relay = yield* provided(
        store,
        OutboxRelay.make({
          shards: a.shards,
          deliver: () => Effect.zipRight(note(log, "a"), Effect.as(Deferred.await(late), delivered))
        })
      )
      yield* store.enqueue([{ targetId: "x", event: Support.event("e1") }])
      yield* TestClock.adjust(0)
      const { members } = yield* store.leases.load("shards/1")
      // by one that took it for dead
      yield* store.leases.renew({
        pool: "shards/1",
        holder: "c",
        ttl: 1000,
        evict: members.filter(({ holder }) => holder === "a"),
        claim: ["0"]
      })
      assert.deepStrictEqual(a.owned(), [0])
      yield* Deferred.succeed(late, undefined)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(a.owned(), [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log, ["a"])
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["e1"])
      assert.strictEqual((yield* relay.health).held, 0)
    })
  )

  it.scoped("does its work again where the lease is its own again, under another number", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const there = yield* world(store)
      const { a, b, late, log } = there
      yield* provided(
        store,
        OutboxRelay.make({
          shards: a.shards,
          deliver: (_, { attempt }) =>
            Effect.zipRight(
              note(log, `attempt ${attempt}`),
              Effect.suspend(
                (): Delivery =>
                  log.length === 1
                    ? Effect.zipRight(Deferred.await(late), Effect.fail("reset"))
                    : Effect.succeed(delivered)
              )
            )
        })
      )
      yield* store.enqueue([{ targetId: "x", event: Support.event("e1") }])
      yield* TestClock.adjust(0)
      yield* takeOver(there)
      yield* b.stop
      yield* a.reconnect
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([a.owned(), log], [[0], ["attempt 1"]])
      yield* Deferred.succeed(late, undefined)
      yield* TestClock.adjust("5 seconds")
      // the failure came under the number that is no more
      assert.deepStrictEqual(log, ["attempt 1", "attempt 1"])
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
    })
  )

  it.scoped("does the events of a group again too, where they fail under another number than they began", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const there = yield* world(store)
      const { a, b, late, log } = there
      const together: outboxRelay.DeliverTogether = (entries, { rest }) =>
        Effect.gen(function* () {
          yield* note(log, `${entries.length} events, fence ${entries[0]?.fence?.fence}`)
          const isFirst = log.length === 1
          if (isFirst) yield* Deferred.await(late)
          for (const place of entries.keys()) rest(place, isFirst ? Effect.fail("reset") : Effect.succeed(delivered))
        })
      yield* provided(store, outboxRelay.make({ shards: a.shards, deliver: () => Effect.succeed(delivered) }, together))
      yield* store.enqueue(["x", "y"].map((targetId) => ({ targetId, event: Support.event("e1") })))
      yield* TestClock.adjust(0)
      yield* takeOver(there)
      yield* b.stop
      yield* a.reconnect
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([a.owned(), log], [[0], ["2 events, fence 1"]])
      yield* Deferred.succeed(late, undefined)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual((yield* store.pendingOutbox()).failures, [])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(new Set(log.map((line) => line.replace(/.*, /, ""))), new Set(["fence 1", "fence 3"]))
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
    })
  )

  it.scoped("counts such work by itself", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const there = yield* world(store)
      yield* provided(
        store,
        OutboxRelay.make({
          shards: there.a.shards,
          deliver: () => Effect.zipRight(Deferred.await(there.late), Effect.fail("reset"))
        })
      )
      yield* store.enqueue([{ targetId: "x", event: Support.event("e1") }])
      yield* TestClock.adjust(0)
      yield* takeOver(there)
      yield* Deferred.succeed(there.late, undefined)
      yield* TestClock.adjust(0)
      const outcome = (outcome: string) => counted(Metrics.deliveries, { worker: "OutboxRelay", outcome })
      assert.deepStrictEqual([yield* outcome("lease-lost"), yield* outcome("retried")], [1, 0])
      assert.strictEqual(yield* counted(Metrics.storeErrors, { operation: "recordFailure", error: "StoreRejected" }), 0)
    }).pipe(isolated)
  )

  it.scoped("is believed where lanes are shared without leases", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const late = yield* Deferred.make<void>()
      const log: Array<string> = []
      let owner = "a"
      const relay = (name: string, delivery: Delivery) =>
        provided(
          store,
          OutboxRelay.make({
            maxAttempts: 1,
            shards: { owns: () => owner === name, onChange: () => Effect.void },
            deliver: () => Effect.zipRight(note(log, name), delivery)
          })
        )
      yield* store.enqueue([{ targetId: "x", event: Support.event("e1") }])
      yield* relay("a", Effect.zipRight(Deferred.await(late), Effect.fail("connection reset")))
      yield* TestClock.adjust("2 seconds")
      owner = "b"
      yield* relay("b", Effect.succeed("Delivered"))
      yield* Deferred.succeed(late, undefined)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(log, ["a", "b"])
      assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
    })
  )
})

const note = (log: Array<string>, text: string) => Effect.sync(() => void log.push(text))
