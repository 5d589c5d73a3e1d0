/**
 * Takes one event through one execution: loads the execution, runs the transition of its definition, commits the step.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { Committed, WorkItem } from "./Commit.js"
import type { Event } from "./Event.js"
import type { Execution, WithContext } from "./Execution.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import { decoder, type Fields, refused } from "./internal/options/decode.js"
import { checked, oneOf, optional } from "./internal/options/fields.js"
import { definitions, onFailure, processorFields } from "./internal/options/worker.js"
import * as policy from "./internal/processor/failurePolicy.js"
import * as processor from "./internal/processor/processor.js"
import * as typedContext from "./internal/processor/typedContext.js"
import type { JsonObject } from "./Json.js"
import type {
  ContextInvalid,
  DefinitionNotFound,
  DefinitionVersionNotFound,
  EventInvalid,
  ExecutionNotFound,
  ExecutionSuspended,
  MigrationFailed,
  ProcessConflict,
  StepInvalid,
  StepRejected,
  TransitionDied,
  TransitionTimedOut
} from "./ProcessorError.js"
import type { Step } from "./Step.js"
import type { StoreConflict, StoreError, StoreRejected } from "./StoreError.js"

/**
 * What an execution does at an event. It runs again after a crash, and where another commit came first. So its effects beyond the step must
 * bear being repeated.
 *
 * @since 0.1.0
 * @category models
 */
export type Transition<E = never, R = never, Context = JsonObject> = (
  execution: WithContext<Context>,
  event: Event
) => Effect.Effect<Step<Context>, E, R>

/**
 * Transitions by the id of their definition.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definitions<Context = JsonObject> {
  readonly [definitionId: string]: Transition<unknown, unknown, Context>
}

/**
 * The types of a set of definitions: what their transitions can fail with, and the services that they need.
 *
 * @since 0.1.0
 * @category models
 */
export declare namespace Definitions {
  /**
   * Definitions on contexts of any type.
   *
   * @since 0.1.0
   * @category models
   */
  export interface Any {
    readonly [definitionId: string]: (execution: never, event: Event) => Effect.Effect<unknown, unknown, unknown>
  }

  /**
   * What the transitions can fail with.
   *
   * @since 0.1.0
   * @category models
   */
  export type Error<D> = D extends Any ? Effect.Effect.Error<ReturnType<D[keyof D]>> : never

  /**
   * The services that the transitions need.
   *
   * @since 0.1.0
   * @category models
   */
  export type Context<D> = D extends Any ? Effect.Effect.Context<ReturnType<D[keyof D]>> : never
}

/**
 * How a transition with own failures `E` can fail: with these, with a defect or a time-out, with a step of another execution or one that
 * does not encode, because the context or the event does not decode by its definition, or because the execution is of a version of the
 * definition that does not lead to this one.
 *
 * @since 0.1.0
 * @category models
 */
export type TransitionFailure<E> =
  | E
  | StepRejected
  | StepInvalid
  | TransitionDied
  | TransitionTimedOut
  | ContextInvalid
  | EventInvalid
  | MigrationFailed
  | DefinitionVersionNotFound

/**
 * What becomes of an execution whose transition failed.
 *
 * - `"retry"`: nothing is written and the failure goes on to the caller; a relay tries again later.
 * - `"fail"`: the execution is `FAILED` with the error as its `error`, and the event is consumed, in one commit.
 * - A step: it is committed in place of the one that failed.
 *
 * @since 0.1.0
 * @category models
 */
export type FailureAction = "retry" | "fail" | Step

/**
 * The policy for failed transitions: one action for all failures, or a function that gives one for each. The function gets the execution as
 * it is stored. Where it dies itself, that is a `TransitionDied`, which is tried again.
 *
 * It is not asked where the event does not decode, which makes it a dead letter, nor where the execution is of a version of the definition
 * that is not here, for which the event waits. A failed migration (`MigrationFailed`) is no failure of the execution: `"fail"` counts as
 * `"retry"`, so that its event is kept.
 *
 * @since 0.1.0
 * @category models
 */
