import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as OutboxRelay from "holdfast/OutboxRelay"
import * as Processor from "holdfast/Processor"
import * as Shards from "holdfast/Shards"
import { StoreRejected } from "holdfast/StoreError"
import { lanes, type Process, start, wallClock } from "../support/processes.js"
import * as Support from "../support/workers.js"

const everything = Array.from({ length: 32 }, (_, i) => i)

/** As long as it takes at most until each has its share, whoever comes, goes or crashes. */
const settle = TestClock.adjust("25 seconds")

const sorted = (shards: ReadonlyArray<number>): ReadonlyArray<number> => shards.toSorted((a, b) => a - b)

const ownedBy = (processes: ReadonlyArray<Process>): ReadonlyArray<number> =>
  sorted(processes.flatMap((process) => process.owned()))

/** Every shard is owned by one of these, and their shares differ by one at most. */
const assertFair = (processes: ReadonlyArray<Process>): void => {
  assert.deepStrictEqual(ownedBy(processes), everything)
  const sizes = processes.map((process) => process.owned().length)
  assert.isAtMost(Math.max(...sizes) - Math.min(...sizes), 1)
}

/** Lets time pass in small steps, and at none of them two own the same. */
const watch = (seconds: number, processes: ReadonlyArray<Process>) =>
  Effect.gen(function* () {
    for (let passed = 0; passed < seconds; passed++) {
      yield* TestClock.adjust("1 second")
      const owned = ownedBy(processes)
      assert.strictEqual(new Set(owned).size, owned.length)
    }
  })

/** Lets time pass in small steps until it holds; gives how many seconds that took. */
const until = (condition: () => boolean) =>
  Effect.gen(function* () {
    let passed = 0
    while (!condition() && passed < 60) {
      yield* TestClock.adjust("250 millis")
      passed += 0.25
    }
    return passed
  })

const fences = (process: Process): ReadonlyArray<number> =>
  lanes(32).flatMap((lane) => Option.toArray(process.shards.fence(lane)))

const lost = (process: Process): ReadonlyArray<number> => process.changes.flatMap((change) => change.lost)

