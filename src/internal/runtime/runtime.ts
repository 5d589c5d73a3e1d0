import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Control from "../../Control.js"
import type { CommonOptions, ExecutionRuntime } from "../../ExecutionRuntime.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as GivenUp from "../../GivenUp.js"
import type * as QueueWorker from "../../QueueWorker.js"
import * as Retention from "../../Retention.js"
import * as Shards from "../../Shards.js"
import type { StoreRejected } from "../../StoreError.js"
import * as Telemetry from "../../Telemetry.js"
import { contractOf } from "../activity/contract.js"
import * as outcome from "../activity/outcome.js"
import * as registry from "../processor/registry.js"
import * as idle from "./awaitIdle.js"
import * as commits_ from "./commitStream.js"
import * as health from "./health.js"
import { type AnyOptions, decode } from "./options.js"
import type { Processing, Registry } from "./transitions.js"
import { countMissing, makeProcessor, register, registrationPolicy } from "./transitions.js"
import * as unserved_ from "./unserved.js"
import { startWorkers, timerInterval, type Workers } from "./workers.js"
import { writes } from "./writes.js"

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

export const start = <E, R, EC, RC, ED, RD>(
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

const each = (workers: Workers, f: (worker: QueueWorker.QueueWorker) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.forEach(Object.values(workers), f, { discard: true })

/** Dies with the first defect that ends any of these. */
const firstFatal = (
  fibers: ReadonlyArray<{ readonly awaitFatal: Effect.Effect<never> } | undefined>
): Effect.Effect<never> =>
  fibers
    .flatMap((fiber) => (fiber === undefined ? [] : [fiber.awaitFatal]))
    .reduce((first, second) => Effect.raceFirst(first, second))
