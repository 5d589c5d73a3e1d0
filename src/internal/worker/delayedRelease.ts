import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { Health, QueueWorker } from "../../QueueWorker.js"
import * as otherWrites from "../supervision/otherWrites.js"
import * as pollSchedule from "../supervision/pollSchedule.js"
import type { StoreMonitor } from "../supervision/storeMonitor.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import * as supervised from "../supervision/supervised.js"
import * as wakeup_ from "../supervision/wakeup.js"
import { dueMillis } from "../supervision/wakeup.js"
import * as yieldEvery from "../supervision/yieldEvery.js"
import * as log from "../telemetry/log.js"

export interface Options {
  readonly module: string
  readonly pageSize: number
  /** How long it sleeps at most, in milliseconds: others may delay emits too. */
  readonly interval: number
}

/** Puts delayed events into the outbox when they are due. It has a fiber of its own, so that slow deliveries do not make it late. */
export interface Releaser extends Pick<QueueWorker, "pause" | "resume" | "awaitQuiet" | "awaitFatal"> {
  readonly health: Effect.Effect<Pick<Health, "lastError" | "outage">>
}

interface State {
  readonly options: Options
  readonly store: ExecutionStore
  readonly wakeup: wakeup_.Wakeup
  readonly yielding: Effect.Effect<void>
  readonly monitor: StoreMonitor
  readonly looks: pollSchedule.PollSchedule
  paused: boolean
}

/** How often it is looked at most for what is due and was written by others, in milliseconds: what is due is not so urgent as what was sent. */
export const heeds = 100

const never = Number.POSITIVE_INFINITY

export const make = (options: Options): Effect.Effect<Releaser, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const monitor = storeMonitor.make()
    const store = yield* ExecutionStore
    const state: State = {
      options,
      store,
      wakeup: yield* wakeup_.make(() => false),
      yielding: yieldEvery.make(),
      monitor,
      looks: yield* pollSchedule.make(store),
      paused: false
    }
    yield* state.store.listen((notice) => {
      storeMonitor.answered(monitor)
      if (Option.isSome(notice.nextDelayed)) state.wakeup.request(dueMillis(notice.nextDelayed.value))
    })
    yield* otherWrites.heed(state.store, heeds, state.wakeup.request)
    const awaitFatal = yield* supervised.run(monitor, Effect.forever(run(state)))
    return {
      health: Effect.sync(() => ({ lastError: monitor.lastError, outage: storeMonitor.outage(monitor) })),
      pause: Effect.sync(() => {
        state.paused = true
      }),
      resume: Effect.sync(() => {
        state.paused = false
        state.wakeup.wake()
      }),
      awaitQuiet: state.wakeup.quiet,
      awaitFatal
    }
  }).pipe(log.annotate({ package: "holdfast", module: options.module }))

/** Releases what is due, and sleeps until there is more. */
const run = (state: State): Effect.Effect<unknown> =>
  Effect.gen(function* () {
    if (state.paused) return yield* state.wakeup.park
    const dueAt = yield* releaseDue(state)
    const now = yield* Clock.currentTimeMillis
    return yield* state.wakeup.sleep(Math.min(dueAt, state.looks.next(now, state.options.interval)))
  })

/** Releases what is due; gives when there will be more, in milliseconds since the epoch. */
const releaseDue = (state: State): Effect.Effect<number> =>
  Effect.gen(function* () {
    const { monitor, options, store, wakeup, yielding } = state
    wakeup.clear()
    const next = yield* storeMonitor.waitOut(monitor, store.delayed.next)
    const now = yield* Clock.currentTimeMillis
    const dueAt = Option.match(next, { onNone: () => never, onSome: dueMillis })
    if (dueAt > now) return dueAt
    for (;;) {
      if (state.paused) return now
      yield* yielding
      const released = yield* storeMonitor.waitOut(monitor, store.delayed.release(now / 1000, options.pageSize))
      if (released < options.pageSize) return now
    }
  }).pipe(Effect.withTracerEnabled(false))

const later = (a: Health["lastError"], b: Health["lastError"]): Health["lastError"] =>
  Option.isSome(b) && (Option.isNone(a) || b.value.time > a.value.time) ? b : a

const earlier = (a: Health["outage"], b: Health["outage"]): Health["outage"] =>
  Option.isSome(b) && (Option.isNone(a) || b.value.since < a.value.since) ? b : a

/** A worker and a releaser as one. */
export const joined = (worker: QueueWorker, releaser: Releaser): QueueWorker => ({
  health: Effect.zipWith(worker.health, releaser.health, (health, { lastError, outage }) => ({
    ...health,
    lastError: later(health.lastError, lastError),
    outage: earlier(health.outage, outage)
  })),
  pause: Effect.zipRight(worker.pause, releaser.pause),
  resume: Effect.zipRight(worker.resume, releaser.resume),
  retryWaiting: worker.retryWaiting,
  awaitQuiet: Effect.zipRight(releaser.awaitQuiet, worker.awaitQuiet),
  awaitFatal: Effect.raceFirst(worker.awaitFatal, releaser.awaitFatal)
})