Support.onEach("Shards", (make) => {
  it.scoped("one process owns every lane from its first renewal on, and none before", () =>
    Effect.gen(function* () {
      const process = yield* start(yield* make, { holder: "a" })
      assert.deepStrictEqual(process.owned(), [])
      assert.isFalse(process.shards.owns(null))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(process.owned(), everything)
      assert.isTrue(process.shards.owns(null))
      assert.deepStrictEqual(process.changes, [{ gained: everything, lost: [], at: 0 }])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(process.owned(), everything)
      assert.lengthOf(process.changes, 1)
      assert.deepStrictEqual(new Set(fences(process)), new Set([1]))
    })
  )

  it.scoped("as processes come and go each gets its fair share, and no two own the same at any time", () =>
    Effect.gen(function* () {
      const store = yield* make
      const running: Array<Process> = []
      for (const holder of ["m", "c", "x"]) {
        running.push(yield* start(store, { holder }))
        yield* watch(12, running)
        assertFair(running)
      }
      // one that comes or goes moves no more than its share
      const before = running.map((process) => new Set(process.owned()))
      running.push(yield* start(store, { holder: "n" }))
      yield* watch(12, running)
      assertFair(running)
      const stayed = running
        .slice(0, 3)
        .flatMap((process, i) => process.owned().filter((shard) => before[i]?.has(shard)))
      assert.strictEqual(stayed.length, 24)
      while (running.length > 1) {
        yield* running.shift()?.stop ?? Effect.void
        yield* watch(6, running)
        assertFair(running)
      }
    })
  )

  it.scoped("more processes than shards leave some without", () =>
    Effect.gen(function* () {
      const store = yield* make
      const running = yield* Effect.forEach(["a", "b", "c"], (holder) => start(store, { holder, count: 2 }))
      yield* settle
      assert.deepStrictEqual(ownedBy(running), [0, 1])
      assert.deepStrictEqual(sorted(running.map((process) => process.owned().length)), [0, 1, 1])
    })
  )

  it.scoped(
    "the shards of one that crashed are another's when its ttl and a third more has passed, and not before its ttl",
    () =>
      Effect.gen(function* () {
        const store = yield* make
        const [a, b] = [yield* start(store, { holder: "a" }), yield* start(store, { holder: "b" })]
        yield* settle
        assertFair([a, b])
        const of = fences(a)
        yield* a.cutOff
        // it may have renewed itself a third of its ttl ago
        yield* TestClock.adjust("6500 millis")
        assert.lengthOf(b.owned(), 16)
        const more = yield* until(() => b.owned().length === 32)
        assert.isAtMost(6.5 + more, 13.5)
        assert.deepStrictEqual(a.owned(), [])
        // what changed hands has a greater number
        assert.isAbove(
          fences(b).reduce((sum, fence) => sum + fence, 0),
          of.reduce((sum, fence) => sum + fence, 0)
        )
      })
  )

  it.scoped("a clock that is wrong stops no takeover, and takes nothing from the living", () =>
    Effect.gen(function* () {
      const store = yield* make
      const wrong = yield* wallClock
      yield* TestClock.setTime(1_790_000_000_000)
      for (const offset of [3_600_000, -3_600_000]) {
        yield* wrong.set(offset)
        const name = String(offset)
        const [a, b] = [
          yield* start(store, { holder: `a${name}` }),
          yield* start(store, { holder: `b${name}` }, wrong.clock)
        ]
        yield* settle
        assertFair([a, b])
        const [lostByA, lostByB] = [lost(a).length, lost(b).length]
        for (const jump of [0, offset * 24, -offset]) {
          yield* wrong.set(jump)
          yield* watch(5, [a, b])
          assertFair([a, b])
        }
        assert.deepStrictEqual([lost(a).length, lost(b).length], [lostByA, lostByB])
        yield* a.cutOff
        assert.isAtMost(yield* until(() => b.owned().length === 32), 13.75)
        yield* b.stop
      }
    })
  )

  it.scoped("a crashed one whose own clock was far ahead is taken over as soon as any", () =>
    Effect.gen(function* () {
      const store = yield* make
      const ahead = yield* wallClock
      yield* ahead.set(365 * 86_400_000)
      const [a, b] = [yield* start(store, { holder: "a" }, ahead.clock), yield* start(store, { holder: "b" })]
      yield* settle
      yield* a.cutOff
      assert.isAtMost(yield* until(() => b.owned().length === 32), 13.75)
    })
  )

  it.scoped("how long a process waits for another is the other's ttl", () =>
    Effect.gen(function* () {
      const store = yield* make
      const [slow, fast] = [
        yield* start(store, { holder: "a", ttl: "30 seconds" }),
        yield* start(store, { holder: "b", ttl: "6 seconds" })
      ]
      yield* TestClock.adjust("1 minute")
      assertFair([slow, fast])
      const lostBefore = lost(slow).length
      yield* watch(20, [slow, fast])
      assert.strictEqual(lost(slow).length, lostBefore)
      yield* slow.cutOff
      yield* TestClock.adjust("19 seconds")
      assert.lengthOf(fast.owned(), 16)
      yield* TestClock.adjust("25 seconds")
      assertFair([fast])
    })
  )

  it.scoped("a process that ends gives its shards back at once", () =>
    Effect.gen(function* () {
      const store = yield* make
      const [a, b] = [yield* start(store, { holder: "a" }), yield* start(store, { holder: "b" })]
      yield* settle
      yield* a.stop
      assert.deepStrictEqual(a.owned(), [])
      assert.lengthOf(a.changes.at(-1)?.lost ?? [], 16)
      const pool = yield* store.leases.load("shards/32")
      assert.deepStrictEqual(
        pool.members.map((member) => member.holder),
        ["b"]
      )
      assert.isAtMost(yield* until(() => b.owned().length === 32), 3.5)
    })
  )

  it.scoped("a shard that goes to another is left alone before it is given back", () =>
    Effect.gen(function* () {
      const store = yield* make
      const a = yield* start(store, { holder: "a", handover: "2 seconds" })
      yield* settle
      const b = yield* start(store, { holder: "b" })
      yield* watch(12, [a, b])
      assertFair([a, b])
      const leftAt = new Map(a.changes.flatMap(({ at, lost }) => lost.map((shard) => [shard, at] as const)))
      const gainedAt = b.changes.flatMap(({ at, gained }) => gained.map((shard) => [shard, at] as const))
      assert.lengthOf(gainedAt, 16)
      for (const [shard, at] of gainedAt) {
        const pause = at - (leftAt.get(shard) ?? Number.NaN)
        assert.isAtLeast(pause, 2_000)
        assert.isAtMost(pause, 3_500)
      }
    })
  )

  it.scoped("in an outage shards are kept for their ttl and no longer, and are gained again after it", () =>
    Effect.gen(function* () {
      const store = yield* make
      const process = yield* start(store, { holder: "a" })
      yield* settle
      const before = fences(process)
      yield* process.cutOff
      yield* TestClock.adjust("6500 millis")
      assert.deepStrictEqual(process.owned(), everything)
      yield* TestClock.adjust("3500 millis")
      assert.deepStrictEqual(process.owned(), [])
      assert.deepStrictEqual(fences(process), [])
      assert.deepStrictEqual((yield* process.shards.health).owned, [])
      yield* TestClock.adjust("2 minutes")
      assert.lengthOf(process.changes, 1)
      yield* process.reconnect
      assert.isAtMost(yield* until(() => process.owned().length === 32), 5)
      assert.deepStrictEqual(process.changes.at(-1)?.gained, everything)
      // nobody had them meanwhile
      assert.deepStrictEqual(fences(process), before)
    })
  )

  it.scoped("a short outage costs nothing", () =>
    Effect.gen(function* () {
      const store = yield* make
      const [a, b] = [yield* start(store, { holder: "a" }), yield* start(store, { holder: "b" })]
      yield* settle
      const changes = a.changes.length + b.changes.length
      for (let i = 0; i < 4; i++) {
        yield* a.cutOff
        yield* TestClock.adjust("4 seconds")
        yield* a.reconnect
        yield* TestClock.adjust("6 seconds")
        assertFair([a, b])
      }
      assert.strictEqual(a.changes.length + b.changes.length, changes)
    })
  )

  it.scoped("one that is back after an outage finds its shards taken, and gets its share of them again", () =>
    Effect.gen(function* () {
      const store = yield* make
      const [a, b] = [yield* start(store, { holder: "a" }), yield* start(store, { holder: "b" })]
      yield* settle
      yield* a.cutOff
      yield* watch(30, [a, b])
      assertFair([b])
      const before = fences(b)
      yield* a.reconnect
      yield* watch(15, [a, b])
      assertFair([a, b])
      assert.isAbove(
        [...fences(a), ...fences(b)].reduce((sum, fence) => sum + fence, 0),
        before.reduce((sum, fence) => sum + fence, 0)
      )
    })
  )

  it.scoped("one that starts again under its name goes on at once, and under another when the ttl has passed", () =>
    Effect.gen(function* () {
      const store = yield* make
      const first = yield* start(store, { holder: "a" })
      yield* settle
      yield* first.cutOff
      const again = yield* start(store, { holder: "a" })
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(again.owned(), everything)
      yield* again.cutOff
      const other = yield* start(store, { holder: "b" })
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(other.owned(), [])
      assert.isAtMost(yield* until(() => other.owned().length === 32), 2.5)
    })
  )

  it.scoped("those with another count share among themselves alone", () =>
    Effect.gen(function* () {
      const store = yield* make
      const [a, b] = [yield* start(store, { holder: "a" }), yield* start(store, { holder: "b", count: 3 })]
      yield* settle
      assertFair([a])
      assert.deepStrictEqual(b.owned(), [0, 1, 2])
    })
  )

  it.scoped("relays deliver what is theirs, and what one left behind that crashed after one lease", () =>
    Effect.gen(function* () {
      const store = yield* make
      const deliveries: Array<readonly [holder: string, eventId: string]> = []
      const relay = (process: Process) =>
        OutboxRelay.make({
          shards: process.shards,
          deliver: ({ event }) =>
            Effect.sync(() => {
              deliveries.push([process.shards.holder, event.id])
              return "Delivered" as const
            })
        }).pipe(Effect.provideService(ExecutionStore.ExecutionStore, store))
      const [a, b] = [yield* start(store, { holder: "a" }), yield* start(store, { holder: "b" })]
      const ofA = yield* Scope.make()
      yield* Scope.extend(relay(a), ofA)
      yield* relay(b)
      yield* settle
      const send = (round: number) =>
        store.enqueue(lanes(32).map((targetId, i) => ({ targetId, event: Support.event(`${round}:${i}`) })))
      const deliveredBy = (holder: string, round: number) =>
        deliveries.flatMap(([by, id]) =>
          by === holder && id.startsWith(`${round}:`) ? [Number(id.split(":")[1])] : []
        )
      yield* send(1)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(sorted(deliveredBy("a", 1)), a.owned())
      assert.deepStrictEqual(sorted(deliveredBy("b", 1)), b.owned())
      // it is gone with what it had taken
      yield* a.cutOff
      yield* Scope.close(ofA, Exit.void)
      yield* send(2)
      yield* TestClock.adjust("6 seconds")
      assert.deepStrictEqual(sorted(deliveredBy("b", 2)), b.owned())
      assert.lengthOf(b.owned(), 16)
      assert.isAtMost(yield* until(() => deliveredBy("b", 2).length === 32), 14)
      assert.lengthOf(deliveries, 64)
      assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
    })
  )

  it.scoped("where two believe to own the same, events are delivered twice and take effect once, in order", () =>
    Effect.gen(function* () {
      const store = yield* make
      const targets = ["a", "b", "c", "d"]
      yield* Effect.forEach(targets, (id) => store.save(Support.execution(id, { status: "RUNNING" })))
      const deliveries: Array<string> = []
      const relay = Effect.gen(function* () {
        const { process } = yield* Processor.make({ definitions: { recorder: Support.recorder } })
        return yield* OutboxRelay.make({
          shards: { owns: () => true, onChange: () => Effect.void },
          deliver: ({ event, seq, targetId }) =>
            Effect.gen(function* () {
              deliveries.push(event.id)
              // both have it in hand before either is done
              yield* Effect.sleep("10 millis")
              yield* process(targetId ?? "", event, { ack: { _tag: "Outbox", seq } })
              return "Acknowledged" as const
            })
        })
      }).pipe(Effect.provideService(ExecutionStore.ExecutionStore, store))
      yield* relay
      yield* relay
      const ids = Array.from({ length: 10 }, (_, i) => `e${i}`)
      yield* store.enqueue(ids.flatMap((id) => targets.map((targetId) => ({ targetId, event: Support.event(id) }))))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
      for (const target of targets) {
        assert.deepStrictEqual(Support.seen(yield* Support.load(store, target)), ids)
      }
      assert.isAbove(deliveries.length, 40)
    })
  )

  it.scoped("a quiet process asks its store twice in a third of its ttl", () =>
    Effect.gen(function* () {
      const store = yield* make
      const [a, b] = [yield* start(store, { holder: "a" }), yield* start(store, { holder: "b" })]
      yield* settle
      const before = a.asked() + b.asked()
      yield* TestClock.adjust("1 minute")
      assert.isAtMost(a.asked() + b.asked() - before, 2 * 2 * 19)
    })
  )
})

