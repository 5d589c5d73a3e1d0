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
  readonly recorded: FailureState | undefined
  /** The execution whose next commit may be what the row waits for, where it is not its lane. */
  readonly waitsFor: string | undefined
}

/**
 * What is known of work that failed.
 *
 * - `attempts`: how many of its failures count.
 * - `retryAt`: when it may run again, in milliseconds since the epoch.
 * - `waits`: how often in a row it waited for something, which does not count.
 * - `logged`: the last error that was logged as a warning, as a hash.
 * - `progress`: how far the schedule is stepped that says when to try again.
 * - `elsewhere`: whether it waits for a definition that this process does not have.
 */
export interface FailureState {
  readonly attempts: number
  readonly retryAt: number
  readonly waits: number
  readonly logged: number | undefined
  readonly progress: Progress | undefined
  readonly elsewhere?: true
}

/**
 * Where a lane is in its life. Positions are those of rows in the store, times are in milliseconds since the epoch.
 *
 * - `Reading`: it holds no row; the first of its rows that is read makes it ready.
 * - `Ready`: it holds rows and waits for a free place.
 * - `Running`: its first row runs `since` then. `released` says whether the execution was advanced meanwhile that the row may wait for.
 * - `Behind`: it holds no row. Its rows are in the store from `from` on, to be read again as soon as possible.
 * - `Held`: the same, but its first row failed: not to be tried before `retryAt`.
 */
export type Phase =
  | { readonly _tag: "Reading" }
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Running"; readonly since: number; readonly released: boolean }
  | { readonly _tag: "Behind"; readonly from: number }
  | { readonly _tag: "Held"; readonly from: number; readonly retryAt: number }

/** The rows of one key. A lane is kept only while it has rows, in memory or in the store, or one of them failed. */
export interface Lane<A> {
  readonly key: string | null
  /** The rows in memory: some while it is ready or runs, and none otherwise. */
  readonly queue: Array<Work<A>>
  /** The highest position of a row that it took. */
  reached: number
  /**
   * The position of the first row that was left in the store behind those in memory, or behind the failed one; where it is not known which is
   * the first, one before it. While there is one, it takes no other: that would break the order.
   */
  rest: number | undefined
  /** The row that failed last, until something goes well. It is tried before all others. */
  failed: { readonly id: string | number; readonly state: FailureState } | undefined
  phase: Phase
}

export const make = <A>(key: string | null): Lane<A> => ({
  key,
  queue: [],
  reached: Number.NEGATIVE_INFINITY,
  rest: undefined,
  failed: undefined,
  phase: { _tag: "Reading" }
})

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b)

const holdsRows = <A>(lane: Lane<A>): boolean => lane.phase._tag === "Ready" || lane.phase._tag === "Running"

/** The first row that was left in the store, or would be if the lane gave up its rows from this one of its queue on. */
const restFrom = <A>(lane: Lane<A>, index: number): number | undefined =>
  lane.queue.slice(index).reduce((rest, work) => smaller(rest, work.position), lane.rest)

/**
 * Whether a row of its own that is read now would be news: it would take the row, or know for the first time that one was left. A lane that is
 * behind or held is read again from its first row on, and needs none now.
 */
export const needsRows = <A>(lane: Lane<A>): boolean =>
  lane.phase._tag === "Reading" || (holdsRows(lane) && lane.rest === undefined)

/** What is known of this row's failures. */
export const failureOf = <A>(lane: Lane<A>, work: Work<A>): FailureState | undefined =>
  lane.failed?.id === work.id ? lane.failed.state : work.recorded

/** What another process, or this one before it started, recorded of the row, where that says to try it later. */
const recordedLater = <A>(lane: Lane<A>, work: Work<A>, now: number): FailureState | undefined => {
  const { recorded } = work
  if (recorded === undefined || recorded.retryAt <= now) return undefined
  const known = lane.failed?.id === work.id ? lane.failed.state.attempts : 0
  return recorded.attempts > known ? recorded : undefined
}

const take = <A>(lane: Lane<A>, work: Work<A>): void => {
  lane.queue.push(work)
  lane.reached = Math.max(lane.reached, work.position)
}

const hasTaken = <A>(lane: Lane<A>, work: Work<A>): boolean =>
  work.position <= lane.reached && lane.queue.some((queued) => queued.id === work.id)

