import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { type Commit, type Committed, originOfEvent, type TraceStep, traceStep, type WorkItem } from "../../Commit.js"
import { type Event, WellKnownKind } from "../../Event.js"
import { type Execution, isFinished } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { FencingToken } from "../../Lease.js"
import type { ProcessError, Processed, Processor, Transition, TransitionFailure } from "../../Processor.js"
import { DefinitionNotFound, ExecutionNotFound, ExecutionSuspended, ProcessConflict } from "../../ProcessorError.js"
import type { Step, Trace } from "../../Step.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import * as telemetryContext from "../telemetry/context.js"
import * as log from "../telemetry/log.js"
import { withSpan } from "../telemetry/metrics.js"
import * as retryOnFailure from "../util/retryOnFailure.js"
import * as facets from "./facets.js"
import { settleCancel } from "./step.js"
import * as synchronous from "./synchronous.js"
import * as telemetry from "./telemetry.js"
import { TransitionTimeout } from "./transitionTimeout.js"

const defaultConflictRetry = Schedule.exponential("5 millis").pipe(
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(9))
)

const ownLog = log.annotate({ package: "holdfast", module: "Processor" })

type Skipped = Extract<Processed, { readonly _tag: "Skipped" }>

const skipped = (reason: Skipped["reason"]): Skipped => ({ _tag: "Skipped", reason })

const settle = <A, E>(either: Either.Either<A, E>): Effect.Effect<A, E> => either

/** What a step writes: what it says itself, what it left out of its trace, and what the event does. */
const toCommit = (
  before: Execution,
  event: Event,
  { commit, execution }: Step,
  ack: WorkItem | undefined,
  now: number,
  remembered: string | undefined
): Commit => ({
  ...commit,
  trace: commit?.trace && traced(before, event, execution, commit.trace, now),
  processed: event.id,
  ack,
  origin: originOfEvent(before, event),
  remembered
})

/** A step that is ready to be committed. */
export interface Decided {
  readonly _tag: "Decided"
  readonly execution: Execution
  readonly commit: Commit
}

/** An event on its way: for whom it is, and the work that it came from. */
export interface Asked {
  readonly executionId: string
  readonly event: Event
  readonly ack: WorkItem | undefined
}

/** An event among others, and what the work that it came from is fenced by. */
export interface FencedAsked extends Asked {
  readonly fence: FencingToken | undefined
}

/**
 * The step that a transition makes now, in seconds since the epoch: an `Exit` where it is made without waiting. `remembered` is by which token
 * the execution was, where it was not loaded.
 */
export const decided = <E>(
  transition: Transition<E>,
  execution: Execution,
  { ack, event }: Asked,
  now: number,
  remembered?: string
): Effect.Effect<Decided, E> => {
  const decide = (made: Step): Decided => {
    const step = settleCancel(made, event, now)
    return {
      _tag: "Decided",
      execution: { ...step.execution, processedEvents: execution.processedEvents + 1 },
      commit: toCommit(execution, event, step, ack, now, remembered)
    }
  }
  return synchronous.called(() => {
    const made = synchronous.of(transition)(execution, event, now)
    return synchronous.isDone(made) ? Exit.succeed(decide(made.value)) : Effect.map(made, decide)
  })
}

const traced = (before: Execution, event: Event, after: Execution, trace: Trace, now: number): TraceStep =>
  traceStep({
    ...trace,
    eventKind: trace.eventKind ?? event.kind,
    eventData: trace.eventData ?? event.data,
    fromPath: trace.fromPath === undefined ? before.activePath : trace.fromPath,
    toPath: trace.toPath === undefined ? after.activePath : trace.toPath,
    contextOut: trace.contextOut ?? after.context,
    timestamp: trace.timestamp ?? now
  })

/** Gives transitions the services that they need, which are taken once. */
export const provider = <R>(
  timeout: Duration.DurationInput = "1 minute"
): Effect.Effect<<E>(transition: Transition<E, R>) => Transition<E>, never, R> =>
  Effect.map(Effect.context<R>(), (context) => {
    const provide = telemetryContext.provide(Context.add(context, TransitionTimeout, Duration.decode(timeout)))
    return (transition) => facets.carry(transition, synchronous.mapRunning(transition, provide))
  })

/** The transitions with the services that they need. */
export const provided = <E, R>(
  definitions: { readonly [definitionId: string]: Transition<E, R> },
  timeout?: Duration.DurationInput
): Effect.Effect<ReadonlyMap<string, Transition<E>>, never, R> =>
  Effect.map(
    provider<R>(timeout),
    (provide) => new Map(Object.entries(definitions).map(([id, transition]) => [id, provide(transition)]))
  )

/** What becomes of an event at one attempt; fails only with a lost commit, which is what the schedule is for. */
export type Attempt<E> = Effect.Effect<Either.Either<Processed, E | ProcessError>, StoreConflict>

/** An attempt that comes to a commit. */
export const attemptOf = <E>(committed: Effect.Effect<Committed, StoreConflict | StoreError>): Attempt<E> =>
  committed.pipe(
    Effect.map((committed) => Either.right<Processed>({ _tag: "Advanced", committed })),
    Effect.catchAll((error) =>
      error._tag === "StoreConflict" ? Effect.fail(error) : Effect.succeed(Either.left(error))
    )
  )

