import * as Effect from "effect/Effect"
import type * as Execution from "holdfast/Execution"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as measure from "./measure.js"
import * as order from "./order.js"

/** One way of committing: takes an order and the id of the event that it consumes, gives the order at its next version. */
export type Step<E> = (execution: Execution.Execution, eventId: string) => Effect.Effect<Execution.Execution, E>

/** The step that commits through a store, with `order.sideWrites`. */
export const through = (store: ExecutionStore) => (execution: Execution.Execution, eventId: string) =>
  Effect.map(store.commit(execution, order.sideWrites(eventId)), (committed) => committed.execution)

let made = 0

/** Writers side by side, each of which advances an order of its own, and goes on with it when it is run again. */
export const commits = <E>(
  step: Step<E>,
  options: { readonly writers: number; readonly bytes?: number }
): ((seconds: number) => Effect.Effect<measure.Sample, E>) => {
  const group = made++
  const none = order.make("none")
  const current = measure.range(options.writers).map((writer) => order.make(`order-${group}-${writer}`, options.bytes))
  let events = 0
  return (seconds) =>
    measure.loop(options.writers, seconds, (writer) =>
      Effect.map(step(current[writer] ?? none, `event-${group}-${events++}`), (next) => {
        current[writer] = next
      })
    )
}
