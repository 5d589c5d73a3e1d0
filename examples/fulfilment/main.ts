// `node build/examples/fulfilment/main.js [sqlite|libsql]`: one order, all the way, on a file in this folder. Its carrier does not answer at
// the first two times that it is asked, and its bank takes its time.
import { Console, Effect, Layer } from "effect"
import { ExecutionRuntime } from "holdfast"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { Fulfilment } from "./app.js"
import { Order, Payments } from "./order.js"
import { Carrier, NoAnswer, Shipment } from "./shipment.js"

const Store =
  process.argv[2] === "libsql"
    ? LibsqlStore.layer({ url: "file:fulfilment-libsql.db" })
    : SqliteStore.layer({ filename: "fulfilment.db" })

const asked = new Map<string, number>()

const Partners = Layer.mergeAll(
  Layer.succeed(Carrier, {
    book: (item, key) =>
      Effect.suspend(() => {
        const times = (asked.get(key) ?? 0) + 1
        asked.set(key, times)
        return times < 3 ? Effect.fail(new NoAnswer()) : Effect.succeed(`track-${item}`)
      })
  }),
  Layer.succeed(Payments, {
    refund: (payment, amount) =>
      Effect.zipRight(Effect.sleep("1 second"), Console.log(`refund ${amount} of ${payment}`))
  })
)

const items = [
  { sku: "lamp", price: 40 },
  { sku: "chair", price: 90 }
]

const program = Effect.gen(function* () {
  yield* Order.startOrGet("order-17", { customer: "ada", items })
  yield* Order.send("order-17", "Paid", { payment: "p-1", amount: 130 }, { id: "provider:p-1" })
  yield* (yield* ExecutionRuntime.ExecutionRuntime).awaitIdle // the shipments are booked
  yield* Shipment.send("order-17:Shipments:0", "Delivered", {}, { id: "carrier:1" })
  yield* Shipment.send("order-17:Shipments:1", "Lost", {}, { id: "carrier:2" })
  const { refunded, trackings } = yield* Order.await("order-17")
  yield* Console.log(`order-17: arrived ${trackings.join(", ")}; refunded ${refunded}`)
})

Effect.runPromise(program.pipe(Effect.provide(Fulfilment.pipe(Layer.provide(Partners), Layer.provideMerge(Store)))))
