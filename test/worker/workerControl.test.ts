import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as ExecutionStore from "holdfast/ExecutionStore"
import { type Delivered, Postponed } from "holdfast/QueueWorker"
import * as Shards from "holdfast/Shards"
import { fill, recording, relayOn } from "../support/outbox.js"
import * as Support from "../support/workers.js"

const { deaf, pendingIds } = Support

Support.onEach("A worker that is paused", (makeStore) => {
  it.scoped("finishes what runs, leaves the rest, and goes on at once when it is resumed", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "a", "b"])
      const began = yield* Queue.unbounded<string>()
      const gate = yield* Deferred.make<void>()
      const relay = yield* relayOn(store, {
        concurrency: 1,
        deliver: (entry) =>
          began.offer(entry.event.id).pipe(Effect.zipRight(Deferred.await(gate)), Effect.as("Delivered" as const))
      })
      yield* Queue.take(began)
      yield* relay.pause
      assert.isTrue((yield* relay.health).paused)
      const quiet = yield* Effect.fork(relay.awaitQuiet)
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(quiet)))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(quiet)
      assert.deepStrictEqual(yield* pendingIds(store), ["a:1", "b:2"])
      // neither polls, nor writes of this process, nor released lanes begin anything
      yield* fill(store, ["c"])
      yield* store.save(Support.execution("a"))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* pendingIds(store)).length, 3)
      assert.strictEqual((yield* relay.health).backlog, 0)
      yield* relay.resume
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), [])
      assert.deepStrictEqual(Array.from(yield* Queue.takeAll(began)).sort(), ["a:1", "b:2", "c:0"])
      assert.isFalse((yield* relay.health).paused)
    })
  )

  it.scoped("reads nothing meanwhile, and begins paused lanes in order after whole pages of them", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const targets = Array.from({ length: 60 }, (_, i) => `t${i % 3}`)
      yield* fill(store, targets)
      let reads = 0
      const { deliver, delivered } = recording()
      const gate = yield* Deferred.make<void>()
      const relay = yield* relayOn(
        {
          ...store,
          pendingOutbox: (query) => {
            reads++
            return store.pendingOutbox(query)
          }
        },
        {
          pageSize: 4,
          concurrency: 2,
          deliver: (entry) => Effect.zipRight(Deferred.await(gate), deliver(entry))
        }
      )
      yield* TestClock.adjust(0)
      yield* relay.pause
      yield* Deferred.succeed(gate, undefined)
      yield* relay.awaitQuiet
      const before = reads
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(reads, before)
      assert.strictEqual(delivered.length, 2)
      yield* relay.resume
      yield* relay.awaitQuiet
      for (const target of ["t0", "t1", "t2"]) {
        assert.deepStrictEqual(
          delivered.filter((id) => id.startsWith(`${target}:`)),
          targets.flatMap((name, i) => (name === target ? [`${name}:${i}`] : []))
        )
      }
      assert.strictEqual(delivered.length, 60)
    })
  )

  it.scoped("keeps the order also where it is paused and resumed at any moment", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const targets = Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? "deep" : `t${i % 5}`))
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(store, {
        pageSize: 3,
        concurrency: 2,
        deliver: (entry) => Effect.zipRight(Effect.sleep(7), deliver(entry))
      })
      yield* fill(store, targets)
      for (let i = 0; i < 15; i++) {
        yield* TestClock.adjust(5 + i)
        yield* relay.pause
        yield* TestClock.adjust(i % 4)
        yield* relay.resume
      }
      yield* TestClock.adjust("2 seconds")
      yield* relay.awaitQuiet
      assert.strictEqual(delivered.length, 80)
      for (const target of new Set(targets)) {
        assert.deepStrictEqual(
          delivered.filter((id) => id.startsWith(`${target}:`)),
          targets.flatMap((name, i) => (name === target ? [`${name}:${i}`] : []))
        )
      }
    })
  )

  it.scoped("says since when it runs what it runs", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const relay = yield* relayOn(store, { pollInterval: "1 hour", shutdownTimeout: 0, deliver: () => Effect.never })
      yield* relay.awaitQuiet
      assert.deepStrictEqual((yield* relay.health).runningSince, Option.none())
      yield* TestClock.adjust("3 seconds")
      yield* fill(store, ["stuck"])
      yield* TestClock.adjust("10 minutes")
      // a relay that stalls while the process is healthy
      assert.deepStrictEqual((yield* relay.health).runningSince, Option.some(3))
      assert.strictEqual((yield* relay.health).backlog, 1)
    })
  )
})

/** A part of the lanes that a test sets. */
const part = (mine: Set<string | null>) => {
  const listeners = new Set<(change: Shards.Change) => void>()
  return {
    shards: {
      owns: (lane: string | null) => mine.has(lane),
      onChange: (listener: (change: Shards.Change) => void) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => listeners.add(listener)),
            () => Effect.sync(() => listeners.delete(listener))
          )
        )
    },
    gain: (lane: string) => {
      mine.add(lane)
      for (const listener of listeners) listener({ gained: [1], lost: [] })
    },
    lose: (lane: string) => {
      mine.delete(lane)
      for (const listener of listeners) listener({ gained: [], lost: [1] })
    }
  }
}

