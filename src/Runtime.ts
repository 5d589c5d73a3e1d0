/**
 * The workers over one processor, as one layer: what an application starts.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Ack, Commit, Committed, OutboxEntry } from "./Commit.js"
import * as Event from "./Event.js"
import type { Execution } from "./Execution.js"
import { ExecutionStore } from "./ExecutionStore.js"
import * as idle from "./internal/idle.js"
import type { JsonObject } from "./Json.js"
import * as OutboxRelay from "./OutboxRelay.js"
import * as Processor from "./Processor.js"
import * as SpawnRelay from "./SpawnRelay.js"
import { type StoreError, StoreRejected } from "./StoreError.js"
import * as TimerSweeper from "./TimerSweeper.js"
import type * as Worker from "./Worker.js"

/**
 * An execution of this id is stored already. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class AlreadyExists extends Schema.TaggedError<AlreadyExists>("holdfast/Runtime/AlreadyExists")(
  "AlreadyExists",
  { executionId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return `execution ${JSON.stringify(this.executionId)} exists already: choose another id, or send it an event`
  }
}

/**
 * A transition failed with its own error, which is the `cause`. Nothing was written; the event is delivered again later.
 *
 * @since 0.1.0
 * @category errors
 */
export class TransitionFailed extends Schema.TaggedError<TransitionFailed>("holdfast/Runtime/TransitionFailed")(
  "TransitionFailed",
  { executionId: Schema.String, eventId: Schema.String, definitionId: Schema.String, cause: Schema.Defect }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const why = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `definition ${JSON.stringify(this.definitionId)} failed for execution ${JSON.stringify(this.executionId)} at event ${JSON.stringify(this.eventId)}: ${why}`
  }
}

/**
 * How the workers are.
 *
 * @since 0.1.0
 * @category models
 */
export interface Health {
  readonly outbox: Worker.Health
  readonly spawns: Worker.Health
  readonly timers: Worker.Health
}

/**
 * A running engine: a processor, and the workers that bring it events, children and timers.
 *
 * Delivery is at least once, effect once: an event is consumed in the commit that it causes. An event for an execution that does not exist,
 * is suspended, or whose transition fails stays in the outbox, holds back what comes after it for this execution, and is tried again at
 * each poll. An event without a target goes to `deliverExternal`; where there is none, it is removed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Runtime {
  /** Stores a new execution, and what the commit says. */
  readonly create: (execution: Execution, commit?: Commit) => Effect.Effect<Committed, AlreadyExists | StoreError>

  /** Stores a new execution and a `Start` event to it, with this data, in one commit. */
  readonly start: (execution: Execution, data?: JsonObject) => Effect.Effect<Committed, AlreadyExists | StoreError>

  /** Puts an event into the outbox, where it is durable when this succeeds; gives its seq. Null is for an event without a target. */
  readonly send: (targetId: string | null, event: Event.Event) => Effect.Effect<number, StoreError>

  /** Takes an event through an execution at once, past the outbox. */
  readonly process: (
    executionId: string,
    event: Event.Event,
    options?: { readonly ack?: Ack }
  ) => Effect.Effect<Processor.Processed, TransitionFailed | Processor.ProcessError>

  /**
   * Waits until no event and no spawn is pending, except for rows that do not decode; for tests and batch jobs. It waits for those that
   * cannot be delivered too. Fails where the store does, or where a relay ended.
   */
  readonly idle: Effect.Effect<void, StoreError>

  /** Waits for the failure that ended a worker: a store that refuses to be read, or a defect. It ends no other way. */
  readonly awaitFatal: Effect.Effect<never, StoreError>

  /** How the workers are. */
  readonly health: Effect.Effect<Health>
}

/**
 * @since 0.1.0
 * @category tags
 */
export const Runtime: Context.Tag<Runtime, Runtime> = Context.GenericTag<Runtime>("holdfast/Runtime")

/**
 * - `definitions`, `conflictRetry`: see `Processor.Options`.
 * - `child`: decides what a spawned child is; by default `SpawnRelay.defaultChild`.
 * - `deliverExternal`: gets the events without a target, at least once, in order.
 * - `concurrency`: how many executions each worker serves side by side, by default 16.
 * - `pageSize`: how many rows each worker reads at once, 1 to 1,000, by default 100.
 * - `pollInterval`: how often the relays look for what other processes wrote, and when they try again what failed; by default 1 second.
 * - `timerInterval`: the same for timers, by default 5 seconds.
 * - `shutdownTimeout`: how long running steps may take when the scope closes, before they are interrupted; by default 10 seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<D, EC = never, RC = never, ED = never, RD = never> extends Processor.Options<D> {
  readonly child?: SpawnRelay.MakeChild<EC, RC>
  readonly deliverExternal?: (entry: OutboxEntry) => Effect.Effect<void, ED, RD>
  readonly concurrency?: number
  readonly pageSize?: number
  readonly pollInterval?: Duration.DurationInput
  readonly timerInterval?: Duration.DurationInput
  readonly shutdownTimeout?: Duration.DurationInput
}

/**
 * Starts a runtime, which runs until the scope closes: then it takes no more work, finishes the steps that run, and leaves the rest in the
 * store. The services that definitions, `child` and `deliverExternal` need are taken once, here.
 *
 * @since 0.1.0
 * @category constructors
 */
