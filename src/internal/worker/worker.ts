import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { WorkItem } from "../../Commit.js"
import { ExecutionStore, type Notice } from "../../ExecutionStore.js"
import type { Health, QueueWorker, Options as Settings } from "../../QueueWorker.js"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"
import * as deliveryTelemetry from "../telemetry/delivery.js"
import type { Verdict } from "./failureDecision.js"
import * as lanes_ from "./lanes.js"
import * as onDeliveryFailure from "./onDeliveryFailure.js"
import * as pollInterval from "./pollInterval.js"
import { defaultPolicy } from "./retrySchedule.js"
import * as storeOutage from "./storeOutage.js"
import * as supervised from "./supervised.js"
import * as wakeup from "./wakeup.js"
import * as yieldEvery from "./yieldEvery.js"

/** Rows of the store, in the order of their positions. `end` is the position that the page reaches, none where it is empty. */
export interface Page<A> {
  readonly works: ReadonlyArray<lanes_.Work<A>>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly end: number | undefined
  readonly next: Option.Option<Effect.Effect<Page<A>, StoreError>>
  /** When there will be more, in milliseconds since the epoch, where the store knows. */
  readonly dueAt?: number
}

export interface Options<A> {
  readonly module: string
  readonly settings: Omit<Settings, "pollInterval">
  readonly polling: pollInterval.Options
  /** The first page of the rows at this position and behind it. */
  readonly from: (position: number) => Effect.Effect<Page<A>, StoreError>
  /** What a write of this process means for the worker: when to look, in milliseconds since the epoch, and from which position. */
  readonly noticed: (notice: Notice) => { readonly at: number; readonly position: number } | undefined
  readonly run: (item: A, attempt: number) => Effect.Effect<unknown, unknown>
  /** How the work looks from outside: the name of its spans, and what they and the metrics say of it. */
  readonly spanName: string
  readonly described: (item: A) => deliveryTelemetry.Described
  readonly ackOf: (item: A) => WorkItem
  /** Removes the row. */
  readonly remove: (item: A) => Effect.Effect<unknown, StoreError>
  /** How many lanes are held in memory. */
  readonly mostLanes?: number
  /** What is to become of work that failed. */
  readonly judge: (item: A, cause: Cause.Cause<unknown>) => Verdict
}

const beginning = Number.NEGATIVE_INFINITY
const never = Number.POSITIVE_INFINITY
const defaultPageSize = 100
const defaultMaxAttempts = 20
// So many lanes fail only where something behind all of them does. What more would come waits in the store.
const defaultMostLanes = 100_000

/** How many rows of a lane are held in memory, and a page has. */
export const pageSize = (settings: Pick<Settings, "pageSize">): number => settings.pageSize ?? defaultPageSize

/**
 * A worker: reads rows from the store and runs them in their lanes, woken by writes of this process, by the next row's time, or else by
 * the interval.
 */
