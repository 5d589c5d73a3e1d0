// A parcel on its way: booked with the carrier by an activity, delivered or lost in the end.
import { Context, Effect, Schedule, Schema } from "effect"
import { Activity, Definition, Step } from "holdfast"

/** The carrier did not answer. It may the next time. */
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {}) {
  override get message(): string {
    return "the carrier does not answer"
  }
}

/** The carrier's API. The same key is the same booking, however often it is asked for. */
export class Carrier extends Context.Tag("Carrier")<
  Carrier,
  { readonly book: (item: string, key: string) => Effect.Effect<string, NoAnswer> }
>() {}

export const Book = Activity.make("book-parcel", {
  payload: Schema.Struct({ item: Schema.String }),
  success: Schema.Struct({ tracking: Schema.String }),
  error: NoAnswer,
  retry: Schedule.exponential("200 millis").pipe(Schedule.intersect(Schedule.recurs(9))),
  timeout: "30 seconds"
})

export const BookLive = Book.toLayer(
  Effect.gen(function* () {
    const carrier = yield* Carrier
    return ({ item }, { idempotencyKey }) =>
      Effect.map(carrier.book(item, idempotencyKey), (tracking) => ({ tracking }))
  })
)

export const Shipment = Definition.make("shipment", {
  context: Schema.Struct({ order: Schema.String, item: Schema.String, tracking: Schema.NullOr(Schema.String) }),
  input: Schema.Struct({ order: Schema.String, item: Schema.String }),
  initial: (input) => ({ ...input, tracking: null }),
  events: { Delivered: Schema.Struct({}), Lost: Schema.Struct({}) },
  timers: ["overdue"],
  activities: { book: Book },
  result: Schema.Struct({ item: Schema.String, tracking: Schema.NullOr(Schema.String), delivered: Schema.Boolean })
})

const end = (step: Step.Builder<Definition.SpecOf<typeof Shipment>["context"]>, delivered: boolean) => {
  const { item, tracking } = step.context
  return step.pipe(Shipment.cancelTimer("overdue"), Shipment.finish({ item, tracking, delivered }))
}

export const ShipmentLive = Shipment.toLayer({
  Start: (step) =>
    step.pipe(Step.advance("Booking"), Shipment.runActivity("book", { item: step.context.item }, { key: "book" })),

  activities: {
    book: {
      success: (step, { tracking }) =>
        step.pipe(
          Step.advance("OnItsWay"),
          Step.updateContext((context) => ({ ...context, tracking })),
          Shipment.armTimer("overdue", "14 days")
        ),
      // Tried often enough: the item does not go out, and the order gives its price back.
      failure: (step) => end(step, false)
    }
  },

  Delivered: (step) => end(step, true),
  Lost: (step) => end(step, false),
  timers: { overdue: (step) => end(step, false) }
})
