import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type { Event } from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { FailureAction, OnFailure, Transition, TransitionFailure } from "../../Processor.js"
import {
  DefinitionVersionNotFound,
  EventInvalid,
  MigrationFailed,
  StepInvalid,
  StepRejected,
  TransitionDied,
  TransitionTimedOut
} from "../../ProcessorError.js"
import type { Step } from "../../Step.js"
import * as log from "../telemetry/log.js"
import { describe } from "../util/errorText.js"
import * as facets from "./facets.js"
import { invalidOf } from "./step.js"
import * as synchronous from "./synchronous.js"
import { within } from "./transitionTimeout.js"

/** What a transition returned in place of the execution that it was given, or nothing. */
const strayed = (given: Execution, returned: Execution): string | undefined => {
  if (returned.id !== given.id) return `execution ${JSON.stringify(returned.id)}`
  return returned.version === given.version ? undefined : `version ${returned.version} in place of ${given.version}`
}

type Failed = StepRejected | StepInvalid | TransitionDied | TransitionTimedOut

/** Runs what decides on a step; the step must be one of the execution, and what dies, or does not end, fails instead. */
const checked = <E, R>(
  execution: Execution,
  event: Event,
  decide: () => Effect.Effect<Step, E, R>,
  isBounded = false
): Effect.Effect<Step, E | Failed, R> => {
  const at = { executionId: execution.id, eventId: event.id, definitionId: execution.definitionId }
  const timedOut = (timeout: Duration.Duration) => new TransitionTimedOut({ ...at, after: Duration.toSeconds(timeout) })
  const decided = Effect.suspend(() => {
    const effect = decide()
    // What is decided already needs no fiber that could be stopped.
    return isBounded || Exit.isExit(effect) ? effect : within(effect, timedOut)
  })
  return decided.pipe(
    Effect.tap((step): Effect.Effect<void, StepRejected | StepInvalid> => {
      const invalid = invalidOf(step)
      if (invalid !== undefined) return new StepInvalid({ ...at, ...invalid })
      const detail = strayed(execution, step.execution)
      return detail === undefined ? Effect.void : new StepRejected({ ...at, detail })
    }),
    Effect.catchAllCause((cause): Effect.Effect<never, E | Failed> => {
      const failure = Cause.failureOption(cause)
      const defect = Cause.dieOption(cause)
      if (Option.isNone(defect)) return Effect.failCause(cause)
      if (Option.isNone(failure)) return new TransitionDied({ ...at, cause: defect.value })
      // A failure beside a defect cannot be caught as one.
      return Effect.zipRight(
        ownLog(log.warning(`definition ${JSON.stringify(at.definitionId)} died while it failed`, cause)),
        Effect.fail(failure.value)
      )
    })
  )
}

/** Whether a step is made already, and what {@link checked} would have nothing against. */
const isSound = <E, R>(execution: Execution, made: Effect.Effect<Step, E, R>): boolean => {
  if (!synchronous.isDone(made)) return false
  const { value } = made
  // Who writes no types may give anything.
  if (!Predicate.hasProperty(value, "execution") || !Predicate.isRecord(value.execution)) return false
  return invalidOf(value) === undefined && strayed(execution, value.execution) === undefined
}

const ownLog = log.annotate({ package: "holdfast", module: "Processor" })

const reasonOf = (error: unknown): unknown => (error instanceof TransitionDied ? error.cause : error)

/** The execution as the failed step leaves it: nothing but the failure is written. */
const failed = (execution: Execution, error: unknown): Effect.Effect<Step> => {
  const reason = reasonOf(error)
  const text = describe(reason)
  return Effect.as(ownLog(log.error(`execution ${JSON.stringify(execution.id)} failed: ${text}`, Cause.fail(reason))), {
    execution: { ...execution, status: "FAILED", error: text }
  })
}

const settled = <R>(
  action: FailureAction | Effect.Effect<FailureAction, never, R>
): Effect.Effect<FailureAction, never, R> => (Effect.isEffect(action) ? action : Effect.succeed(action))

// A policy of the definition comes before the processor's, also where a transition does not end: the time counts where the innermost is.
const bounded = new WeakSet<object>()

/** Says that a transition ends in time where another one, which it runs, does. */
export const boundedAs = <A extends object>(inner: object, outer: A): A => {
  if (bounded.has(inner)) bounded.add(outer)
  return outer
}

/** The transition, and what becomes of an execution where it fails. */
export const withPolicy = <E, R, RP>(
  transition: Transition<TransitionFailure<E>, R>,
  onFailure: OnFailure<E, RP>
): Transition<TransitionFailure<E>, R | RP> => {
  const isBounded = bounded.has(transition)
  const settling = (
    execution: Execution,
    event: Event,
    decide: () => Effect.Effect<Step, TransitionFailure<E>, R>
  ): Effect.Effect<Step, TransitionFailure<E>, R | RP> => {
    const step = checked(execution, event, decide, isBounded)
    if (onFailure === "retry") return step
    return Effect.catchAll(step, (error): Effect.Effect<Step, TransitionFailure<E>, RP> => {
      // The execution is not to blame for what others wrote, nor for what is deployed where.
      if (error instanceof EventInvalid || error instanceof DefinitionVersionNotFound) return Effect.fail(error)
      // It would be without its event when the migration works.
      const fail = () => (error instanceof MigrationFailed ? Effect.fail(error) : failed(execution, error))
      if (onFailure === "fail") return fail()
      return checked(execution, event, () =>
        Effect.flatMap(
          settled(onFailure(error, execution, event)),
          (action): Effect.Effect<Step, TransitionFailure<E>> => {
            if (action === "retry") return Effect.fail(error)
            return action === "fail" ? fail() : Effect.succeed(action)
          }
        )
      )
    })
  }
  const policed = synchronous.mark<TransitionFailure<E>, R | RP>(
    (execution, event) => settling(execution, event, () => transition(execution, event)),
    (execution, event, now) => {
      const made = synchronous.called(() => synchronous.of(transition)(execution, event, now))
      return isSound(execution, made) ? made : settling(execution, event, () => made)
    }
  )
  bounded.add(policed)
  return facets.carry(transition, policed)
}

/** {@link withPolicy} for each of the definitions. */
export const withPolicies = <E, R, RP>(
  definitions: { readonly [definitionId: string]: Transition<TransitionFailure<E>, R> },
  onFailure: OnFailure<E, RP> = "retry"
): { readonly [definitionId: string]: Transition<TransitionFailure<E>, R | RP> } =>
  Object.fromEntries(
    Object.entries(definitions).map(([definitionId, transition]) => [definitionId, withPolicy(transition, onFailure)])
  )
