/**
 * All workers on one store, as one layer: what an application starts to run its executions.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as Activity from "./Activity.js"
import type { ActivityRegistered, InvalidActivityHandler } from "./ActivityError.js"
import * as ActivityWorker from "./ActivityWorker.js"
import type { Commit, Committed, OutboxEntry, WorkItem } from "./Commit.js"
import * as Control from "./Control.js"
import { AlreadyExists, AlreadyRegistered } from "./DefinitionError.js"
import * as Event from "./Event.js"
import type { Execution, Status } from "./Execution.js"
import {
  type EnqueueOptions,
  ExecutionStore,
  type Stats,
  type UnservedActivity,
  type UnservedDefinition
} from "./ExecutionStore.js"
import * as GivenUp from "./GivenUp.js"
import { contractOf } from "./internal/activity/contract.js"
import * as outcome from "./internal/activity/outcome.js"
import * as validate from "./internal/codec/validate.js"
import { decoder, type Fields, refused } from "./internal/options/decode.js"
import * as fields from "./internal/options/fields.js"
import { definitions, onFailure, processorFields, queueFields, target } from "./internal/options/worker.js"
import * as facets from "./internal/processor/facets.js"
import * as policy from "./internal/processor/failurePolicy.js"
import * as processor from "./internal/processor/processor.js"
import * as registry from "./internal/processor/registry.js"
import * as processTogether from "./internal/processor/together.js"
import * as idle from "./internal/runtime/awaitIdle.js"
import * as commits_ from "./internal/runtime/commitStream.js"
import * as deliveryTimeout from "./internal/runtime/deliveryTimeout.js"
import * as health from "./internal/runtime/health.js"
import * as outboxRelay from "./internal/runtime/outboxRelay.js"
import * as unserved_ from "./internal/runtime/unserved.js"
import * as eventIds from "./internal/util/eventIds.js"
import { printable } from "./internal/util/printable.js"
import type { JsonObject } from "./Json.js"
import type * as OutboxRelay from "./OutboxRelay.js"
import type * as Processor from "./Processor.js"
import * as ProcessorError from "./ProcessorError.js"
import type * as QueueWorker from "./QueueWorker.js"
import * as Retention from "./Retention.js"
import * as Shards from "./Shards.js"
import * as SpawnRelay from "./SpawnRelay.js"
import { type StoreError, StoreRejected } from "./StoreError.js"
import * as Telemetry from "./Telemetry.js"
import * as TimerSweeper from "./TimerSweeper.js"

/**
 * A transition failed with its own error, which is the `cause`. Nothing was written, and the event is delivered again later.
 *
 * @since 0.1.0
 * @category errors
 */
export class TransitionFailed extends Schema.TaggedError<TransitionFailed>(
  "holdfast/ExecutionRuntime/TransitionFailed"
)("TransitionFailed", {
  executionId: Schema.String,
  eventId: Schema.String,
  definitionId: Schema.String,
  cause: Schema.Defect
}) {
  /** @since 0.1.0 */
  override get message(): string {
    const why = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return printable(
      `definition ${JSON.stringify(this.definitionId)} failed for execution ${JSON.stringify(this.executionId)} at event ${JSON.stringify(this.eventId)}: ${why}`
    )
  }
}

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
): Effect.Effect<ExecutionRuntime, StoreRejected, ExecutionStore | Scope.Scope | R | RC | RD> => start(options)

type AnyOptions<E, R, EC, RC, ED, RD> =
  | Options<{ readonly [definitionId: string]: Processor.Transition<E, R> }, EC, RC, ED, RD>
  | CommonOptions<EC, RC, ED, RD>

const decode = decoder(
  Schema.Struct({
    ...queueFields,
    ...processorFields,
    definitions: fields.optional(definitions),
    onFailure,
    child: fields.optional(fields.callable),
    deliverExternal: fields.optional(fields.callable),
    onGivenUp: target,
    unknownTarget: fields.optional(fields.oneOf("drop", "dead-letter", "wait")),
    unknownDefinition: fields.optional(fields.oneOf("wait", "fail")),
    timerInterval: fields.optional(fields.timeOrInfinity),
    leases: fields.optional(fields.flagOrObject),
    retention: fields.optional(fields.object),
    activityTtl: fields.optional(fields.time),
    commitsBuffer: fields.optional(fields.whole(1)),
    stallAfter: fields.optional(fields.patience),
    statsInterval: fields.optional(fields.timeOrInfinity)
  } satisfies Fields<CommonOptions>),
  refused("start", "ExecutionRuntime")
)

