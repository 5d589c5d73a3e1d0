/**
 * All workers on one store, as one layer: what an application starts to run its executions.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as Activity from "./Activity.js"
import type { ActivityRegistered, InvalidActivityHandler } from "./ActivityError.js"
import type { Commit, Committed, OutboxEntry, WorkItem } from "./Commit.js"
import type * as Control from "./Control.js"
import type { AlreadyExists, AlreadyRegistered } from "./DefinitionError.js"
import type * as Event from "./Event.js"
import type { Execution, Status } from "./Execution.js"
import type { EnqueueOptions, ExecutionStore, Stats, UnservedActivity, UnservedDefinition } from "./ExecutionStore.js"
import type * as GivenUp from "./GivenUp.js"
import type { AnyOptions } from "./internal/runtime/options.js"
import * as internal from "./internal/runtime/runtime.js"
import type { TransitionFailed } from "./internal/runtime/transitionFailed.js"
import type { JsonObject } from "./Json.js"
import type * as OutboxRelay from "./OutboxRelay.js"
import type * as Processor from "./Processor.js"
import type * as QueueWorker from "./QueueWorker.js"
import type * as Retention from "./Retention.js"
import type * as Shards from "./Shards.js"
import type * as SpawnRelay from "./SpawnRelay.js"
import type { StoreError, StoreRejected } from "./StoreError.js"

export {
  /** @since 0.1.0 */
  TransitionFailed
} from "./internal/runtime/transitionFailed.js"

/**
 * A definition that work in the store waits for and that this runtime does not have. `since` is when the runtime saw such work first, in
 * seconds since the epoch; how much there is, and since when it waits, see `ExecutionStore.Unserved`. It is there until the store has none of
 * it, also while the runtime is paused. Where the runtime has a `child` of its own, children to create are not counted. `version` is the
 * version of it that the work waits for, where the runtime has others: of that the store does not tell how much there is.
 *
 * @since 0.1.0
 * @category models
 */
export interface UnknownDefinition extends UnservedDefinition {
  readonly version?: number | undefined
  readonly since: number
}

/**
 * An activity for which requests wait and that this runtime does not have. `since` is when the runtime saw such requests first, in seconds
 * since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface UnknownActivity extends UnservedActivity {
  readonly since: number
}

/**
 * The state of a runtime, for probes and dashboards.
 *
 * - `live`: whether all workers run. A worker ends only at a defect, after which only a restart helps: see `awaitFatal`. Use it as liveness
 *   probe.
 * - `ready`: whether there are no `problems`. Use it as readiness probe.
 * - `problems`: what is wrong, each as a sentence: a worker has ended, stalls, has not begun, or has all its places taken by work that does
 *   not end; something waits for the store; the store does not answer, or refused the last write for its own state, such as a full disk. A
 *   paused worker is no problem.
 * - `outbox`, `spawns`, `timers`, `activities`: the state of each worker.
 * - `shards`, `retention`: their state; none where the options do not ask for them.
 * - `store`: how much work the store holds, at most a second old; none where the store does not answer.
 * - `unknownDefinitions`: definitions that work in the store waits for and that this runtime does not have. That is no problem where
 *   another process has them.
 * - `unknownActivities`: the same for activities.
 * - `oldestAge`: for how many seconds the oldest event or due timer has waited; none where nothing waits.
 *
 * @since 0.1.0
 * @category models
 */
export interface Health {
  readonly live: boolean
  readonly ready: boolean
  readonly problems: ReadonlyArray<string>
  readonly outbox: QueueWorker.Health
  readonly spawns: QueueWorker.Health
  readonly timers: QueueWorker.Health
  readonly activities: QueueWorker.Health
  readonly shards: Option.Option<Shards.Health>
  readonly retention: Option.Option<Retention.Health>
  readonly store: Option.Option<Stats>
  readonly unknownDefinitions: ReadonlyArray<UnknownDefinition>
  readonly unknownActivities: ReadonlyArray<UnknownActivity>
  readonly oldestAge: Option.Option<number>
}

/**
 * A commit of this process.
 *
 * - `from`: the version, status and path before it; version 0 is not stored. Status and path are none where the commit does not tell them
 *   (see `Commit.Origin`), as a commit by the application itself.
 * - `to`: the version, status and path after it.
 * - `event`: the event that it consumed; `command`: the command of the control plane that it carried out.
 * - `missed`: how many commits before this one were left out because the reader was too slow.
 *
 * @since 0.1.0
 * @category models
 */
