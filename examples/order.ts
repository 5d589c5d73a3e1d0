import { Clock, Console, Effect, Layer, Option } from "effect"
import { Commit, Event, Execution, ExecutionStore, type Processor, Runtime } from "holdfast"
import * as SqliteStore from "holdfast/SqliteStore"

// One step: the execution and an event in, the next execution and what else to write out.
const order: Processor.Transition = (execution, event) =>
  Effect.gen(function* () {
    switch (event.kind) {
      case "Start": {
        const deadline = (yield* Clock.currentTimeMillis) / 1000 + 3600
        const timers = [Commit.scheduleTimer("payment", deadline)]
        return { execution: { ...execution, status: "RUNNING", activePath: "AwaitingPayment" }, commit: { timers } }
      }
      case "Paid":
        return {
          execution: {
            ...execution,
            status: "DONE",
            outcome: "paid",
            context: { ...execution.context, ...event.data }
          },
          commit: { timers: [Commit.cancelTimer("payment")] }
        }
      default: // Timeout
        return { execution: { ...execution, status: "CANCELLED", outcome: "unpaid" } }
    }
  })

const Store = SqliteStore.layer({ filename: "orders.db" })
const Live = Runtime.layer({ definitions: { order } }).pipe(Layer.provideMerge(Store))

const program = Effect.gen(function* () {
  const runtime = yield* Runtime.Runtime
  const created = Execution.make({ id: "order-17", definitionId: "order", context: { qty: 2 } })
  yield* runtime.start(created).pipe(Effect.catchTag("AlreadyExists", () => Effect.void)) // run it twice
  yield* runtime.send("order-17", Event.make({ id: "payment-1", kind: "Paid", data: { amount: 39.98 } }))
  yield* runtime.idle // both events are delivered
  const { status, outcome, version } = Option.getOrThrow(yield* (yield* ExecutionStore.ExecutionStore).load("order-17"))
  yield* Console.log(`order-17: ${status}, ${outcome}, version ${version}`) // order-17: DONE, paid, version 3
})

Effect.runPromise(program.pipe(Effect.provide(Live)))
