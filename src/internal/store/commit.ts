import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Commit, Committed, TimerOp } from "../../Commit.js"
import type { CommitOutcome, EncodedCommit } from "../../EncodedStore.js"
import type { Execution } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import type { FencingToken } from "../../Lease.js"
import {
  StoreConflict,
  type StoreCorrupt,
  type StoreError,
  type StoreRejected,
  StoreUnavailable
} from "../../StoreError.js"
import * as reader from "../codec/reader.js"
import * as rows from "../codec/row.js"
import type { Call } from "../codec/validate.js"
import * as traceContext from "../telemetry/traceContext.js"
import { type Backend, checkToken, fenceFor, seconds } from "./backend.js"
import { encodeCommit } from "./encodeCommit.js"
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

/** The commit with what it is fenced by: only one that settles a piece of work is. `given` comes before what the fiber is fenced by. */
const fenced = (
  call: Call,
  written: EncodedCommit,
  given: FencingToken | undefined
): Effect.Effect<EncodedCommit, StoreRejected> =>
  written.ack === undefined
    ? Effect.succeed(written)
    : Effect.map(given === undefined ? fenceFor(call) : Effect.as(checkToken(call, given), given), (fence) =>
        fence === undefined ? written : { ...written, fence }
      )

/** A commit that is ready to be written, and what was asked for. */
interface Prepared {
  readonly before: Execution
  readonly commit: Commit
  readonly written: EncodedCommit
  readonly after: Execution
}

type Outcome = Exit.Exit<CommitOutcome, StoreError>

const unanswered = (executionId: string): StoreUnavailable =>
  new StoreUnavailable({
    operation: "commit",
    executionId,
    reason: "connection",
    outcome: "unknown",
    detail: "the backend gave no outcome of the commit"
  })

const writeEach = (
  { encoded }: Backend,
  commits: ReadonlyArray<EncodedCommit>
): Effect.Effect<ReadonlyArray<Outcome>> =>
  encoded.commitEach?.(commits) ??
  Effect.forEach(commits, (commit) => Effect.exit(encoded.commit(commit)), { concurrency: "unbounded" })

// Put together by hand: a generator costs as much as what it runs here.
export const make = (backend: Backend): Pick<ExecutionStore, "commit" | "commitEach" | "save"> => {
  const { checks, encoded, notify } = backend

  const prepare = (
    before: Execution,
    commit: Commit = {},
    fence?: FencingToken
  ): Effect.Effect<Prepared, StoreRejected> =>
    Effect.flatMap(moment, ({ now, token, traceparent }) => {
      const call = { operation: "commit", executionId: before.id }
      const encoding = encodeCommit(call, checks, before, stamp(before, now), commit, token, { now, traceparent })
      if (Either.isLeft(encoding)) return Effect.fail(encoding.left)
      const { after, written } = encoding.right
      return Effect.map(fenced(call, written, fence), (written) => ({ before, commit, written, after }))
    })

  /** What a commit came to, and telling of it where it was applied. */
  const settle = (
    { after, before, commit, written }: Prepared,
    outcome: CommitOutcome
  ): Exit.Exit<Committed, StoreConflict | StoreError> => {
    if (outcome._tag === "Conflict") return Exit.fail(conflict(before, outcome.found))
    const committed = { execution: after, seqs: outcome.seqs }
    notify({
      committed: Option.some(committed),
      ...noticeOf(written),
      spawns: commit.spawns?.length ?? 0,
      nextTimer: armedFor(commit.timers ?? []),
      activities: commit.activities?.length ?? 0,
      origin: commit.origin
    })
    return Exit.succeed(committed)
  }

  const commit: ExecutionStore["commit"] = (execution, commit) =>
    Effect.flatMap(prepare(execution, commit), (prepared) =>
      Effect.flatMap(encoded.commit(prepared.written), (outcome) => settle(prepared, outcome))
    )

  const commitEach: ExecutionStore["commitEach"] = (commits) =>
    Effect.flatMap(
      Effect.forEach(commits, ({ commit, execution, fence }) => Effect.exit(prepare(execution, commit, fence))),
      (prepared) => {
        const written = prepared.flatMap((one) => (Exit.isSuccess(one) ? [one.value.written] : []))
        return Effect.map(writeEach(backend, written), (outcomes) => {
          let next = 0
          return prepared.map((one) =>
            Exit.flatMap(one, (ready) =>
              Exit.flatMap(outcomes[next++] ?? Exit.fail(unanswered(ready.before.id)), (outcome) =>
                settle(ready, outcome)
              )
            )
          )
        })
      }
    )

  return { commit, commitEach, save: (execution) => Effect.map(commit(execution), (committed) => committed.execution) }
}
