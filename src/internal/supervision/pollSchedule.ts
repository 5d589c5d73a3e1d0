import * as Effect from "effect/Effect"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { tellsAll } from "../clock/testClock.js"

type Store = Pick<ExecutionStore, "exclusive" | "listenToOthers">

/**
 * When a fiber looks for what others wrote, in milliseconds since the epoch.
 *
 * - `told`: whether it is told of what others write, so that it need not find it. Where nobody else can write, that is nothing.
 * - `next`: when to look again, by one that has just looked, where others are looked for at this interval.
 */
export interface PollSchedule {
  readonly told: boolean
  readonly next: (now: number, interval: number) => number
}

const never: PollSchedule = { told: true, next: () => Number.POSITIVE_INFINITY }
const regular: PollSchedule = { told: false, next: (now, interval) => now + interval }

/**
 * Under the clock of a test: an interval after the start, and then each time after as long again as it has been. So a jump of the clock costs
 * few looks, whatever its length. A look that came early, because something was written, is followed by another after an interval: what was
 * written may not have been there to see yet.
 */
const rare = (): PollSchedule => {
  let since: number | undefined
  let at = Number.NEGATIVE_INFINITY
  return {
    told: true,
    next: (now, interval) => {
      since ??= now
      at = now >= at ? now + Math.max(interval, now - since) : Math.min(at, now + interval)
      return at
    }
  }
}

/** Whether nobody writes without that the listeners of the store are told. */
export const isTold = ({ exclusive, listenToOthers }: Store): Effect.Effect<boolean> =>
  Effect.map(Effect.clock, (clock) => exclusive || tellsAll(listenToOthers, clock))

export const make = (store: Store): Effect.Effect<PollSchedule> =>
  store.exclusive ? Effect.succeed(never) : Effect.map(isTold(store), (told) => (told ? rare() : regular))

/** {@link make} for what changes with time too, though nobody writes. */
export const ofTime = (store: Store): Effect.Effect<PollSchedule> =>
  store.exclusive ? Effect.succeed(regular) : make(store)
