import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Commit, TimerOp } from "../../Commit.js"
import type { CommitOutcome, EncodedCommit } from "../../EncodedStore.js"
import type { Execution } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import { StoreConflict, type StoreCorrupt, type StoreRejected } from "../../StoreError.js"
import * as reader from "../codec/reader.js"
import * as rows from "../codec/row.js"
import type { Call } from "../codec/validate.js"
import * as traceContext from "../telemetry/traceContext.js"
import { type Backend, fenceFor, seconds } from "./backend.js"
import { type Encoding, encodeCommit } from "./encodeCommit.js"
import { earliest, noticeOf } from "./outbox.js"

/** What a commit needs of the moment at which it is made. */
const moment = Effect.flatMap(seconds, (now) =>
  Effect.flatMap(Ids.next, (token) => Effect.map(traceContext.current, (traceparent) => ({ now, token, traceparent })))
)

const stamp = (execution: Execution, now: number): Execution => ({
  ...execution,
  version: execution.version + 1,
  createdAt: execution.createdAt ?? now,
  updatedAt: now,
  finishedAt: execution.status === "DONE" || execution.status === "CANCELLED" ? (execution.finishedAt ?? now) : null
})

const armedFor = (ops: ReadonlyArray<TimerOp>): Option.Option<number> =>
  earliest(ops.flatMap((op) => (op._tag === "Schedule" ? [op.fireAt] : [])))

/** The conflict of a commit that was lost to another, unless the stored version is none. */
const conflict = ({ id, version }: Execution, found: Option.Option<unknown>): StoreConflict | StoreCorrupt => {
  const operation = "commit"
  const stored = rows.decode({ operation, table: "executions", key: id }, () =>
    Option.map(found, (version) => reader.integerColumn(version, "version"))
  )
  return Either.match(stored, {
    onLeft: (corrupt) => corrupt,
    onRight: (found) => new StoreConflict({ executionId: id, expected: version, found })
  })
}

/** The commit with what it is fenced by: only one that settles a piece of work is. */
const fenced = (call: Call, written: EncodedCommit): Effect.Effect<EncodedCommit, StoreRejected> =>
  written.ack === undefined
    ? Effect.succeed(written)
    : Effect.map(fenceFor(call), (fence) => (fence === undefined ? written : { ...written, fence }))

// Put together by hand: a generator costs as much as what it runs here.
export const make = ({ checks, encoded, notify }: Backend): Pick<ExecutionStore, "commit" | "save"> => {
  /** What a commit came to, and telling of it where it was applied. */
  const settle = (before: Execution, commit: Commit, { after, written }: Encoding, outcome: CommitOutcome) => {
    if (outcome._tag === "Conflict") {
      return Effect.fail(conflict(before, outcome.found))
    }
    const committed = { execution: after, seqs: outcome.seqs }
    notify({
      committed: Option.some(committed),
      ...noticeOf(written),
      spawns: commit.spawns?.length ?? 0,
      nextTimer: armedFor(commit.timers ?? []),
      origin: commit.origin
    })
    return Effect.succeed(committed)
  }

  const commit: ExecutionStore["commit"] = (execution, commit = {}) =>
    Effect.flatMap(moment, ({ now, token, traceparent }) => {
      const after = stamp(execution, now)
      const call = { operation: "commit", executionId: execution.id }
      const encoding = encodeCommit(call, checks, execution, after, commit, token, { now, traceparent })
      if (Either.isLeft(encoding)) return Effect.fail(encoding.left)
      return fenced(call, encoding.right.written).pipe(
        Effect.flatMap(encoded.commit),
        Effect.flatMap((outcome) => settle(execution, commit, encoding.right, outcome))
      )
    })

  return { commit, save: (execution) => Effect.map(commit(execution), (committed) => committed.execution) }
}
