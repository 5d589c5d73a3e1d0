import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Definition from "holdfast/Definition"
import * as Step from "holdfast/Step"

export class Declined extends Schema.TaggedError<Declined>()("Declined", { reason: Schema.String }) {}

export const Shipment = Definition.make("shipment", {
  context: Schema.Struct({ item: Schema.String }),
  events: { Delivered: Schema.Struct({ tracking: Schema.String }) },
  result: Schema.Struct({ tracking: Schema.String })
})

export const ShipmentLive = Shipment.toLayer({
  Start: (step) => Step.advance(step, "OnItsWay"),
  Delivered: (step, { tracking }) => Shipment.finish(step, { tracking })
})

export const Order = Definition.make("order", {
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

export const OrderLive = Order.toLayer({
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
