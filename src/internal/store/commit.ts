import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
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
import * as json from "../codec/json.js"
import * as reader from "../codec/reader.js"
import * as rows from "../codec/row.js"
import { type Copy, copyOf } from "../codec/stringify.js"
import type { Call } from "../codec/validate.js"
import { bytesOfText, goesOn, type Remembered } from "../executionCache/executionCache.js"
import { type Backend, fenceOf, type Moment, momentOf } from "./backend.js"
import { type Encoding, encodeCommit } from "./encodeCommit.js"
import { earliest, noticeOf } from "./outbox.js"

/** So many ids of the source that a fiber has. */
const idsFor = (fiber: Fiber.RuntimeFiber<unknown, unknown>, count: number): Effect.Effect<ReadonlyArray<string>> => {
  const { next } = Context.get(fiber.currentContext, Ids.Ids)
  if (count === 1) return Effect.map(next, (id) => [id])
  const ids: Array<string> = []
  const loop = Effect.whileLoop({
    while: () => ids.length < count,
    body: () => next,
    step: (id) => {
      ids.push(id)
    }
  })
  return Effect.as(loop, ids)
}

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

/** The conflict of a commit to an execution that is not as it was remembered. */
const stale = ({ id, version }: Execution): StoreConflict =>
  new StoreConflict({ executionId: id, expected: version, found: Option.none() })

/** The commit with what it is fenced by: only one that settles a piece of work is. `given` comes before what the fiber is fenced by. */
const fenced = (
  call: Call,
  written: EncodedCommit,
  ofFiber: Moment["fence"],
  given: FencingToken | undefined
): Either.Either<EncodedCommit, StoreRejected> => {
  if (written.ack === undefined) return Either.right(written)
  const fence = fenceOf(call, ofFiber, given)
  if (Either.isLeft(fence)) return Either.left(fence.left)
  return Either.right(fence.right === undefined ? written : { ...written, fence: fence.right })
}

// What is made of a text takes about as much, and something for each of its parts.
const bytesOfCopy = ({ length }: string, { parts }: Copy): number => length * 1.5 + parts * 72

/** What is remembered of an execution that was written so; with the copy that its text was made of, where there is one. */
const remembered = ({ data, fence, token }: EncodedCommit, version: number, copy: Copy | undefined): Remembered =>
  copy === undefined
    ? { row: () => json.parse(data), bytes: bytesOfText(data), version, token, fence }
    : { row: () => copyOf(copy.value), bytes: bytesOfCopy(data, copy), version, token, fence }

/** A commit that is ready to be written, and what was asked for. */
interface Prepared extends Pick<Encoding, "after" | "copies" | "copy"> {
  readonly before: Execution
  readonly commit: Commit
  readonly written: EncodedCommit
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
  const { cache, checks, encoded, isHeard, notify } = backend

  const prepare = (
    before: Execution,
    commit: Commit = {},
    token: string,
    moment: Moment,
    given?: FencingToken
  ): Either.Either<Prepared, StoreRejected> => {
    const call = { operation: "commit", executionId: before.id }
    // Who takes an event from the outbox may soon take the next one to the same execution.
    const copied = { execution: cache !== undefined && commit.ack?._tag === "Outbox", events: isHeard() }
    const encoding = encodeCommit(call, checks, before, stamp(before, moment.now), commit, token, moment, copied)
    if (Either.isLeft(encoding)) return Either.left(encoding.left)
    const { after, copies, copy } = encoding.right
    const written = fenced(call, encoding.right.written, moment.fence, given)
    if (Either.isLeft(written)) return Either.left(written.left)
    // What becomes of it may never be known.
    cache?.forget(before.id)
    return Either.right({ before, commit, written: written.right, after, copies, copy })
  }

  /** What a commit came to, and telling of it where it was applied. */
  const settle = (
    { after, before, commit, copies, copy, written }: Prepared,
    outcome: CommitOutcome
  ): Exit.Exit<Committed, StoreConflict | StoreError> => {
    if (outcome._tag === "Stale") return Exit.fail(stale(before))
    if (outcome._tag === "Conflict") return Exit.fail(conflict(before, outcome.found))
    if (goesOn(after)) cache?.set(after.id, remembered(written, after.version, copy))
    const committed = { execution: after, seqs: outcome.seqs }
    notify({
      committed: Option.some(committed),
      ...noticeOf({ emits: written.emits, delayed: written.delayed, copies }, outcome.seqs),
      spawns: commit.spawns?.length ?? 0,
      nextTimer: armedFor(commit.timers ?? []),
      activities: commit.activities?.length ?? 0,
      origin: commit.origin
    })
    return Exit.succeed(committed)
  }

  const commit: ExecutionStore["commit"] = (execution, commit) =>
    Effect.withFiberRuntime((fiber) =>
      Effect.flatMap(Context.get(fiber.currentContext, Ids.Ids).next, (token) => {
        const prepared = prepare(execution, commit, token, momentOf(fiber))
        if (Either.isLeft(prepared)) return Effect.fail(prepared.left)
        return Effect.flatMap(encoded.commit(prepared.right.written), (outcome) => settle(prepared.right, outcome))
      })
    )

  const commitEach: ExecutionStore["commitEach"] = (commits) =>
    Effect.withFiberRuntime((fiber) =>
      Effect.flatMap(idsFor(fiber, commits.length), (tokens) => {
        const moment = momentOf(fiber)
        const prepared = commits.map(({ commit, execution, fence }, i) =>
          prepare(execution, commit, tokens[i] ?? "", moment, fence)
        )
        const written = prepared.flatMap((one) => (Either.isRight(one) ? [one.right.written] : []))
        return Effect.map(writeEach(backend, written), (outcomes) => {
          let next = 0
          return prepared.map((one) => {
            if (Either.isLeft(one)) return Exit.fail(one.left)
            const outcome = outcomes[next++] ?? Exit.fail(unanswered(one.right.before.id))
            return Exit.isSuccess(outcome) ? settle(one.right, outcome.value) : Exit.failCause(outcome.cause)
          })
        })
      })
    )

  return { commit, commitEach, save: (execution) => Effect.map(commit(execution), (committed) => committed.execution) }
}
