import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as OutboxRelay from "holdfast/OutboxRelay"
import { type Delivered, Postponed } from "holdfast/QueueWorker"
import { StoreUnavailable } from "holdfast/StoreError"
import { extent, longer } from "../support/extent.js"
import { counting, fill, recording, relayOn } from "../support/outbox.js"
import * as Support from "../support/workers.js"

const { deaf, event, pendingIds } = Support

const everySecond = Schedule.spaced("1 second")

const unavailable = new StoreUnavailable({
  operation: "pendingOutbox",
  reason: "connection",
  outcome: "not-applied",
  detail: "the server is away"
})

Support.onEach("OutboxRelay", (makeStore) => {
  it.scoped("delivers what was there when it began, and removes it", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", null, "b"])
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(store, { deliver })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(Array.from(delivered).sort(), ["a:0", "b:2", "null:1"])
      assert.deepStrictEqual(yield* pendingIds(store), [])
    })
  )

  it.scoped("leaves an entry to a delivery that has acknowledged it", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a"])
      const relay = yield* relayOn(store, { deliver: () => Effect.succeed("Acknowledged") })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), ["a:0"])
    })
  )

  it.scoped("is woken at once by a write of this process", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(store, { deliver })
      yield* relay.awaitQuiet
      yield* fill(store, ["a"])
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0"])
      yield* store.commit(Support.execution("x"), { emits: [{ targetId: "b", event: event("b:0") }] })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0", "b:0"])
    })
  )

  it.scoped("finds by polling what other processes wrote, once a second by default", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { counted, reads } = counting(store)
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(deaf(counted), { deliver })
      yield* relay.awaitQuiet
      yield* fill(store, ["a"])
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(delivered, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(delivered, ["a:0"])
      assert.strictEqual(reads.count, 2)
      // for a moment more often, since others write
      yield* TestClock.adjust("900 millis")
      assert.strictEqual(reads.count, 5)
      yield* TestClock.adjust("100 seconds")
      assert.isAtMost(reads.count, 105)
      assert.isAtLeast(reads.count, 102)
    })
  )

  it.scoped("keeps the order of each target, and serves targets side by side", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "b", "a", null, "b", null, "a"])
      const began = yield* Queue.unbounded<string>()
      const gates = new Map<string, Deferred.Deferred<void>>()
      for (const id of ["a:0", "b:1", "a:2", "null:3", "b:4", "null:5", "a:6"])
        gates.set(id, yield* Deferred.make<void>())
      const open = (id: string) =>
        Effect.flatMap(Effect.fromNullable(gates.get(id)), (gate) => Deferred.succeed(gate, undefined))
      const relay = yield* relayOn(store, {
        deliver: (entry) =>
          Effect.gen(function* () {
            yield* began.offer(entry.event.id)
            yield* Deferred.await(yield* Effect.fromNullable(gates.get(entry.event.id)))
            return "Delivered" as const
          })
      })
      // the first of each, together
      assert.deepStrictEqual(Array.from(yield* Queue.takeN(began, 3)), ["a:0", "b:1", "null:3"])
      yield* open("b:1")
      assert.strictEqual(yield* Queue.take(began), "b:4")
      yield* open("null:3")
      assert.strictEqual(yield* Queue.take(began), "null:5")
      yield* open("a:0")
      assert.strictEqual(yield* Queue.take(began), "a:2")
      assert.deepStrictEqual(yield* pendingIds(store), ["a:2", "b:4", "null:5", "a:6"])
      for (const id of ["a:2", "b:4", "null:5", "a:6"]) yield* open(id)
      assert.strictEqual(yield* Queue.take(began), "a:6")
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), [])
    })
  )

  it.scoped("serves no more targets at once than it may", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(
        store,
        Array.from({ length: 40 }, (_, i) => `t${i % 10}`)
      )
      let now = 0
      let most = 0
      const relay = yield* relayOn(store, {
        concurrency: 3,
        deliver: () =>
          Effect.gen(function* () {
            most = Math.max(most, ++now)
            yield* Effect.yieldNow()
            now--
            return "Delivered" as const
          })
      })
      yield* relay.awaitQuiet
      assert.strictEqual(most, 3)
      assert.deepStrictEqual(yield* pendingIds(store), [])
    })
  )

  it.scoped("holds back a failing target alone, says so once, and tries it again as the policy says", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["bad", "bad", "good", null])
      const poison = new Set<string | null>(["bad"])
      const { deliver, delivered, tries } = recording(poison)
      const relay = yield* relayOn(store, { deliver, retry: everySecond })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(Array.from(delivered).sort(), ["good:2", "null:3"])
      assert.deepStrictEqual(yield* pendingIds(store), ["bad:0", "bad:1"])
      const health = yield* relay.health
      assert.strictEqual(health.held, 1)
      assert.include(Option.getOrThrow(health.lastError).message, "poison bad")
      // others go on meanwhile, and do not make it be tried again
      for (let i = 0; i < 20; i++) yield* Effect.zipRight(fill(store, ["good"]), relay.awaitQuiet)
      assert.deepStrictEqual(
        tries.filter((id) => id.startsWith("bad")),
        ["bad:0"]
      )
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(
        tries.filter((id) => id.startsWith("bad")),
        Array.from({ length: 6 }, () => "bad:0")
      )
      assert.strictEqual(logs.lines.filter((line) => line.startsWith("WARN")).length, 1)
      poison.clear()
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(delivered.slice(-2), ["bad:0", "bad:1"])
      assert.deepStrictEqual(yield* pendingIds(store), [])
      assert.strictEqual((yield* relay.health).held, 0)
      assert.strictEqual(logs.lines.filter((line) => line.includes("went well after")).length, 1)
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("says it again where a target fails otherwise", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a"])
      let reason = "first"
      yield* relayOn(store, { deliver: () => Effect.suspend(() => Effect.fail(reason)), retry: everySecond })
      yield* TestClock.adjust("3 seconds")
      reason = "second"
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(
        logs.lines.filter((line) => line.startsWith("WARN")).map((line) => line.split(": ").at(-1)),
        ["first", "second"]
      )
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("takes a defect, and an interruption of its own making, for a failure of that entry", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["dies", "stops", "good"])
      const relay = yield* relayOn(store, {
        deliver: (entry): Effect.Effect<Delivered> =>
          entry.targetId === "dies"
            ? Effect.die("broken")
            : entry.targetId === "stops"
              ? Effect.interrupt
              : Effect.succeed("Delivered")
      })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), ["dies:0", "stops:1"])
      assert.strictEqual((yield* relay.health).held, 2)
    })
  )

  it.scoped("tries a target again at once that waited and that a commit of this process advanced", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["late", "late"])
      const { deliver, delivered } = recording()
      let early = true
      const relay = yield* relayOn(store, {
        deliver: (entry): Effect.Effect<Delivered, Postponed | string> =>
          early ? new Postponed({ reason: "early" }) : deliver(entry)
      })
      yield* relay.awaitQuiet
      early = false
      yield* store.save(Support.execution("other"))
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, [])
      yield* store.save(Support.execution("late"))
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["late:0", "late:1"])
    })
  )

  it.scoped(
    "tries a target again at once that was advanced while its delivery was about to wait, but not for ever",
    () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        const { execution } = yield* store.commit(Support.execution("a"))
        let current = execution
        let tries = 0
        const relay = yield* relayOn(store, {
          deliver: () =>
            Effect.gen(function* () {
              tries++
              current = yield* store.save(current)
              return yield* new Postponed({ reason: "not yet" })
            })
        })
        yield* fill(store, ["a"])
        yield* relay.awaitQuiet
        assert.strictEqual(tries, 2)
        yield* TestClock.adjust("1 minute")
        assert.isAbove(tries, 5)
        assert.isBelow(tries, 12)
      })
  )

  it.scoped("reaches what lies behind whole pages of targets that are held back", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, [
        ...Array.from({ length: 35 }, (_, i) => `bad${i % 7}`),
        ...Array.from({ length: 30 }, () => "bad"),
        "good"
      ])
      const poison = new Set<string | null>(["bad", ...Array.from({ length: 7 }, (_, i) => `bad${i}`)])
      const { deliver, delivered, tries } = recording(poison)
      const relay = yield* relayOn(store, { deliver, pageSize: 10, concurrency: 2, retry: everySecond })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["good:65"])
      assert.strictEqual(tries.length, 9)
      // what comes in later is served without reading the backlog again
      const before = tries.length
      yield* fill(store, ["good", "new"])
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["good:65", "good:0", "new:1"])
      assert.strictEqual(tries.length, before + 2)
      poison.clear()
      yield* TestClock.adjust("1 second")
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingIds(store), [])
      const idsOf = (target: string) => delivered.filter((id) => id.startsWith(`${target}:`))
      for (let i = 0; i < 7; i++) {
        assert.deepStrictEqual(
          idsOf(`bad${i}`),
          Array.from({ length: 5 }, (_, n) => `bad${i}:${i + 7 * n}`)
        )
      }
      assert.deepStrictEqual(
        idsOf("bad"),
        Array.from({ length: 30 }, (_, n) => `bad:${35 + n}`)
      )
    })
  )

  it.scoped("reads a backlog that is held back a few pages at a time, however many targets fail", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { counted, reads } = counting(store)
      yield* fill(
        store,
        Array.from({ length: 1200 }, (_, i) => `bad${i % 60}`)
      )
      const { deliver, tries } = recording(new Set(Array.from({ length: 60 }, (_, i) => `bad${i}`)))
      const relay = yield* relayOn(counted, { deliver, pageSize: 20, concurrency: 4 })
      yield* relay.awaitQuiet
      assert.strictEqual(tries.length, 60)
      reads.count = 0
      // the second attempt of each, wherever the jitter puts it
      yield* TestClock.adjust("1300 millis")
      yield* relay.awaitQuiet
      assert.strictEqual(tries.length, 120)
      assert.isBelow(reads.count, 80)
      reads.count = 0
      yield* fill(store, ["good"])
      yield* relay.awaitQuiet
      assert.isAtMost(reads.count, 3)
    })
  )

  it.scoped("gives new entries their share while many targets fail slowly", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(
        store,
        Array.from({ length: 30 }, (_, i) => `bad${i}`)
      )
      const { deliver, delivered } = recording()
      let slow = 0
      yield* relayOn(store, {
        concurrency: 2,
        pollInterval: "100 seconds",
        shutdownTimeout: 0,
        deliver: (entry) =>
          entry.targetId === "good" ? deliver(entry) : Effect.zipRight(Effect.sleep(slow), Effect.fail("broken"))
      })
      yield* TestClock.adjust("99 seconds")
      slow = 1000
      yield* TestClock.adjust("1500 millis")
      yield* fill(store, ["good"])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(delivered, ["good:0"])
    })
  )

  it.scoped("serves a target that ran out of rows before it has read all rows of others", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, [...Array.from({ length: 30 }, () => "deep"), ...Array.from({ length: 300 }, () => "bad")])
      const { deliver, delivered } = recording(new Set(["bad"]))
      yield* relayOn(
        { ...store, pendingOutbox: (query) => Effect.zipLeft(store.pendingOutbox(query), Effect.sleep(100)) },
        { deliver: (entry) => Effect.zipRight(Effect.sleep(20), deliver(entry)), pageSize: 10 }
      )
      yield* TestClock.adjust("1500 millis")
      assert.strictEqual(delivered.length, 30)
    })
  )

  it.scoped("goes on with others while a delivery never ends, however deep its target's queue is", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, [
        ...Array.from({ length: 50 }, () => "stuck"),
        ...Array.from({ length: 25 }, (_, i) => `t${i % 5}`)
      ])
      const done = yield* Queue.unbounded<string>()
      const relay = yield* relayOn(store, {
        pageSize: 10,
        concurrency: 2,
        shutdownTimeout: 0,
        deliver: (entry) =>
          entry.targetId === "stuck" ? Effect.never : Effect.as(done.offer(entry.event.id), "Delivered" as const)
      })
      assert.strictEqual((yield* Queue.takeN(done, 25)).length, 25)
      yield* fill(store, ["fresh"])
      assert.strictEqual(yield* Queue.take(done), "fresh:0")
      yield* TestClock.adjust(0)
      const { backlog } = yield* relay.health
      assert.isAtMost(backlog, 10)
    })
  )

  it.scoped("delivers a deep backlog in order, each entry once, with a page of each target in memory", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const targets = Array.from({ length: 600 }, (_, i) => (i % 3 === 0 ? "deep" : i % 50 === 1 ? "bad" : `t${i % 4}`))
      yield* fill(store, targets)
      const { deliver, delivered } = recording(new Set(["bad"]))
      let most = 0
      let health: OutboxRelay.OutboxRelay["health"] = Effect.never
      const pages: Array<number> = []
      const watched: ExecutionStore.ExecutionStore = {
        ...store,
        pendingOutbox: (query) => {
          pages.push(query?.limit ?? 0)
          return store.pendingOutbox(query)
        }
      }
      const relay = yield* relayOn(watched, {
        pageSize: 20,
        concurrency: 3,
        deliver: (entry) =>
          Effect.gen(function* () {
            most = Math.max(most, (yield* health).backlog)
            // deep is slow, so that it falls behind
            if (entry.targetId === "deep") yield* Effect.yieldNow().pipe(Effect.repeatN(3))
            return yield* deliver(entry)
          })
      })
      health = relay.health
      yield* relay.awaitQuiet
      for (const target of ["deep", "t0", "t1", "t2", "t3"]) {
        const expected = targets.flatMap((name, i) => (name === target ? [`${name}:${i}`] : []))
        const order = delivered.filter((id) => id.startsWith(`${target}:`))
        assert.deepStrictEqual(order, expected)
      }
      assert.strictEqual(delivered.length, targets.filter((name) => name !== "bad").length)
      assert.isAtMost(most, 3 * 20)
      assert.isTrue(pages.every((limit) => limit === 20))
      // a page is read a bounded number of times, not again for each of its rows
      assert.isBelow(pages.length, 120)
    })
  )

  it.scoped("lets the event loop have its turns while events make events on a store that never waits", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      let count = 0
      let turned: number | undefined
      const relay = yield* relayOn(store, {
        deliver: () =>
          Effect.gen(function* () {
            if (count === 0) setImmediate(() => (turned = count))
            if (++count < 1000) yield* store.enqueue([{ targetId: "a", event: event(`e${count}`) }])
            return "Delivered" as const
          })
      })
      yield* fill(store, ["a"])
      yield* relay.awaitQuiet
      assert.strictEqual(count, 1000)
      assert.isDefined(turned)
      assert.isBelow(turned ?? count, 100)
    })
  )

  it.scoped("finds an entry that was repaired in place", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "b"])
      let broken = true
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(
        {
          ...store,
          exclusive: false,
          pendingOutbox: (query) =>
            Effect.map(store.pendingOutbox(query), (page) => ({
              ...page,
              entries: page.entries.filter((entry) => entry.targetId !== "a" || !broken)
            }))
        },
        { deliver }
      )
      yield* relay.awaitQuiet
      broken = false
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(delivered, ["b:1", "a:0"])
    })
  )

  it.scoped("delivers once what was done while the page that shows it was on its way", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { deliver, delivered } = recording()
      const slow: ExecutionStore.ExecutionStore = {
        ...store,
        pendingOutbox: (query) => Effect.zipLeft(store.pendingOutbox(query), Effect.sleep(500))
      }
      yield* relayOn(slow, { deliver: (entry) => Effect.zipRight(Effect.sleep(700), deliver(entry)) })
      yield* fill(store, ["a", "b"])
      yield* TestClock.adjust("600 millis")
      yield* fill(store, ["c"])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(Array.from(delivered).sort(), ["a:0", "b:1", "c:0"])
    })
  )

  it.scoped("forgets a failure whose entry was removed by others", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      const [seq = 0] = yield* fill(store, ["a"])
      const poison = new Set<string | null>(["a"])
      const { deliver, delivered } = recording(poison)
      const relay = yield* relayOn(store, { deliver, retry: everySecond })
      yield* relay.awaitQuiet
      assert.strictEqual((yield* relay.health).held, 1)
      yield* store.ackOutbox(seq)
      poison.clear()
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* relay.health).held, 0)
      yield* fill(store, ["a"])
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0"])
      assert.isFalse(logs.lines.some((line) => line.includes("went well")))
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("waits out an outage of the store, and says so once", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      let down = true
      let reads = 0
      const flaky: ExecutionStore.ExecutionStore = {
        ...store,
        pendingOutbox: (query) =>
          Effect.suspend(() => {
            reads++
            return down ? Effect.fail(unavailable) : store.pendingOutbox(query)
          })
      }
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(flaky, { deliver })
      yield* fill(store, ["a"])
      yield* TestClock.adjust("10 minutes")
      assert.isAtLeast(reads, 10)
      assert.isAtMost(reads, 60)
      assert.strictEqual((yield* relay.health).lastRun._tag, "None")
      assert.include(Option.getOrThrow((yield* relay.health).lastError).message, "the server is away")
      assert.strictEqual(logs.lines.filter((line) => line.startsWith("WARN")).length, 1)
      down = false
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(delivered, ["a:0"])
      assert.isTrue(Option.isSome((yield* relay.health).lastRun))
      assert.strictEqual(logs.lines.filter((line) => line.includes("answers again")).length, 1)
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("does not deliver again where only the removal meets an outage", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      let failures = 3
      const { deliver, delivered } = recording()
      yield* fill(store, ["a", "a"])
      const relay = yield* relayOn(
        {
          ...store,
          ackOutbox: (seq) => Effect.suspend(() => (failures-- > 0 ? Effect.fail(unavailable) : store.ackOutbox(seq)))
        },
        { deliver }
      )
      yield* TestClock.adjust("1 minute")
      yield* relay.awaitQuiet
      assert.deepStrictEqual(delivered, ["a:0", "a:1"])
      assert.deepStrictEqual(yield* pendingIds(store), [])
    })
  )

  it.scoped("ends at a defect of the store, and awaitFatal tells", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const relay = yield* relayOn({ ...store, pendingOutbox: () => Effect.die("a bug") }, recording())
      const exit = yield* Effect.exit(relay.awaitFatal)
      assert.deepStrictEqual(exit, Exit.die("a bug"))
    })
  )

  it.scoped("goes on when it is interrupted by nobody, and awaitFatal stays silent", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const relay = yield* relayOn(store, recording())
      const fiber = yield* Effect.fork(relay.awaitFatal)
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
    })
  )

  it.scoped("at the end of its scope takes nothing new, finishes what runs and leaves the rest", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a", "a", "b"])
      const began = yield* Queue.unbounded<string>()
      const gate = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      yield* relayOn(store, {
        concurrency: 1,
        deliver: (entry) =>
          began.offer(entry.event.id).pipe(Effect.zipRight(Deferred.await(gate)), Effect.as("Delivered" as const))
      }).pipe(Scope.extend(scope))
      yield* Queue.take(began)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(yield* pendingIds(store), ["a:1", "b:2"])
      yield* fill(store, ["c"])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* pendingIds(store)).length, 3)
      assert.isTrue(Option.isNone(yield* Queue.poll(began)))
    })
  )

  it.scoped("interrupts a delivery that outlives the shutdown time-out", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, ["a"])
      const began = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      yield* relayOn(store, {
        shutdownTimeout: "3 seconds",
        deliver: () =>
          Deferred.succeed(began, undefined).pipe(
            Effect.zipRight(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
          )
      }).pipe(Scope.extend(scope))
      yield* Deferred.await(began)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("2999 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      assert.isTrue(yield* Deferred.isDone(interrupted))
      assert.deepStrictEqual(yield* pendingIds(store), ["a:0"])
      assert.strictEqual(logs.lines.filter((line) => line.startsWith("WARN")).length, 1)
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("makes no spans by polling, and takes the services of deliver once", () => {
    const spans = Support.spans()
    class Sink extends Context.Tag("test/Sink")<Sink, Array<string>>() {}
    const store = Effect.map(makeStore, (store) => ({
      ...store,
      pendingOutbox: (query?: ExecutionStore.PendingQuery) => Effect.withSpan(store.pendingOutbox(query), "poll")
    }))
    const sink: Array<string> = []
    const live = OutboxRelay.layer({
      deliver: (entry) =>
        Effect.as(
          Effect.withSpan(
            Effect.map(Sink, (sink) => sink.push(entry.event.id)),
            "deliver"
          ),
          "Delivered" as const
        )
    }).pipe(
      Layer.provide(Layer.succeed(Sink, sink)),
      Layer.provideMerge(Layer.scoped(ExecutionStore.ExecutionStore, store))
    )
    return Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* TestClock.adjust("10 seconds")
      yield* fill(store, ["a"])
      yield* (yield* OutboxRelay.OutboxRelay).awaitQuiet
      assert.deepStrictEqual(sink, ["a:0"])
      assert.deepStrictEqual(
        spans.started.filter((span) => span.name !== "main"),
        [
          { name: "ExecutionStore.enqueue", root: false },
          { name: "OutboxRelay.deliver", root: true },
          { name: "deliver", root: false }
        ]
      )
    }).pipe(Effect.provide(live), Effect.withSpan("main"), Effect.provide(spans.layer))
  })

  // Whatever the sizes, failures and pauses: each entry is delivered once, in its target's order, and no target twice at a time.
  it.effect.prop(
    longer("delivers any backlog, with any failures, once and in order"),
    {
      pageSize: FastCheck.integer({ min: 1, max: 4 }),
      concurrency: FastCheck.integer({ min: 1, max: 3 }),
      batches: FastCheck.array(
        FastCheck.array(
          FastCheck.record({
            target: FastCheck.constantFrom("a", "b", "c", "d", null),
            failures: FastCheck.constantFrom(0, 0, 0, 0, 1, 2),
            pauses: FastCheck.nat(3),
            millis: FastCheck.constantFrom(0, 0, 0, 5, 700)
          }),
          { minLength: 1, maxLength: 10 }
        ),
        { minLength: 1, maxLength: 3 }
      )
    },
    ({ batches, concurrency, pageSize }) =>
      Effect.gen(function* () {
        const store = yield* makeStore
        const plans = new Map(batches.flat().map((plan, i) => [`e${i}`, { ...plan }]))
        const busy = new Set<string | null>()
        const delivered: Array<string> = []
        const broken: Array<string> = []
        const relay = yield* relayOn(store, {
          pageSize,
          concurrency,
          deliver: ({ event, targetId }) =>
            Effect.gen(function* () {
              const plan = yield* Effect.fromNullable(plans.get(event.id))
              if (busy.has(targetId)) broken.push(`two at a time for ${targetId}`)
              busy.add(targetId)
              if (busy.size > concurrency) broken.push("too many at a time")
              yield* Effect.repeatN(Effect.yieldNow(), plan.pauses)
              if (plan.millis > 0) yield* Effect.sleep(plan.millis)
              busy.delete(targetId)
              if (plan.failures-- > 0) return yield* Effect.fail("not yet")
              delivered.push(event.id)
              return "Delivered" as const
            })
        })
        let next = 0
        for (const batch of batches) {
          yield* store.enqueue(batch.map(({ target }) => ({ targetId: target, event: event(`e${next++}`) })))
          yield* TestClock.adjust("300 millis")
        }
        for (let polls = 0; polls < 150 && (yield* pendingIds(store)).length > 0; polls++) {
          yield* TestClock.adjust("1 second")
        }
        yield* relay.awaitQuiet
        assert.deepStrictEqual(broken, [])
        assert.deepStrictEqual(yield* pendingIds(store), [])
        for (const target of ["a", "b", "c", "d", null]) {
          assert.deepStrictEqual(
            delivered.filter((id) => plans.get(id)?.target === target),
            Array.from(plans).flatMap(([id, plan]) => (plan.target === target ? [id] : []))
          )
        }
        const { backlog, held } = yield* relay.health
        assert.deepStrictEqual([backlog, held], [0, 0])
      }).pipe(Effect.scoped),
    { fastCheck: { numRuns: extent({ quick: 6, long: 25 }) } }
  )
})