/**
 * Whom the definition says in the version that runs the execution, or else the options: these for everything but what is the target's own, of
 * which there would be no end.
 */
const whomToTell =
  (definitions: Registry, byDefault: GivenUp.Target | undefined): GivenUp.Target =>
  (notice) => {
    const { definition, definitionVersion, executionId, what } = notice
    const own = targetOf(facetsOf(definitions, definition, definitionVersion)?.onGivenUp, notice)
    // What has failed takes no events.
    if (own !== undefined && (what !== "Execution" || own !== executionId)) return own
    const found = targetOf(byDefault, notice)
    return found !== null && found === executionId ? undefined : found
  }

/** What the definition says in a version; where this process runs none that takes it, the newest that it has. */
const facetsOf = (definitions: Registry, definition: string | null, version: number | null) =>
  definition === null
    ? undefined
    : (definitions.facets(definition, version ?? undefined) ?? definitions.facets(definition))

const targetOf = (target: GivenUp.Target | undefined, notice: GivenUp.GivenUp): string | null | undefined =>
  typeof target === "function" ? target(notice) : target

const start = <E, R, EC, RC, ED, RD>(
  options: AnyOptions<E, R, EC, RC, ED, RD>
): Effect.Effect<ExecutionRuntime, StoreRejected, ExecutionStore | Scope.Scope | R | RC | RD> =>
  Effect.gen(function* () {
    yield* decode(options)
    const watched = yield* Effect.flatMap(ExecutionStore, health.watch)
    const definitions: Registry = new registry.Registry()
    const store = GivenUp.telling(watched.store, whomToTell(definitions, options.onGivenUp))
    return yield* Effect.updateService(run({ ...watched, store }, definitions, options), ExecutionStore, () => store)
  })

const run = <E, R, EC, RC, ED, RD>(
  watched: health.Watched,
  definitions: Registry,
  options: AnyOptions<E, R, EC, RC, ED, RD>
): Effect.Effect<ExecutionRuntime, StoreRejected, ExecutionStore | Scope.Scope | R | RC | RD> =>
  Effect.gen(function* () {
    const activities = new Set<string>()
    const unserved = unserved_.make({
      definitions,
      activities,
      waits: options.unknownDefinition !== "fail",
      tellsChildren: options.child === undefined
    })
    const { process, together } = yield* makeProcessor(definitions, options)
    const commits = yield* commits_.make(options.commitsBuffer ?? 1024)
    const counting = { ...watched.store, stats: unserved_.stats(unserved, watched.store) }
    const background = yield* startBackground(options, counting)
    const counts = countMissing(options)
    const processing: Processing = {
      process: (executionId, event, given) => counts(process(executionId, event, given)),
      together:
        together &&
        ((asked, { advanced, rest }) =>
          together(asked, { advanced, rest: (place, processed) => rest(place, counts(processed)) }))
    }
    const elsewhere = unserved_.elsewhere(unserved)
    const workers = yield* startWorkers(options, definitions, processing, { ...background, elsewhere })

    const pollInterval = options.pollInterval ?? "1 second"
    const awaitFatal = firstFatal([...Object.values(workers), ...Object.values(background)])
    const quiet = yield* idle.make([workers.outbox, workers.spawns, workers.activities], pollInterval)
    const healthNow = yield* health.make({
      watched: { ...watched, store: counting },
      workers,
      shards: Option.fromNullable(background.shards),
      retention: Option.fromNullable(background.retention),
      telemetry: background.telemetry,
      relayInterval: pollInterval,
      timerInterval: timerInterval(options),
      stallAfter: options.stallAfter ?? "30 seconds",
      awaitFatal,
      unserved
    })
    const control = yield* Control.make({ conflictRetry: options.conflictRetry })

    return {
      ...writes(watched.store, process),
      register: register(definitions, registrationPolicy(options), (definitionId) =>
        Effect.zipRight(
          unserved_.forgetDefinition(unserved, definitionId),
          each(workers, (worker) => worker.retryWaiting)
        )
      ),
      registerActivity: (activity, handler) =>
        Effect.zipRight(
          workers.activities.register(activity, handler),
          servedActivity(unserved, activities, contractOf(activity).name)
        ),
      cancelActivity: (executionId, key) =>
        watched.store.activities.cancel(executionId, key, (activity) =>
          outcome.eventOf(activity, activity.attempts, { outcome: "cancelled" })
        ),
      awaitIdle: Effect.raceFirst(awaitFatal, quiet),
      awaitFatal,
      health: healthNow,
      commits,
      pause: each(workers, (worker) => worker.pause),
      resume: each(workers, (worker) => worker.resume),
      control,
      deadLetters: {
        list: watched.store.deadLetters.list,
        redrive: watched.store.deadLetters.redrive,
        discard: watched.store.deadLetters.discard
      }
    }
  })

