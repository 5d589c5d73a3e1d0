/**
 * One event through one execution: load, let the definition decide, commit.
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
  EventInvalid,
  ExecutionNotFound,
  ExecutionSuspended,
  ProcessConflict,
  StepInvalid,
  StepRejected,
  TransitionDied,
  TransitionTimedOut
} from "./ProcessorError.js"
import type { Step } from "./Step.js"
import type { StoreConflict, StoreError, StoreRejected } from "./StoreError.js"

/**
 * What an execution does at an event. It runs again from the start where another commit came first, and where a crash came before its
 * own: effects beyond the step must bear being repeated.
 *
 * @since 0.1.0
 * @category models
 */
export type Transition<E = never, R = never, Context = JsonObject> = (
  execution: WithContext<Context>,
  event: Event
) => Effect.Effect<Step<Context>, E, R>

/**
 * Transitions by the id of the definition.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definitions<Context = JsonObject> {
  readonly [definitionId: string]: Transition<unknown, unknown, Context>
}

/**
 * What the transitions of some definitions can fail with, and the services that they need.
 *
 * @since 0.1.0
 * @category models
 */
export declare namespace Definitions {
  /**
   * Definitions on contexts of whatever type.
   *
   * @since 0.1.0
   * @category models
   */
  export interface Any {
    readonly [definitionId: string]: (execution: never, event: Event) => Effect.Effect<unknown, unknown, unknown>
  }

  /**
   * @since 0.1.0
   * @category models
   */
  export type Error<D> = D extends Any ? Effect.Effect.Error<ReturnType<D[keyof D]>> : never

  /**
   * @since 0.1.0
   * @category models
   */
  export type Context<D> = D extends Any ? Effect.Effect.Context<ReturnType<D[keyof D]>> : never
}

/**
 * How a transition of own failures `E` can fail: with these, by dying, by returning a step of another execution or one that does not
 * encode, or with a context or an event that is not of its definition's type.
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
 * A policy for failing transitions: a verdict for all, or one for each failure. The execution is as it is stored. A policy that dies
 * itself is a `TransitionDied`, to be tried again.
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
 * A definition on contexts of a type.
 *
 * - `context`: what the stored context decodes to. What it encodes to must be a JSON object.
 * - `transition`: gets the decoded context and returns one to be encoded.
 * - `onExcessProperty`: what becomes of stored keys that the schema does not have. `"preserve"` (the default) hands them to the
 *   transition with the others: they stay where it copies the context (`{ ...context, paid: true }`). `"ignore"` drops them with the
 *   next step; `"error"` refuses the context.
 * - `onFailure`: what becomes of an execution whose transition fails, or whose context does not decode or encode; by default what the
 *   processor's policy says.
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
 * A definition with a policy of its own, on contexts as they are stored.
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
 * The transition of a definition on contexts of a type: it fails with `ContextInvalid` where the stored context does not decode, or the new
 * one does not encode. Without `context` the transition gets it as it is stored.
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
 * What became of an event: the execution advanced by a commit, or there was nothing to do, because the event is `processed` already, the
 * execution is `finished`, the timer that the event came from was `cancelled`, or armed anew, before it got here, or the execution is
 * `cancelling` and takes nothing but its `Cancel` event. A step of that event which leaves it `CANCELLING` makes it `CANCELLED`.
 *
 * @since 0.1.0
 * @category models
 */
export type Processed =
  | { readonly _tag: "Advanced"; readonly committed: Committed }
  | { readonly _tag: "Skipped"; readonly reason: "processed" | "finished" | "cancelled" | "cancelling" }

/**
 * What processing can fail with, beside the failures of the transitions themselves.
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
  | StoreError

/**
 * `process` takes an event through an execution, once: what the step writes, the event's mark in the dedupe ledger and the removal of the
 * work it came from (`ack`) are one commit. An event that is skipped is acknowledged by itself. The failures of transitions are `E`.
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
 * - `definitions`: the transitions, by definition id; only the object's own keys count.
 * - `onFailure`: what becomes of an execution whose transition fails; by default `"retry"`.
 * - `conflictRetry`: when to run a step again where another commit came first; by default exponential from 5 milliseconds, jittered, up to
 *   10 attempts.
 * - `transitionTimeout`: for how long a transition may run, and the policy for its failures, by default 1 minute; one that takes longer is
 *   interrupted and fails with `TransitionTimedOut`, which the policy is asked about as about any failure. It is not waited for: what cannot be
 *   interrupted goes on beside the next attempt. What takes long belongs outside of a step, which a later event continues.
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
 * The context of definitions that all have one of the same type: see {@link TypedTransition}. Without it they get it as it is stored.
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
 * A processor. The services that the transitions need are taken once, here.
 *
 * Fails with `StoreRejected` where an option is not one.
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
