import * as Effect from "effect/Effect"
import type { OutboxEntry } from "holdfast/Commit"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as OutboxRelay from "holdfast/OutboxRelay"
import type { Delivered, Delivery } from "holdfast/QueueWorker"
import { event } from "./workers.js"

export const relayOn = <E, R>(store: ExecutionStore.ExecutionStore, options: OutboxRelay.Options<E, R>) =>
  Effect.provideService(OutboxRelay.make(options), ExecutionStore.ExecutionStore, store)

/** Puts an event for each target into the outbox; the ids are `<target>:<n>`, counted over all. */
export const fill = (store: ExecutionStore.ExecutionStore, targets: ReadonlyArray<string | null>) =>
  store.enqueue(targets.map((targetId, i) => ({ targetId, event: event(`${targetId}:${i}`) })))

/** A delivery that records what it is given, and fails for the targets in `poison`. */
export const recording = (poison: ReadonlySet<string | null> = new Set()) => {
  const tries: Array<string> = []
  const delivered: Array<string> = []
  const deliveries: Array<Delivery> = []
  const deliver = (entry: OutboxEntry, delivery?: Delivery): Effect.Effect<Delivered, string> =>
    Effect.suspend(() => {
      tries.push(entry.event.id)
      if (delivery !== undefined) deliveries.push(delivery)
      if (poison.has(entry.targetId)) return Effect.fail(`poison ${entry.targetId}`)
      delivered.push(entry.event.id)
      return Effect.succeed("Delivered")
    })
  return { tries, delivered, deliveries, deliver }
}

/** Counts the pages that are read. */
export const counting = (store: ExecutionStore.ExecutionStore) => {
  const reads = { count: 0 }
  const counted: ExecutionStore.ExecutionStore = {
    ...store,
    pendingOutbox: (query) =>
      Effect.suspend(() => {
        reads.count++
        return store.pendingOutbox(query)
      })
  }
  return { reads, counted }
}