/** How the workers take events through executions: one, or where that can be several at once. */
interface Processing extends Processor.Processor<TransitionFailed> {
  readonly together: processTogether.ProcessTogether<TransitionFailed> | undefined
}

type Process = Processing["process"]

/** The processor of the transitions in the options, and of those that are registered later. */
const makeProcessor = <E, R, EC, RC, ED, RD>(
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

/** What runs beside the workers. */
interface Background {
  readonly retention: Retention.Retention | undefined
  readonly telemetry: Telemetry.Telemetry
  readonly shards: Shards.Shards | undefined
}

type BackgroundOptions = Pick<CommonOptions, "leases" | "retention" | "statsInterval">

/** `counting` is the store for telemetry, whose `stats` do more than count. */
const startBackground = (
  { leases = false, retention, statsInterval = "15 seconds" }: BackgroundOptions,
  counting: ExecutionStore
): Effect.Effect<Background, StoreRejected, ExecutionStore | Scope.Scope> =>
  Effect.all({
    retention: retention === undefined ? Effect.succeed(undefined) : Retention.make(retention),
    telemetry: Effect.provideService(Telemetry.make({ interval: statsInterval }), ExecutionStore, counting),
    shards: leases === false ? Effect.succeed(undefined) : Shards.make(leases === true ? {} : leases)
  })

/** The activity is one that the process has, until the scope closes. */
const servedActivity = (
  unserved: unserved_.Unserved,
  activities: Set<string>,
  name: string
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      activities.add(name)
      return unserved_.forgetActivity(unserved, name)
    }),
    () => Effect.sync(() => activities.delete(name))
  )

type Workers = health.Options["workers"]

type WorkerOptions<EC, RC, ED, RD> = Omit<CommonOptions<EC, RC, ED, RD>, "definitions" | "onFailure">

const timerInterval = ({ timerInterval = "5 seconds" }: Pick<CommonOptions, "timerInterval">): Duration.DurationInput =>
  timerInterval

/** Starts the workers. At the end all stop at the same time, each in its own order. */
const startWorkers = <EC, RC, ED, RD>(
  options: WorkerOptions<EC, RC, ED, RD>,
  definitions: Registry,
  { process, together }: Processing,
  { elsewhere, shards }: Pick<Background, "shards"> & Pick<QueueWorker.Options, "elsewhere">
): Effect.Effect<Workers, StoreRejected, ExecutionStore | Scope.Scope | RC | RD> => {
  const common = { ...options, shards, elsewhere }
  return Effect.parallelFinalizers(
    Effect.all({
      outbox: Effect.sequentialFinalizers(
        outboxRelay.make({ ...common, deliver: deliverEvent(options, process) }, together && deliverTogether(together))
      ),
      spawns: Effect.sequentialFinalizers(
        SpawnRelay.make({
          ...common,
          child: deliveryTimeout.child(options, options.child),
          serves: (definitionId) => options.unknownDefinition === "fail" || definitions.transitions.has(definitionId),
          attributes: ({ context, definitionId, definitionVersion }) =>
            definitions.facets(definitionId, definitionVersion)?.attributes(context)
        })
      ),
      timers: Effect.sequentialFinalizers(
        TimerSweeper.make({
          ...common,
          pollInterval: timerInterval(options),
          deliver: (timer, event) =>
            process(timer.executionId, event, { ack: { _tag: "Timer", ...timer } }).pipe(
              Effect.as(acknowledged),
              // Purged: there is nobody to wait for.
              Effect.catchTag("ExecutionNotFound", () => Effect.succeed(delivered))
            )
        })
      ),
      activities: Effect.sequentialFinalizers(
        ActivityWorker.make({
          ttl: options.activityTtl,
          pollInterval: options.pollInterval,
          shutdownTimeout: options.shutdownTimeout
        })
      )
    })
  )
}

