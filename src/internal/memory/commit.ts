import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CommitOutcome, EncodedCommit } from "../../EncodedStore.js"
import type { StoreRejected } from "../../StoreError.js"
import { leaseLost } from "../util/fence.js"
import { type ExecutionRow, statusOf } from "./executions.js"
import { addEmit, takeEntry } from "./outbox.js"
import { addSpawn, takeSpawn } from "./spawns.js"
import type { Tables } from "./tables.js"
import { armTimer, cancelTimer, removeTimer } from "./timers.js"

const settle = (tables: Tables, ack: EncodedCommit["ack"]): void => {
  switch (ack?._tag) {
    case "Outbox":
      takeEntry(tables, ack.seq)
      break
    case "Spawn":
      takeSpawn(tables, ack.seq)
      break
    case "Timer":
      removeTimer(tables, ack)
      break
  }
}

const stopActivity = ({ activities }: Tables, executionId: string, key: string): void => {
  const row = activities.find(executionId, key)
  if (row !== undefined) activities.remove(row.seq)
}

const askActivities = ({ activities }: Tables, { asked, executionId, version }: EncodedCommit): void => {
  const { askedAt, traceparent } = asked
  for (const activity of asked.activities) {
    const place = { executionId, version: version + 1, traceparent, askedAt, readyAt: askedAt }
    activities.add({ ...activity, ...place, attempts: 0, error: null })
  }
}

/** What a step took back or asked for anew must not come back by a redrive of what was given up before. */
const discardLetters = (
  { deadLetters }: Tables,
  { armed, asked, cancelled, executionId, stopped }: EncodedCommit
): void => {
  const paths = [...cancelled, ...armed.map(({ path }) => path)]
  const keys = [...stopped, ...asked.activities.map(({ key }) => key)]
  if (paths.length + keys.length > 0) deadLetters.replace(executionId, paths, keys)
}

const ended: ReadonlyArray<unknown> = ["DONE", "CANCELLED", "CANCELLING"]
const halted: ReadonlyArray<unknown> = ["SUSPENDED", "FAILED"]
const live: ReadonlyArray<unknown> = ["RUNNING", "PENDING"]

/**
 * An execution that comes to its end, or is being cancelled, waits for no activity any more: they go with it. Where it goes on, what was held
 * is ready.
 */
const followStatus = ({ activities, executions }: Tables, id: string, before: ExecutionRow | undefined): void => {
  if (before === undefined || activities.of(id).length === 0) return
  const status = statusOf(executions.get(id))
  if (ended.includes(status) && status !== statusOf(before)) activities.removeOf(id)
  if (halted.includes(statusOf(before)) && live.includes(status)) activities.resumeOf(id)
}

/** Whether what a commit was made of is what a read would give now, where nothing was read for it. */
const isAsRemembered = (
  { ledger, outbox }: Tables,
  { executionId, remembered }: EncodedCommit,
  stored: ExecutionRow | undefined
): boolean =>
  remembered === undefined ||
  (String(stored?.data).endsWith(remembered.end) &&
    outbox.get(remembered.seq)?.targetId === executionId &&
    !ledger.has(executionId, remembered.eventId))

/** Writes a commit where the stored version is the expected one, and the lease is held that it is fenced by. */
export const commit = (
  tables: Tables,
  traceMax: number,
  commit: EncodedCommit
): Effect.Effect<CommitOutcome, StoreRejected> =>
  Effect.suspend(() => {
    const { executionId, fence, version } = commit
    const stored = tables.executions.get(executionId)
    if (stored === undefined ? version !== 0 : version === 0 || stored.version !== version) {
      return Effect.succeed({
        _tag: "Conflict",
        found: Option.fromNullable(stored).pipe(Option.map((row) => row.version))
      })
    }
    if (!isAsRemembered(tables, commit, stored)) return Effect.succeed({ _tag: "Stale" })
    if (fence !== undefined && !tables.pools.isHeld(fence)) {
      return Effect.fail(leaseLost({ operation: "commit", executionId }, fence))
    }
    return Effect.succeed(apply(tables, traceMax, commit, stored))
  })

const apply = (
  tables: Tables,
  traceMax: number,
  commit: EncodedCommit,
  stored: ExecutionRow | undefined
): CommitOutcome => {
  const { data, definitionId, executionId, version } = commit
  tables.executions.set({ id: executionId, definitionId, data, version: version + 1 })
  // Before the timers are armed: a step may arm the very timer that it was fired by.
  settle(tables, commit.ack)
  const seqs = commit.emits.map((emit) => addEmit(tables, emit))
  for (const emit of commit.delayed) tables.delayed.add(emit)
  if (commit.processed !== undefined) tables.ledger.add(executionId, commit.processed)
  for (const path of commit.cancelled) cancelTimer(tables, executionId, path)
  for (const { fireAt, path } of commit.armed) armTimer(tables, { executionId, path, fireAt })
  discardLetters(tables, commit)
  for (const spawn of commit.spawns) addSpawn(tables, { parentId: executionId, ...spawn })
  for (const key of commit.stopped) stopActivity(tables, executionId, key)
  askActivities(tables, commit)
  followStatus(tables, executionId, stored)
  if (commit.attributes !== undefined) tables.attributes.set(executionId, commit.attributes)
  if (commit.trace !== undefined) tables.traces.add(executionId, commit.trace, traceMax)
  return { _tag: "Applied", seqs }
}
