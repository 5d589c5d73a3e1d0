import type { Change } from "../../Shards.js"

/** The shards that this process owns, by number, and the fence of each. */
export type Owned = ReadonlyMap<number, number>

/** What this process owns until when, in milliseconds that only go forward, and who is told of changes. */
export interface Ownership {
  /** The present, in the same milliseconds: the wall clock may be set. */
  readonly elapsed: () => number
  readonly listeners: Set<(change: Change) => void>
  owned: Owned
  until: number
}

const nothing: Owned = new Map()

export const make = (elapsed: () => number): Ownership => ({
  elapsed,
  listeners: new Set(),
  owned: nothing,
  until: Number.NEGATIVE_INFINITY
})

/** What is owned now: nothing, where it was not renewed in time. */
export const current = ({ elapsed, owned, until }: Ownership): Owned => (elapsed() < until ? owned : nothing)

export const shardsOf = (owned: Owned): ReadonlyArray<number> => Array.from(owned.keys()).sort((a, b) => a - b)

/** From now on this is owned until then. */
export const change = (ownership: Ownership, next: Owned, until: number): void => {
  const before = current(ownership)
  const gained = shardsOf(next).filter((shard) => before.get(shard) !== next.get(shard))
  const lost = shardsOf(ownership.owned).filter((shard) => !next.has(shard))
  ownership.owned = next
  ownership.until = until
  if (gained.length + lost.length === 0) return
  for (const listener of ownership.listeners) listener({ gained, lost })
}

/** From now on these are not owned. */
export const give = (ownership: Ownership, shards: ReadonlySet<number>): void => {
  const left = Array.from(ownership.owned).filter(([shard]) => !shards.has(shard))
  change(ownership, new Map(left), ownership.until)
}

export const giveAll = (ownership: Ownership): void => change(ownership, nothing, Number.NEGATIVE_INFINITY)
