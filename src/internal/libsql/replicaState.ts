import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type { ReplicaStatus } from "../../LibsqlStore.js"
import { type Failure, toStoreError } from "./error.js"

/**
 * What is known of the copy. Frames are those of the server's log, times are in milliseconds since the epoch.
 *
 * - `requested`, `reached`: syncs that were asked for, and those that are done, by their numbers.
 * - `frame`: the last one in the copy, none while there is nothing in it.
 * - `written`: the last one that a write of this store is in; `missedSync`: the last sync that such a write asked for in vain.
 * - `shorterLogs`: how often in a row the server said that its log ends before that frame.
 * - `rebuildReason`: why the copy is to be made again; `noRebuildBefore`: until when it is not.
 * - `pausedUntil`: until when writes are not followed by a sync.
 */
export interface State {
  requested: number
  reached: number
  frame: number | undefined
  written: number
  missedSync: number
  shorterLogs: number
  rebuildReason: string | undefined
  noRebuildBefore: number
  pausedUntil: number
  lastSync: number | undefined
  lastError: Failure | undefined
}

/** The state of a copy that was not looked at yet. */
export const initial = (): State => ({
  requested: 0,
  reached: 0,
  frame: undefined,
  written: 0,
  missedSync: 0,
  shorterLogs: 0,
  rebuildReason: undefined,
  noRebuildBefore: 0,
  pausedUntil: 0,
  lastSync: undefined,
  lastError: undefined
})

/**
 * How long after a sync that failed writes go on without one: where the replica's own connection is what does not work, the process stands
 * still for seconds each time. A server that is compacting its log says so at once.
 */
const retryPauses = { compacting: 250, other: 10_000 }

/** For how long a copy that was just made again is not made once more, even if it is wrong: making it takes time. */
const rebuildInterval = 60_000

/** What is left of a wait that lasts for so long at most: nothing where more seems to be left, as the clock was set back since. */
const left = (until: number, now: number, most: number): number => (until - now > most ? 0 : Math.max(0, until - now))

/** For how many milliseconds writes are not followed by a sync. */
export const pauseLeft = ({ pausedUntil }: State, now: number): number => left(pausedUntil, now, retryPauses.other)

/** Whether the copy was made again so short a time ago that it is not made once more. */
export const isJustRebuilt = ({ noRebuildBefore }: State, now: number): boolean =>
  left(noRebuildBefore, now, rebuildInterval) > 0

export const otherHistory = "the server's log ends before what is in it: it began anew, or is that of a backup"

/** Whether sqld is compacting its log, which takes a second or two under load. */
export const isCompacting = ({ detail }: Failure): boolean => detail.includes("snapshot not found")

/** Whether the server's log ends before a frame that is in the copy. Then it is the log of another history, such as a backup's. */
export const isOtherHistory = (known: number | undefined, frame: number | undefined): boolean =>
  known !== undefined && frame !== undefined && frame < known

/** Marks the copy to be made again at the next sync, which may come at once. */
export const markForRebuild = (state: State): void => {
  state.rebuildReason ??= otherHistory
  state.pausedUntil = 0
}

/** The copy was pulled to this frame, and what it holds is no older than `began`. */
export const pulled = (state: State, frame: number | undefined, began: number): void => {
  // Where the server's log began anew, the copy has all that is in it.
  if (frame !== undefined && state.frame !== undefined && frame < state.frame) state.written = 0
  state.frame = frame
  state.lastSync = began / 1000
}

/** The files of the copy were removed. */
export const removed = (state: State, now: number): void => {
  state.noRebuildBefore = now + rebuildInterval
  state.rebuildReason = undefined
  state.shorterLogs = 0
  state.reached = 0
  state.written = 0
  state.frame = undefined
}

/** The server said where its log ends, when `known` was what is in the copy. */
export const serverAnswered = (state: State, known: number | undefined, frame: number | undefined): void => {
  state.shorterLogs = isOtherHistory(known, frame) ? state.shorterLogs + 1 : 0
  // A node that answers for the server may be behind it for a moment: so one answer is not enough.
  if (state.shorterLogs > 1) markForRebuild(state)
}

/** A write of this store was answered, and the sync that follows it, if any. */
export const written = (state: State, frame: number | undefined, synced: boolean): void => {
  if (!synced) state.missedSync = ++state.requested
  state.written = Math.max(state.written, frame ?? 0)
}

/** Whether the copy lacks what this store wrote, or cannot be trusted. */
export const isBehind = ({ rebuildReason, shorterLogs, frame = 0, missedSync, reached, written }: State): boolean =>
  rebuildReason !== undefined || shorterLogs > 0 || reached === 0 || reached < missedSync || frame < written

/** A sync failed. */
export const failed = (state: State, error: Failure, now: number): void => {
  state.lastError = error
  state.pausedUntil = now + (isCompacting(error) ? retryPauses.compacting : retryPauses.other)
}

/** A sync is done, which serves all that were asked for up to this one. */
export const succeeded = (state: State, reached: number): void => {
  state.reached = reached
  state.lastError = undefined
  state.pausedUntil = 0
}

/** The state as it is shown. */
export const statusOf = (state: State, now: number): ReplicaStatus => {
  const lastSync = Option.fromNullable(state.lastSync)
  return {
    lastSync,
    lag: Option.map(lastSync, (seconds) => Duration.millis(Math.max(0, now - seconds * 1000))),
    frame: Option.fromNullable(state.frame),
    lastError: Option.map(Option.fromNullable(state.lastError), (error) =>
      toStoreError({ operation: "sync" }, error, false)
    )
  }
}
