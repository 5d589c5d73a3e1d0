import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import { ExecutionRuntime } from "../../../ExecutionRuntime.js"
import * as Event from "../../../Event.js"
import * as Processor from "../../../Processor.js"
import * as Step from "../../../Step.js"

/** What becomes of an errand, by the id of its execution: one in three does what it was sent for. */
export const outcomes = ["success", "failure", "cancelled"] as const

export const outcomeOf = (id: string): (typeof outcomes)[number] =>
  outcomes[Math.abs(Hash.string(id)) % outcomes.length] ?? "success"

/** A child that fails by itself, or gives up: its parent is told of either. */
const errand = Processor.transition({
  transition: (execution, event) =>
    Effect.map(Step.make(execution, event), (step) => {
      switch (event.kind) {
        case Event.WellKnownKind.Start:
          return step.pipe(Step.advance("Under way"), Step.armTimer("back", "1 second"))
        case Event.WellKnownKind.Timeout: {
          const outcome = outcomeOf(execution.id)
          return outcome === "cancelled" ? Step.cancel(step) : Step.finish(step, outcome)
        }
        default:
          return step
      }
    })
})

export const layer = Layer.scopedDiscard(
  Effect.flatMap(ExecutionRuntime, (runtime) => runtime.register("errand", errand))
)
