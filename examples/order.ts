import { Console, Effect, Layer, Option } from "effect"
import { Event, Execution, ExecutionRuntime, ExecutionStore, type Processor, Step } from "holdfast"
import * as SqliteStore from "holdfast/SqliteStore"

// One step: the execution and an event in, the next execution and what else to write out.
const order: Processor.Transition = (execution, event) =>
  Effect.map(Step.make(execution, event), (step) => {
    switch (event.kind) {
      case "Start":
        return step.pipe(Step.advance("AwaitingPayment"), Step.armTimer("payment", "1 hour"))
      case "Paid":
        return step.pipe(
          Step.updateContext((context) => ({ ...context, ...event.data })),
          Step.cancelTimer("payment"),
          Step.finish("paid")
        )
      default: // Timeout
        return Step.cancel(step, "unpaid")
    }
  })

const Store = SqliteStore.layer({ filename: "orders.db" })
const Live = ExecutionRuntime.layer({ definitions: { order } }).pipe(Layer.provideMerge(Store))

const program = Effect.gen(function* () {
  const runtime = yield* ExecutionRuntime.ExecutionRuntime
  const created = Execution.make({ id: "order-17", definitionId: "order", context: { qty: 2 } })
  yield* runtime.start(created).pipe(Effect.catchTag("AlreadyExists", () => Effect.void)) // run it twice
  yield* runtime.send("order-17", Event.make({ id: "payment-1", kind: "Paid", data: { amount: 39.98 } }))
  yield* runtime.awaitIdle // both events are delivered
  const { status, outcome, version } = Option.getOrThrow(yield* (yield* ExecutionStore.ExecutionStore).load("order-17"))
  yield* Console.log(`order-17: ${status}, ${outcome}, version ${version}`) // order-17: DONE, paid, version 3
})

Effect.runPromise(program.pipe(Effect.provide(Live)))
