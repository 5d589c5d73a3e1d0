/**
 * One event through one execution: load, let the definition decide, commit.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { Ack, Commit, Committed } from "./Commit.js"
import type { Event } from "./Event.js"
import { type Execution, isFinished } from "./Execution.js"
import { ExecutionStore } from "./ExecutionStore.js"
import * as captured from "./internal/captured.js"
import type { StoreConflict, StoreError } from "./StoreError.js"

/**
 * What a transition decided: the execution as it is to be, at the version at which it came in, and what else the commit writes. The
 * processor adds the processed event and the acknowledgement, and counts `processedEvents`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step {
  readonly execution: Execution
  readonly commit?: Omit<Commit, "processed" | "ack">
}

/**
 * What an execution does at an event. It runs again from the start where another commit came first, and where a crash came before its
 * own: effects beyond the step must bear being repeated.
 *
 * @since 0.1.0
 * @category models
 */
export type Transition<E = never, R = never> = (execution: Execution, event: Event) => Effect.Effect<Step, E, R>

/**
 * Transitions by the id of the definition.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definitions {
  readonly [definitionId: string]: Transition<unknown, unknown>
}

/**
 * What the transitions of some definitions can fail with, and the services that they need.
 *
 * @since 0.1.0
 * @category models
 */
export declare namespace Definitions {
  /**
   * @since 0.1.0
   * @category models
   */
  export type Error<D extends Definitions> = Effect.Effect.Error<ReturnType<D[keyof D]>>

  /**
   * @since 0.1.0
   * @category models
   */
  export type Context<D extends Definitions> = Effect.Effect.Context<ReturnType<D[keyof D]>>
}

/**
 * What became of an event: the execution advanced by a commit, or there was nothing to do, because the event is `processed` already, the
 * execution is `finished`, or the timer that the event came from was `cancelled`, or armed anew, before it got here.
 *
 * @since 0.1.0
 * @category models
 */
export type Processed =
  | { readonly _tag: "Advanced"; readonly committed: Committed }
  | { readonly _tag: "Skipped"; readonly reason: "processed" | "finished" | "cancelled" }

/**
 * There is no such execution: it was never created, is not created yet, or was purged.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExecutionNotFound extends Schema.TaggedError<ExecutionNotFound>("holdfast/Processor/ExecutionNotFound")(
  "ExecutionNotFound",
  { executionId: Schema.String, eventId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return `there is no execution ${JSON.stringify(this.executionId)} for event ${JSON.stringify(this.eventId)}: create it first`
  }
}

/**
 * The execution's definition is not among those of this processor.
 *
 * @since 0.1.0
 * @category errors
 */
export class DefinitionNotFound extends Schema.TaggedError<DefinitionNotFound>("holdfast/Processor/DefinitionNotFound")(
  "DefinitionNotFound",
  { executionId: Schema.String, eventId: Schema.String, definitionId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return `execution ${JSON.stringify(this.executionId)} follows definition ${JSON.stringify(this.definitionId)}, which this process does not have: add it to the definitions`
  }
}

/**
 * The execution is suspended: the event must wait until it is resumed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExecutionSuspended extends Schema.TaggedError<ExecutionSuspended>("holdfast/Processor/ExecutionSuspended")(
  "ExecutionSuspended",
  { executionId: Schema.String, eventId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return `execution ${JSON.stringify(this.executionId)} is suspended: event ${JSON.stringify(this.eventId)} waits until it is resumed`
  }
}

/**
 * Others advanced the execution each time before the step could be committed, until the schedule of retries ended. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class ProcessConflict extends Schema.TaggedError<ProcessConflict>("holdfast/Processor/ProcessConflict")(
  "ProcessConflict",
  { executionId: Schema.String, eventId: Schema.String, attempts: Schema.Number }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return `event ${JSON.stringify(this.eventId)} lost execution ${JSON.stringify(this.executionId)} to other commits ${this.attempts} times: process it again later, or give a longer schedule of retries`
  }
}

/**
 * A transition returned another execution than the one it was given: another id or another version. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class StepRejected extends Schema.TaggedError<StepRejected>("holdfast/Processor/StepRejected")("StepRejected", {
  executionId: Schema.String,
  eventId: Schema.String,
  definitionId: Schema.String,
  detail: Schema.String
}) {
  /** @since 0.1.0 */
  override get message(): string {
    return `definition ${JSON.stringify(this.definitionId)} took execution ${JSON.stringify(this.executionId)} at event ${JSON.stringify(this.eventId)} and returned ${this.detail}: it must return the same execution, changed, at the same version`
  }
}

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
    options?: { readonly ack?: Ack }
  ) => Effect.Effect<Processed, E | ProcessError>
}

/**
 * - `definitions`: the transitions, by definition id; only the object's own keys count.
 * - `conflictRetry`: when to run a step again where another commit came first; by default exponential from 5 milliseconds, jittered, up to
 *   10 attempts.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<D> {
  readonly definitions: D
  readonly conflictRetry?: Schedule.Schedule<unknown, StoreConflict>
}

/**
 * A processor. The services that the transitions need are taken once, here.
 *
 * @since 0.1.0
 * @category constructors
 */