/** Delivers an event to its execution, and one without a target to the application. */
const deliverEvent =
  <EC, RC, ED, RD>(options: WorkerOptions<EC, RC, ED, RD>, process: Process) =>
  (
    entry: OutboxEntry,
    delivery: QueueWorker.Delivery
  ): Effect.Effect<
    QueueWorker.Delivered,
    ED | TransitionFailed | Processor.ProcessError | QueueWorker.DeliveryTimedOut,
    RD
  > => {
    const { event, seq, targetId } = entry
    if (targetId !== null) return Effect.as(process(targetId, event, { ack: { _tag: "Outbox", seq } }), acknowledged)
    const { deliverExternal } = options
    const sent = deliverExternal === undefined ? Effect.void : deliverExternal(entry, delivery)
    return Effect.as(deliveryTimeout.deliver(options, "deliverExternal", sent), delivered)
  }

/** Delivers events to their executions, several at once. */
const deliverTogether =
  (together: processTogether.ProcessTogether<TransitionFailed>): outboxRelay.DeliverTogether =>
  (entries, { acknowledged: ended, rest }) =>
    together(
      entries.map(({ entry: { event, seq }, fence, targetId }) => ({
        executionId: targetId,
        event,
        ack: { _tag: "Outbox", seq },
        fence
      })),
      { advanced: ended, rest: (place, processed) => rest(place, Effect.as(processed, acknowledged)) }
    )

const each = (workers: Workers, f: (worker: QueueWorker.QueueWorker) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.forEach(Object.values(workers), f, { discard: true })

/** Dies with the first defect that ends any of these. */
const firstFatal = (
  fibers: ReadonlyArray<{ readonly awaitFatal: Effect.Effect<never> } | undefined>
): Effect.Effect<never> =>
  fibers
    .flatMap((fiber) => (fiber === undefined ? [] : [fiber.awaitFatal]))
    .reduce((first, second) => Effect.raceFirst(first, second))

/** What a runtime offers to write to its store. */
const writes = (
  store: ExecutionStore,
  process: Process
): Pick<ExecutionRuntime, "create" | "start" | "send" | "process"> => {
  const create: ExecutionRuntime["create"] = (execution, commit) =>
    store
      .commit({ ...execution, version: 0 }, commit)
      .pipe(Effect.catchTag("StoreConflict", () => new AlreadyExists({ executionId: execution.id })))
  return {
    create,
    start: (execution, data) =>
      create(execution, { emits: [{ targetId: execution.id, event: Event.start(execution.id, data) }] }),
    send: (targetId, event, options) =>
      Effect.flatMap(store.enqueue([{ targetId, event }], options), ([seq]) =>
        seq === undefined ? noSeq() : Effect.succeed(seq)
      ),
    process: (executionId, event, options) =>
      Effect.zipRight(refuseReserved(executionId, event, options), process(executionId, event, options))
  }
}

/** Work for a definition that this runtime does not have waits, unless it is to count as failed. */
const countMissing =
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

type ProcessOptions = Parameters<ExecutionRuntime["process"]>[2]

const refuseReserved = (
  executionId: string,
  event: Event.Event,
  options: ProcessOptions
): Effect.Effect<void, StoreRejected> => {
  if (options?.reservedIds === "accept" || options?.ack !== undefined) return Effect.void
  const { id, kind } = Event.start(executionId)
  if (event.id === id && event.kind === kind) return Effect.void
  return validate.refuse({ operation: "process", executionId }, "event.id", eventIds.reserved(event.id))
}

const noSeq = (): StoreRejected =>
  new StoreRejected({ operation: "enqueue", reason: "sql", detail: "the backend gave the event no seq" })

const delivered: QueueWorker.Delivered = "Delivered"
const acknowledged: QueueWorker.Delivered = "Acknowledged"

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
  facets.carry(transition, (execution, event) =>
    Effect.mapError(transition(execution, event), (cause) =>
      isProcessorFailure(cause)
        ? cause
        : new TransitionFailed({ executionId: execution.id, eventId: event.id, definitionId, cause })
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
const registrationPolicy = <E, R, EC, RC, ED, RD>({
  onFailure,
  transitionTimeout
}: AnyOptions<E, R, EC, RC, ED, RD>): RegistrationPolicy => ({
  onFailure: onFailure === "fail" ? "fail" : "retry",
  transitionTimeout
})

type Registry = registry.Registry<TransitionFailed>

/** Registers transitions for as long as a scope is open. */
const register =
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
  Layer.scoped(ExecutionRuntime, start<E, R, EC, RC, ED, RD>(options))
