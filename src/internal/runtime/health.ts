import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { ActivityWorker } from "../../ActivityWorker.js"
import type { Health } from "../../ExecutionRuntime.js"
import type { ExecutionStore, Stats } from "../../ExecutionStore.js"
import type * as QueueWorker from "../../QueueWorker.js"
import type { Retention } from "../../Retention.js"
import type * as Shards from "../../Shards.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import type { Telemetry } from "../../Telemetry.js"
import * as pollSchedule from "../supervision/pollSchedule.js"
import { isOutage } from "../supervision/storeMonitor.js"
import * as batchVariant from "../util/batchVariant.js"
import { describe } from "../util/causeText.js"
import * as counts from "./counts.js"
import type { Unserved } from "./unserved.js"
import * as unserved from "./unserved.js"

/** A time in which writes fail for the state of the store: its begin, the last such write, and its message. A successful write ends it. */
interface WriteOutage {
  readonly since: number
  readonly last: number
  readonly message: string
}

export interface Watched {
  readonly store: ExecutionStore
  readonly outage: Effect.Effect<Option.Option<WriteOutage>>
}

/** The same store, with writes that tell when the store refuses them for its own state. */
export const watch = (store: ExecutionStore): Effect.Effect<Watched, never, Scope.Scope> =>
  Effect.gen(function* () {
    let outage: Option.Option<WriteOutage> = Option.none()
    const failed = ({ message }: StoreConflict | StoreError) =>
      Effect.map(Clock.currentTimeMillis, (millis) => {
        const now = millis / 1000
        const since = Option.match(outage, { onNone: () => now, onSome: ({ since }) => since })
        outage = Option.some({ since, last: now, message })
      })
    // Nothing runs here for a write that goes well.
    const watched = <A, E extends StoreConflict | StoreError>(write: Effect.Effect<A, E>) =>
      Effect.catchAllCause(write, (cause) => {
        const refused = Effect.failCause(cause)
        const error = Option.filter(Cause.failureOption(cause), isOutage)
        return Option.isSome(error) ? Effect.zipRight(failed(error.value), refused) : refused
      })
    const commit: ExecutionStore["commit"] = (execution, commit) => watched(store.commit(execution, commit))
    const commitEach: ExecutionStore["commitEach"] = (commits) =>
      Effect.tap(store.commitEach(commits), (exits) => {
        const failures = exits.filter(Exit.isFailure)
        return failures.length === 0
          ? Effect.void
          : Effect.forEach(failures, (exit) => Effect.ignore(watched(exit)), { discard: true })
      })
    // Successful writes are heard of by `listen`, so that a commit costs nothing more.
    yield* store.listen(() => {
      outage = Option.none()
    })
    return {
      outage: Effect.map(Clock.currentTimeMillis, (now) =>
        // The clock may have been set back since.
        Option.filter(outage, ({ last }) => Math.abs(now / 1000 - last) < outageLasts)
      ),
      store: {
        ...store,
        commit,
        commitEach: batchVariant.isOf(store.commitEach, store.commit)
          ? batchVariant.of(commitEach, commit)
          : store.commitEach,
        enqueue: (emits, options) => watched(store.enqueue(emits, options))
      }
    }
  })

export interface Options {
  readonly watched: Watched
  readonly workers: {
    readonly outbox: QueueWorker.QueueWorker
    readonly spawns: QueueWorker.QueueWorker
    readonly timers: QueueWorker.QueueWorker
    readonly activities: ActivityWorker
  }
  readonly shards: Option.Option<Shards.Shards>
  readonly retention: Option.Option<Retention>
  readonly telemetry: Telemetry
  readonly relayInterval: Duration.DurationInput
  readonly timerInterval: Duration.DurationInput
  readonly stallAfter: Duration.DurationInput
  readonly awaitFatal: Effect.Effect<never>
  readonly unserved: Unserved
}

// Work that waits for the end of an outage is tried again twice as often.
const outageLasts = 60

/** An effect that gives the health of a runtime. */
export const make = (options: Options): Effect.Effect<Effect.Effect<Health>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let ended: string | undefined
    yield* options.awaitFatal.pipe(
      Effect.catchAllCause((cause) =>
        Effect.sync(() => {
          ended = describe(cause)
        })
      ),
      Effect.interruptible,
      Effect.forkScoped
    )
    const counted = yield* counts.make(options.watched.store.stats)
    return Effect.flatMap(counted, (stats) => snapshot(options, stats, ended))
  })

