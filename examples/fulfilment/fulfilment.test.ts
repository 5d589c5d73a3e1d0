import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import { ExecutionRuntime, MemoryStore } from "holdfast"
import * as DefinitionError from "holdfast/DefinitionError"
import { Fulfilment } from "./app.js"
import { Order, Payments } from "./order.js"
import { Carrier, NoAnswer, Shipment } from "./shipment.js"

/** Partners that write down what they were asked; the carrier does not answer at first, and the bank takes its time. */
const recording = ({ failing = 0 }: { readonly failing?: number } = {}) => {
  const refunds: Array<readonly [payment: string, amount: number, key: string]> = []
  const bookings: Array<readonly [item: string, key: string]> = []
  const layer = Layer.mergeAll(
    Layer.succeed(Carrier, {
      book: (item, key) =>
        Effect.suspend(() => {
          bookings.push([item, key])
          const times = bookings.filter(([, asked]) => asked === key).length
          return times > failing ? Effect.succeed(`track-${item}`) : Effect.fail(new NoAnswer())
        })
    }),
    Layer.succeed(Payments, {
      refund: (...refund) =>
        Effect.zipRight(
          Effect.sleep("1 minute"),
          Effect.sync(() => void refunds.push(refund))
        )
    })
  )
  return { bookings, refunds, layer: Fulfilment.pipe(Layer.provide(layer), Layer.provideMerge(MemoryStore.layer)) }
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
      assert.strictEqual(yield* Order.count({ where: { customer: "ada", paid: true } }), 1)
      assert.strictEqual(yield* Order.count({ where: { paid: false } }), 0)
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
      assert.strictEqual((yield* Order.get("o")).activePath, "Refunding")
      // The bank is slow, and holds up nobody.
      yield* Order.start("p", { customer: "bob", items })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Order.get("p")).activePath, "AwaitingPayment")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* end, { trackings: ["track-lamp"], refunded: 115 })
      assert.deepStrictEqual(
        refunds.map(([payment, amount]) => [payment, amount]),
        [["p", 115]]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("is booked when its carrier answers at last, under one key", () => {
    const { bookings, layer } = recording({ failing: 2 })
    return Effect.gen(function* () {
      yield* Order.start("o", { customer: "ada", items: [{ sku: "lamp", price: 40 }] })
      yield* Order.send("o", "Paid", { payment: "p", amount: 40 })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Shipment.get("o:Shipments:0")).context.tracking, "track-lamp")
      assert.deepStrictEqual([bookings.length, new Set(bookings.map(([, key]) => key)).size], [3, 1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is refunded where its carrier never answers", () => {
    const { bookings, layer } = recording({ failing: Number.POSITIVE_INFINITY })
    return Effect.gen(function* () {
      yield* Order.start("o", { customer: "ada", items: [{ sku: "lamp", price: 40 }] })
      yield* Order.send("o", "Paid", { payment: "p", amount: 40 })
      const end = yield* Effect.fork(Order.await("o"))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* end, { trackings: [], refunded: 40 })
      assert.strictEqual(bookings.length, 10)
    }).pipe(Effect.provide(layer))
  })
})