describe("Shards", () => {
  const memory = Effect.flatMap(Support.stores[0]?.make ?? Effect.die("no store"), Effect.succeed)

  it("the shard of a lane is the same in every process and release", () => {
    assert.deepStrictEqual(
      [null, "", "a", "order-1", "order-2", "\u{1f600}"].map((lane) => Shards.shardOf(lane, 32)),
      [11, 11, 19, 28, 0, 6]
    )
  })

  it("lanes are spread over the shards", () => {
    for (const prefix of ["", "order-", "018f3c1e-7b2a-7000-8000-00000000", "a:Work.Pick:"]) {
      for (const count of [2, 3, 32]) {
        const sizes = Array.from({ length: count }, () => 0)
        for (let i = 0; i < 32_000; i++) {
          const shard = Shards.shardOf(`${prefix}${i}`, count)
          sizes[shard] = (sizes[shard] ?? 0) + 1
        }
        assert.isAtLeast(Math.min(...sizes) / (32_000 / count), 0.85)
        assert.isAtMost(Math.max(...sizes) / (32_000 / count), 1.15)
      }
    }
  })

  it.scoped("health tells what is owned, how many share, and what went wrong last", () =>
    Effect.gen(function* () {
      const store = yield* memory
      yield* TestClock.setTime(1_790_000_000_000)
      const [a, b] = [yield* start(store, { holder: "a" }), yield* start(store, { holder: "b" })]
      assert.deepStrictEqual(yield* a.shards.health, {
        owned: [],
        members: 0,
        lastRenewal: Option.none(),
        lastError: Option.none(),
        outage: Option.none()
      })
      yield* TestClock.adjust("20 seconds")
      const health = yield* a.shards.health
      assert.deepStrictEqual([health.owned, health.members], [a.owned(), 2])
      assert.isAtLeast(
        Option.getOrElse(health.lastRenewal, () => 0),
        1_790_000_016
      )
      assert.deepStrictEqual(health.lastError, Option.none())
      yield* a.cutOff
      yield* TestClock.adjust("4 seconds")
      const { lastError } = yield* a.shards.health
      assert.include(Option.getOrThrow(lastError).message, "the cable is out")
      assert.isAtLeast(Option.getOrThrow(lastError).time, 1_790_000_020)
      assert.strictEqual((yield* b.shards.health).members, 2)
    })
  )

  it.scoped("an outage is said once, and its end too", () => {
    const { layer, lines } = Support.logs()
    return Effect.gen(function* () {
      const process = yield* start(yield* memory, { holder: "a" })
      yield* settle
      assert.deepStrictEqual(lines, [])
      yield* process.cutOff
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(lines, 1)
      assert.match(lines[0] ?? "", /^WARN .*the cable is out/)
      yield* process.reconnect
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(lines.slice(1), ["INFO the store answers again"])
    }).pipe(Effect.provide(layer))
  })

  it.scoped("a store that does not answer counts as one that cannot be reached", () =>
    Effect.gen(function* () {
      const store = yield* memory
      let hangs = false
      const hanging: ExecutionStore.ExecutionStore = {
        ...store,
        leases: {
          ...store.leases,
          load: (pool) => Effect.suspend(() => (hangs ? Effect.never : store.leases.load(pool)))
        }
      }
      const process = yield* start(hanging, { holder: "a" })
      yield* settle
      hangs = true
      yield* TestClock.adjust("14 seconds")
      assert.deepStrictEqual(process.owned(), [])
      hangs = false
      yield* TestClock.adjust("14 seconds")
      assert.deepStrictEqual(process.owned(), everything)
    })
  )

  it.scoped("a store that refuses costs the shards when their ttl is over, and gives them back when it does not", () =>
    Effect.gen(function* () {
      const process = yield* start(yield* memory, { holder: "a" })
      yield* settle
      const refusal = new StoreRejected({
        operation: "renewLeases",
        reason: "read-only",
        detail: "the disk is read-only"
      })
      yield* process.breaks(() => refusal)
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(process.owned(), [])
      const { outage } = yield* process.shards.health
      assert.strictEqual(Option.getOrThrow(outage).message, refusal.message)
      assert.isAtMost(Option.getOrThrow(outage).since, 30)
      yield* process.reconnect
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(process.owned(), everything)
      assert.deepStrictEqual((yield* process.shards.health).outage, Option.none())
    })
  )

  it.scoped("a defect ends the sharing, and says why", () => {
    const { layer, lines } = Support.logs()
    return Effect.gen(function* () {
      const store = yield* memory
      let broken = false
      const process = yield* start(
        {
          ...store,
          leases: {
            ...store.leases,
            load: (pool) => (broken ? Effect.die(new Error("a bug")) : store.leases.load(pool))
          }
        },
        { holder: "a" }
      )
      const fatal = yield* Effect.fork(process.shards.awaitFatal)
      yield* settle
      broken = true
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(yield* Fiber.await(fatal), Exit.die(new Error("a bug")))
      assert.deepStrictEqual(process.owned(), [])
      assert.deepStrictEqual(process.changes.at(-1)?.lost, everything)
      assert.isTrue(lines.some((line) => line.startsWith("FATAL the worker ended") && line.includes("a bug")))
    }).pipe(Effect.provide(layer))
  })

  it.scoped("one that cannot give its shards back at its end says so, and ends", () => {
    const { layer, lines } = Support.logs()
    return Effect.gen(function* () {
      const process = yield* start(yield* memory, { holder: "a" })
      yield* settle
      yield* process.cutOff
      yield* process.stop
      assert.match(lines.at(-1) ?? "", /^WARN the shards could not be given back .*the cable is out/)
      assert.deepStrictEqual(process.owned(), [])
    }).pipe(Effect.provide(layer))
  })

  it.scoped("a listener hears until its scope closes", () =>
    Effect.gen(function* () {
      const store = yield* memory
      const process = yield* start(store, { holder: "a" })
      const heard: Array<Shards.Change> = []
      yield* Effect.scoped(
        Effect.zipRight(
          process.shards.onChange((change) => heard.push(change)),
          TestClock.adjust(0)
        )
      )
      assert.lengthOf(heard, 1)
      yield* start(store, { holder: "b" })
      yield* settle
      assert.lengthOf(heard, 1)
      assert.lengthOf(process.changes, 2)
    })
  )

  it.scoped("as a layer, it needs a store", () =>
    Effect.gen(function* () {
      const store = yield* memory
      const layer = Layer.provide(Shards.layer(), Layer.succeed(ExecutionStore.ExecutionStore, store))
      yield* Effect.gen(function* () {
        const shards = yield* Shards.Shards
        yield* TestClock.adjust(0)
        assert.isTrue(shards.owns("a"))
        assert.match(shards.holder, /^[0-9a-f]{32}$/)
      }).pipe(Effect.provide(layer))
      assert.deepStrictEqual((yield* store.leases.load("shards/32")).members, [])
    })
  )

  const wrong: ReadonlyArray<readonly [path: string, options: Shards.Options]> = [
    ["count", { count: 0 }],
    ["count", { count: 1.5 }],
    ["count", { count: 1025 }],
    ["ttl", { ttl: "999 millis" }],
    ["ttl", { ttl: Number.POSITIVE_INFINITY }],
    ["handover", { handover: "10 seconds" }],
    ["handover", { ttl: "2 seconds", handover: "3 seconds" }],
    ["holder", { holder: "" }],
    ["holder", { holder: "\ud800" }]
  ]
  for (const [path, options] of wrong) {
    it.scoped(`is refused: ${JSON.stringify(options)}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(
          Effect.provideService(Shards.make(options), ExecutionStore.ExecutionStore, yield* memory)
        )
        assert.strictEqual(error._tag, "StoreRejected")
        assert.deepInclude(error, { reason: "invalid-input", path })
      })
    )
  }
})