/** Takes events through executions; `first` is the first attempt, where it was made already. */
export interface Attempts<E> {
  readonly store: ExecutionStore
  readonly transitions: ReadonlyMap<string, Transition<TransitionFailure<E>>>
  readonly commit: (decided: Decided) => Attempt<E>
  readonly run: (asked: Asked, first?: First<E>) => Effect.Effect<Processed, E | ProcessError>
}

/** An attempt that was made, or is under way, and of whose definition the execution is. */
export interface First<E> {
  readonly definition: string
  readonly attempt: Attempt<E>
}

/** Says in what is logged which event of which execution it is about. */
export const annotations = ({ event, executionId }: Asked) => ({ executionId, eventId: event.id })

/** Attempts at transitions whose failures are settled. */
export const makeAttempts = <E>(
  transitions: ReadonlyMap<string, Transition<TransitionFailure<E>>>,
  conflictRetry: Schedule.Schedule<unknown, StoreConflict> = defaultConflictRetry
): Effect.Effect<Attempts<E>, never, ExecutionStore> =>
  Effect.map(ExecutionStore, (store) => {
    const decide = (asked: Asked, seen: telemetry.Seen) =>
      Effect.gen(function* () {
        const { ack, event, executionId } = asked
        const at = { executionId, eventId: event.id }
        const loaded = yield* store.loadForEvent(executionId, event.id)
        if (Option.isNone(loaded.execution)) return yield* new ExecutionNotFound(at)
        const execution = loaded.execution.value
        // Ids of stored executions may be anything, and a metric needs few tags.
        if (transitions.has(execution.definitionId)) seen.definition = execution.definitionId
        if (loaded.processed) return skipped("processed")
        if (isFinished(execution)) return skipped("finished")
        // Asked after the load: a commit that cancels the timer later conflicts with this one, and then it is asked again.
        if (ack?._tag === "Timer" && !(yield* store.timers.isArmed(ack))) return skipped("cancelled")
        // It takes nothing but its `Cancel` event, as other readers of the format have it.
        if (execution.status === "CANCELLING" && event.kind !== WellKnownKind.Cancel) return skipped("cancelling")
        if (execution.status === "SUSPENDED") return yield* new ExecutionSuspended(at)
        const { definitionId } = execution
        const transition = transitions.get(definitionId)
        if (transition === undefined) return yield* new DefinitionNotFound({ ...at, definitionId })
        return yield* decided(transition, execution, asked, (yield* Clock.currentTimeMillis) / 1000)
      })

    const acknowledge = (ack: WorkItem): Effect.Effect<unknown, StoreError> => {
      switch (ack._tag) {
        case "Outbox":
          return store.ackOutbox(ack.seq)
        case "Spawn":
          return store.ackSpawn(ack.seq)
        case "Timer":
          return store.deleteTimer({ executionId: ack.executionId, path: ack.path, fireAt: ack.fireAt })
      }
    }

    const commit = ({ commit, execution }: Decided): Attempt<E> => attemptOf(store.commit(execution, commit))

    /** Fails only with a conflict, so that the schedule retries nothing else. */
    const attempt = (asked: Asked, seen: telemetry.Seen): Attempt<E> =>
      Effect.gen(function* () {
        const decided = yield* Effect.either(decide(asked, seen))
        if (Either.isLeft(decided)) return Either.left(decided.left)
        if (decided.right._tag === "Skipped") {
          const { ack } = asked
          const skipped = decided.right
          return ack === undefined ? Either.right(skipped) : yield* Effect.either(Effect.as(acknowledge(ack), skipped))
        }
        return yield* commit(decided.right)
      })

    const run = (asked: Asked, first?: First<E>): Effect.Effect<Processed, E | ProcessError> => {
      const { event, executionId } = asked
      return Effect.suspend(() => {
        const seen: telemetry.Seen = { definition: first?.definition ?? "unknown", attempts: 0 }
        const attempts = Effect.suspend(() =>
          ++seen.attempts === 1 && first !== undefined ? first.attempt : attempt(asked, seen)
        ).pipe(Effect.tapError((conflict) => ownLog(log.debug(conflict.message))))
        return retryOnFailure.whereItFails(attempts, Effect.retry(conflictRetry)).pipe(
          Effect.catchAll(() => new ProcessConflict({ executionId, eventId: event.id, attempts: seen.attempts })),
          Effect.flatMap(settle),
          telemetry.measured(seen)
        )
      }).pipe(
        withSpan("Processor.process", () => ({
          attributes: { executionId, eventId: event.id, eventKind: event.kind }
        })),
        log.annotate(annotations(asked))
      )
    }

    return { store, transitions, commit, run }
  })

/** A processor of single events. */
export const make = <E>(
  transitions: ReadonlyMap<string, Transition<TransitionFailure<E>>>,
  conflictRetry?: Schedule.Schedule<unknown, StoreConflict>
): Effect.Effect<Processor<E>, never, ExecutionStore> => Effect.map(makeAttempts(transitions, conflictRetry), single)

export const single = <E>({ run }: Attempts<E>): Processor<E> => ({
  process: (executionId, event, { ack } = {}) => run({ executionId, event, ack })
})
