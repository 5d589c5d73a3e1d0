import { Console, Effect, Layer, Schema } from "effect"
import { Definition, ExecutionRuntime, Step } from "holdfast"
import * as SqliteStore from "holdfast/SqliteStore"

// What there is: any process that starts orders, or sends them events, imports this value alone.
const Order = Definition.make("order", {
  context: Schema.Struct({ customer: Schema.String }),
  events: { Paid: Schema.Struct({ amount: Schema.Number }) },
  timers: ["payment"],
  result: Schema.Struct({ paid: Schema.Number })
})

// How it goes: a step in, the next step out.
const OrderLive = Order.toLayer({
  Start: (step) => step.pipe(Step.advance("AwaitingPayment"), Order.armTimer("payment", "1 hour")),
  Paid: (step, { amount }) => step.pipe(Order.cancelTimer("payment"), Order.finish({ paid: amount })),
  timers: { payment: (step) => Step.cancel(step, "unpaid") }
})

const Live = OrderLive.pipe(
  Layer.provideMerge(ExecutionRuntime.layer()),
  Layer.provideMerge(SqliteStore.layer({ filename: "orders.db" }))
)

const program = Effect.gen(function* () {
  yield* Order.startOrGet("order-17", { customer: "c-1" }) // run it twice: it is one order
  yield* Order.send("order-17", "Paid", { amount: 39.98 }, { id: "shop:payment-1" }) // and one payment
  const { paid } = yield* Order.await("order-17")
  yield* Console.log(`order-17: paid ${paid}`) // order-17: paid 39.98
})

Effect.runPromise(program.pipe(Effect.provide(Live)))
