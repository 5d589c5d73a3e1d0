import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** The first whole millisecond that is not before a time in seconds; a time of a far future has no fraction to round. */
export const dueMillis = (seconds: number): number => {
  const millis = Math.ceil(seconds * 1000)
  if ((millis - 1) / 1000 >= seconds) return millis - 1
  return millis / 1000 < seconds ? millis + 1 : millis
}

/** The sleep of a fiber between two runs, and what ends it early. Times are in milliseconds since the epoch. */
export interface Wakeup {
  /** A run begins: it does what was requested until now. */
  readonly clear: () => void
  /** Requests a run at this time, and ends a sleep that would last longer. */
  readonly request: (at: number) => void
  /** Ends the sleep, whatever it is for. */
  readonly wake: () => void
  /** Sleeps until then, or until an earlier time that was requested; says whether it was woken. */
  readonly sleep: (until: number) => Effect.Effect<boolean>
  /** Sleeps until `wake`, whatever is requested. */
  readonly park: Effect.Effect<boolean>
  /** Something began to run beside the fiber, which may sleep. */
  readonly began: () => void
  /** Something that ran beside the fiber has ended. */
  readonly ended: () => void
  /** Waits until the fiber sleeps and nothing runs beside it. */
  readonly quiet: Effect.Effect<void>
}

/**
 * `sleepsUntil` is none while the fiber is awake: then there is nobody to wake, as it looks at `requested` before it sleeps. `quiet` is
 * open while it sleeps and nothing runs beside it.
 */
interface State {
  readonly busy: () => boolean
  readonly woken: Effect.Latch
  readonly quiet: Effect.Latch
  sleepsUntil: number | undefined
  requested: number
}

const never = Number.POSITIVE_INFINITY
const longestSleep = 2 ** 31 - 1

const wake = (state: State): void => {
  if (state.sleepsUntil === undefined) return
  state.sleepsUntil = undefined
  state.quiet.unsafeClose()
  state.woken.unsafeOpen()
}

/** To be called in one step with the look at what was requested: a wakeup between the two would be lost. */
const sleepUntil = (state: State, at: number, millis: number): Effect.Effect<boolean> => {
  state.sleepsUntil = at
  state.woken.unsafeClose()
  if (!state.busy()) state.quiet.unsafeOpen()
  return state.woken.await.pipe(
    // Less than a millisecond may be too little for a clock to move by: who woke too early would ask again at once, over and over.
    Effect.timeoutOption(Math.min(Math.ceil(millis), longestSleep)),
    Effect.map(Option.isSome),
    Effect.ensuring(
      Effect.sync(() => {
        state.sleepsUntil = undefined
        state.quiet.unsafeClose()
      })
    )
  )
}

/** `busy` says whether anything runs beside the fiber. */
export const make = (busy: () => boolean): Effect.Effect<Wakeup> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const state: State = {
      busy,
      woken: yield* Effect.makeLatch(false),
      quiet: yield* Effect.makeLatch(false),
      sleepsUntil: undefined,
      requested: never
    }
    return {
      clear: () => {
        state.requested = never
      },
      request: (at) => {
        state.requested = Math.min(state.requested, at)
        if (state.sleepsUntil !== undefined && state.requested < state.sleepsUntil) wake(state)
      },
      wake: () => wake(state),
      sleep: (until) =>
        Effect.suspend(() => {
          const now = clock.unsafeCurrentTimeMillis()
          const at = Math.min(until, state.requested)
          return at <= now ? Effect.as(Effect.yieldNow(), true) : sleepUntil(state, at, at - now)
        }),
      park: Effect.suspend(() => sleepUntil(state, Number.NEGATIVE_INFINITY, never)),
      began: () => {
        if (busy()) state.quiet.unsafeClose()
      },
      ended: () => {
        if (state.sleepsUntil !== undefined && !busy()) state.quiet.unsafeOpen()
      },
      quiet: state.quiet.await
    }
  })
