import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as Definition from "holdfast/Definition"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Monitor from "holdfast/Monitor"
import { StoreUnavailable } from "holdfast/StoreError"
import { ask, events } from "../support/monitor.js"

/** A store that counts how often it is asked for what. */
const counted = Effect.map(MemoryStore.make(), (store) => {
  const asked = { stats: 0, counts: 0, list: 0, pools: 0 }
  let down = false
  const count = <A, E>(name: keyof typeof asked, read: Effect.Effect<A, E>) =>
    Effect.suspend((): Effect.Effect<A, E | StoreUnavailable> => {
      asked[name]++
      return down
        ? Effect.fail(
            new StoreUnavailable({ operation: name, reason: "connection", outcome: "not-applied", detail: "gone" })
          )
        : read
    })
  return {
    asked,
    fail: (failing: boolean) => {
      down = failing
    },
    store: {
      ...store,
      stats: count("stats", store.stats),
      counts: count("counts", store.counts),
      listExecutions: (query) => count("list", store.listExecutions(query)),
      leases: { ...store.leases, pools: count("pools", store.leases.pools) }
    } satisfies ExecutionStore.ExecutionStore
  }
})

const look = ({ handler }: Monitor.Monitor) =>
  Effect.map(
    Effect.promise(() =>
      handler(new Request("http://localhost/api/live", { headers: { host: "localhost" } }), { remoteAddress: "::1" })
    ),
    events
  )

const order = (id: string) => Execution.make({ id, definitionId: "order", status: "RUNNING" })

describe("the live stream of a monitor", () => {
  it.scoped("reads once a tick, however many look, and nothing while nobody does", () =>
    Effect.gen(function* () {
      const { asked, store } = yield* counted
      const monitor = yield* Effect.provideService(Monitor.make(), ExecutionStore.ExecutionStore, store)
      yield* TestClock.adjust("1 minute")
      expect(asked).toEqual({ stats: 0, counts: 0, list: 0, pools: 0 })
      const streams = yield* Effect.replicateEffect(look(monitor), 20)
      for (const stream of streams) expect(yield* stream.next).toMatchObject({ name: "tick", data: { all: true } })
      for (let tick = 0; tick < 3; tick++) {
        yield* TestClock.adjust("1 second")
        for (const stream of streams) expect((yield* stream.next).name).toBe("tick")
      }
      expect(asked.stats).toBeLessThanOrEqual(5)
      expect(asked.counts).toBeLessThanOrEqual(5)
      expect(asked.pools).toBeLessThanOrEqual(5)
      // What all of them ask for after a tick is read once.
      yield* Effect.all(
        streams.map(() => ask(monitor, "/api/executions?limit=10")),
        { concurrency: "unbounded" }
      )
      expect(asked.list).toBe(1)
      for (const stream of streams) yield* stream.close
      const before = { ...asked }
      yield* TestClock.adjust("1 minute")
      expect({ ...asked, stats: before.stats, pools: before.pools }).toEqual(before)
      expect(asked.pools - before.pools).toBeLessThanOrEqual(1)
      expect(asked.stats - before.stats).toBeLessThanOrEqual(1)
    })
  )

  it.scoped("names what commits here changed, and says what else did", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const monitor = yield* Monitor.make()
      const stream = yield* look(monitor)
      expect(yield* stream.next).toMatchObject({ data: { counts: [], samples: [] } })
      yield* TestClock.adjust("1 second")
      yield* stream.next
      yield* store.save(order("a"))
      yield* store.save(order("b"))
      yield* TestClock.adjust("1 second")
      let found = yield* stream.next
      while (!JSON.stringify(found.data).includes('"changed":["a","b"]')) found = yield* stream.next
      expect(found.data).toMatchObject({
        changed: ["a", "b"],
        all: true,
        counts: [{ definitionId: "order", status: "RUNNING", count: 2 }]
      })
      yield* stream.close
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("says that the store does not answer, and goes on when it does", () =>
    Effect.gen(function* () {
      const { fail, store } = yield* counted
      const monitor = yield* Effect.provideService(Monitor.make(), ExecutionStore.ExecutionStore, store)
      const stream = yield* look(monitor)
      yield* stream.next
      fail(true)
      yield* TestClock.adjust("2 seconds")
      let found = yield* stream.next
      while (found.name !== "problem") found = yield* stream.next
      expect(found.data).toMatchObject({ title: "The store does not answer" })
      fail(false)
      yield* TestClock.adjust("2 seconds")
      while (found.name !== "tick") found = yield* stream.next
      yield* stream.close
    })
  )

  it.scoped("ends where whoever looks may not do any more what they might", () =>
    Effect.gen(function* () {
      let allowed: Monitor.Access = "all"
      const monitor = yield* Monitor.make({ access: () => Effect.sync(() => allowed) })
      const stream = yield* look(monitor)
      yield* stream.next
      for (let second = 0; second < 30; second++) {
        yield* TestClock.adjust("1 second")
        expect((yield* stream.next).name).toBe("tick")
      }
      allowed = "read"
      yield* TestClock.adjust("10 seconds")
      let found = yield* stream.next
      while (found.name === "tick") found = yield* stream.next
      expect(found.name).toBe("end")
      allowed = "none"
      expect((yield* ask(monitor, "/api/live")).status).toBe(403)
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("shows what a runtime with leases holds and runs by its name", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const Charge = Activity.make("charge", { payload: Schema.Struct({}) })
      const Order = Definition.make("order", { context: Schema.Struct({}), activities: { charge: Charge } })
      const OrderLive = Order.toLayer({
        Start: (step) => Order.runActivity(step, "charge", {}),
        activities: { charge: { success: (step) => step, failure: (step) => step } }
      })
      const ChargeLive = Charge.toLayer(() => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never))
      yield* Effect.gen(function* () {
        const monitor = yield* Monitor.make()
        yield* Order.start("order-1", {})
        // The first renewal gives the lanes.
        yield* TestClock.adjust("1 second")
        yield* Deferred.await(begun)
        const { json } = yield* ask(monitor, "/api/overview")
        expect(json).toMatchObject({
          processes: {
            alone: true,
            pools: [
              { shares: "activities", processes: [{ name: expect.stringMatching(/^orders-1 ./), running: 1 }] },
              { shares: "lanes", total: 32, free: 0, processes: [{ name: "orders-1", held: 32 }] }
            ]
          }
        })
      }).pipe(
        Effect.provide(
          Layer.merge(OrderLive, ChargeLive).pipe(
            Layer.provideMerge(ExecutionRuntime.layer({ leases: { holder: "orders-1" }, shutdownTimeout: 0 })),
            Layer.provideMerge(MemoryStore.layer)
          )
        )
      )
    })
  )

  it.scoped("shows the health of a runtime that is there, and its charts", () =>
    Effect.gen(function* () {
      const monitor = yield* Monitor.make()
      expect((yield* ask(monitor, "/api/session")).json).toMatchObject({ runtime: true })
      expect((yield* ask(monitor, "/api/overview")).json).toMatchObject({
        health: {
          live: true,
          workers: [{ name: "outbox" }, { name: "spawns" }, { name: "timers" }, { name: "activities" }]
        }
      })
    }).pipe(Effect.provide(ExecutionRuntime.layer()), Effect.provide(MemoryStore.layer))
  )
})
