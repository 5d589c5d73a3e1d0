import * as Option from "effect/Option"
import type { CommitOutcome, EncodedCommit } from "../../EncodedStore.js"
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

/** Writes a commit where the stored version is the expected one. */
export const commit = (tables: Tables, traceMax: number, commit: EncodedCommit): CommitOutcome => {
  const { data, definitionId, executionId, version } = commit
  const stored = tables.executions.get(executionId)
  if (stored === undefined ? version !== 0 : version === 0 || stored.version !== version) {
    return {
      _tag: "Conflict",
      found: Option.map(Option.fromNullable(stored), (row) => row.version)
    }
  }
  tables.executions.set({ id: executionId, definitionId, data, version: version + 1 })
  // Before the timers are armed: a step may arm the very timer that it was fired by.
  settle(tables, commit.ack)
  const seqs = commit.emits.map((emit) => addEmit(tables, emit))
  for (const emit of commit.delayed) tables.delayed.add(emit)
  if (commit.processed !== undefined) tables.ledger.add(executionId, commit.processed)
  for (const path of commit.cancelled) cancelTimer(tables, executionId, path)
  for (const { fireAt, path } of commit.armed) armTimer(tables, { executionId, path, fireAt })
  for (const spawn of commit.spawns) addSpawn(tables, { parentId: executionId, ...spawn })
  if (commit.trace !== undefined) tables.traces.add(executionId, commit.trace, traceMax)
  return { _tag: "Applied", seqs }
}