/** A row was read: the lane takes it, where it holds fewer than `depth`, or leaves it in the store. */
export const offer = <A>(lane: Lane<A>, work: Work<A>, depth: number, now: number): void => {
  const { phase } = lane
  switch (phase._tag) {
    case "Reading":
      takeFirst(lane, work, now)
      break
    case "Ready":
    case "Running":
      if (hasTaken(lane, work)) break
      if (lane.rest === undefined && lane.queue.length < depth) take(lane, work)
      else lane.rest = smaller(lane.rest, work.position)
      break
    case "Behind":
      if (lane.failed === undefined) lane.phase = { ...phase, from: Math.min(phase.from, work.position) }
      else leaveBehindFailed(lane, work)
      break
    case "Held":
      leaveBehindFailed(lane, work)
  }
}

const takeFirst = <A>(lane: Lane<A>, work: Work<A>, now: number): void => {
  take(lane, work)
  const later = recordedLater(lane, work, now)
  if (later === undefined) lane.phase = { _tag: "Ready" }
  else hold(lane, work, later)
}

const leaveBehindFailed = <A>(lane: Lane<A>, work: Work<A>): void => {
  if (lane.failed?.id !== work.id) lane.rest = smaller(lane.rest, work.position)
}

/** Rows behind this position were passed over: where its first row failed, some of its own may be among them. */
export const leaveUnread = <A>(lane: Lane<A>, position: number): void => {
  const { failed, phase } = lane
  if (failed !== undefined && (phase._tag === "Held" || phase._tag === "Behind"))
    lane.rest = smaller(lane.rest, position)
}

/** The first row begins to run. */
export const begin = <A>(lane: Lane<A>, now: number): void => {
  lane.phase = { _tag: "Running", since: now, released: false }
}

/** The first row is done: its row in the store is gone. */
export const finish = <A>(lane: Lane<A>): void => {
  lane.queue.shift()
  lane.failed = undefined
}

/** The first row failed: it stays in the store, and what comes behind it too. */
export const hold = <A>(lane: Lane<A>, work: Work<A>, state: FailureState): void => {
  const { phase } = lane
  lane.rest = restFrom(lane, 1)
  lane.queue.length = 0
  lane.failed = { id: work.id, state }
  // The commit that it waits for may have come while it ran. Tried at once only one time: work that causes such commits would loop.
  const atOnce = phase._tag === "Running" && phase.released && state.waits === 1
  lane.phase = atOnce
    ? { _tag: "Behind", from: work.position }
    : { _tag: "Held", from: work.position, retryAt: state.retryAt }
}

/** Gives up all its rows, while the first one runs: others may have them. False where that may have changed while it ran. */
export const discard = <A>(lane: Lane<A>): boolean => {
  const { phase } = lane
  if (phase._tag !== "Running" || phase.released) return false
  lane.queue.length = 0
  lane.rest = undefined
  lane.failed = undefined
  return true
}

/** Runs no further row; those in memory go back to the store. What then is in the store is behind; where nothing is, false. */
export const yieldPlace = <A>(lane: Lane<A>): boolean => {
  if (!holdsRows(lane)) return true
  const [next] = lane.queue
  const retries = next !== undefined && lane.failed !== undefined
  const from = retries ? next.position : restFrom(lane, 0)
  lane.rest = retries ? restFrom(lane, 1) : undefined
  lane.queue.length = 0
  if (from === undefined) return false
  lane.phase = { _tag: "Behind", from }
  return true
}

/** From where its rows are to be read again, where that may be now. */
export const dueFrom = <A>({ phase }: Lane<A>, now: number): number | undefined =>
  phase._tag === "Behind" || (phase._tag === "Held" && phase.retryAt <= now) ? phase.from : undefined

/** When its rows may be read again: 0 is at once, infinity where that is not known or not needed. */
export const readableAt = <A>({ phase }: Lane<A>): number => {
  if (phase._tag === "Behind") return 0
  return phase._tag === "Held" ? phase.retryAt : Number.POSITIVE_INFINITY
}

/** The execution was advanced that the failed row may wait for: if it does, it goes on at once. */
export const release = <A>(lane: Lane<A>): boolean => {
  const { phase } = lane
  if (phase._tag === "Running") lane.phase = { ...phase, released: true }
  if (phase._tag !== "Held" || lane.failed === undefined || lane.failed.state.waits === 0) return false
  lane.phase = { _tag: "Behind", from: phase.from }
  return true
}
