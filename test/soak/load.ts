/** The load of a soak: orders with all that executions can have, recurring work beside them, and one who looks at it all. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Cron from "holdfast/Cron"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import { Live, Order, Part } from "../torture/order.js"

const EverySecond = Cron.make("tick", {
  schedule: "* * * * * *",
  timeZone: "UTC",
  action: Cron.start(Part, () => ({}))
})

/** A runtime with leases, retention and recurring work. */
export const RuntimeLive = Layer.merge(Live, Cron.toLayer(EverySecond)).pipe(
  Layer.provideMerge(
    ExecutionRuntime.layer({
      leases: true,
      pollInterval: "200 millis",
      timerInterval: "200 millis",
      retention: { processed: "20 seconds", finished: "20 seconds", interval: "5 seconds" }
    })
  )
)

const events = 4

/** One order, until its end. */
export const order = (id: string) =>
  Effect.gen(function* () {
    yield* Order.start(id, { events })
    for (let nth = 1; nth <= events; nth++) {
      const event = `${id}-${nth}`
      yield* Order.send(id, "Add", { event, client: id, nth }, { id: event })
    }
    yield* Order.await(id)
  })

/** How many orders a second there can be. */
export const fullSpeed = (seconds: number) =>
  Effect.gen(function* () {
    const done = yield* Ref.make(0)
    const client = (n: number) =>
      Effect.gen(function* () {
        for (let nth = 0; ; nth++) {
          yield* order(`full-${n}-${nth}`)
          yield* Ref.update(done, (count) => count + 1)
        }
      })
    const clients = Effect.forEach(
      Array.from({ length: 48 }, (_, n) => n),
      client,
      { concurrency: "unbounded", discard: true }
    )
    yield* Effect.timeoutOption(clients, `${seconds} seconds`)
    return (yield* Ref.get(done)) / seconds
  })

/** Begins so many orders a second, whether others have ended or not; counts those that ended. */
export const steady = (perSecond: number, done: Ref.Ref<number>) =>
  Effect.gen(function* () {
    const one = (nth: number) =>
      Effect.zipRight(
        order(`order-${nth}`),
        Ref.update(done, (count) => count + 1)
      )
    const start = yield* Clock.currentTimeMillis
    // By the clock, as a timer of the system that fires a moment early makes a schedule run twice. Not by a repeated effect that gives its
    // fiber either: that would hold the fibers of all orders before it.
    for (let nth = 0; ; nth++) {
      const ahead = start + (nth * 1000) / perSecond - (yield* Clock.currentTimeMillis)
      if (ahead > 0) yield* Effect.sleep(ahead)
      yield* Effect.forkScoped(one(nth))
    }
  })

/** How long each commit of somebody who commits now and then takes, in milliseconds. */
export const probe = (took: (millis: number) => void) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    let register = yield* store.save(Execution.make({ id: "probe", definitionId: "probe" }))
    const once = Effect.gen(function* () {
      const begun = performance.now()
      register = yield* store.save({ ...register, context: { at: begun } })
      took(performance.now() - begun)
    })
    yield* Effect.repeat(once, Schedule.spaced("25 millis"))
  })

/** What a monitor does: it follows the commits, and looks at health and counts. */
export const onlookers = Effect.gen(function* () {
  const runtime = yield* ExecutionRuntime.ExecutionRuntime
  const store = yield* ExecutionStore
  const look = Effect.all([runtime.health, store.counts, store.listExecutions({ limit: 50 })])
  yield* Effect.all([Stream.runDrain(runtime.commits), Effect.repeat(look, Schedule.spaced("1 second"))], {
    concurrency: "unbounded",
    discard: true
  })
})
