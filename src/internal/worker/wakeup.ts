import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** The first whole millisecond that is not before a time in seconds; a time of a far future has no fraction to round. */
export const dueMillis = (seconds: number): number => {
  const millis = Math.ceil(seconds * 1000)
  if ((millis - 1) / 1000 >= seconds) return millis - 1
  return millis / 1000 < seconds ? millis + 1 : millis
}

/** The sleep of a worker, and what ends it. Times are in milliseconds since the epoch. */
export interface Alarm {
  /** The work begins that was called for until now. */
  readonly begin: () => void
  /** Calls for work at this time, and wakes who would sleep longer. */
  readonly poke: (at: number) => void
  /** Wakes who rests. */
  readonly rouse: () => void
  /** Sleeps until then, or until an earlier time that work was called for; says whether it was woken. */
  readonly sleep: (until: number) => Effect.Effect<boolean>
  /** Sleeps, whatever work is called for, until it is roused. */
  readonly rest: Effect.Effect<boolean>
  /** Something that ran has ended. */
  readonly ended: () => void
  /** Waits until it sleeps and nothing runs. */
  readonly quiet: Effect.Effect<void>
}

const never = Number.POSITIVE_INFINITY
const longestSleep = 2 ** 31 - 1

/** An alarm; `busy` says whether anything runs. */
export const make = (busy: () => boolean): Effect.Effect<Alarm> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const wake = yield* Effect.makeLatch(false)
    const quiet = yield* Effect.makeLatch(false)
    // While it does not sleep there is nobody to wake: it looks at what was called for before it sleeps.
    let asleep = false
    let wakeAt = never
    let called = never

    const rouse = (): void => {
      if (!asleep) return
      asleep = false
      quiet.unsafeClose()
      wake.unsafeOpen()
    }

    const lieDown = (at: number, millis: number): Effect.Effect<boolean> => {
      // In one step with the look at what was called for, and at what runs: a wake-up between the two would be lost.
      wakeAt = at
      asleep = true
      wake.unsafeClose()
      if (!busy()) quiet.unsafeOpen()
      return wake.await.pipe(
        Effect.timeoutOption(Math.min(millis, longestSleep)),
        Effect.map(Option.isSome),
        Effect.ensuring(
          Effect.sync(() => {
            asleep = false
            quiet.unsafeClose()
          })
        )
      )
    }

    return {
      begin: () => {
        called = never
      },
      poke: (at) => {
        called = Math.min(called, at)
        if (called < wakeAt) rouse()
      },
      rouse,
      sleep: (until) =>
        Effect.suspend(() => {
          const now = clock.unsafeCurrentTimeMillis()
          const at = Math.min(until, called)
          return at <= now ? Effect.as(Effect.yieldNow(), true) : lieDown(at, at - now)
        }),
      rest: Effect.suspend(() => lieDown(Number.NEGATIVE_INFINITY, never)),
      ended: () => {
        if (asleep && !busy()) quiet.unsafeOpen()
      },
      quiet: quiet.await
    }
  })
