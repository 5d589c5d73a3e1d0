import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"

/** An order whose items make up at least `bytes` of JSON. */
export const contextOf = (bytes: number) => {
  const items: Array<Readonly<Record<string, string | number>>> = []
  while (JSON.stringify(items).length < bytes) {
    const sku = `A-${1000 + items.length}`
    items.push({ sku, quantity: 1 + (items.length % 3), note: "to be left at the door on the second floor" })
  }
  return { items }
}

/** A running order that is not stored yet, with 1 KiB of context where nothing else is said. */
export const make = (id: string, bytes = 1024): Execution.Execution =>
  Execution.make({ id, definitionId: "order", status: "RUNNING", context: contextOf(bytes) })

const happened = (id: string, target: string): Commit.Emit => ({
  targetId: target,
  event: Event.make({ id, kind: "OrderPlaced", data: { order: target } })
})

/** Two emits, a processed event, a timer and a trace step. */
export const sideWrites = (id: string) => ({
  emits: [happened(`${id}-1`, "stock"), happened(`${id}-2`, "mail")],
  processed: id,
  timers: [Commit.scheduleTimer("payment", 1_790_000_000)],
  trace: Commit.traceStep({ eventKind: "Placed", fromPath: "New", toPath: "Waiting", timestamp: 1_790_000_000 })
})

/** What happens to an order. */
export const paid = (id: string): Event.Event => Event.make({ id, kind: "Paid", data: { amount: 39.98, by: "card" } })
