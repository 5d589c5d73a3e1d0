import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type { Committed } from "../../Commit.js"
import { type Execution, isFinished } from "../../Execution.js"
import type { ExecutionStore, Loaded, LoadQuery } from "../../ExecutionStore.js"
import type { ProcessError, Processed, Transition, TransitionFailure } from "../../Processor.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import * as log from "../telemetry/log.js"
import * as metrics from "../telemetry/metrics.js"
import * as batchVariant from "../util/batchVariant.js"
import { fencedBy } from "../util/fence.js"
import {
  type Attempt,
  type Attempts,
  annotations,
  attemptOf,
  type Decided,
  decided,
  type FencedAsked
} from "./processor.js"
import * as synchronous from "./synchronous.js"
import * as telemetry from "./telemetry.js"
import * as transitionTimeout from "./transitionTimeout.js"

/** Who is told what becomes of each of the events, by its place among them. */
export interface Ends<E> {
  /** The execution was advanced. */
  readonly advanced: (place: number) => void
  /** There is more to do than that, or to wait for: this does it, from where it stands. */
  readonly rest: (place: number, processed: Effect.Effect<Processed, E | ProcessError>) => void
}

/**
 * Takes events through different executions together: loads those in one read that this process does not remember, runs the transitions one after
 * the other, as far as each goes without waiting, and commits the steps of those that are done as one group. An event with which it is not so is one of the rest, at once: it
 * holds up nobody, and nobody it. Where this is interrupted, some are not told of.
 */
export type ProcessTogether<E> = (asked: ReadonlyArray<FencedAsked>, ends: Ends<E>) => Effect.Effect<void>

/** An execution with nothing to do but the transition that it makes. */
interface Usual<E> {
  readonly execution: Execution
  readonly transition: Transition<TransitionFailure<E>>
}

const taking = <E>(transitions: Attempts<E>["transitions"], execution: Execution): Usual<E> | undefined => {
  const { definitionId, status } = execution
  if (isFinished(execution) || status === "SUSPENDED" || status === "CANCELLING") return undefined
  const transition = transitions.get(definitionId)
  return transition && { execution, transition }
}

const usual = <E>(
  transitions: Attempts<E>["transitions"],
  { ack }: FencedAsked,
  { armed, execution, processed }: Loaded
): Usual<E> | undefined => {
  if (Option.isNone(execution) || processed) return undefined
  // It was loaded together with its execution: a commit that cancels the timer later conflicts with this one.
  if (ack?._tag === "Timer" && armed !== true) return undefined
  return taking(transitions, execution.value)
}

const failed = <E>(cause: Cause.Cause<StoreError>): Attempt<E> =>
  Effect.catchAll(Exit.failCause(cause), (error) => Effect.succeed(Either.left(error)))

const isConflict = (exit: Exit.Exit<Committed, StoreConflict | StoreError>): boolean =>
  Exit.isFailure(exit) && Option.exists(Cause.failureOption(exit.cause), (error) => error._tag === "StoreConflict")

type Processing<E> = Effect.Effect<Processed, E | ProcessError>

/** A step that is ready to be committed. */
interface Ready {
  readonly definition: string
  readonly decided: Decided
}

/** {@link Ready}, for which of the events, and whether nothing was loaded for it. */
interface Placed extends Ready {
  readonly place: number
  readonly recalled: boolean
  readonly asked: FencedAsked
}

/** What transitions run in that do not end on the spot, and the time, in seconds since the epoch. */
interface Running {
  readonly runtime: () => Runtime.Runtime<never>
  readonly now: () => number
}

/** What a transition made of an execution as it is remembered: of which definition and version that is. */
interface Made<E> {
  readonly definition: string
  readonly version: number
  readonly step: Effect.Effect<Decided, TransitionFailure<E>>
}

/** Begins with an event whose execution is remembered. */
const recall = <E>({ store, transitions }: Attempts<E>, { now }: Running, asked: FencedAsked): Made<E> | undefined => {
  if (asked.ack?._tag !== "Outbox") return undefined
  const recalled = store.recall(asked.executionId, asked.fence)
  if (Option.isNone(recalled)) return undefined
  const { execution, token } = recalled.value
  const known = taking(transitions, execution)
  return (
    known && {
      definition: execution.definitionId,
      version: execution.version,
      step: decided(known.transition, execution, asked, now(), token)
    }
  )
}

/**
 * Begins with an event whose execution was loaded: gives its step where that is ready on the spot, and else what is left to do. `made` is what
 * was made of it as it was remembered, where it is still so: code is not called twice for nothing.
 */
