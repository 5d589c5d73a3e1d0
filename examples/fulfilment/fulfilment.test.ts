import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import { ExecutionRuntime, MemoryStore } from "holdfast"
import * as DefinitionError from "holdfast/DefinitionError"
import { Fulfilment } from "./app.js"
import { Order, Payments } from "./order.js"
import { Carrier, Shipment } from "./shipment.js"

/** Partners that write down what they were asked. */
const recording = () => {
  const refunds: Array<readonly [payment: string, amount: number, key: string]> = []
  const layer = Layer.mergeAll(
    Layer.succeed(Carrier, { book: (item) => Effect.succeed(`track-${item}`) }),
    Layer.succeed(Payments, { refund: (...refund) => Effect.sync(() => void refunds.push(refund)) })
  )
  return { refunds, layer: Fulfilment.pipe(Layer.provide(layer), Layer.provideMerge(MemoryStore.layer)) }
}

const items = [
  { sku: "lamp", price: 40 },
  { sku: "chair", price: 90 }
]
const idle = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, (runtime) => runtime.awaitIdle)

describe("An order", () => {
  it.effect("that is not paid within a day is cancelled", () => {
    const { layer, refunds } = recording()
    return Effect.gen(function* () {
      yield* Order.start("o", { customer: "ada", items })
      const end = yield* Effect.fork(Effect.flip(Order.await("o")))
      yield* Order.send("o", "Paid", { payment: "p", amount: 1 })
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(
        yield* end,
        new DefinitionError.ExecutionCancelled({ executionId: "o", outcome: "unpaid" })
      )
      assert.deepStrictEqual(refunds, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is delivered when all of its shipments are", () => {
    const { layer, refunds } = recording()
    return Effect.gen(function* () {
      yield* Order.start("o", { customer: "ada", items })
      yield* Order.send("o", "Paid", { payment: "p", amount: 130 })
      yield* idle
      const { items: shipments } = yield* Shipment.list()
      for (const { id } of shipments) yield* Shipment.send(id, "Delivered", {})
      assert.deepStrictEqual(yield* Order.await("o"), { trackings: ["track-lamp", "track-chair"], refunded: 0 })
      assert.deepStrictEqual(refunds, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("gives back what was lost, or did not come within two weeks", () => {
    const { layer, refunds } = recording()
    return Effect.gen(function* () {
      yield* Order.start("o", { customer: "ada", items: [...items, { sku: "vase", price: 25 }] })
      yield* Order.send("o", "Paid", { payment: "p", amount: 155 })
      yield* idle
      yield* Shipment.send("o:Shipments:0", "Delivered", {})
      yield* Shipment.send("o:Shipments:1", "Lost", {})
      yield* idle
      const end = yield* Effect.fork(Order.await("o"))
      yield* TestClock.adjust("14 days")
      assert.deepStrictEqual(yield* end, { trackings: ["track-lamp"], refunded: 115 })
      assert.deepStrictEqual(refunds, [["p", 115, "o"]])
    }).pipe(Effect.provide(layer))
  })
})
