import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Firing } from "../../Cron.js"
import { InvalidCron } from "../../CronError.js"
import type { FiredTimer } from "../../Definition.js"
import type { InvalidInput } from "../../DefinitionError.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Step from "../../Step.js"
import type { StoreError } from "../../StoreError.js"
import * as log from "../telemetry/log.js"
import { quoted } from "../util/printable.js"
import { type Builder, type CronDefinition, type Fire, firingId, idOf, scheduleOf } from "./contract.js"
import { dueTimes } from "./dueTimes.js"

/** What recurring work does for a firing: it adds to the step, or writes by itself under an id that makes repeating it harmless. */
export type Act = (step: Builder, firing: Firing) => Effect.Effect<Builder, InvalidInput | StoreError, ExecutionStore>

/** What recurring work does at its times. */
export const make = (name: string, definition: CronDefinition, act: Act) => {
  const refuse = (problem: string) => new InvalidCron({ cron: name, problem })

  /** Arms the timer for the next time and hands itself the times that are due, so that a firing that fails holds up no later time. */
  const next = (step: Builder, { fireAt }: FiredTimer): Effect.Effect<Builder, InvalidCron> =>
    Effect.gen(function* () {
      const { context } = step
      if (context.next !== fireAt) return step
      const due = yield* Either.mapLeft(
        Either.flatMap(scheduleOf(context), (schedule) => dueTimes(schedule, context, fireAt, step.now)),
        refuse
      )
      if (due.passedOver) {
        yield* log.warning(
          `cron ${quoted(name)} missed more times than it catches up (limit: ${context.limit}), and passes over the rest`
        )
      }
      const { caughtUp, from, next } = due
      const fired = due.fire.reduce((step, at) => {
        const id = firingId(name, at)
        return definition.emit(step, idOf(name), "Fire", { at, id, triggered: false }, { id })
      }, step)
      return fired.pipe(
        Step.updateContext((context) => ({ ...context, next, from, caughtUp })),
        Step.armTimerAt("next", next)
      )
    })

  const fire = (step: Builder, { at, id, triggered }: Fire) =>
    Effect.gen(function* () {
      const { zone } = yield* Either.mapLeft(scheduleOf(step.context), refuse)
      const zoned = DateTime.unsafeMakeZoned(at * 1000, { timeZone: zone })
      const done = yield* act(step, { name, id, at: zoned, triggered })
      return Step.updateContext(done, (context) => ({ ...context, last: { at, id } }))
    })

  return definition.of({ Start: (step) => step, Fire: fire, timers: { next } })
}