export const make = <A>(options: Options<A>): Effect.Effect<QueueWorker, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const { settings } = options
    const { shards } = settings
    const owns = shards?.owns ?? (() => true)
    const breathe = yieldEvery.make()
    const alarm = yield* wakeup.make(() => lanes.running() > 0)
    const poll = pollInterval.make(options.polling)
    const telemetry = deliveryTelemetry.make(options.module, options.spanName)

    let lastRun: Health["lastRun"] = Option.none()
    let lastError: Health["lastError"] = Option.none()
    let deadLetters = 0
    let paused = false
    // Everything before it was read and is done, or in a lane, or left behind by one.
    let frontier = beginning
    let rewind = never
    let hurry = false
    // Whether there are rows that found no place in memory.
    let crowded = false

    const report = (message: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        lastError = Option.some({ time: now / 1000, message })
      })
    const watched = storeOutage.watched(report)
    const buried = () => {
      deadLetters++
    }

    const annotated = <B>({ item }: lanes_.Work<A>, effect: Effect.Effect<B>): Effect.Effect<B> =>
      Effect.annotateLogs(effect, options.described(item).annotations)
    const failed = onDeliveryFailure.make({
      store,
      retry: settings.retry ?? defaultPolicy,
      maxAttempts: settings.maxAttempts ?? defaultMaxAttempts,
      ackOf: options.ackOf,
      judge: options.judge,
      remove: options.remove,
      report,
      buried,
      settled: telemetry.settled
    })

    const lanes = yield* lanes_.make<A>({
      concurrency: settings.concurrency ?? 16,
      depth: pageSize(settings),
      most: options.mostLanes ?? defaultMostLanes,
      run: (work, attempt) =>
        Effect.zipRight(
          breathe,
          telemetry.attempt(options.run(work.item, attempt), attempt, options.described(work.item))
        ),
      failed: (work, cause, before) => annotated(work, failed(work, cause, before)),
      recovered: (work, { said }) => {
        const message = `${work.label()} went well after it had failed`
        return annotated(work, said === undefined ? Effect.logDebug(message) : Effect.logInfo(message))
      },
      ended: (next) => {
        const room = crowded && !lanes.full()
        if (next === 0 || room) hurry = true
        alarm.poke(room ? beginning : next)
        alarm.ended()
      },
      owns
    })

    yield* store.listen((notice) => {
      if (Option.isSome(notice.committed) && lanes.release(notice.committed.value.execution.id)) {
        hurry = true
        alarm.poke(beginning)
      }
      const noticed = options.noticed(notice)
      if (noticed === undefined) return
      rewind = Math.min(rewind, noticed.position)
      alarm.poke(noticed.at)
    })

    yield* shards?.onChange((change) => {
      lanes.disown()
      if (change.gained.length === 0) return
      // What others had not done yet was passed over.
      rewind = beginning
      alarm.poke(beginning)
    }) ?? Effect.void

    /** A row that does not decode is no use to anybody but people. */
    const buryCorrupt = (corrupt: StoreCorrupt) =>
      corrupt.work === undefined
        ? Effect.void
        : onDeliveryFailure
            .bury(
              { store, report, buried },
              corrupt.work,
              { reason: "corrupt", attempts: 0, error: corrupt.message },
              `${corrupt.message}: it is a dead letter now`
            )
            .pipe(
              Effect.catchAll((refusal) =>
                Effect.zipRight(report(refusal.message), Effect.logWarning(refusal.message, refusal))
              )
            )

    const read = (page: Effect.Effect<Page<A>, StoreError>) =>
      Effect.gen(function* () {
        yield* breathe
        let began = 0
        const result = yield* Effect.flatMap(Clock.currentTimeMillis, (now) => {
          began = now
          lanes.reading()
          return page
        }).pipe(Effect.withTracerEnabled(false), watched)
        const millis = yield* Clock.currentTimeMillis
        poll.spent(millis - began)
        const now = millis / 1000
        lastRun = Option.some(now)
        yield* telemetry.read(now)
        yield* Effect.forEach(result.corrupt, buryCorrupt, { discard: true })
        return result
      })

    /** Reads from the first row that a lane still wants, or from where it was, to the end; gives when there will be more. */
    const pass = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const rescans = poll.begin(now)
      alarm.begin()
      hurry = false
      crowded = false
      frontier = rescans ? beginning : Math.min(frontier, rewind)
      rewind = never
      const known = frontier
      const { first, last } = lanes.begin(now)
      let page = yield* read(options.from(Math.min(known, first)))
      let jumped = Math.min(known, first)
      // From the first row on that finds no place in memory, only lanes that are there already take any.
      let refused = never
      for (;;) {
        for (const work of page.works) {
          if (paused) break
          if (work.position < known && !lanes.catchingUp(work.lane)) continue
          if (!lanes.has(work.lane) && (lanes.full() || refused < never)) {
            refused = Math.min(refused, work.position)
            crowded = true
            continue
          }
          if (!rescans && work.position > known && owns(work.lane)) poll.found()
          const place = lanes.offer(work, now)
          if (place !== undefined) yield* place
        }
        if (paused) {
          // It begins again where it is not known what was offered.
          rewind = Math.min(rewind, known, first)
          lanes.end()
          return never
        }
        const end = page.end ?? known
        frontier = Math.max(frontier, Math.min(end, refused))
        const caughtUp = end > Math.max(known, last) || Option.isNone(page.next)
        if (caughtUp) lanes.end()
        if (Option.isNone(page.next)) return page.dueAt ?? never
        // A lane that ran out of rows need not wait until all the rows of others are read.
        if (caughtUp && (hurry || refused < never)) return hurry ? now : never
        // Rows that were read before, and that no lane wants, are of no use.
        const target = end < known ? Math.min(known, lanes.wanted(end)) : end
        const jump = target > end && target > jumped
        if (jump) jumped = target
        page = yield* read(jump ? options.from(target) : page.next.value)
      }
    })

    const loop = Effect.gen(function* () {
      if (paused) {
        yield* alarm.rest
        return
      }
      const dueAt = yield* pass
      const next = poll.end(yield* Clock.currentTimeMillis)
      const woken = yield* alarm.sleep(Math.min(next, dueAt, lanes.nextTurn()))
      poll.woken(woken)
    }).pipe(Effect.forever)

    const shutDown = Effect.gen(function* () {
      const stopped = yield* lanes.stop.pipe(
        Effect.interruptible,
        Effect.timeoutOption(settings.shutdownTimeout ?? "10 seconds")
      )
      if (Option.isSome(stopped)) return
      yield* Effect.logWarning("what was running at shutdown took too long and is interrupted; it will be run again")
    })
    const awaitFatal = yield* supervised.run(loop, report, shutDown)

    return {
      health: Effect.sync(() => ({
        lastRun,
        lastError,
        backlog: lanes.backlog(),
        runningSince: Option.map(Option.fromNullable(lanes.runningSince()), (millis) => millis / 1000),
        held: lanes.held(),
        deadLetters,
        paused
      })),
      pause: Effect.sync(() => {
        paused = true
        lanes.pause()
      }),
      resume: Effect.sync(() => {
        paused = false
        lanes.resume()
        hurry = true
        alarm.poke(beginning)
        alarm.rouse()
      }),
      awaitQuiet: alarm.quiet,
      awaitFatal
    }
  }).pipe(Effect.annotateLogs({ package: "holdfast", module: options.module }))
