import type { Clock } from "effect/Clock"
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
  /** Requests a run at this time: a sleep that would last longer ends then. */
  readonly request: (at: number) => void
  /** Ends the sleep, whatever it is for. */
  readonly wake: () => void
  /** Sleeps until then, or until an earlier time that is requested; says whether something was requested meanwhile, or it was woken. */
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
  /** Whether the sleep was ended by `wake`. */
  called: boolean
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
  state.called = false
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

/** Who is woken because a run was requested for a time that is still to come sleeps on until then: to run at once would be for nothing. */
const sleepOn = (state: State, clock: Clock, until: number, requested: boolean): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const now = clock.unsafeCurrentTimeMillis()
    const at = Math.min(until, state.requested)
    if (at <= now) return requested ? Effect.succeed(true) : Effect.as(Effect.yieldNow(), true)
    return Effect.flatMap(sleepUntil(state, at, at - now), (woken) =>
      woken && !state.called ? sleepOn(state, clock, until, true) : Effect.succeed(woken || requested)
    )
  })

/** `busy` says whether anything runs beside the fiber. */
export const make = (busy: () => boolean): Effect.Effect<Wakeup> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const state: State = {
      busy,
      woken: yield* Effect.makeLatch(false),
      quiet: yield* Effect.makeLatch(false),
      sleepsUntil: undefined,
      requested: never,
      called: false
    }
    return {
      clear: () => {
        state.requested = never
      },
      request: (at) => {
        state.requested = Math.min(state.requested, at)
        if (state.sleepsUntil !== undefined && state.requested < state.sleepsUntil) wake(state)
      },
      wake: () => {
        state.called = true
        wake(state)
      },
      sleep: (until) => sleepOn(state, clock, until, false),
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
