import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { ExecutionStore, type Notice } from "../ExecutionStore.js"
import type { StoreCorrupt, StoreError } from "../StoreError.js"
import type { Health, Worker } from "../Worker.js"
import * as breath from "./breath.js"
import * as captured from "./captured.js"
import * as lanes_ from "./lanes.js"

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
  readonly concurrency: number
  /** How many rows of one lane are held in memory. */
  readonly depth: number
  /** How long it sleeps at most, and how long a lane is held back whose work failed. */
  readonly interval: Duration.DurationInput
  /** How often it begins from the first row again, beside going on from where it was. */
  readonly rescanInterval: Duration.DurationInput
  readonly shutdownTimeout: Duration.DurationInput
  /** The first page of the rows at this position and behind it. */
  readonly from: (position: number) => Effect.Effect<Page<A>, StoreError>
  /** What a write of this process means for the worker: when to look, in milliseconds since the epoch, and from which position. */
  readonly noticed: (notice: Notice) => { readonly at: number; readonly position: number } | undefined
  readonly run: (item: A) => Effect.Effect<unknown, unknown>
}

const beginning = Number.NEGATIVE_INFINITY
const never = Number.POSITIVE_INFINITY
const longestSleep = 2 ** 31 - 1
const longestMemory = 10_000

// Capped, so that a store that comes back is found soon enough.
const backoff = Schedule.exponential("200 millis", 1.5).pipe(
  Schedule.union(Schedule.spaced("30 seconds")),
  Schedule.jittered
)

/** Tries again until an outage is over. What a store refuses, it refuses for good. */
export const sitOut = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
  Effect.retry(effect, { schedule: backoff, while: (error) => error._tag !== "StoreRejected" })

const messageOf = (error: unknown): string =>
  error instanceof Error && error.message !== "" ? error.message : Inspectable.toStringUnknown(error, 0)

/** What went wrong, on one line. */
export const describe = (cause: Cause.Cause<unknown>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterruptedOnly(cause) ? "it was interrupted" : `defect: ${messageOf(Cause.squash(cause))}`),
    onSome: messageOf
  })

/**
 * A worker: reads rows from the store and runs them in their lanes, woken by writes of this process, by the next row's time, or else by
 * the interval.
 */