Support.onEach("A worker with a part of the lanes", (makeStore) => {
  it.scoped("passes over rows of others, and finds them when it gains them", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "b", "a", null])
      const { gain, shards } = part(new Set(["a"]))
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(store, { deliver, shards, pollInterval: "1 day", pageSize: 2 })
      yield* relay.awaitQuiet
      yield* fill(store, ["b", "a"])
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0", "a:2", "a:1"])
      gain("b")
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered.slice(3), ["b:1", "b:0"])
      assert.deepStrictEqual(yield* pendingIds(store), ["null:3"])
    })
  )

  it.scoped("begins nothing in a lane that it lost, and leaves what runs in it to whoever has it now", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "a", "a", "b"])
      const { gain, lose, shards } = part(new Set(["a", "b"]))
      const began = yield* Queue.unbounded<string>()
      const gate = yield* Deferred.make<void>()
      const relay = yield* relayOn(store, {
        shards,
        deliver: ({ event, targetId }) =>
          began
            .offer(event.id)
            .pipe(
              Effect.zipRight(targetId === "a" ? Deferred.await(gate) : Effect.void),
              Effect.as("Delivered" as const)
            )
      })
      yield* relay.awaitQuiet.pipe(Effect.timeoutOption(0))
      assert.deepStrictEqual(Array.from(yield* Queue.takeN(began, 2)), ["a:0", "b:3"])
      lose("a")
      yield* Deferred.succeed(gate, undefined)
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), ["a:0", "a:1", "a:2"])
      assert.strictEqual((yield* relay.health).held, 0)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* pendingIds(store), ["a:0", "a:1", "a:2"])
      assert.deepStrictEqual(Array.from(yield* Queue.takeAll(began)), [])
      gain("a")
      yield* relay.awaitQuiet
      assert.deepStrictEqual(Array.from(yield* Queue.takeAll(began)), ["a:0", "a:1", "a:2"])
    })
  )

  it.scoped(
    "forgets the lanes that it held back when it loses them, and takes over from the store when it gains them",
    () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        yield* fill(store, ["a", "w"])
        const { gain, lose, shards } = part(new Set(["a", "w"]))
        const attempts: Array<string> = []
        const relay = yield* relayOn(store, {
          shards,
          retry: Schedule.spaced("1 minute"),
          deliver: ({ targetId }, { attempt }): Effect.Effect<Delivered, string | Postponed> => {
            attempts.push(`${targetId} ${attempt}`)
            return targetId === "w" ? new Postponed({ reason: "early" }) : Effect.fail("broken")
          }
        })
        yield* relay.awaitQuiet
        assert.strictEqual((yield* relay.health).held, 2)
        lose("a")
        lose("w")
        assert.strictEqual((yield* relay.health).held, 0)
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(attempts, ["a 1", "w 1"])
        gain("a")
        yield* relay.awaitQuiet
        assert.deepStrictEqual(attempts, ["a 1", "w 1", "a 2"])
      })
  )

  it.scoped("shares with another, by leases: each event is delivered once", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const targets = Array.from({ length: 200 }, (_, i) => `t${i % 50}`)
      const process = Effect.gen(function* () {
        const shards = yield* Effect.provideService(Shards.make(), ExecutionStore.ExecutionStore, deaf(store))
        const { deliver, delivered } = recording()
        yield* relayOn(deaf(store), { deliver, shards })
        return delivered
      })
      const one = yield* process
      const two = yield* process
      // until they have agreed
      yield* TestClock.adjust("20 seconds")
      yield* fill(store, targets)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* pendingIds(store), [])
      assert.strictEqual(one.length + two.length, 200)
      assert.isAbove(one.length, 20)
      assert.isAbove(two.length, 20)
    })
  )

  it.scoped("is followed by another soon after it died with work in hand: one lease later, not ten minutes", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const ttl = "10 seconds"
      // one that stops renewing without giving anything back, as a killed process does
      let alive = true
      const dying: ExecutionStore.ExecutionStore = {
        ...deaf(store),
        leases: {
          ...store.leases,
          renew: (renewal) => (alive ? store.leases.renew(renewal) : Effect.never),
          leave: (...args) => (alive ? store.leases.leave(...args) : Effect.void)
        }
      }
      const scope = yield* Scope.make()
      const shards = yield* Effect.provideService(Shards.make({ ttl }), ExecutionStore.ExecutionStore, dying).pipe(
        Scope.extend(scope)
      )
      const claimed = yield* Deferred.make<void>()
      yield* relayOn(dying, {
        shards,
        shutdownTimeout: 0,
        deliver: () => Effect.zipRight(Deferred.succeed(claimed, undefined), Effect.never)
      }).pipe(Scope.extend(scope))
      yield* TestClock.adjust("5 seconds")
      yield* fill(store, ["a"])
      yield* TestClock.adjust("1 second")
      assert.isTrue(yield* Deferred.isDone(claimed))
      alive = false
      yield* Scope.close(scope, Exit.void)
      const { deliver, deliveries } = recording()
      const mine = yield* Effect.provideService(Shards.make({ ttl }), ExecutionStore.ExecutionStore, deaf(store))
      yield* relayOn(deaf(store), { deliver, shards: mine })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(deliveries, [])
      yield* TestClock.adjust("20 seconds")
      // the attempt that was cut off does not count
      assert.deepStrictEqual(
        deliveries.map(({ attempt }) => attempt),
        [1]
      )
    })
  )
})
