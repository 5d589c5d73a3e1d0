import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Outcome } from "../../Activity.js"
import type { ImplementationOptions } from "../../Definition.js"
import { InvalidImplementation } from "../../DefinitionError.js"
import type { Event } from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { Transition, TransitionFailure } from "../../Processor.js"
import {
  ContextInvalid,
  DefinitionVersionNotFound,
  EventInvalid,
  MigrationFailed,
  StepInvalid
} from "../../ProcessorError.js"
import type * as Step from "../../Step.js"
import { decoder, type Fields } from "../options/decode.js"
import { onFailure as policy } from "../options/worker.js"
import * as facets from "../processor/facets.js"
import { withPolicy } from "../processor/failurePolicy.js"
import { invalidOf, makeAt } from "../processor/step.js"
import * as synchronous from "../processor/synchronous.js"
import { written as attributesWritten, writtenStored } from "./attributes.js"
import type { Contract } from "./contract.js"
import { arrive, type Incoming } from "./incoming.js"
import * as migrations from "./migrations.js"

type Builder = Step.Builder<unknown>
type Result<E, R> = Step.Step<unknown> | Effect.Effect<Step.Step<unknown>, E, R>
type AnyHandler<E, R> = (step: Builder, argument: unknown, more?: unknown) => Result<E, R>

/** What a definition does with what comes to it. */
export type Run<E, R> = (step: Builder, incoming: Incoming) => Result<E, R>

const isHandler = <E, R>(u: unknown): u is AnyHandler<E, R> => typeof u === "function"

const member = (u: unknown, key: string): unknown =>
  Predicate.isRecord(u) && Object.hasOwn(u, key) ? u[key] : undefined

/** The handlers that are not there. The compiler finds them first, where there is one. */
const missing = ({ activities, children, events, timers }: Contract, handlers: unknown): ReadonlyArray<string> => {
  const absentOf = (group: unknown, keys: Iterable<string>, prefix: string) =>
    Array.from(keys)
      .filter((key) => !isHandler(member(group, key)))
      .map((key) => `${prefix}${key}`)
  return [
    ...absentOf(handlers, ["Start", ...events.keys()], ""),
    ...absentOf(member(handlers, "timers"), timers, "timers."),
    ...absentOf(member(handlers, "children"), children.keys(), "children."),
    ...Array.from(activities.keys()).flatMap((key) =>
      absentOf(member(member(handlers, "activities"), key), ["success", "failure"], `activities.${key}.`)
    )
  ]
}

const call = <E, R>(handler: unknown, step: Builder, argument?: unknown, more?: unknown): Result<E, R> =>
  isHandler<E, R>(handler) ? handler(step, argument, more) : step

const ofOutcome = <E, R>(
  handlers: unknown,
  step: Builder,
  { attempts, key, result }: Outcome<unknown, unknown>
): Result<E, R> => {
  const [name, argument] = Either.isRight(result) ? ["success", result.right] : ["failure", result.left]
  return call(member(handlers, String(name)), step, argument, { key, attempts })
}

const ofHandlers =
  <E, R>(handlers: unknown): Run<E, R> =>
  (step, incoming) => {
    switch (incoming._tag) {
      case "Start":
        return call(member(handlers, "Start"), step)
      case "Cancel":
        return call(member(handlers, "Cancel"), step, incoming.reason)
      case "GivenUp":
        return call(member(handlers, "GivenUp"), step, incoming.notice)
      case "Event":
        return call(member(handlers, incoming.kind), step, incoming.payload)
      case "Timeout":
        return call(member(member(handlers, "timers"), incoming.timer.path), step, incoming.timer)
      case "Finished":
        return call(member(member(handlers, "children"), incoming.key), step, incoming.children)
      case "Activity":
        return ofOutcome(member(member(handlers, "activities"), incoming.name), step, incoming.outcome)
    }
  }

const ofHandler =
  <E, R>(handler: AnyHandler<E, R>): Run<E, R> =>
  (step, incoming) =>
    handler(step, incoming._tag === "Event" ? { _tag: incoming.kind, payload: incoming.payload } : incoming)

/** The handlers of a definition as one function. */
const toRun = <E, R>(contract: Contract, handlers: unknown): Either.Either<Run<E, R>, InvalidImplementation> => {
  if (isHandler<E, R>(handlers)) return Either.right(ofHandler(handlers))
  const absent = missing(contract, handlers)
  if (absent.length === 0) return Either.right(ofHandlers(handlers))
  const problem = `there is no handler for ${absent.join(", ")}`
  return Either.left(new InvalidImplementation({ definition: contract.name, problem }))
}

const whereOf = (execution: Execution, event: Event) => ({
  executionId: execution.id,
  eventId: event.id,
  definitionId: execution.definitionId
})

