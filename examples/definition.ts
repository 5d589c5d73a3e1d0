import { Console, Context, Effect, Layer, Schema } from "effect"
import { Event, Execution, ExecutionRuntime, ExecutionStore, MemoryStore, Processor, Step } from "holdfast"

class CardDeclined extends Schema.TaggedError<CardDeclined>()("CardDeclined", { card: Schema.String }) {}

// A service of yours. A charge with a key that it knows already must not charge again.
class Payments extends Context.Tag("Payments")<
  Payments,
  { readonly charge: (card: string, amount: number, key: string) => Effect.Effect<void, CardDeclined> }
>() {}

const Order = Schema.Struct({
  card: Schema.String,
  total: Schema.Number,
  items: Schema.Array(Schema.String)
})

const order = Processor.transition({
  context: Order,
  transition: (execution, event) =>
    Effect.gen(function* () {
      const step = yield* Step.make(execution, event)
      const { card, items, total } = execution.context
      switch (event.kind) {
        case "Start":
          return step.pipe(Step.advance("Review"), Step.armTimer("Review", "1 hour"))
        case "Approved": {
          const payments = yield* Payments
          yield* payments.charge(card, total, `${execution.id}:${event.id}`)
          const parcels = items.reduce(
            (step, item) => Step.spawn(step, "Shipping", { definition: "parcel", context: { item } }),
            step
          )
          return parcels.pipe(Step.cancelTimer("Review"), Step.advance("Shipping"), Step.trace({ actions: ["charge"] }))
        }
        case "Finished": {
          const joined = Step.join(step)
          return Step.isJoined(joined, "Shipping") ? Step.finish(joined, "shipped") : joined
        }
        case "Timeout":
          return Step.cancel(step, "not approved")
        default:
          return step
      }
    }),
  // A card that was declined stays declined; anything else may pass.
  onFailure: (error) => (error._tag === "CardDeclined" ? "fail" : "retry")
})

const parcel: Processor.Transition = (execution, event) =>
  Effect.map(Step.make(execution, event), Step.finish({ outcome: "sent", result: { item: execution.context["item"] } }))

const payments = Layer.succeed(Payments, {
  charge: (card) => (card === "stolen" ? Effect.fail(new CardDeclined({ card })) : Effect.void)
})
const Live = ExecutionRuntime.layer({ definitions: { order, parcel } }).pipe(
  Layer.provideMerge(Layer.merge(MemoryStore.layer, payments))
)

const program = Effect.gen(function* () {
  const runtime = yield* ExecutionRuntime.ExecutionRuntime
  for (const card of ["good", "stolen"]) {
    const context = yield* Schema.encode(Order)({ card, total: 39.98, items: ["lamp", "desk"] })
    yield* runtime.start(Execution.make({ id: `order-${card}`, definitionId: "order", context }))
    yield* runtime.send(`order-${card}`, Event.make({ id: "approval", kind: "Approved" }))
  }
  yield* runtime.awaitIdle
  const { items } = yield* (yield* ExecutionStore.ExecutionStore).listExecutions({ definitionId: "order" })
  for (const { id, outcome, status } of items) yield* Console.log(`${id}: ${status}, ${outcome}`)
})

Effect.runPromise(program.pipe(Effect.provide(Live)))
