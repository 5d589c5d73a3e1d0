// An order whose card is charged by a provider that fails twice, while a slow report is made and other events go on.
import { Console, Effect, Layer, Schedule, Schema } from "effect"
import { Activity, Definition, ExecutionRuntime, MemoryStore, Step } from "holdfast"

class CardDeclined extends Schema.TaggedError<CardDeclined>()("CardDeclined", { code: Schema.String }) {}
class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {}) {}

const Charge = Activity.make("charge", {
  payload: Schema.Struct({ amount: Schema.Number }),
  success: Schema.Struct({ receipt: Schema.String }),
  error: Schema.Union(CardDeclined, NoAnswer),
  // A card that was declined stays declined; anything else may pass.
  retry: Schedule.exponential("100 millis").pipe(
    Schedule.intersect(Schedule.recurs(5)),
    Schedule.whileInput((error: Activity.AttemptError<CardDeclined | NoAnswer>) => error._tag !== "CardDeclined")
  ),
  timeout: "10 seconds"
})

const Report = Activity.make("report", { payload: Schema.Struct({ customer: Schema.String }), concurrency: 2 })

const Context = Schema.Struct({ customer: Schema.String, total: Schema.Number, notes: Schema.Array(Schema.String) })

const Order = Definition.make("order", {
  context: Context,
  events: { Note: Schema.Struct({ text: Schema.String }) },
  activities: { charge: Charge, report: Report },
  result: Schema.Struct({ notes: Schema.Array(Schema.String) })
})

const note = (text: string) =>
  Step.updateContext((context: typeof Context.Type) => ({ ...context, notes: [...context.notes, text] }))

const OrderLive = Order.toLayer({
  Start: (step) =>
    step.pipe(
      Step.advance("Charging"),
      // The key makes the idempotency key: the provider is asked for the same charge each time.
      Order.runActivity("charge", { amount: step.context.total }, { key: "charge" }),
      Order.runActivity("report", { customer: step.context.customer })
    ),
  Note: (step, { text }) => step.pipe(note(text)),
  activities: {
    charge: {
      success: (step, { receipt }, { attempts }) => step.pipe(note(`${receipt} after ${attempts} attempts`)),
      failure: (step, error) => Step.fail(step, error)
    },
    report: {
      success: (step) => {
        const { notes } = step.pipe(note("reported")).context
        return Order.finish(step, { notes })
      },
      failure: (step, error) => Step.fail(step, error)
    }
  }
})

const ActivitiesLive = Layer.mergeAll(
  Charge.toLayer(({ amount }, { attempt, idempotencyKey }) =>
    attempt < 3
      ? Effect.fail(new NoAnswer())
      : Effect.as(Console.log(`charged ${amount} under ${idempotencyKey}`), { receipt: "receipt-1" })
  ),
  Report.toLayer(() => Effect.sleep("2 seconds"))
)

const Live = Layer.merge(OrderLive, ActivitiesLive).pipe(
  Layer.provideMerge(ExecutionRuntime.layer()),
  Layer.provideMerge(MemoryStore.layer)
)

const program = Effect.gen(function* () {
  yield* Order.start("order-17", { customer: "ada", total: 39.98, notes: [] })
  yield* Order.send("order-17", "Note", { text: "gift wrap" })
  const { notes } = yield* Order.await("order-17")
  yield* Console.log(notes.join(", ")) // gift wrap, receipt-1 after 3 attempts, reported
})

Effect.runPromise(program.pipe(Effect.provide(Live)))
