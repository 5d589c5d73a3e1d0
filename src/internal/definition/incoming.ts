import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Outcome } from "../../Activity.js"
import type { EndedChild, FiredTimer } from "../../Definition.js"
import { WellKnownKind } from "../../Event.js"
import { fromEvent, type GivenUp } from "../../GivenUp.js"
import type { JsonObject } from "../../Json.js"
import { EventInvalid } from "../../ProcessorError.js"
import * as Step from "../../Step.js"
import { decode, told } from "../activity/outcome.js"
import type { Problem } from "../processor/parseProblem.js"
import { resultOfCarried } from "../processor/step.js"
import type { Contract } from "./contract.js"

type Builder = Step.Builder<unknown>

/** What comes to an execution, decoded. */
export type Incoming =
  | { readonly _tag: "Start" }
  | { readonly _tag: "Cancel"; readonly reason: JsonObject }
  | { readonly _tag: "GivenUp"; readonly notice: GivenUp }
  | { readonly _tag: "Event"; readonly kind: string; readonly payload: unknown }
  | { readonly _tag: "Timeout"; readonly timer: FiredTimer }
  | { readonly _tag: "Finished"; readonly key: string; readonly children: ReadonlyArray<EndedChild<unknown>> }
  | { readonly _tag: "Activity"; readonly name: string; readonly outcome: Outcome<unknown, unknown> }

/** A step at its beginning, and what came to it; nothing where the definition has nothing to do. */
export interface Arrived {
  readonly step: Builder
  readonly incoming: Incoming | undefined
}

const invalid = ({ event, execution }: Builder, subject: string, problem: Problem): EventInvalid =>
  new EventInvalid({
    executionId: execution.id,
    eventId: event.id,
    definitionId: execution.definitionId,
    subject,
    ...problem
  })

/** An event that the definition does not name. */
const unknownEvent = (
  { onUnknownEvent }: Contract,
  step: Builder,
  subject: string
): Either.Either<Arrived, EventInvalid> =>
  onUnknownEvent === "ignore"
    ? Either.right({ step, incoming: undefined })
    : Either.left(invalid(step, subject, { path: "", problem: "the definition does not name it" }))

const timeout = (contract: Contract, step: Builder): Either.Either<Arrived, EventInvalid> => {
  const { fire_at: fireAt, path } = step.event.data
  if (typeof path !== "string" || typeof fireAt !== "number" || !contract.timers.has(path)) {
    return unknownEvent(contract, step, `timer ${JSON.stringify(path)}`)
  }
  return Either.right({ step, incoming: { _tag: "Timeout", timer: { path, fireAt } } })
}

/** A child that has ended, decoded by its own definition. */
export const endedChild = (
  child: Contract,
  step: Builder,
  state: Step.Child
): Either.Either<EndedChild<unknown>, EventInvalid> => {
  const { id, outcome, result } = state
  const rejected = Step.isRejected(state)
  const ended = { id, outcome, rejected }
  const carried = resultOfCarried(result)
  if (rejected) return Either.right({ ...ended, result: Option.none() })
  const decoded = child.result.decode(carried)
  if (Either.isRight(decoded)) return Either.right({ ...ended, result: Option.some(decoded.right) })
  // One that was cancelled, or that another program runs, ends without a result.
  if (carried === null) return Either.right({ ...ended, result: Option.none() })
  // An object that another program carries under the one key `result` is meant as it is.
  const whole = child.result.decode(result)
  if (Either.isRight(whole)) return Either.right({ ...ended, result: Option.some(whole.right) })
  return Either.left(invalid(step, `result of child ${JSON.stringify(id)}`, decoded.left))
}

const finished = (contract: Contract, begun: Builder): Either.Either<Arrived, EventInvalid> => {
  const step = Step.join(begun)
  const { child_id: childId } = step.event.data
  const state = Step.children(step).find(({ id }) => id === childId)
  const child = state === undefined ? undefined : contract.children.get(state.key)
  if (state === undefined || child === undefined) return Either.right({ step, incoming: undefined })
  const siblings = Step.children(step).filter(({ key }) => key === state.key)
  if (!siblings.every((sibling) => sibling.finished)) return Either.right({ step, incoming: undefined })
  return Either.map(Either.all(siblings.map((sibling) => endedChild(child, step, sibling))), (children) => ({
    step,
    incoming: { _tag: "Finished" as const, key: state.key, children }
  }))
}

const activityEnded = (contract: Contract, step: Builder): Either.Either<Arrived, EventInvalid> => {
  const { event, execution } = step
  const ended = told(event)
  const found = Array.from(contract.activities).find(([, { name }]) => name === ended?.activity)
  if (ended === undefined || found === undefined) {
    return unknownEvent(contract, step, `activity ${JSON.stringify(event.data["activity"])}`)
  }
  const [name, activity] = found
  return Either.mapBoth(decode(activity, ended, execution.id, event), {
    onLeft: (problem) => invalid(step, `outcome of activity ${JSON.stringify(ended.activity)}`, problem),
    onRight: (outcome) => ({ step, incoming: { _tag: "Activity" as const, name, outcome } })
  })
}

const givenUp = (contract: Contract, step: Builder, takesNotices: boolean): Either.Either<Arrived, EventInvalid> => {
  if (!takesNotices) return unknownEvent(contract, step, "notice of what was given up")
  return Option.match(fromEvent(step.event), {
    onNone: () =>
      Either.left(
        invalid(step, "notice of what was given up", { path: "", problem: "its data is not that of a notice" })
      ),
    onSome: (notice) => Either.right({ step, incoming: { _tag: "GivenUp" as const, notice } })
  })
}

const named = (contract: Contract, step: Builder): Either.Either<Arrived, EventInvalid> => {
  const { data, kind } = step.event
  const subject = `payload of event ${JSON.stringify(kind)}`
  const codec = contract.events.get(kind)
  if (codec === undefined) return unknownEvent(contract, step, `event ${JSON.stringify(kind)}`)
  return Either.mapBoth(codec.decode(data), {
    onLeft: (problem) => invalid(step, subject, problem),
    onRight: (payload) => ({ step, incoming: { _tag: "Event" as const, kind, payload } })
  })
}

/** What an event is to the definition, decoded. `takesNotices` says whether there is a handler for notices, which is no definition's duty. */
export const arrive = (
  contract: Contract,
  step: Builder,
  takesNotices: boolean
): Either.Either<Arrived, EventInvalid> => {
  switch (step.event.kind) {
    case WellKnownKind.Start:
      return Either.right({ step, incoming: { _tag: "Start" } })
    case WellKnownKind.Cancel:
      return Either.right({ step, incoming: { _tag: "Cancel", reason: step.event.data } })
    case WellKnownKind.Timeout:
      return timeout(contract, step)
    case WellKnownKind.Finished:
      return finished(contract, step)
    case WellKnownKind.ActivityEnded:
      return activityEnded(contract, step)
    case WellKnownKind.GivenUp:
      return givenUp(contract, step, takesNotices)
    default:
      return named(contract, step)
  }
}