export function make<D extends Definitions>(
  options: Options<D>
): Effect.Effect<Processor<Definitions.Error<D>>, never, ExecutionStore | Definitions.Context<D>>
export function make<E, R>(
  options: Options<{ readonly [definitionId: string]: Transition<E, R> }>
): Effect.Effect<Processor<E>, never, ExecutionStore | R> {
  return Effect.gen(function* () {
    const store = yield* ExecutionStore
    const context = yield* Effect.context<R>()
    const transitions = new Map(Object.entries(options.definitions))
    const conflictRetry = options.conflictRetry ?? defaultConflictRetry

    const decide = (executionId: string, event: Event, ack: Ack | undefined) =>
      Effect.gen(function* () {
        const at = { executionId, eventId: event.id }
        const loaded = yield* store.loadForEvent(executionId, event.id)
        if (Option.isNone(loaded.execution)) return yield* new ExecutionNotFound(at)
        const execution = loaded.execution.value
        if (loaded.processed) return skipped("processed")
        if (isFinished(execution)) return skipped("finished")
        // Asked after the load: whoever cancels the timer from now on makes this commit lose, and the question is asked again.
        if (ack?._tag === "Timer" && !(yield* store.isArmed(ack))) return skipped("cancelled")
        if (execution.status === "SUSPENDED") return yield* new ExecutionSuspended(at)
        const { definitionId } = execution
        const transition = transitions.get(definitionId)
        if (transition === undefined) return yield* new DefinitionNotFound({ ...at, definitionId })
        const step = yield* captured.provide(context)(transition(execution, event))
        const detail = strayed(execution, step.execution)
        if (detail !== undefined) return yield* new StepRejected({ ...at, definitionId, detail })
        return {
          _tag: "Decided" as const,
          execution: { ...step.execution, processedEvents: execution.processedEvents + 1 },
          commit: { ...step.commit, processed: event.id, ...(ack === undefined ? undefined : { ack }) }
        }
      })

    const acknowledge = (ack: Ack): Effect.Effect<unknown, StoreError> => {
      switch (ack._tag) {
        case "Outbox":
          return store.ackOutbox(ack.seq)
        case "Spawn":
          return store.ackSpawn(ack.seq)
        case "Timer":
          return store.deleteTimer({ executionId: ack.executionId, path: ack.path, fireAt: ack.fireAt })
      }
    }

    /** Fails only with a lost commit, which is what the schedule is for. */
    const attempt = (executionId: string, event: Event, ack: Ack | undefined) =>
      Effect.gen(function* () {
        const decided = yield* Effect.either(decide(executionId, event, ack))
        if (Either.isLeft(decided)) return Either.left(decided.left)
        if (decided.right._tag === "Skipped") {
          const skipped = decided.right
          return ack === undefined ? Either.right(skipped) : yield* Effect.either(Effect.as(acknowledge(ack), skipped))
        }
        return yield* store.commit(decided.right.execution, decided.right.commit).pipe(
          Effect.map((committed) => Either.right<Processed>({ _tag: "Advanced", committed })),
          Effect.catchAll((error) =>
            error._tag === "StoreConflict" ? Effect.fail(error) : Effect.succeed(Either.left(error))
          )
        )
      })

    const process: Processor<E>["process"] = (executionId, event, { ack } = {}) =>
      Effect.suspend(() => {
        let attempts = 0
        return Effect.suspend(() => {
          attempts++
          return attempt(executionId, event, ack)
        }).pipe(
          Effect.tapError((conflict) => ownLog(Effect.logDebug(conflict.message))),
          Effect.retry(conflictRetry),
          Effect.catchAll(() => new ProcessConflict({ executionId, eventId: event.id, attempts })),
          Effect.flatMap(settle),
          Effect.tap((processed) => Effect.annotateCurrentSpan({ outcome: outcomeOf(processed), attempts }))
        )
      }).pipe(
        Effect.withSpan("Processor.process", { attributes: { executionId, eventId: event.id, eventKind: event.kind } }),
        Effect.annotateLogs({ executionId, eventId: event.id })
      )

    return { process }
  })
}

const defaultConflictRetry = Schedule.exponential("5 millis").pipe(
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(9))
)

const ownLog = Effect.annotateLogs({ package: "holdfast", module: "Processor" })

type Skipped = Extract<Processed, { readonly _tag: "Skipped" }>

const skipped = (reason: Skipped["reason"]): Skipped => ({ _tag: "Skipped", reason })

const outcomeOf = (processed: Processed): string => (processed._tag === "Advanced" ? "advanced" : processed.reason)

const settle = <A, E>(either: Either.Either<A, E>): Effect.Effect<A, E> => either

/** What a transition returned in place of the execution that it was given, or nothing. */
const strayed = (given: Execution, returned: Execution): string | undefined => {
  if (returned.id !== given.id) return `execution ${JSON.stringify(returned.id)}`
  return returned.version === given.version ? undefined : `version ${returned.version} in place of ${given.version}`
}