const begin = <E>(
  { commit, run, transitions }: Attempts<E>,
  { now, runtime }: Running,
  asked: FencedAsked,
  loaded: Exit.Exit<Loaded, StoreError> | undefined,
  made: Made<E> | undefined
): Either.Either<Ready, Processing<E>> => {
  if (loaded === undefined) return Either.left(run(asked))
  if (Exit.isFailure(loaded)) return Either.left(run(asked, { definition: "unknown", attempt: failed(loaded.cause) }))
  const known = usual(transitions, asked, loaded.value)
  if (known === undefined) return Either.left(run(asked))
  const definition = known.execution.definitionId
  const step =
    made?.version === known.execution.version ? made.step : decided(known.transition, known.execution, asked, now())
  if (synchronous.isDone(step)) return Either.right({ definition, decided: step.value })
  const fenced = fencedBy(asked.fence)(step)
  const running = transitionTimeout.start(log.annotatedRuntime(runtime(), annotations(asked)), fenced)
  const exit = transitionTimeout.poll(running)
  if (exit !== undefined && Exit.isSuccess(exit)) return Either.right({ definition, decided: exit.value })
  const attempt = Effect.matchEffect(exit ?? transitionTimeout.join(running), {
    onFailure: (error): Attempt<E> => Effect.succeed(Either.left(error)),
    onSuccess: commit
  })
  return Either.left(run(asked, { definition, attempt }))
}

const queryOf = ({ ack, event, executionId }: FencedAsked): LoadQuery => ({
  id: executionId,
  eventId: event.id,
  timer: ack?._tag === "Timer" ? ack : undefined
})

/** Whether somebody watches what a store does with single ones. */
const isWatched = ({ commit, commitEach, loadForEvent, loadForEvents, timers }: ExecutionStore): boolean =>
  !batchVariant.isOf(commitEach, commit) ||
  !batchVariant.isOf(loadForEvents, loadForEvent) ||
  !batchVariant.isOf(loadForEvents, timers.isArmed)

/** A processor of several events at once; none where the store cannot, or where somebody watches what it does with single ones. */
export const make = <E>(attempts: Attempts<E>): ProcessTogether<E> | undefined => {
  const { run, store } = attempts
  const { commitEach, loadForEvents } = store
  if (isWatched(store)) return undefined

  return (asked, { advanced, rest }) =>
    Effect.withFiberRuntime((fiber, { runtimeFlags }) => {
      const measure = telemetry.begin(fiber)
      const count = telemetry.countRemembered(fiber)
      const clock = metrics.clockOf(fiber)
      const runtime = () =>
        Runtime.make({ context: fiber.currentContext, fiberRefs: fiber.getFiberRefs(), runtimeFlags })
      const running: Running = { runtime, now: () => clock.unsafeCurrentTimeMillis() / 1000 }

      const made = new Map<number, Made<E>>()

      /** Commits what is ready, and gives the places of what was not as it was remembered. */
      const commitAll = (ready: ReadonlyArray<Placed>): Effect.Effect<ReadonlyArray<number>> =>
        Effect.map(commitEach(ready.map(({ asked, decided }) => ({ ...decided, fence: asked.fence }))), (exits) => {
          const stale: Array<number> = []
          for (const [i, { asked, decided, definition, place, recalled }] of ready.entries()) {
            const exit = exits[i]
            if (exit !== undefined && Exit.isSuccess(exit)) {
              if (recalled) count("hit")
              measure(definition)
              advanced(place)
            } else if (decided.commit.remembered !== undefined && exit !== undefined && isConflict(exit)) {
              if (recalled) count("stale")
              stale.push(place)
            } else rest(place, run(asked, exit && { definition, attempt: attemptOf(exit) }))
          }
          for (const place of stale) made.delete(place)
          return stale
        })

      /** Commits what is ready together with what is to be loaded first, and then with a load what was not as it was remembered. */
      const round = (ready: Array<Placed>, places: ReadonlyArray<number>): Effect.Effect<void> => {
        const queries = places.flatMap((place) => {
          const one = asked[place]
          return one === undefined ? [] : [{ place, one }]
        })
        const begun =
          queries.length === 0
            ? Effect.succeed(ready)
            : Effect.map(loadForEvents(queries.map(({ one }) => queryOf(one))), (loaded) => {
                for (const [i, { one, place }] of queries.entries()) {
                  const begun = begin(attempts, running, one, loaded[i], made.get(place))
                  if (Either.isRight(begun)) ready.push({ ...begun.right, place, asked: one, recalled: false })
                  else rest(place, begun.left)
                }
                return ready
              })
        return Effect.flatMap(begun, (ready) =>
          ready.length === 0
            ? Effect.void
            : Effect.flatMap(commitAll(ready), (stale) => (stale.length === 0 ? Effect.void : round([], stale)))
        )
      }

      const ready: Array<Placed> = []
      const toLoad: Array<number> = []
      for (const [place, one] of asked.entries()) {
        const recalled = recall(attempts, running, one)
        if (recalled !== undefined && synchronous.isDone(recalled.step)) {
          ready.push({
            definition: recalled.definition,
            decided: recalled.step.value,
            place,
            asked: one,
            recalled: true
          })
          continue
        }
        // An effect must not run for an event that was consumed before, and a failure is none where others have come first: a load says.
        if (recalled !== undefined) made.set(place, recalled)
        if (one.ack?._tag === "Outbox") count("miss")
        toLoad.push(place)
      }
      return round(ready, toLoad)
    })
}
