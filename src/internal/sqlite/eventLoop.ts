import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { onNextTurn } from "../util/nextTurn.js"

// How long timers, sockets and signals of the process may wait for a busy database, in milliseconds.
const maxBlocking = 5

/**
 * - `wait`: waits for a turn of the event loop where it has had none for a while, and otherwise not at all.
 * - `take`: the same for who cannot wait: false where it would have to.
 * - `count`: how many turns have begun.
 */
export interface Turn {
  readonly wait: Effect.Effect<void>
  readonly take: () => boolean
  readonly count: () => number
}

// A test's clock cannot tell work that waits for a turn from work that is done, and how long a statement takes depends on the machine.
const isSetByHand = (clock: Clock.Clock): boolean => "adjust" in clock

/**
 * Lets the event loop have its turns.
 *
 * A synchronous database and Effect's microtasks keep each other busy: without this, a loop of commits stops everything else in the process
 * for seconds. How long that has been is a matter of the process and not of the application's `Clock`. Under `TestClock` nobody waits.
 */
export const make = (): Turn => {
  let since = 0
  let count = 0
  let waiting: Array<() => void> | undefined

  const turned = (): void => {
    const waited = waiting ?? []
    waiting = undefined
    for (const resume of waited) resume()
  }

  const take = (): boolean => {
    if (waiting !== undefined) return performance.now() - since < maxBlocking
    waiting = []
    count++
    since = performance.now()
    onNextTurn(turned)
    return true
  }

  const waitForTurn = Effect.clockWith((clock) =>
    isSetByHand(clock)
      ? Effect.void
      : Effect.async<void>((resume) => {
          const go = () => resume(Effect.void)
          if (waiting === undefined) go()
          else waiting.push(go)
        })
  )
  const wait = Effect.suspend(() => (take() ? Effect.void : waitForTurn))
  return { count: () => count, take, wait }
}