/** The step as it is stored: its context encoded. What did not encode on the way is what it fails with. */
const toStored = (
  contract: Contract,
  before: Execution,
  decoded: unknown,
  event: Event,
  step: Step.Step<unknown>
): Either.Either<Step.Step, StepInvalid | ContextInvalid> => {
  const { context: codec } = contract
  const where = whereOf(before, event)
  const invalid = invalidOf(step)
  if (invalid !== undefined) return Either.left(new StepInvalid({ ...where, ...invalid }))
  return Either.gen(function* () {
    // A context that no handler touched is written back as it was read.
    const context = yield* Either.mapLeft(
      step.execution.context === decoded ? Either.right(before.context) : codec.encode(step.execution.context),
      (problem) => new ContextInvalid({ ...where, operation: "encode", ...problem })
    )
    const attributes = yield* Either.mapLeft(
      attributesWritten(contract, step.execution.context),
      (wrong) => new StepInvalid({ ...where, ...wrong })
    )
    const execution = { ...step.execution, context }
    const commit = attributes === undefined ? step.commit : { ...step.commit, attributes }
    return commit === undefined ? { execution } : { execution, commit }
  })
}

/** The execution in the definition's own version. */
const migrated = (
  contract: Contract,
  execution: Execution,
  event: Event
): Either.Either<Execution, DefinitionVersionNotFound | MigrationFailed> =>
  Either.mapLeft(migrations.migrate(contract, execution), (unfit) => {
    const where = whereOf(execution, event)
    if (unfit._tag === "Failed") return new MigrationFailed({ ...where, ...unfit })
    return new DefinitionVersionNotFound({
      ...where,
      version: execution.definitionVersion,
      known: [contract.version]
    })
  })

/** The context of an execution that may just have been migrated from `stored`. */
const decoded = (
  contract: Contract,
  execution: Execution,
  stored: Execution,
  event: Event
): Either.Either<unknown, EventInvalid | MigrationFailed> =>
  Either.mapLeft(contract.context.decode(execution.context), (problem) => {
    const where = whereOf(execution, event)
    if (execution === stored) return new EventInvalid({ ...where, subject: "context", ...problem })
    return new MigrationFailed({ ...where, from: stored.definitionVersion, to: contract.version, ...problem })
  })

/** The step to begin with, what has come to it, and the execution that it is of, as it is stored. */
const begin = (contract: Contract, stored: Execution, event: Event, now: number, takesNotices: boolean) =>
  Either.gen(function* () {
    const execution = yield* migrated(contract, stored, event)
    const context = yield* decoded(contract, execution, stored, event)
    const begun = makeAt<unknown>({ ...execution, context }, event, now)
    return { execution, context, ...(yield* arrive(contract, begun, takesNotices)) }
  })

const typed = <E, R>(
  contract: Contract,
  run: Run<E, R>,
  takesNotices: boolean
): Transition<TransitionFailure<E>, R> => {
  const at: synchronous.Synchronous<TransitionFailure<E>, R> = (stored, event, now) => {
    const begun = begin(contract, stored, event, now, takesNotices)
    if (Either.isLeft(begun)) return Exit.fail(begun.left)
    const { context, execution, incoming, step } = begun.right
    const result = incoming === undefined ? step : run(step, incoming)
    const end = (done: Step.Step<unknown>) => Exit.fromEither(toStored(contract, execution, context, event, done))
    if (!Effect.isEffect(result)) return end(result)
    return synchronous.isDone(result) ? end(result.value) : Effect.flatMap(result, end)
  }
  return synchronous.mark(
    (stored, event) => Effect.flatMap(Clock.currentTimeMillis, (millis) => at(stored, event, millis / 1000)),
    at
  )
}

const checkOptions = ({ name }: Contract) =>
  decoder(
    Schema.Struct({ onFailure: policy } satisfies Fields<ImplementationOptions<never, never>>),
    ({ detail, path }) => new InvalidImplementation({ definition: name, problem: `${path}: ${detail}` })
  )

/** The transition of a definition that is implemented so. */
export const make = <E, R, RP>(
  contract: Contract,
  handlers: unknown,
  options: ImplementationOptions<E, RP> = {}
): Either.Either<Transition<TransitionFailure<E>, R | RP>, InvalidImplementation> =>
  Either.gen(function* () {
    yield* checkOptions(contract)(options)
    const run = yield* toRun<E, R>(contract, handlers)
    const takesNotices = isHandler(handlers) || isHandler(member(handlers, "GivenUp"))
    const transition = withPolicy(typed(contract, run, takesNotices), options.onFailure ?? "retry")
    return facets.mark(transition, {
      onGivenUp: contract.onGivenUp,
      attributes: (context) => Option.getOrUndefined(Either.getRight(writtenStored(contract, context)))
    })
  })
