// A parcel on its way: booked with the carrier when it starts, delivered or lost in the end.
import { Context, Effect, Schema } from "effect"
import { Definition, Step } from "holdfast"

export const Shipment = Definition.make("shipment", {
  context: Schema.Struct({ order: Schema.String, item: Schema.String, tracking: Schema.NullOr(Schema.String) }),
  input: Schema.Struct({ order: Schema.String, item: Schema.String }),
  initial: (input) => ({ ...input, tracking: null }),
  events: { Delivered: Schema.Struct({}), Lost: Schema.Struct({}) },
  timers: ["overdue"],
  result: Schema.Struct({ item: Schema.String, tracking: Schema.NullOr(Schema.String), delivered: Schema.Boolean })
})

/** The carrier's API. The same key is the same booking, however often it is asked for. */
export class Carrier extends Context.Tag("Carrier")<
  Carrier,
  { readonly book: (item: string, key: string) => Effect.Effect<string> }
>() {}

export const ShipmentLive = Shipment.toLayer(
  Effect.gen(function* () {
    const carrier = yield* Carrier
    const end = (step: Step.Builder<Definition.SpecOf<typeof Shipment>["context"]>, delivered: boolean) => {
      const { item, tracking } = step.context
      return step.pipe(Shipment.cancelTimer("overdue"), Shipment.finish({ item, tracking, delivered }))
    }
    return {
      Start: (step) =>
        Effect.map(carrier.book(step.context.item, step.execution.id), (tracking) =>
          step.pipe(
            Step.advance("OnItsWay"),
            Step.updateContext((context) => ({ ...context, tracking })),
            Shipment.armTimer("overdue", "14 days")
          )
        ),
      Delivered: (step) => end(step, true),
      Lost: (step) => end(step, false),
      timers: { overdue: (step) => end(step, false) }
    }
  })
)