const snapshot = (options: Options, counted: counts.Counted, ended: string | undefined): Effect.Effect<Health> =>
  Effect.gen(function* () {
    const { retention, shards, telemetry, watched, workers } = options
    const now = (yield* Clock.currentTimeMillis) / 1000
    const parts = yield* Effect.all({
      outbox: workers.outbox.health,
      spawns: workers.spawns.health,
      timers: workers.timers.health,
      activities: workers.activities.health,
      shards: Effect.transposeMapOption(shards, (shards) => shards.health),
      retention: Effect.transposeMapOption(retention, (retention) => retention.health)
    })
    const outages = {
      outbox: parts.outbox.outage,
      spawns: parts.spawns.outage,
      timers: parts.timers.outage,
      activities: parts.activities.outage,
      shards: Option.flatMap(parts.shards, ({ outage }) => outage),
      retention: Option.flatMap(parts.retention, ({ outage }) => outage),
      telemetry: (yield* telemetry.health).outage
    }
    const writes = yield* watched.outage
    const store = Option.flatten(Either.getRight(counted))
    const problems = [
      ...(ended === undefined ? [] : [`a worker ended: ${ended}`]),
      ...allStallProblems(options, parts, yield* pollSchedule.isTold(watched.store), now),
      ...saturationProblems("outbox", parts.outbox, now),
      ...saturationProblems("spawns", parts.spawns, now),
      ...saturationProblems("timers", parts.timers, now),
      ...Object.entries(outages).flatMap(([name, outage]) => outageProblems(name, outage, now)),
      ...storeProblems(counted),
      ...Option.toArray(Option.filterMap(Option.flatten(Either.getRight(counted)), undatedProblem)),
      ...Option.toArray(writes).map(
        ({ message, since }) => `store: has refused writes for ${age(now - since)}: ${message}`
      )
    ]
    return {
      live: ended === undefined,
      ready: problems.length === 0,
      problems,
      ...parts,
      store,
      unknownActivities: unserved.unknownActivities(options.unserved),
      unknownDefinitions: unserved.unknownDefinitions(options.unserved),
      oldestAge: Option.flatMap(store, (stats) => oldestOf(stats, now))
    }
  })

const age = (seconds: number): string => `${Math.floor(seconds)} s`

/** The problem of a worker that waits for the store. */
const outageProblems = (
  name: string,
  outage: Option.Option<Pick<QueueWorker.Outage, "since" | "message">>,
  now: number
): ReadonlyArray<string> =>
  Option.toArray(outage).map(
    ({ message, since }) => `${name}: has waited for the store for ${age(now - since)}: ${message}`
  )

const storeProblems = (counted: counts.Counted): ReadonlyArray<string> =>
  Either.match(counted, {
    onLeft: ({ message }) => [`store: ${message}`],
    onRight: Option.match({
      onNone: () => [`store: no answer within ${age(counts.answerTimeout)}`],
      onSome: () => []
    })
  })

/** Delayed events that another program, or a damaged file, has left without a time: they are never due. */
const undatedProblem = ({ delayed: { corrupt } }: Stats): Option.Option<string> =>
  corrupt === 0
    ? Option.none()
    : Option.some(
        `store: delayed events without a time, which are never due: ${corrupt}; ExecutionStore.verify names them`
      )

/** For how many seconds all places may be taken before that is a problem. */
const saturatedAfter = 5

/** The problem of a worker whose places are all taken. */
const saturationProblems = (name: string, { saturatedSince }: QueueWorker.Health, now: number): ReadonlyArray<string> =>
  Option.toArray(saturatedSince)
    .map((since) => now - since)
    .filter((seconds) => seconds >= saturatedAfter)
    .map(
      (seconds) =>
        `${name}: all its places have been taken for ${age(seconds)} by work that does not end; all else waits`
    )

type WorkerHealths = Pick<Health, "outbox" | "spawns" | "timers" | "activities">

const allStallProblems = (
  options: Options,
  healths: WorkerHealths,
  isTold: boolean,
  now: number
): ReadonlyArray<string> => {
  const after = Duration.toSeconds(options.stallAfter)
  const relays = Duration.toSeconds(options.relayInterval) + after
  const timers = Duration.toSeconds(options.timerInterval) + after
  return [
    ...stallProblems(isTold, "outbox", healths.outbox, now, relays),
    ...stallProblems(isTold, "spawns", healths.spawns, now, relays),
    ...stallProblems(isTold, "timers", healths.timers, now, timers),
    ...stallProblems(isTold, "activities", healths.activities, now, relays)
  ]
}

/** Whether the worker has nothing to do and nothing to look for: it is told of what others write. */
const isAsleep = (isTold: boolean, { backlog, lastRun }: QueueWorker.Health): boolean =>
  isTold && backlog === 0 && Option.isSome(lastRun)

/** The problem of a worker that has not read the store for too long. A worker that waits for the store is reported as such instead. */
const stallProblems = (
  isTold: boolean,
  name: string,
  health: QueueWorker.Health,
  now: number,
  limit: number
): ReadonlyArray<string> => {
  if (health.paused || Option.isSome(health.outage) || isAsleep(isTold, health)) return []
  if (Option.isNone(health.lastRun)) return [`${name}: has not read the store yet`]
  const since = now - health.lastRun.value
  if (since <= limit) return []
  const busy = Option.match(health.runningSince, {
    onNone: () => "",
    onSome: (began) => `; what runs the longest began ${age(now - began)} ago`
  })
  return [`${name}: has not read the store for ${age(since)}${busy}`]
}

const oldestOf = ({ outbox, timers }: Stats, now: number): Option.Option<number> => {
  const due = Option.filter(timers.oldest, (fireAt) => fireAt <= now)
  const times = [...Option.toArray(outbox.oldest), ...Option.toArray(due)]
  return times.length === 0 ? Option.none() : Option.some(Math.max(0, now - Math.min(...times)))
}
