import * as Effect from "effect/Effect"
import type { Firing } from "../../Cron.js"
import type { Definition, Spec } from "../../Definition.js"
import type { Act } from "./handlers.js"

/** Starts an execution under the id of the firing: one that is there already was started by the same firing, delivered before. */
export const start =
  <Name extends string, S extends Spec>(definition: Definition<Name, S>, input: (firing: Firing) => S["input"]): Act =>
  (step, firing) =>
    Effect.as(
      Effect.suspend(() => definition.startMany([{ id: firing.id, input: input(firing) }])),
      step
    )

/** Sends an event under the id of the firing, in the commit of the step. */
export const send =
  <Name extends string, S extends Spec, K extends keyof S["events"] & string>(
    definition: Definition<Name, S>,
    executionId: string | ((firing: Firing) => string),
    kind: K,
    payload: (firing: Firing) => S["events"][K]
  ): Act =>
  (step, firing) =>
    Effect.sync(() => {
      const target = typeof executionId === "string" ? executionId : executionId(firing)
      return definition.emit(step, target, kind, payload(firing), { id: firing.id })
    })