export type OnFailure<E = never, R = never> =
  | "retry"
  | "fail"
  | ((
      error: TransitionFailure<E>,
      execution: Execution,
      event: Event
    ) => FailureAction | Effect.Effect<FailureAction, never, R>)

/**
 * A transition on contexts of a type.
 *
 * - `context`: the schema by which the stored context is decoded and encoded. It must encode to a JSON object.
 * - `transition`: gets the decoded context, and returns one to encode.
 * - `onExcessProperty`: what becomes of stored keys that the schema does not have. `"preserve"` (the default) hands them to the transition
 *   with the others: they stay where it copies the context (`{ ...context, paid: true }`). `"ignore"` drops them with the next step;
 *   `"error"` refuses the context.
 * - `onFailure`: the policy for this definition, also where the context does not decode or encode; by default that of the processor.
 *
 * @since 0.1.0
 * @category models
 */
export interface TypedTransition<A, I extends object, RS = never, E = never, R = never, RP = never> {
  readonly context: Schema.Schema<A, I, RS>
  readonly transition: Transition<E, R, A>
  readonly onExcessProperty?: "preserve" | "ignore" | "error" | undefined
  readonly onFailure?: OnFailure<E, RP> | undefined
}

/**
 * A transition on contexts as they are stored, with a policy of its own.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlainTransition<E = never, R = never, RP = never> {
  readonly context?: undefined
  readonly transition: Transition<E, R>
  readonly onFailure?: OnFailure<E, RP> | undefined
}

/**
 * The transition of a definition, with its own context type or its own policy. With `context` it fails with `ContextInvalid` where the
 * stored context does not decode, or the new one does not encode. Without `context` it gets the context as it is stored.
 *
 * @since 0.1.0
 * @category constructors
 */
export const transition: {
  <A, I extends object, RS = never, E = never, R = never, RP = never>(
    options: TypedTransition<A, I, RS, E, R, RP>
  ): Transition<TransitionFailure<E>, R | RS | NoInfer<RP>>
  <E = never, R = never, RP = never>(
    options: PlainTransition<E, R, RP>
  ): Transition<TransitionFailure<E>, R | NoInfer<RP>>
} = typedContext.transition

/**
 * What became of an event. `Advanced`: a commit advanced the execution. `Skipped`: there was nothing to do, because
 *
 * - `processed`: the execution has consumed this event before,
 * - `finished`: the execution has ended,
 * - `cancelled`: the timer that the event came from was cancelled or armed for another time meanwhile, or
 * - `cancelling`: the execution takes nothing but its `Cancel` event. A step at that event which leaves it `CANCELLING` makes it
 *   `CANCELLED`.
 *
 * @since 0.1.0
 * @category models
 */
export type Processed =
  | { readonly _tag: "Advanced"; readonly committed: Committed }
  | { readonly _tag: "Skipped"; readonly reason: "processed" | "finished" | "cancelled" | "cancelling" }

/**
 * What processing an event can fail with, beside the own failures of transitions.
 *
 * @since 0.1.0
 * @category errors
 */
export type ProcessError =
  | ExecutionNotFound
  | DefinitionNotFound
  | ExecutionSuspended
  | ProcessConflict
  | StepRejected
  | StepInvalid
  | TransitionDied
  | TransitionTimedOut
  | ContextInvalid
  | EventInvalid
  | MigrationFailed
  | DefinitionVersionNotFound
  | StoreError

/**
 * A processor. `process` takes an event through an execution, once: the step, the mark of the event in the dedupe ledger and the removal of
 * the work that brought the event (`ack`) are one commit. The work of a skipped event is removed by itself. `E` are the own failures of
 * transitions.
 *
 * @since 0.1.0
 * @category models
 */
export interface Processor<E = never> {
  readonly process: (
    executionId: string,
    event: Event,
    options?: { readonly ack?: WorkItem | undefined }
  ) => Effect.Effect<Processed, E | ProcessError>
}

