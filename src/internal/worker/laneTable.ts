import type { FailureState, Lane, Work } from "./lane.js"
import * as lane_ from "./lane.js"

export interface Options {
  /** How many rows of one lane are held in memory; the others stay in the store until their turn. */
  readonly depth: number
  /** How many lanes are held in memory. While there are that many, no others are taken. */
  readonly most: number
  /** Whether the lane is to be served here. */
  readonly owns: (lane: string | null) => boolean
}

/**
 * Which rows are in memory, and which of them may run: the first row of each lane that is ready. A lane that falls behind, or whose work
 * fails, leaves its rows in the store, and takes them when they are read again: memory is bounded by lanes, not by rows, and no lane keeps
 * another waiting. How rows are run is not decided here.
 */
export interface LaneTable<A> extends Options {
  readonly lanes: Map<string | null, Lane<A>>
  /** The lanes that wait for a free place, in the order in which they became ready. */
  readonly ready: Set<Lane<A>>
  readonly running: Set<Lane<A>>
  /** The rows that were finished since a page of the store was read, which still shows them: kept while a pass reads. */
  readonly finished: Set<string | number>
  /** Whether a pass over the store is under way, or was never made. */
  reading: boolean
  /** The lanes that wait for an execution which is not their own. */
  readonly waiting: Map<string, Set<Lane<A>>>
  /** The lanes that are left to other processes, with the position of a row of each from which on their rows are in the store. */
  readonly aside: Map<string | null, number>
  /** When all that is left to other processes is looked at again, in milliseconds since the epoch. */
  lookAgainAt: number
  /** When that was decided. A clock that was set back since would put it off for as long. */
  lookAgainSince: number
  /** How often all of that was taken back: what was decided before may not hold any more. */
  takenBack: number
  /** While it is not open, no row begins to run. */
  mode: "open" | "paused" | "stopped"
}

// Lanes beyond this number are not woken when the execution is advanced. They are tried again at their time.
const mostWaiting = 1000

// Of more than these it is not remembered that they were looked at: that comes again with the next reading from the first row on.
const mostAside = 100_000

const never = Number.POSITIVE_INFINITY
const lookAgainAfter = 10 * 60_000

export const make = <A>(options: Options): LaneTable<A> => ({
  ...options,
  lanes: new Map(),
  ready: new Set(),
  running: new Set(),
  finished: new Set(),
  reading: true,
  waiting: new Map(),
  aside: new Map(),
  lookAgainAt: never,
  lookAgainSince: Number.NEGATIVE_INFINITY,
  takenBack: 0,
  mode: "open"
})

export const isFull = <A>(table: LaneTable<A>): boolean => table.lanes.size >= table.most

/** A row was read: its lane takes it, or leaves it in the store. The lane may be ready then. */
export const offer = <A>(table: LaneTable<A>, work: Work<A>, now: number): void => {
  if (table.finished.has(work.id) || table.aside.has(work.lane) || !table.owns(work.lane)) return
  let lane = table.lanes.get(work.lane)
  if (lane === undefined) {
    lane = lane_.make(work.lane)
    table.lanes.set(work.lane, lane)
  }
  lane_.offer(lane, work, table.depth, now)
  if (lane.phase._tag === "Ready") table.ready.add(lane)
}

/**
 * Whether rows that come behind all that were offered may be offered without a pass: none is under way, which may offer rows again that lanes
 * left behind; nobody waits for a place; and nothing is passed over.
 */
export const canAdd = <A>({ lookAgainAt, mode, reading, ready }: LaneTable<A>): boolean =>
  !reading && mode === "open" && ready.size === 0 && lookAgainAt === never

/** {@link offer} of such a row; false where its lane waits for rows that come before it, or there is no room for the lane. */
export const add = <A>(table: LaneTable<A>, work: Work<A>, now: number): boolean => {
  const lane = table.lanes.get(work.lane)
  if (!canAdd(table) || (lane === undefined ? isFull(table) : lane.phase._tag === "Reading")) return false
  offer(table, work, now)
  return true
}

/** Takes the lane that has been ready the longest: it counts as running until it is given to {@link yieldPlace}. */
export const takeReady = <A>(table: LaneTable<A>, now: number): Lane<A> | undefined => {
  if (table.mode !== "open") return undefined
  for (const lane of table.ready) {
    table.ready.delete(lane)
    // It may have waited long for its place.
    if (table.owns(lane.key)) {
      lane_.begin(lane, now)
      table.running.add(lane)
      return lane
    }
    table.lanes.delete(lane.key)
  }
  return undefined
}

/** The row that a running lane may run next, if any. */
export const head = <A>(table: LaneTable<A>, lane: Lane<A>): Work<A> | undefined =>
  mayRun(table, lane.key) ? lane.queue[0] : undefined

const mayRun = <A>(table: LaneTable<A>, key: string | null): boolean => table.mode === "open" && table.owns(key)

/** The head of the lane is done: its row in the store is gone. */
export const finish = <A>(table: LaneTable<A>, lane: Lane<A>, work: Work<A>): void => {
  lane_.finish(lane)
  if (table.reading) table.finished.add(work.id)
}

/** A page is read from now on: what was finished before is not in it. */
export const beginReading = <A>(table: LaneTable<A>): void => {
  table.finished.clear()
  table.reading = true
}

/** All rows that were read have been offered, or will be read again. */
export const endReading = <A>(table: LaneTable<A>): void => {
  table.finished.clear()
  table.reading = false
}

