import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Commit from "holdfast/Commit"
import * as Definition from "holdfast/Definition"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"

/** A definition whose events have forms. */
export const Order = Definition.make("order", {
  context: Schema.Struct({}),
  events: {
    Paid: Schema.Struct({
      amount: Schema.Number,
      method: Schema.Literal("card", "invoice"),
      note: Schema.optional(Schema.String)
    }),
    Returned: Schema.Struct({ items: Schema.Array(Schema.String) })
  }
})

const items = [
  { sku: "lamp-04", title: "Desk lamp", price: 40, quantity: 1 },
  { sku: "chair-11", title: "Chair, oak", price: 90, quantity: 2 }
]

const context = {
  customer: { id: "c-1042", name: "Ada Brunner", email: "ada@example.com" },
  items,
  total: 220,
  payment: null,
  attempts: 0
}

const pad = (n: number): string => String(n).padStart(4, "0")

/** The steps of an order that was paid and waits for its shipments. */
const trace = (id: string, now: number) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const paid = { ...context, payment: { provider: "p-77", amount: 220 }, attempts: 1 }
    const shipped = { ...paid, shipments: ["lamp-04", "chair-11"] }
    const { payment: _, ...refunded } = { ...shipped, refund: { amount: 40, reason: "lost" } }
    const step = (
      eventKind: string,
      fromPath: string | null,
      toPath: string,
      contextOut: object,
      ago: number,
      data = {}
    ) =>
      store.appendTrace(
        id,
        Commit.traceStep({
          eventKind,
          eventData: data,
          fromPath,
          toPath,
          contextOut: { ...contextOut },
          timestamp: now - ago,
          actions: eventKind === "Paid" ? ["cancelTimer payment", "spawn Shipments"] : []
        })
      )
    yield* step("Start", null, "AwaitingPayment", context, 5400)
    yield* step("Paid", "AwaitingPayment", "Shipping", paid, 3660, { amount: 220, method: "card" })
    yield* step("Finished", "Shipping", "Shipping", shipped, 1200, { outcome: "delivered" })
    yield* step("Finished", "Shipping", "Refunding", refunded, 240, { outcome: "lost" })
  })

/** One order with something of everything, `order-1042`, and its children. */
const family = (now: number) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const id = "order-1042"
    yield* store.commit(
      Execution.make({
        id,
        definitionId: "order",
        status: "SUSPENDED",
        activePath: "Shipping.Refunding",
        context: { ...context, payment: { provider: "p-77", amount: 220 }, ledger: 12345678901234567890n },
        processedEvents: 4,
        createdAt: now - 5400
      }),
      {
        emits: [
          {
            targetId: id,
            event: Event.make({ id: "shop:881", kind: "Note", data: { text: "Leave it with the neighbour" } })
          },
          {
            targetId: id,
            event: Event.make({ id: "shop:882", kind: "Returned", data: { items: ["lamp-04"] } }),
            dueAt: now + 5000
          }
        ],
        timers: [Commit.scheduleTimer("refund", now + 900), Commit.scheduleTimer("reminder", now + 86_400)],
        spawns: [{ childId: `${id}:Refunds:0`, rootPath: "Refund", context: { amount: 40 } }],
        activities: [Commit.runActivity({ key: "refund", name: "refund", payload: { payment: "p-77", amount: 40 } })],
        attributes: { customer: "c-1042", express: true }
      }
    )
    yield* trace(id, now)
    yield* store.save(
      Execution.make({
        id: `${id}:Shipments:0`,
        definitionId: "shipment",
        status: "DONE",
        outcome: "delivered",
        activePath: "Delivered",
        parentId: id
      })
    )
    yield* store.save(
      Execution.make({
        id: `${id}:Shipments:1`,
        definitionId: "shipment",
        status: "CANCELLED",
        outcome: "lost",
        activePath: "InTransit",
        parentId: id
      })
    )
  })

/** Dead letters of events that were given up. */
const letters = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const events = Array.from({ length: 3 }, (_, i) => ({
    targetId: "order-1042",
    event: Event.make({ id: `carrier:${i}`, kind: "Delivered", data: { parcel: `p-${i}`, signedBy: "A. Brunner" } })
  }))
  const seqs = yield* store.enqueue(events)
  yield* Effect.forEach(seqs, (seq, i) =>
    store.deadLetters.bury(
      { _tag: "Outbox", seq },
      {
        reason: i === 0 ? "rejected" : "attempts",
        attempts: i === 0 ? 1 : 20,
        error: i === 0 ? "refused for good: the parcel is not of this order" : "connect ECONNREFUSED 10.0.4.17:443"
      }
    )
  )
})

const statuses: ReadonlyArray<Execution.Status> = [
  "DONE",
  "DONE",
  "DONE",
  "RUNNING",
  "RUNNING",
  "PENDING",
  "SUSPENDED",
  "CANCELLED"
]
const paths = ["Finished", "Finished", "Finished", "AwaitingPayment", "Shipping", "New", "Shipping", "AwaitingPayment"]

/** A store with something of everything: what tests of the pages look at, and their pictures show. */
export const demo = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const now = (yield* Clock.currentTimeMillis) / 1000
  yield* Effect.forEach(
    Array.from({ length: 160 }, (_, i) => i),
    (i) => {
      const at = i % statuses.length
      const failed = i % 31 === 7
      return store.commit(
        Execution.make({
          id: `${i % 3 === 0 ? "invoice" : "order"}-${pad(i)}`,
          definitionId: i % 3 === 0 ? "invoice" : "order",
          status: failed ? "FAILED" : (statuses[at] ?? "DONE"),
          outcome: statuses[at] === "DONE" && !failed ? "shipped" : null,
          activePath: paths[at] ?? null,
          error: failed ? "no stock left for sku lamp-04" : null,
          context: { ...context, number: i }
        }),
        { attributes: { customer: `c-${i % 20}`, express: i % 5 === 0 } }
      )
    },
    { concurrency: 20, discard: true }
  )
  yield* family(now)
  yield* letters
})