/**
 * - `definitions`: the transitions, by definition id. Only the object's own keys count.
 * - `onFailure`: the policy for failed transitions; by default `"retry"`.
 * - `conflictRetry`: when to load and run a step again after another commit came first; by default exponential from 5 milliseconds,
 *   jittered, up to 10 attempts.
 * - `transitionTimeout`: how long a transition, and the policy for its failure, may run; by default 1 minute. A longer one is interrupted
 *   and fails with `TransitionTimedOut`, for which the policy is asked as for any failure. The processor does not wait for the end of what
 *   it interrupted: what cannot be interrupted goes on beside the next attempt. Do long work outside of a step, and let a later event go
 *   on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<D, RP = never> {
  readonly definitions: D
  readonly onFailure?: OnFailure<Definitions.Error<D>, RP> | undefined
  readonly conflictRetry?: Schedule.Schedule<unknown, StoreConflict> | undefined
  readonly transitionTimeout?: Duration.DurationInput | undefined
}

/**
 * The schema of the context, for definitions that all have the same: see {@link TypedTransition}. Without it they get the context as it is
 * stored.
 *
 * @since 0.1.0
 * @category models
 */
export interface ContextOptions<A, I extends object, RS> {
  readonly context?: Schema.Schema<A, I, RS> | undefined
  readonly onExcessProperty?: "preserve" | "ignore" | "error" | undefined
}

const decode = decoder(
  Schema.Struct({
    ...processorFields,
    definitions,
    onFailure,
    context: optional(checked(Schema.isSchema, "a Schema")),
    onExcessProperty: optional(oneOf("preserve", "ignore", "error"))
  } satisfies Fields<Options<unknown> & ContextOptions<unknown, object, unknown>>),
  refused("start", "Processor")
)

/**
 * A processor. The services that the transitions need are taken from the context here.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { Event, Execution, ExecutionStore, MemoryStore, Processor, Step } from "holdfast"
 *
 * // Adds up what was paid.
 * const order = Processor.transition({
 *   context: Schema.Struct({ paid: Schema.Number }),
 *   transition: (execution, event) =>
 *     Effect.map(Step.make(execution, event), (step) =>
 *       Step.updateContext(step, ({ paid }) => ({ paid: paid + Number(event.data["amount"]) }))
 *     )
 * })
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* ExecutionStore.ExecutionStore
 *   yield* store.save(Execution.make({ id: "order-17", definitionId: "order", context: { paid: 0 } }))
 *
 *   const { process } = yield* Processor.make({ definitions: { order } })
 *   const paid = Event.make({ id: "payment-4", kind: "Paid", data: { amount: 20 } })
 *   const first = yield* process("order-17", paid)
 *   const second = yield* process("order-17", paid)
 *
 *   assert.strictEqual(first._tag, "Advanced")
 *   assert.deepStrictEqual(second, { _tag: "Skipped", reason: "processed" })
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export function make<D extends Definitions<A>, RP = never, A = JsonObject, I extends object = JsonObject, RS = never>(
  options: Options<D, RP> & ContextOptions<A, I, RS>
): Effect.Effect<Processor<Definitions.Error<D>>, StoreRejected, ExecutionStore | Definitions.Context<D> | RS | RP>
export function make<A, I extends object, E, R>(
  options:
    | (Options<{ readonly [definitionId: string]: Transition<E, R> }, R> & { readonly context?: undefined })
    | (Options<{ readonly [definitionId: string]: Transition<E, R, A> }, R> &
        ContextOptions<A, I, R> & { readonly context: Schema.Schema<A, I, R> })
): Effect.Effect<Processor<E>, StoreRejected, ExecutionStore | R> {
  return Effect.gen(function* () {
    yield* decode(options)
    const transitions = options.context === undefined ? options.definitions : typedContext.definitions(options)
    const policed = policy.withPolicies<E, R, R>(transitions, options.onFailure)
    const provided = yield* processor.provided(policed, options.transitionTimeout)
    return yield* processor.make(provided, options.conflictRetry)
  })
}