/**
 * The head of the lane failed: the lane is held back, or left to other processes. What was taken back since this was decided, `takenBack`, may be
 * this process's own by now.
 */
export const hold = <A>(
  table: LaneTable<A>,
  lane: Lane<A>,
  work: Work<A>,
  { now, state, takenBack }: { readonly state: FailureState; readonly now: number; readonly takenBack: number }
): void => {
  if (state.elsewhere === true && takenBack === table.takenBack && lane_.discard(lane)) {
    putAside(table, lane.key, work.position, now)
    return
  }
  lane_.hold(lane, work, state)
  if (state.waits > 0 && work.waitsFor !== undefined) waitFor(table, work.waitsFor, lane)
}

const putAside = <A>(table: LaneTable<A>, key: string | null, position: number, now: number): void => {
  const { aside } = table
  for (const oldest of aside.keys()) {
    if (aside.size < mostAside) break
    aside.delete(oldest)
  }
  aside.set(key, position)
  lookAgainBy(table, now + lookAgainAfter, now)
}

/** What is left to other processes is looked at again at this time at the latest. */
export const lookAgainBy = <A>(table: LaneTable<A>, at: number, now: number): void => {
  if (at >= table.lookAgainAt) return
  table.lookAgainAt = at
  table.lookAgainSince = now
}

/** Whether it is to be looked at again now. */
export const isToLookAgain = <A>({ lookAgainAt, lookAgainSince }: LaneTable<A>, now: number): boolean =>
  now >= lookAgainAt || now < lookAgainSince

/** Takes back what is left to other processes, where there may be any: all rows are to be read again. */
export const takeBack = <A>(table: LaneTable<A>): boolean => {
  table.takenBack++
  if (table.lookAgainAt === never) return false
  table.aside.clear()
  table.lookAgainAt = never
  table.lookAgainSince = Number.NEGATIVE_INFINITY
  return true
}

/** The execution was advanced, whose lane may be left to other processes: gives from where its rows are to be read again. */
export const takeBackOne = <A>({ aside }: LaneTable<A>, executionId: string): number | undefined => {
  const position = aside.get(executionId)
  aside.delete(executionId)
  return position
}

const waitFor = <A>({ waiting }: LaneTable<A>, executionId: string, lane: Lane<A>): void => {
  if (waiting.size >= mostWaiting) waiting.clear()
  const others = waiting.get(executionId)
  if (others === undefined || others.size >= mostWaiting) waiting.set(executionId, new Set([lane]))
  else others.add(lane)
}

/**
 * A running lane gives up its place. Gives when its rows may be read again: 0 is at once, infinity where that is not known or not needed.
 */
export const yieldPlace = <A>(table: LaneTable<A>, lane: Lane<A>): number => {
  table.running.delete(lane)
  const isLeft = lane_.yieldPlace(lane)
  if (!isLeft || !table.owns(lane.key)) table.lanes.delete(lane.key)
  return isLeft && mayRun(table, lane.key) ? lane_.readableAt(lane) : Number.POSITIVE_INFINITY
}

/** An execution was advanced: work that waits for that goes on at once. False where none waits. */
export const release = <A>(table: LaneTable<A>, executionId: string): boolean => {
  const lane = table.lanes.get(executionId)
  let released = lane !== undefined && lane_.release(lane)
  for (const waiting of table.waiting.get(executionId) ?? []) released = lane_.release(waiting) || released
  table.waiting.delete(executionId)
  return released
}

/** Lets all work that waits go on at once; false where none waits. */
export const releaseAll = <A>(table: LaneTable<A>): boolean => {
  let released = false
  for (const lane of table.lanes.values()) released = lane_.release(lane) || released
  table.waiting.clear()
  return released
}

/** No row begins to run any more, and what waits for a place goes back to the store. */
export const pause = <A>(table: LaneTable<A>): void => {
  if (table.mode === "open") table.mode = "paused"
  for (const lane of table.ready) lane_.yieldPlace(lane)
  table.ready.clear()
}

export const resume = <A>(table: LaneTable<A>): void => {
  if (table.mode === "paused") table.mode = "open"
}

/** Forgets the lanes that are served elsewhere now. */
export const disown = <A>(table: LaneTable<A>): void => {
  for (const [key, lane] of table.lanes) {
    if (table.running.has(lane) || table.owns(key)) continue
    table.lanes.delete(key)
    table.ready.delete(lane)
  }
  for (const key of table.aside.keys()) if (!table.owns(key)) table.aside.delete(key)
}

/** When the first of the lanes that left rows in the store may go on. */
export const nextReadableAt = <A>(table: LaneTable<A>): number => {
  let next = Number.POSITIVE_INFINITY
  for (const lane of table.lanes.values()) next = Math.min(next, lane_.readableAt(lane))
  return next
}

/**
 * What the table holds now; `runningSince` is when the row began that runs the longest, `lastBegun` when the last one did of those that
 * run.
 */
export const summary = <A>(table: LaneTable<A>) => {
  let backlog = 0
  let held = 0
  let runningSince: number | undefined
  let lastBegun: number | undefined
  for (const { phase, queue } of table.lanes.values()) {
    backlog += queue.length
    if (phase._tag === "Held") held++
    if (phase._tag !== "Running") continue
    runningSince = Math.min(runningSince ?? phase.since, phase.since)
    lastBegun = Math.max(lastBegun ?? phase.since, phase.since)
  }
  return { backlog, held, runningSince, lastBegun }
}