export const make = <A>(options: Options<A>): Effect.Effect<Worker, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const interval = Math.max(1, Duration.toMillis(options.interval))
    const rescanInterval = Math.max(1, Duration.toMillis(options.rescanInterval))
    const began = yield* Clock.currentTimeMillis
    const fatal = yield* Deferred.make<never, StoreError>()
    const breathe = breath.make()
    const wake = yield* Effect.makeLatch(false)
    const quiet = yield* Effect.makeLatch(false)

    let lastRun: Health["lastRun"] = Option.none()
    let lastError: Health["lastError"] = Option.none()
    // Everything before it was read and is done, or in a lane, or left behind by one.
    let frontier = beginning
    let rewind = never
    let rescanAt = beginning
    // While it does not sleep there is nobody to wake: it looks at `alarm` before it sleeps.
    let asleep = false
    let wakeAt = never
    let alarm = never
    let hurry = false
    let outage: string | undefined
    const reported = new Set<string>()

    const poke = (at: number): void => {
      alarm = Math.min(alarm, at)
      if (!asleep || alarm >= wakeAt) return
      asleep = false
      quiet.unsafeClose()
      wake.unsafeOpen()
    }

    const report = (message: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        lastError = Option.some({ time: now / 1000, message })
      })

    const failed = (work: lanes_.Work<A>, cause: Cause.Cause<unknown>, known: string | undefined) =>
      Effect.gen(function* () {
        const message = `${work.label} failed and is tried again later: ${describe(cause)}`
        yield* report(message)
        if (message !== known) yield* Effect.logWarning(message, cause)
        return message
      })

    const lanes = yield* lanes_.make<A>({
      concurrency: options.concurrency,
      depth: options.depth,
      run: (item) => Effect.zipRight(breathe, options.run(item)),
      // At the same times for all, so that one reading serves many.
      retryAt: (now) => began + (Math.floor((now - began) / interval) + 1) * interval,
      failed,
      recovered: (work) => Effect.logInfo(`${work.label} went well after it had failed`),
      ended: (more) => {
        if (more) {
          hurry = true
          poke(beginning)
        }
        if (asleep && lanes.running() === 0) quiet.unsafeOpen()
      }
    })

    yield* store.listen((notice) => {
      if (Option.isSome(notice.committed) && lanes.release(notice.committed.value.execution.id)) {
        hurry = true
        poke(beginning)
      }
      const noticed = options.noticed(notice)
      if (noticed === undefined) return
      rewind = Math.min(rewind, noticed.position)
      poke(noticed.at)
    })

    const read = (page: Effect.Effect<Page<A>, StoreError>) =>
      Effect.gen(function* () {
        yield* breathe
        const result = yield* Effect.suspend(() => {
          lanes.reading()
          return page
        }).pipe(
          Effect.withTracerEnabled(false),
          Effect.tapError((error) =>
            Effect.gen(function* () {
              yield* report(error.message)
              if (error.message === outage) return
              outage = error.message
              yield* Effect.logWarning(error.message, error)
            })
          ),
          sitOut
        )
        if (outage !== undefined) yield* Effect.logInfo("the store answers again")
        outage = undefined
        lastRun = Option.some((yield* Clock.currentTimeMillis) / 1000)
        for (const corrupt of result.corrupt) {
          if (reported.has(corrupt.key)) continue
          if (reported.size >= longestMemory) reported.clear()
          reported.add(corrupt.key)
          yield* report(corrupt.message)
          yield* Effect.logError(corrupt.message)
        }
        return result
      })

    /** Reads from the first row that a lane still wants, or from where it was, to the end; gives when there will be more. */
    const pass = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      alarm = never
      hurry = false
      frontier = now < rescanAt ? Math.min(frontier, rewind) : beginning
      if (now >= rescanAt) rescanAt = now + rescanInterval
      rewind = never
      const known = frontier
      const { first, last } = lanes.begin(now)
      let page = yield* read(options.from(Math.min(known, first)))
      let jumped = Math.min(known, first)
      for (;;) {
        for (const work of page.works) {
          if (work.position >= known || lanes.catchingUp(work.lane)) yield* lanes.offer(work)
        }
        const end = page.end ?? known
        frontier = Math.max(frontier, end)
        const caughtUp = end > Math.max(known, last) || Option.isNone(page.next)
        if (caughtUp) lanes.end()
        if (Option.isNone(page.next)) return page.dueAt ?? never
        // A lane that ran out of rows need not wait until all the rows of others are read.
        if (caughtUp && hurry) return now
        // Rows that were read before, and that no lane wants, are of no use.
        const target = end < known ? Math.min(known, lanes.wanted(end)) : end
        const jump = target > end && target > jumped
        if (jump) jumped = target
        page = yield* read(jump ? options.from(target) : page.next.value)
      }
    })

    const sleep = (dueAt: number) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        wakeAt = Math.min(now + interval, dueAt, rescanAt, lanes.nextTurn(), alarm)
        if (wakeAt <= now) return Effect.yieldNow()
        // In one step with the look at the alarm: a wake-up between the two would be lost.
        asleep = true
        wake.unsafeClose()
        if (lanes.running() === 0) quiet.unsafeOpen()
        return wake.await.pipe(
          Effect.timeoutOption(Math.min(wakeAt - now, longestSleep)),
          Effect.ensuring(
            Effect.sync(() => {
              asleep = false
              quiet.unsafeClose()
            })
          )
        )
      })

    const loop = pass.pipe(Effect.flatMap(sleep), Effect.forever)

    const onExit = (exit: Exit.Exit<never, StoreError>) =>
      Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)
        ? Effect.gen(function* () {
            const message = `the worker ended: ${describe(exit.cause)}`
            yield* report(message)
            yield* Effect.logFatal(message, exit.cause)
            yield* Deferred.failCause(fatal, exit.cause)
          })
        : Effect.void

    yield* Effect.acquireRelease(
      loop.pipe(Effect.interruptible, Effect.onExit(onExit), captured.unparented, Effect.forkDaemon),
      (fiber) =>
        Effect.zipRight(
          Fiber.interrupt(fiber),
          Effect.gen(function* () {
            const stopped = yield* lanes.stop.pipe(Effect.interruptible, Effect.timeoutOption(options.shutdownTimeout))
            if (Option.isSome(stopped)) return
            yield* Effect.logWarning(
              "what was running at shutdown took too long and is interrupted; it will be run again"
            )
          })
        )
    )

    return {
      health: Effect.sync(() => ({ lastRun, lastError, backlog: lanes.backlog(), held: lanes.held() })),
      awaitQuiet: quiet.await,
      awaitFatal: Deferred.await(fatal)
    }
  }).pipe(Effect.annotateLogs({ package: "holdfast", module: options.module }))
