import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { onNextTurn } from "../util/nextTurn.js"

// How long timers, sockets and signals of the process may wait for a busy database, in milliseconds.
const maxBlocking = 2

/**
 * - `wait`: waits for a turn of the event loop where this one has lasted for a while, and otherwise not at all.
 * - `take`: the same for who cannot wait: false where it would have to.
 * - `run`: runs a task when `wait` would end.
 * - `count`: how many turns have begun.
 */
export interface Turn {
  readonly wait: Effect.Effect<void>
  readonly take: () => boolean
  readonly run: (task: () => void) => void
  readonly count: () => number
}

// A test's clock cannot tell work that waits for a turn from work that is done, and how long a statement takes depends on the machine.
const isSetByHand = (clock: Clock.Clock): boolean => "adjust" in clock

/** Who waits for a turn, when it has begun: the first goes on, the others where there is time left. */
type Waiter = (first: boolean) => void

/**
 * Lets the event loop have its turns.
 *
 * A synchronous database and Effect's microtasks keep each other busy: without this, a loop of commits stops everything else in the process
 * for seconds. How long that has been is a matter of the process and not of the application's `Clock`. Under `TestClock` nobody waits.
 *
 * The time of a turn counts from its beginning. Those who waited for it go on one after the other, and who finds no time left then comes first in
 * the next one.
 */
export const make = (longest = maxBlocking): Turn => {
  let since = 0
  let count = 0
  let begun = false
  let late: Array<Waiter> = []
  let waiting: Array<Waiter> = []

  const begin = (): void => {
    begun = true
    count++
    since = performance.now()
    onNextTurn(turned)
  }

  const turned = (): void => {
    const waited = [...late, ...waiting]
    begun = false
    if (waited.length === 0) return
    late = []
    waiting = []
    begin()
    for (const [i, go] of waited.entries()) go(i === 0)
  }

  const take = (): boolean => {
    if (!begun) begin()
    return performance.now() - since < longest
  }

  const retry: (resume: (effect: Effect.Effect<void>) => void) => Waiter = (resume) => (first) =>
    resume(first ? Effect.void : again)
  const again: Effect.Effect<void> = Effect.suspend(() =>
    take() ? Effect.void : Effect.async<void>((resume) => void late.push(retry(resume)))
  )
  const waitForTurn = Effect.clockWith((clock) =>
    isSetByHand(clock) ? Effect.void : Effect.async<void>((resume) => void waiting.push(retry(resume)))
  )

  const runIn = (among: () => Array<Waiter>, task: () => void): void => {
    if (take()) task()
    else among().push((first) => (first ? task() : runIn(() => late, task)))
  }

  return {
    count: () => count,
    take,
    run: (task) => runIn(() => waiting, task),
    wait: Effect.suspend(() => (take() ? Effect.void : waitForTurn))
  }
}

/** {@link Turn.run}, where anybody waits for turns under the clock that there is. */
export const tasksOf = (turn: Turn): Effect.Effect<Turn["run"] | undefined> =>
  Effect.map(Effect.clock, (clock) => (isSetByHand(clock) ? undefined : turn.run))