export interface CommitRecord {
  readonly executionId: string
  readonly definitionId: string
  readonly from: {
    readonly version: number
    readonly status: Option.Option<Status>
    readonly activePath: Option.Option<string | null>
  }
  readonly to: { readonly version: number; readonly status: Status; readonly activePath: string | null }
  readonly event: Option.Option<{ readonly id: string; readonly kind: string }>
  readonly command: Option.Option<string>
  readonly missed: number
}

/**
 * The dead letters: work that was given up, see `DeadLetter`.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetters extends Pick<ExecutionStore["deadLetters"], "list" | "redrive" | "discard"> {}

/**
 * Which executions of a definition a transition takes: those of its `version`, and those of versions from `migratesFrom` on, which it
 * migrates, where their own version is not registered and no later one migrates them. Without a version it takes all, and is the only one.
 *
 * @since 0.1.0
 * @category models
 */
export interface RegisterOptions {
  readonly version?: number | undefined
  readonly migratesFrom?: number | undefined
}

/**
 * A running engine: a processor, and the workers that bring it events, children and timers.
 *
 * Events are delivered at least once and take effect once: the commit that an event causes also marks it as consumed. An event whose
 * transition fails stays in the outbox and holds back the later events of its execution. It is tried again as `retry` says until it is a
 * dead letter; it becomes one at once where the store refuses for good what the step writes. While the execution is suspended, or the store
 * is down or its disk full, the event waits, and that counts as no attempt. An event without a target goes to `deliverExternal`; without
 * that option it is removed.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecutionRuntime {
  /** Stores a new execution, and what the commit says. */
  readonly create: (execution: Execution, commit?: Commit) => Effect.Effect<Committed, AlreadyExists | StoreError>

  /** Stores a new execution and a `Start` event to it, with this data, in one commit. */
  readonly start: (execution: Execution, data?: JsonObject) => Effect.Effect<Committed, AlreadyExists | StoreError>

  /**
   * Puts an event into the outbox; gives its seq. The event is durable when this succeeds. With null as target it goes to
   * `deliverExternal`. Fails with `StoreRejected` where its id is one that only engines make, unless the options accept it: see
   * `Event.externalId`.
   */
  readonly send: (
    targetId: string | null,
    event: Event.Event,
    options?: EnqueueOptions
  ) => Effect.Effect<number, StoreError>

  /**
   * Adds a definition to those that the runtime has, until the scope closes. Work that waited for it goes on at once. The services that the
   * transition needs are taken from the context here. `Definition.toLayer` calls this.
   *
   * There can be several versions of a definition: see {@link RegisterOptions}.
   */
  readonly register: <E, R>(
    definitionId: string,
    transition: Processor.Transition<Processor.TransitionFailure<E>, R>,
    options?: RegisterOptions
  ) => Effect.Effect<void, AlreadyRegistered, Scope.Scope | R>

  /**
   * Adds an activity to those that the runtime runs, until the scope closes; what waited for it goes on at once. The services that the
   * handler needs
   * are taken here. `Activity.toLayer` does this.
   */
  readonly registerActivity: <R>(
    activity: Activity.Any,
    handler: Activity.AnyHandler<R>
  ) => Effect.Effect<void, ActivityRegistered | InvalidActivityHandler, Scope.Scope | Exclude<R, Activity.CurrentRun>>

  /**
   * Cancels the activity that an execution has asked for under a key: it is interrupted, and its outcome is `ActivityCancelled`. False
   * where there is
   * none, and while the execution is `FAILED`.
   */
  readonly cancelActivity: (executionId: string, key: string) => Effect.Effect<boolean, StoreError>

  /**
   * Takes an event through an execution at once, without the outbox. Ids that only engines make are refused as by `send`, except for the
   * execution's own `Start` (`Event.start`) and for work that is acknowledged (`ack`).
   */
  readonly process: (
    executionId: string,
    event: Event.Event,
    options?: EnqueueOptions & { readonly ack?: WorkItem | undefined }
  ) => Effect.Effect<Processor.Processed, TransitionFailed | Processor.ProcessError>

  /**
   * Waits until no event, no spawn and no activity is pending, except for rows that do not decode; for tests and batch jobs. Work that
   * fails and is
   * tried again is pending, so it is waited for too. Fails where the store does, and dies where a worker ended.
   */
  readonly awaitIdle: Effect.Effect<void, StoreError>

  /**
   * Waits for the defect that ends a worker, a bug of this library or of a store, and dies with it. Failures of the store do not end it:
   * workers wait until the store works again, and `health` says since when they wait.
   */
  readonly awaitFatal: Effect.Effect<never>

  /** The state of the runtime and its workers, at the moment when it is run. */
  readonly health: Effect.Effect<Health>

  /**
   * The commits of this process, from when the stream is run until the runtime's scope closes. Commits do not wait for readers: a reader
   * that is more than `commitsBuffer` commits behind loses the oldest, and is told how many.
   */
  readonly commits: Stream.Stream<CommitRecord>

  /** Makes the workers take no new work until `resume`. Work that runs goes on, the rest stays in the store. */
  readonly pause: Effect.Effect<void>

  /** Lets the workers go on after `pause`. */
  readonly resume: Effect.Effect<void>

  /** The control plane: suspends, resumes, cancels, terminates, redrives and purges executions. */
  readonly control: Control.Control

  /** The dead letters: work that was given up. */
  readonly deadLetters: DeadLetters
}

