import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { type Commit, originOfEvent, type TraceStep, traceStep, type WorkItem } from "../../Commit.js"
import { type Event, WellKnownKind } from "../../Event.js"
import { type Execution, isFinished } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { Processed, Processor, Transition, TransitionFailure } from "../../Processor.js"
import { DefinitionNotFound, ExecutionNotFound, ExecutionSuspended, ProcessConflict } from "../../ProcessorError.js"
import type { Step, Trace } from "../../Step.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import * as telemetryContext from "../telemetry/context.js"
import * as log from "../telemetry/log.js"
import { withSpan } from "../telemetry/metrics.js"
import * as retryOnFailure from "../util/retryOnFailure.js"
import { settleCancel } from "./step.js"
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
  { commit: { trace, ...writes } = {}, execution }: Step,
  ack: WorkItem | undefined,
  now: number
): Commit => ({
  ...writes,
  trace: trace && traced(before, event, execution, trace, now),
  processed: event.id,
  ack,
  origin: originOfEvent(before, event)
})

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

/** The transitions with the services that they need, which are taken once. */
export const provided = <E, R>(
  definitions: { readonly [definitionId: string]: Transition<E, R> },
  timeout: Duration.DurationInput = "1 minute"
): Effect.Effect<ReadonlyMap<string, Transition<E>>, never, R> =>
  Effect.map(Effect.context<R>(), (context) => {
    const provide = telemetryContext.provide(Context.add(context, TransitionTimeout, Duration.decode(timeout)))
    return new Map(
      Object.entries(definitions).map(([definitionId, transition]) => [
        definitionId,
        (execution, event) => provide(transition(execution, event))
      ])
    )
  })

/** A processor of transitions whose failures are settled. */
export const make = <E>(
  transitions: ReadonlyMap<string, Transition<TransitionFailure<E>>>,
  conflictRetry: Schedule.Schedule<unknown, StoreConflict> = defaultConflictRetry
): Effect.Effect<Processor<E>, never, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore

    const decide = (executionId: string, event: Event, ack: WorkItem | undefined, seen: telemetry.Seen) =>
      Effect.gen(function* () {
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
        const now = (yield* Clock.currentTimeMillis) / 1000
        const step = settleCancel(yield* transition(execution, event), event, now)
        return {
          _tag: "Decided" as const,
          execution: { ...step.execution, processedEvents: execution.processedEvents + 1 },
          commit: toCommit(execution, event, step, ack, now)
        }
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

    /** Fails only with a conflict, so that the schedule retries nothing else. */
    const attempt = (executionId: string, event: Event, ack: WorkItem | undefined, seen: telemetry.Seen) =>
      Effect.gen(function* () {
        const decided = yield* Effect.either(decide(executionId, event, ack, seen))
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
        const seen: telemetry.Seen = { definition: "unknown", attempts: 0 }
        const attempts = Effect.suspend(() => {
          seen.attempts++
          return attempt(executionId, event, ack, seen)
        }).pipe(Effect.tapError((conflict) => ownLog(log.debug(conflict.message))))
        return retryOnFailure.whereItFails(attempts, Effect.retry(conflictRetry)).pipe(
          Effect.catchAll(() => new ProcessConflict({ executionId, eventId: event.id, attempts: seen.attempts })),
          Effect.flatMap(settle),
          telemetry.measured(seen)
        )
      }).pipe(
        withSpan("Processor.process", () => ({
          attributes: { executionId, eventId: event.id, eventKind: event.kind }
        })),
        log.annotate({ executionId, eventId: event.id })
      )

    return { process }
  })