export function make<D extends Processor.Definitions, EC = never, RC = never, ED = never, RD = never>(
  options: Options<D, EC, RC, ED, RD>
): Effect.Effect<Runtime, never, ExecutionStore | Scope.Scope | Processor.Definitions.Context<D> | RC | RD>
export function make<E, R, EC, RC, ED, RD>(
  options: Options<{ readonly [definitionId: string]: Processor.Transition<E, R> }, EC, RC, ED, RD>
): Effect.Effect<Runtime, never, ExecutionStore | Scope.Scope | R | RC | RD> {
  return Effect.gen(function* () {
    const store = yield* ExecutionStore
    const { process } = yield* Processor.make({ ...options, definitions: withTypedFailures(options.definitions) })

    const deliver = (
      entry: OutboxEntry
    ): Effect.Effect<Worker.Delivered, ED | TransitionFailed | Processor.ProcessError, RD> => {
      const { event, seq, targetId } = entry
      if (targetId !== null) {
        return Effect.as(process(targetId, event, { ack: { _tag: "Outbox", seq } }), acknowledged)
      }
      return Effect.as(options.deliverExternal?.(entry) ?? Effect.void, delivered)
    }

    // All stop at the same time, each in its own order.
    const [outbox, spawns, timers] = yield* Effect.parallelFinalizers(
      Effect.all([
        Effect.sequentialFinalizers(OutboxRelay.make({ ...options, deliver })),
        Effect.sequentialFinalizers(SpawnRelay.make(options)),
        Effect.sequentialFinalizers(
          TimerSweeper.make({
            ...options,
            pollInterval: options.timerInterval ?? "5 seconds",
            deliver: (timer, event) =>
              process(timer.executionId, event, { ack: { _tag: "Timer", ...timer } }).pipe(
                Effect.as(acknowledged),
                // Purged: there is nobody to wait for.
                Effect.catchTag("ExecutionNotFound", () => Effect.succeed(delivered))
              )
          })
        )
      ])
    )

    const awaitFatal = Effect.raceFirst(outbox.awaitFatal, Effect.raceFirst(spawns.awaitFatal, timers.awaitFatal))
    const awaitIdle = yield* idle.make([outbox, spawns], options.pollInterval ?? "1 second")

    const create = (execution: Execution, commit?: Commit) =>
      store
        .commit({ ...execution, version: 0 }, commit)
        .pipe(Effect.catchTag("StoreConflict", () => new AlreadyExists({ executionId: execution.id })))

    return {
      create,
      start: (execution, data) =>
        create(execution, { emits: [{ targetId: execution.id, event: Event.start(execution.id, data) }] }),
      send: (targetId, event) =>
        Effect.flatMap(store.enqueue([{ targetId, event }]), ([seq]) =>
          seq === undefined ? noSeq() : Effect.succeed(seq)
        ),
      process,
      idle: Effect.raceFirst(awaitFatal, awaitIdle),
      awaitFatal,
      health: Effect.all({ outbox: outbox.health, spawns: spawns.health, timers: timers.health })
    }
  })
}

const noSeq = (): StoreRejected =>
  new StoreRejected({ operation: "enqueue", reason: "sql", detail: "the backend gave the event no seq" })

const delivered: Worker.Delivered = "Delivered"
const acknowledged: Worker.Delivered = "Acknowledged"

/** The same transitions, whose own failures a caller can tell from those of the store. */
const withTypedFailures = <E, R>(definitions: {
  readonly [definitionId: string]: Processor.Transition<E, R>
}): { readonly [definitionId: string]: Processor.Transition<TransitionFailed, R> } =>
  Object.fromEntries(
    Object.entries(definitions).map(([definitionId, transition]) => [
      definitionId,
      (execution, event) =>
        Effect.mapError(
          transition(execution, event),
          (cause) => new TransitionFailed({ executionId: execution.id, eventId: event.id, definitionId, cause })
        )
    ])
  )

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <D extends Processor.Definitions, EC = never, RC = never, ED = never, RD = never>(
  options: Options<D, EC, RC, ED, RD>
): Layer.Layer<Runtime, never, ExecutionStore | Exclude<Processor.Definitions.Context<D> | RC | RD, Scope.Scope>> =>
  Layer.scoped(Runtime, make(options))
