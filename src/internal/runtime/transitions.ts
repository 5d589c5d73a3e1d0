import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AlreadyRegistered } from "../../DefinitionError.js"
import type { CommonOptions, ExecutionRuntime, RegisterOptions } from "../../ExecutionRuntime.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type * as Processor from "../../Processor.js"
import * as ProcessorError from "../../ProcessorError.js"
import * as processTogether from "../processor/batch.js"
import * as facets from "../processor/facets.js"
import * as policy from "../processor/failurePolicy.js"
import * as processor from "../processor/processor.js"
import type * as registry from "../processor/registry.js"
import * as synchronous from "../processor/synchronous.js"
import type { AnyOptions } from "./options.js"
import { TransitionFailed } from "./transitionFailed.js"

/** How the workers take events through executions: one, or where that can be several at once. */
export interface Processing extends Processor.Processor<TransitionFailed> {
  readonly together: processTogether.ProcessTogether<TransitionFailed> | undefined
}

export type Process = Processing["process"]

/** The processor of the transitions in the options, and of those that are registered later. */
export const makeProcessor = <E, R, EC, RC, ED, RD>(
  definitions: Registry,
  options: AnyOptions<E, R, EC, RC, ED, RD>
): Effect.Effect<Processing, never, ExecutionStore | R> =>
  Effect.gen(function* () {
    // The policy comes first, as it is for the failures as they are.
    const given = withTypedFailures(givenTransitions(options))
    const provided = yield* processor.provided(given, options.transitionTimeout)
    for (const [id, transition] of provided) definitions.add(id, { version: undefined, from: 1, transition })
    const attempts = yield* processor.makeAttempts(definitions.transitions, options.conflictRetry)
    return { ...processor.single(attempts), together: processTogether.make(attempts) }
  })

/** Work for a definition that this runtime does not have waits, unless it is to count as failed. */
export const countMissing =
  ({ unknownDefinition }: Pick<CommonOptions, "unknownDefinition">) =>
  <A>(
    processed: Effect.Effect<A, TransitionFailed | Processor.ProcessError>
  ): Effect.Effect<A, TransitionFailed | Processor.ProcessError> =>
    Effect.catchAll(processed, (error): Effect.Effect<never, TransitionFailed | Processor.ProcessError> => {
      const isMissing = error._tag === "DefinitionNotFound" || error._tag === "DefinitionVersionNotFound"
      return isMissing && unknownDefinition === "fail" ? countedAsFailed(error) : Effect.fail(error)
    })

type Missing = ProcessorError.DefinitionNotFound | ProcessorError.DefinitionVersionNotFound

/** A definition that is missing counts as a failure of the event. */
const countedAsFailed = (cause: Missing): TransitionFailed => {
  const { definitionId, eventId, executionId } = cause
  return new TransitionFailed({ executionId, eventId, definitionId, cause })
}

/** What a caller of a processor can tell by itself: it is no failure of a transition's own. */
const isProcessorFailure = Schema.is(
  Schema.Union(
    ProcessorError.TransitionDied,
    ProcessorError.TransitionTimedOut,
    ProcessorError.StepRejected,
    ProcessorError.StepInvalid,
    ProcessorError.ContextInvalid,
    ProcessorError.EventInvalid,
    ProcessorError.MigrationFailed,
    ProcessorError.DefinitionVersionNotFound
  )
)

/** The same transition, whose own failures a caller can tell from those of the store. */
const withTypedFailure = <E, R>(
  definitionId: string,
  transition: Processor.Transition<Processor.TransitionFailure<E>, R>
): Processor.Transition<Processor.TransitionFailure<TransitionFailed>, R> =>
  facets.carry(
    transition,
    synchronous.mapRunning(transition, (made, execution, event) =>
      Effect.mapError(made, (cause) =>
        isProcessorFailure(cause)
          ? cause
          : new TransitionFailed({ executionId: execution.id, eventId: event.id, definitionId, cause })
      )
    )
  )

/** The transitions of the runtime's options, with their policy. */
const givenTransitions = <E, R, EC, RC, ED, RD>(
  options: AnyOptions<E, R, EC, RC, ED, RD>
): { readonly [definitionId: string]: Processor.Transition<Processor.TransitionFailure<E>, R> } =>
  options.definitions === undefined ? {} : policy.withPolicies<E, R, R>(options.definitions, options.onFailure)

/** Transitions whose own failures a caller can tell from those of the store. */
const withTypedFailures = <E, R>(definitions: {
  readonly [definitionId: string]: Processor.Transition<Processor.TransitionFailure<E>, R>
}): { readonly [definitionId: string]: Processor.Transition<Processor.TransitionFailure<TransitionFailed>, R> } =>
  Object.fromEntries(
    Object.entries(definitions).map(([definitionId, transition]) => [
      definitionId,
      withTypedFailure(definitionId, transition)
    ])
  )

type RegistrationPolicy = Pick<CommonOptions, "onFailure" | "transitionTimeout">

/** A function is for the definitions of the options alone: it knows their errors. */
export const registrationPolicy = <E, R, EC, RC, ED, RD>({
  onFailure,
  transitionTimeout
}: AnyOptions<E, R, EC, RC, ED, RD>): RegistrationPolicy => ({
  onFailure: onFailure === "fail" ? "fail" : "retry",
  transitionTimeout
})

export type Registry = registry.Registry<TransitionFailed>

/** Registers transitions for as long as a scope is open. */
export const register =
  (
    definitions: Registry,
    { onFailure = "retry", transitionTimeout }: RegistrationPolicy,
    added: (definitionId: string) => Effect.Effect<void>
  ): ExecutionRuntime["register"] =>
  <E, R>(
    definitionId: string,
    transition: Processor.Transition<Processor.TransitionFailure<E>, R>,
    { migratesFrom, version }: RegisterOptions = {}
  ) =>
    Effect.gen(function* () {
      const policed = withTypedFailure(definitionId, policy.withPolicy<E, R, never>(transition, onFailure))
      const provide = yield* processor.provider<R>(transitionTimeout)
      const served = { version, from: migratesFrom ?? version ?? 1, transition: provide(policed) }
      yield* Effect.acquireRelease(
        Effect.suspend(() =>
          definitions.add(definitionId, served)
            ? added(definitionId)
            : Effect.fail(new AlreadyRegistered({ definition: definitionId, version }))
        ),
        () => Effect.sync(() => definitions.remove(definitionId, served))
      )
    })
