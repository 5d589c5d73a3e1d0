import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { Health, QueueWorker } from "../../QueueWorker.js"
import * as storeOutage from "./storeOutage.js"
import * as supervised from "./supervised.js"
import * as wakeup from "./wakeup.js"
import { dueMillis } from "./wakeup.js"
import * as yieldEvery from "./yieldEvery.js"

export interface Options {
  readonly module: string
  readonly pageSize: number
  /** How long it sleeps at most, in milliseconds: others may delay emits too. */
  readonly interval: number
}

/** What puts delayed emits into the outbox when they are due. It is a fiber of its own: no delivery that takes long makes it late. */
export interface Releaser extends Pick<QueueWorker, "pause" | "resume" | "awaitQuiet" | "awaitFatal"> {
  readonly lastError: Effect.Effect<Health["lastError"]>
}

const never = Number.POSITIVE_INFINITY

export const make = (options: Options): Effect.Effect<Releaser, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const alarm = yield* wakeup.make(() => false)
    const breathe = yieldEvery.make()
    let lastError: Health["lastError"] = Option.none()
    let paused = false

    const report = (message: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        lastError = Option.some({ time: now / 1000, message })
      })
    const watched = storeOutage.watched(report)

    yield* store.listen((notice) => {
      if (Option.isSome(notice.nextDelayed)) alarm.poke(dueMillis(notice.nextDelayed.value))
    })

    /** Releases what is due; gives when there will be more. */
    const release = Effect.gen(function* () {
      alarm.begin()
      const next = yield* watched(store.delayed.next)
      const now = yield* Clock.currentTimeMillis
      const dueAt = Option.match(next, { onNone: () => never, onSome: dueMillis })
      if (dueAt > now) return dueAt
      for (;;) {
        if (paused) return now
        yield* breathe
        const released = yield* watched(store.delayed.release(now / 1000, options.pageSize))
        if (released < options.pageSize) return now
      }
    }).pipe(Effect.withTracerEnabled(false))

    const loop = Effect.gen(function* () {
      if (paused) {
        yield* alarm.rest
        return
      }
      const dueAt = yield* release
      const now = yield* Clock.currentTimeMillis
      yield* alarm.sleep(Math.min(dueAt, now + options.interval))
    }).pipe(Effect.forever)

    const awaitFatal = yield* supervised.run(loop, report)

    return {
      lastError: Effect.sync(() => lastError),
      pause: Effect.sync(() => {
        paused = true
      }),
      resume: Effect.sync(() => {
        paused = false
        alarm.rouse()
      }),
      awaitQuiet: alarm.quiet,
      awaitFatal
    }
  }).pipe(Effect.annotateLogs({ package: "holdfast", module: options.module }))

const later = (a: Health["lastError"], b: Health["lastError"]): Health["lastError"] =>
  Option.isSome(b) && (Option.isNone(a) || b.value.time > a.value.time) ? b : a

/** A worker and a releaser as one. */
export const joined = (worker: QueueWorker, releaser: Releaser): QueueWorker => ({
  health: Effect.zipWith(worker.health, releaser.lastError, (health, error) => ({
    ...health,
    lastError: later(health.lastError, error)
  })),
  pause: Effect.zipRight(worker.pause, releaser.pause),
  resume: Effect.zipRight(worker.resume, releaser.resume),
  awaitQuiet: Effect.zipRight(releaser.awaitQuiet, worker.awaitQuiet),
  awaitFatal: Effect.raceFirst(worker.awaitFatal, releaser.awaitFatal)
})
