import * as lane_ from "./lane.js"
import type { LaneTable } from "./laneTable.js"

/**
 * The lanes whose rows are read again in one pass over the store, each from where its first row is. `first` and `last` are the smallest and
 * the greatest of these positions; they are infinite where there is no such lane.
 */
export interface CatchUp {
  readonly from: Map<string | null, number>
  readonly first: number
  readonly last: number
}

/** Lets lanes that left rows in the store and may go on catch up: as many as can run, so that new rows get their share too. */
export const begin = <A>(table: LaneTable<A>, now: number, most: number): CatchUp => {
  const from = new Map<string | null, number>()
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const [key, lane] of table.lanes) {
    if (from.size >= most) break
    const position = lane_.dueFrom(lane, now)
    if (position === undefined) continue
    from.set(key, position)
    first = Math.min(first, position)
    last = Math.max(last, position)
    lane.phase = { _tag: "Reading" }
  }
  return { from, first, last }
}

/**
 * Whether rows of the lane are offered to it although they were read before. So are those that it will not take: it must know of the first
 * that it leaves in the store.
 */
export const isOffered = ({ from }: CatchUp, key: string | null): boolean => from.has(key)

/** Where the next rows are, behind this position, that a lane needs although they were read before. */
export const next = <A>({ from }: CatchUp, table: LaneTable<A>, reached: number): number => {
  let next = Number.POSITIVE_INFINITY
  for (const [key, position] of from) {
    const lane = table.lanes.get(key)
    // One that is gone has done all that it took, and still catches up.
    if (lane !== undefined && !lane_.needsRows(lane)) continue
    next = Math.min(next, Math.max(position, reached))
  }
  return next
}

/** Rows behind this position are not read in this pass: lanes whose first row failed meanwhile do not know what of theirs is there. */
export const skip = <A>({ from }: CatchUp, table: LaneTable<A>, reached: number): void => {
  for (const key of from.keys()) {
    const lane = table.lanes.get(key)
    if (lane !== undefined) lane_.leaveUnread(lane, reached)
  }
}

/** The pass ends before all rows that were read before have been offered: lanes that took none are behind again. */
export const abandon = <A>({ from }: CatchUp, table: LaneTable<A>): void => {
  for (const [key, position] of from) {
    const lane = table.lanes.get(key)
    if (lane?.phase._tag === "Reading") lane.phase = { _tag: "Behind", from: position }
  }
  from.clear()
}

/** All rows that were read before have been offered. */
export const end = <A>({ from }: CatchUp, table: LaneTable<A>): void => {
  for (const key of from.keys()) {
    // Nothing of it is left: its rows were removed by others.
    if (table.lanes.get(key)?.phase._tag === "Reading") table.lanes.delete(key)
  }
  from.clear()
}