/**
 * The service of the runtime.
 *
 * @since 0.1.0
 * @category tags
 */
export const ExecutionRuntime: Context.Tag<ExecutionRuntime, ExecutionRuntime> =
  Context.GenericTag<ExecutionRuntime>("holdfast/ExecutionRuntime")

/**
 * The options of a runtime whose definitions are all registered by `Definition.toLayer`.
 *
 * - `onFailure`: what becomes of an execution whose transition fails, where its definition does not say; by default `"retry"`.
 * - `conflictRetry`: see `Processor.Options`.
 * - `transitionTimeout`: how long a transition may run, by default 1 minute: see `Processor.Options`. `child` and `deliverExternal` have as
 *   much time, and fail with `QueueWorker.DeliveryTimedOut`.
 * - `child`: makes the execution of a spawned child; by default `SpawnRelay.defaultChild`.
 * - `deliverExternal`: receives the events without a target, at least once, in order.
 * - `onGivenUp`: who is sent a notice of work that becomes a dead letter, and of executions that fail, where their definition does not
 *   say; by default nobody. Of what is its own the target is told nothing. See `GivenUp`.
 * - `unknownTarget`: what becomes of an event whose target does not exist: see `OutboxRelay.Options`.
 * - `unknownDefinition`: what becomes of work for a definition that the runtime does not have. `"wait"` (the default) leaves it to other
 *   processes, or until the definition is registered; `"fail"` counts it as failed, so that it is a dead letter in the end.
 * - `concurrency`, `pageSize`, `retry`, `maxAttempts`, `shutdownTimeout`: of each worker, see `QueueWorker.Options`.
 * - `pollInterval`: how often the relays look for work that other processes wrote, by default 1 second.
 * - `timerInterval`: the same for timers, by default 5 seconds.
 * - `leases`: whether the processes of one store share the work, by default false; see `Shards.Options`. Without it each process delivers
 *   everything: an event takes effect once all the same, but the work is done as often as there are processes. With it, the part of a
 *   process that crashed waits for up to `ttl`, also when the process starts again under another name.
 * - `activityTtl`: after how long without a sign of life the activities of a process are run by others, by default 10 seconds: see
 *   `ActivityWorker.Options`.
 * - `retention`: what is removed when it is old, by default nothing.
 * - `commitsBuffer`: how many commits are kept for each reader of `commits`, by default 1,024.
 * - `stallAfter`: a worker that has not read the store for this long beyond its interval counts as stalled; by default 30 seconds.
 * - `statsInterval`: how often the gauges of `Metrics` are set, by default 15 seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface CommonOptions<EC = never, RC = never, ED = never, RD = never>
  extends Omit<QueueWorker.Options, "shards" | "elsewhere">,
    Pick<Processor.Options<Processor.Definitions>, "conflictRetry" | "transitionTimeout"> {
  readonly definitions?: undefined
  readonly onFailure?: "retry" | "fail" | undefined
  readonly child?: SpawnRelay.MakeChild<EC, RC> | undefined
  readonly deliverExternal?:
    | ((entry: OutboxEntry, delivery: QueueWorker.Delivery) => Effect.Effect<void, ED, RD>)
    | undefined
  readonly onGivenUp?: GivenUp.Target | undefined
  readonly unknownTarget?: OutboxRelay.UnknownTarget | undefined
  readonly unknownDefinition?: "wait" | "fail" | undefined
  readonly timerInterval?: Duration.DurationInput | undefined
  readonly leases?: boolean | Shards.Options | undefined
  readonly activityTtl?: Duration.DurationInput | undefined
  readonly retention?: Retention.Options | undefined
  readonly commitsBuffer?: number | undefined
  readonly stallAfter?: Duration.DurationInput | undefined
  readonly statsInterval?: Duration.DurationInput | undefined
}

/**
 * The options of a runtime that is given definitions as transitions, beside those that `Definition.toLayer` registers.
 *
 * - `definitions`: the transitions, by the id of their definition.
 * - `onFailure`: see `Processor.Options`. A function is asked for the failures of `definitions` alone.
 * - the others: see {@link CommonOptions}.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<D, EC = never, RC = never, ED = never, RD = never>
  extends Processor.Options<D>,
    Omit<CommonOptions<EC, RC, ED, RD>, "definitions" | "onFailure"> {}

/**
 * Starts a runtime, which runs until the scope closes. Then it takes no new work, finishes the steps that run, interrupts those that take
 * longer than `shutdownTimeout`, and leaves the rest in the store. The services that definitions, `child` and `deliverExternal` need are
 * taken from the context here.
 *
 * Fails with `StoreRejected` where an option is invalid, of `leases` or `retention` too.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: {
  <D extends Processor.Definitions, EC = never, RC = never, ED = never, RD = never>(
    options: Options<D, EC, RC, ED, RD>
  ): Effect.Effect<
    ExecutionRuntime,
    StoreRejected,
    ExecutionStore | Scope.Scope | Processor.Definitions.Context<D> | RC | RD
  >
  <EC = never, RC = never, ED = never, RD = never>(
    options?: CommonOptions<EC, RC, ED, RD>
  ): Effect.Effect<ExecutionRuntime, StoreRejected, ExecutionStore | Scope.Scope | RC | RD>
} = <E, R, EC, RC, ED, RD>(
  options: AnyOptions<E, R, EC, RC, ED, RD> = {}
): Effect.Effect<ExecutionRuntime, StoreRejected, ExecutionStore | Scope.Scope | R | RC | RD> => internal.start(options)

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Layer, Option } from "effect"
 * import { Event, Execution, ExecutionRuntime, ExecutionStore, MemoryStore, type Processor, Step } from "holdfast"
 *
 * const order: Processor.Transition = (execution, event) =>
 *   Effect.map(Step.make(execution, event), (step) =>
 *     event.kind === "Paid" ? Step.finish(step, "paid") : Step.advance(step, "AwaitingPayment")
 *   )
 *
 * const Live = ExecutionRuntime.layer({ definitions: { order } }).pipe(Layer.provideMerge(MemoryStore.layer))
 *
 * const program = Effect.gen(function* () {
 *   const runtime = yield* ExecutionRuntime.ExecutionRuntime
 *   yield* runtime.start(Execution.make({ id: "order-17", definitionId: "order" }))
 *   yield* runtime.send("order-17", Event.make({ id: "payment-4", kind: "Paid" }))
 *   yield* runtime.awaitIdle
 *
 *   const store = yield* ExecutionStore.ExecutionStore
 *   const stored = yield* store.load("order-17")
 *   assert.deepStrictEqual(Option.map(stored, ({ outcome }) => outcome), Option.some("paid"))
 * }).pipe(Effect.provide(Live))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: {
  <D extends Processor.Definitions, EC = never, RC = never, ED = never, RD = never>(
    options: Options<D, EC, RC, ED, RD>
  ): Layer.Layer<
    ExecutionRuntime,
    StoreRejected,
    ExecutionStore | Exclude<Processor.Definitions.Context<D> | RC | RD, Scope.Scope>
  >
  <EC = never, RC = never, ED = never, RD = never>(
    options?: CommonOptions<EC, RC, ED, RD>
  ): Layer.Layer<ExecutionRuntime, StoreRejected, ExecutionStore | Exclude<RC | RD, Scope.Scope>>
} = <E, R, EC, RC, ED, RD>(
  options: AnyOptions<E, R, EC, RC, ED, RD> = {}
): Layer.Layer<ExecutionRuntime, StoreRejected, ExecutionStore | Exclude<R | RC | RD, Scope.Scope>> =>
  Layer.scoped(ExecutionRuntime, internal.start<E, R, EC, RC, ED, RD>(options))
