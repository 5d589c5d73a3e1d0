import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Definition from "holdfast/Definition"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Step from "holdfast/Step"

class Declined extends Schema.TaggedError<Declined>()("Declined", { reason: Schema.String }) {}

const Shipment = Definition.make("shipment", {
  context: Schema.Struct({ item: Schema.String }),
  events: { Delivered: Schema.Struct({ tracking: Schema.String }) },
  result: Schema.Struct({ tracking: Schema.String })
})

const ShipmentLive = Shipment.toLayer({
  Start: (step) => Step.advance(step, "OnItsWay"),
  Delivered: (step, { tracking }) => Shipment.finish(step, { tracking })
})

const Order = Definition.make("order", {
  context: Schema.Struct({
    items: Schema.Array(Schema.String),
    total: Schema.Number,
    paidAt: Schema.optional(Schema.Date)
  }),
  events: {
    Paid: Schema.Struct({ amount: Schema.Number, at: Schema.Date }),
    Decline: Schema.Struct({ reason: Schema.String })
  },
  timers: ["payment"],
  children: { Shipping: Shipment },
  result: Schema.Struct({ tracking: Schema.Array(Schema.String) }),
  error: Declined
})

const OrderLive = Order.toLayer({
  Start: (step) => step.pipe(Step.advance("AwaitingPayment"), Order.armTimer("payment", "1 hour")),
  Paid: (step, { amount, at }) =>
    amount < step.context.total
      ? step
      : step.pipe(
          Step.updateContext((context) => ({ ...context, paidAt: at })),
          Order.cancelTimer("payment"),
          Step.advance("Shipping"),
          Order.spawnAll(
            "Shipping",
            step.context.items.map((item) => ({ item }))
          )
        ),
  Decline: (step, { reason }) => Order.fail(step, new Declined({ reason })),
  timers: { payment: (step) => Step.cancel(step, "unpaid") },
  children: {
    Shipping: (step, children) =>
      Order.finish(step, {
        tracking: children.flatMap(({ result }) => Option.toArray(result)).map((result) => result.tracking)
      })
  }
})

const Live = Layer.mergeAll(OrderLive, ShipmentLive).pipe(
  Layer.provideMerge(ExecutionRuntime.layer()),
  Layer.provideMerge(MemoryStore.layer)
)

const idle = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, (runtime) => runtime.idle)

describe("Definition", () => {
  it.effect("runs an order to its result, through its children", () =>
    Effect.gen(function* () {
      const started = yield* Order.start("order-17", { items: ["lamp", "chair"], total: 10 })
      assert.deepStrictEqual(started.context, { items: ["lamp", "chair"], total: 10 })
      yield* Order.send("order-17", "Paid", { amount: 10, at: new Date(5) })
      yield* idle
      const waiting = yield* Order.get("order-17")
      assert.strictEqual(waiting.activePath, "Shipping")
      assert.deepStrictEqual(waiting.context.paidAt, new Date(5))
      const wait = yield* Effect.fork(Order.await("order-17"))
      const { items } = yield* Shipment.list()
      assert.deepStrictEqual(
        items.map(({ context, id }) => [id, context]),
        [
          ["order-17:Shipping:0", { item: "lamp" }],
          ["order-17:Shipping:1", { item: "chair" }]
        ]
      )
      for (const { id } of items) yield* Shipment.send(id, "Delivered", { tracking: `t-${id}` })
      const result = yield* wait
      assert.deepStrictEqual(result, { tracking: ["t-order-17:Shipping:0", "t-order-17:Shipping:1"] })
      assert.deepStrictEqual((yield* Order.get("order-17")).result, Option.some(result))
      assert.deepStrictEqual(yield* Order.run("order-17", { items: [], total: 0 }), result)
    }).pipe(Effect.provide(Live))
  )

  it.effect("fires a typed timer, and tells who waits that it was cancelled", () =>
    Effect.gen(function* () {
      yield* Order.start("a", { items: [], total: 1 })
      yield* idle
      const wait = yield* Effect.fork(Effect.flip(Order.await("a")))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* wait, new Definition.ExecutionCancelled({ executionId: "a", outcome: "unpaid" }))
    }).pipe(Effect.provide(Live))
  )

  it.effect("fails with the error of the definition", () =>
    Effect.gen(function* () {
      yield* Order.start("a", { items: [], total: 1 })
      yield* Order.send("a", "Decline", { reason: "no money" })
      const error = yield* Effect.flip(Order.await("a"))
      assert.deepStrictEqual(error, new Declined({ reason: "no money" }))
      const { failure, status } = yield* Order.get("a")
      assert.deepStrictEqual([status, failure], ["FAILED", Option.some(new Declined({ reason: "no money" }))])
    }).pipe(Effect.provide(Live))
  )
})
