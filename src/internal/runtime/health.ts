import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Health } from "../../ExecutionRuntime.js"
import type { ExecutionStore, Stats } from "../../ExecutionStore.js"
import type * as QueueWorker from "../../QueueWorker.js"
import type { Retention } from "../../Retention.js"
import type * as Shards from "../../Shards.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import { describe, isOutage } from "../supervision/storeOutage.js"

/** The last write that failed for the state of the store, until one succeeds. */
interface Outage {
  readonly at: number
  readonly message: string
}

export interface Watched {
  readonly store: ExecutionStore
  readonly outage: Effect.Effect<Option.Option<Outage>>
}

/** The same store, whose writes are watched. */
export const watch = (store: ExecutionStore): Effect.Effect<Watched, never, Scope.Scope> =>
  Effect.gen(function* () {
    let outage: Option.Option<Outage> = Option.none()
    const watched = <A, E extends StoreConflict | StoreError>(write: Effect.Effect<A, E>) =>
      Effect.tapError(write, (error) =>
        isOutage(error)
          ? Effect.map(Clock.currentTimeMillis, (now) => {
              outage = Option.some({ at: now / 1000, message: error.message })
            })
          : Effect.void
      )
    // Of what succeeds it is told: a commit that does costs nothing more.
    yield* store.listen(() => {
      outage = Option.none()
    })
    return {
      outage: Effect.sync(() => outage),
      store: {
        ...store,
        commit: (execution, commit) => watched(store.commit(execution, commit)),
        enqueue: (emits) => watched(store.enqueue(emits))
      }
    }
  })

export interface Options {
  readonly watched: Watched
  readonly workers: {
    readonly outbox: QueueWorker.QueueWorker
    readonly spawns: QueueWorker.QueueWorker
    readonly timers: QueueWorker.QueueWorker
  }
  readonly shards: Option.Option<Shards.Shards>
  readonly retention: Option.Option<Retention>
  readonly relayInterval: Duration.DurationInput
  readonly timerInterval: Duration.DurationInput
  readonly stallAfter: Duration.DurationInput
  readonly awaitFatal: Effect.Effect<never, StoreError>
}

/** How long the store may take to count. */
const statsTimeout = Duration.seconds(5)

// Work that waits for the end of an outage is tried again twice as often.
const outageLasts = 60

const oldestOf = ({ outbox, timers }: Stats, now: number): Option.Option<number> => {
  const due = Option.filter(timers.oldest, (fireAt) => fireAt <= now)
  const times = [...Option.toArray(outbox.oldest), ...Option.toArray(due)]
  return times.length === 0 ? Option.none() : Option.some(Math.max(0, now - Math.min(...times)))
}

const age = (seconds: number): string => `${Math.floor(seconds)} s`

/** What keeps a worker from being ready, or nothing. */
const stalled = (name: string, health: QueueWorker.Health, now: number, limit: number): string | undefined => {
  if (health.paused) return undefined
  if (Option.isNone(health.lastRun)) return `${name}: has not read the store yet`
  const since = now - health.lastRun.value
  if (since <= limit) return undefined
  const busy = Option.match(health.runningSince, {
    onNone: () => "",
    onSome: (began) => `; what runs the longest began ${age(now - began)} ago`
  })
  return `${name}: has not read the store for ${age(since)}${busy}`
}

/** Says how a runtime is. */
export const make = (options: Options): Effect.Effect<Effect.Effect<Health>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { retention, shards, watched, workers } = options
    const stallAfter = Duration.toSeconds(options.stallAfter)
    const limits = {
      outbox: Duration.toSeconds(options.relayInterval) + stallAfter,
      spawns: Duration.toSeconds(options.relayInterval) + stallAfter,
      timers: Duration.toSeconds(options.timerInterval) + stallAfter
    }
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
    // Whoever asks often need not count often.
    const counted = yield* watched.store.stats.pipe(
      Effect.withTracerEnabled(false),
      Effect.timeoutOption(statsTimeout),
      Effect.either,
      Effect.cachedWithTTL("1 second")
    )

    return Effect.gen(function* () {
      const stats = yield* counted
      const now = (yield* Clock.currentTimeMillis) / 1000
      const { outbox, spawns, timers } = yield* Effect.all({
        outbox: workers.outbox.health,
        spawns: workers.spawns.health,
        timers: workers.timers.health
      })
      const outage = Option.filter(yield* watched.outage, ({ at }) => now - at < outageLasts)
      const store = Option.flatten(Either.getRight(stats))
      const problems = [
        ended === undefined ? undefined : `a worker ended: ${ended}`,
        stalled("outbox", outbox, now, limits.outbox),
        stalled("spawns", spawns, now, limits.spawns),
        stalled("timers", timers, now, limits.timers),
        Either.isLeft(stats) ? `store: ${stats.left.message}` : undefined,
        Either.isRight(stats) && Option.isNone(stats.right)
          ? `store: no answer within ${Duration.format(statsTimeout)}`
          : undefined,
        Option.getOrUndefined(Option.map(outage, ({ message }) => `store: ${message}`))
      ].filter((problem) => problem !== undefined)
      return {
        live: ended === undefined,
        ready: problems.length === 0,
        problems,
        outbox,
        spawns,
        timers,
        shards: yield* Effect.transposeMapOption(shards, (shards) => shards.health),
        retention: yield* Effect.transposeMapOption(retention, (retention) => retention.health),
        store,
        oldestAge: Option.flatMap(store, (stats) => oldestOf(stats, now))
      }
    })
  })
