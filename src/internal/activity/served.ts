import * as Option from "effect/Option"
import type { ActivityClaim } from "../../ExecutionStore.js"
import { dueMillis } from "../supervision/wakeup.js"
import type { Implementation } from "./attempt.js"

/** An activity that a worker runs: how many run now, and the key whose turn was last. */
export interface Served {
  readonly implementation: Implementation
  running: number
  last: Option.Option<string>
}

export const make = (implementation: Implementation): Served => ({ implementation, running: 0, last: Option.none() })

/** How many are claimed at once at most. */
const mostClaimed = 100

/** How many more may run here now. */
export const places = ({ implementation, running }: Served): number =>
  Math.max(0, Math.min(mostClaimed, implementation.concurrency - running))

export const claimOf = (served: Served, owner: string): ActivityClaim => {
  const { limits, name } = served.implementation
  const after = Option.getOrUndefined(served.last)
  return { name, owner, limit: places(served), concurrency: limits?.concurrency, rate: limits?.rate, after }
}

/**
 * What is known to wait: the activities that are served and may be claimed now, and when others may be, in milliseconds since the epoch.
 */
export interface Waiting {
  readonly due: ReadonlyArray<Served>
  readonly nextAt: number
  readonly unknown: ReadonlyArray<string>
}

export const sort = (
  served: ReadonlyMap<string, Served>,
  names: ReadonlyArray<{ readonly name: string; readonly readyAt: number }>,
  now: number
): Waiting => {
  const due: Array<Served> = []
  const unknown: Array<string> = []
  let nextAt = Number.POSITIVE_INFINITY
  for (const { name, readyAt } of names) {
    const one = served.get(name)
    if (one === undefined) {
      unknown.push(name)
      continue
    }
    // Where all places are taken, the end of a run is what is waited for.
    if (places(one) === 0) continue
    const at = dueMillis(readyAt)
    if (at <= now) due.push(one)
    else nextAt = Math.min(nextAt, at)
  }
  return { due, nextAt, unknown }
}
