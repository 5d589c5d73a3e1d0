import type { Progress } from "./retrySchedule.js"

/**
 * A stored row to work on. Rows of one lane run one after the other in the order of their positions, lanes run side by side. `id` tells a
 * row that is read a second time, `label` names it in the log, `recorded` is what the store remembers of its failures.
 */
export interface Work<A> {
  readonly lane: string | null
  readonly id: string | number
  readonly position: number
  readonly label: () => string
  readonly item: A
  readonly recorded: Trouble | undefined
  /** The execution whose next commit may be what the row waits for, where it is not its lane. */
  readonly waitsFor: string | undefined
}

/**
 * What is known of work that failed.
 *
 * - `attempts`: how many of its failures count.
 * - `retryAt`: when it may run again, in milliseconds since the epoch.
 * - `waits`: how often in a row it waited for something, which does not count.
 * - `said`: what was last said of it where people look, as a hash.
 * - `progress`: where the schedule is that says when to try again.
 */
export interface Trouble {
  readonly attempts: number
  readonly retryAt: number
  readonly waits: number
  readonly said: number | undefined
  readonly progress: Progress | undefined
}

export interface Lane<A> {
  readonly queue: Array<Work<A>>
  /** The highest position of a row that it took. */
  reached: number
  running: boolean
  /** When what runs began. */
  since: number
  /** The position of the first row that the lane left in the store, if it did. Until that one is read again it takes no other. */
  behind: number | undefined
  /** What failed last, until something goes well. Then `behind` is where this row is, and the lane tries it before all others. */
  failed: { readonly id: string | number; readonly trouble: Trouble } | undefined
  /** The position of the first row behind the failed one, as far as is known. */
  left: number | undefined
  retryAt: number
  /** Whether it was let go while its work ran. */
  released: boolean
}

export const make = <A>(): Lane<A> => ({
  queue: [],
  reached: Number.NEGATIVE_INFINITY,
  running: false,
  since: 0,
  behind: undefined,
  failed: undefined,
  left: undefined,
  retryAt: 0,
  released: false
})

const first = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b)

/** Takes the row. */
export const take = <A>(lane: Lane<A>, work: Work<A>): void => {
  lane.queue.push(work)
  lane.reached = Math.max(lane.reached, work.position)
}

/** Whether the row is in the queue already. */
export const hasTaken = <A>(lane: Lane<A>, work: Work<A>): boolean =>
  work.position <= lane.reached && lane.queue.some((queued) => queued.id === work.id)

/** What is known of this row's failures. */
export const troubleOf = <A>(lane: Lane<A>, work: Work<A>): Trouble | undefined =>
  lane.failed?.id === work.id ? lane.failed.trouble : work.recorded

/** What another process, or this one before it started, recorded of the row, where that says to try it later. */
export const heldElsewhere = <A>(lane: Lane<A>, work: Work<A>, now: number): Trouble | undefined => {
  const { recorded } = work
  if (recorded === undefined || recorded.retryAt <= now) return undefined
  const known = lane.failed?.id === work.id ? lane.failed.trouble.attempts : 0
  return recorded.attempts > known ? recorded : undefined
}

/** The lane's first row failed: it stays in the store, and what comes behind it too. */
export const hold = <A>(lane: Lane<A>, work: Work<A>, trouble: Trouble): void => {
  lane.left = lane.queue[1]?.position ?? lane.behind
  lane.behind = work.position
  lane.queue.length = 0
  // What it waits for may have come while it ran; only once, or work that makes it come by itself would never rest.
  lane.retryAt = lane.released && trouble.waits === 1 ? 0 : trouble.retryAt
  lane.failed = { id: work.id, trouble }
}

/** The row stays in the store, since others of its lane before it do. */
export const leave = <A>(lane: Lane<A>, work: Work<A>): void => {
  if (lane.failed === undefined) lane.behind = first(lane.behind, work.position)
  else if (lane.failed.id !== work.id) lane.left = first(lane.left, work.position)
}

/** Leaves in the store what the lane has taken, to be read again. */
export const leaveQueue = <A>(lane: Lane<A>): void => {
  const [next] = lane.queue
  if (next === undefined) return
  if (lane.failed !== undefined) lane.left = lane.queue[1]?.position ?? lane.behind
  lane.behind = next.position
  lane.retryAt = 0
  lane.queue.length = 0
}

export const isHeld = <A>(lane: Lane<A>): boolean => lane.behind !== undefined && lane.retryAt > 0

/** Lets the lane go on at once, where what failed waits for something; false where it does not. */
export const release = <A>(lane: Lane<A>): boolean => {
  if (!isHeld(lane) || lane.failed === undefined || lane.failed.trouble.waits === 0) return false
  lane.retryAt = 0
  return true
}
