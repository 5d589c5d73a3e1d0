// An order: paid within a day or cancelled; then a shipment for each item; what did not arrive is refunded.
import { Context, Effect, Option, Schedule, Schema } from "effect"
import { Activity, Definition, Step } from "holdfast"
import { Shipment } from "./shipment.js"

/** The payment provider's API. The same key is the same refund. It may take its time. */
export class Payments extends Context.Tag("Payments")<
  Payments,
  { readonly refund: (payment: string, amount: number, key: string) => Effect.Effect<void> }
>() {}

export const Refund = Activity.make("refund", {
  payload: Schema.Struct({ payment: Schema.String, amount: Schema.Number }),
  // A compensation is not given up.
  retry: Schedule.exponential("1 second").pipe(Schedule.union(Schedule.spaced("10 minutes"))),
  timeout: "5 minutes"
})

export const RefundLive = Refund.toLayer(
  Effect.gen(function* () {
    const payments = yield* Payments
    return ({ amount, payment }, { idempotencyKey }) => payments.refund(payment, amount, idempotencyKey)
  })
)

const Item = Schema.Struct({ sku: Schema.String, price: Schema.Number })
const End = Schema.Struct({ trackings: Schema.Array(Schema.String), refunded: Schema.Number })

export const Order = Definition.make("order", {
  context: Schema.Struct({
    customer: Schema.String,
    items: Schema.Array(Item),
    payment: Schema.NullOr(Schema.String),
    end: Schema.NullOr(End)
  }),
  input: Schema.Struct({ customer: Schema.String, items: Schema.Array(Item) }),
  initial: (input) => ({ ...input, payment: null, end: null }),
  events: { Paid: Schema.Struct({ payment: Schema.String, amount: Schema.Number }) },
  timers: ["payment"],
  children: { Shipments: Shipment },
  // Service asks for a customer's orders, and for those that nobody has paid.
  attributes: { customer: ({ customer }) => customer, paid: ({ payment }) => payment !== null },
  activities: { refund: Refund },
  result: End
})

const totalOf = (items: ReadonlyArray<typeof Item.Type>): number => items.reduce((sum, { price }) => sum + price, 0)

export const OrderLive = Order.toLayer({
  Start: (step) => step.pipe(Step.advance("AwaitingPayment"), Order.armTimer("payment", "1 day")),

  Paid: (step, { amount, payment }) => {
    const { items } = step.context
    // Too little: the order goes on waiting, and the customer is asked elsewhere.
    if (amount < totalOf(items)) return step
    return step.pipe(
      Order.cancelTimer("payment"),
      Step.advance("Shipping"),
      Step.updateContext((context) => ({ ...context, payment })),
      Order.spawnAll(
        "Shipments",
        items.map(({ sku }) => ({ order: step.execution.id, item: sku }))
      )
    )
  },

  timers: { payment: (step) => Step.cancel(step, "unpaid") },

  children: {
    // All have ended. What did not arrive is undone: the saga's compensation.
    Shipments: (step, shipments) => {
      const ends = shipments.flatMap(({ result }) => Option.toArray(result))
      const trackings = ends.flatMap(({ delivered, tracking }) => (delivered && tracking !== null ? [tracking] : []))
      const arrived = new Set(ends.flatMap(({ delivered, item }) => (delivered ? [item] : [])))
      const refunded = totalOf(step.context.items.filter(({ sku }) => !arrived.has(sku)))
      const { payment } = step.context
      if (refunded === 0 || payment === null) {
        return Order.finish(step, { trackings, refunded }, { outcome: "delivered" })
      }
      return step.pipe(
        Step.advance("Refunding"),
        Step.updateContext((context) => ({ ...context, end: { trackings, refunded } })),
        Order.runActivity("refund", { payment, amount: refunded }, { key: "refund" })
      )
    }
  },

  activities: {
    refund: {
      success: (step) => Order.finish(step, step.context.end ?? { trackings: [], refunded: 0 }, { outcome: "partly" }),
      // Somebody cancelled it: an operator looks after the money, and redrives the order.
      failure: (step, error) => Step.fail(step, error)
    }
  }
})
