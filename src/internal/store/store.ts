import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { TimerOp, TraceEntry } from "../../Commit.js"
import type { Execution, ExecutionSummary } from "../../Execution.js"
import type {
  Encoded,
  EncodedExecution,
  EncodedSummary,
  ExecutionStore,
  Notice,
  Options
} from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import {
  StoreConflict,
  type StoreCorrupt,
  type StoreError,
  type StoreRejected,
  StoreUnavailable
} from "../../StoreError.js"
import * as cursor from "../codec/cursor.js"
import * as executionCodec from "../codec/execution.js"
import * as json from "../codec/json.js"
import * as reader from "../codec/reader.js"
import * as rows from "../codec/row.js"
import { traceStep } from "../codec/traceStep.js"
import * as traceContext from "../telemetry/traceContext.js"
import * as storeDeadLetters from "./deadLetters.js"
import { encodeCommit } from "./encodeCommit.js"
import { instrumented } from "./instrumented.js"
import * as storeLeases from "./leases.js"
import * as storeOutbox from "./outbox.js"
import { earliest, noticeOf } from "./outbox.js"
import * as storePending from "./pending.js"
import { defaultPage, maxPage } from "./pending.js"
import * as validate from "./validate.js"

const seconds: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

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

const decodeExecution = (
  operation: string,
  id: string,
  row: EncodedExecution
): Either.Either<Execution, StoreCorrupt> =>
  rows.decode({ operation, table: "executions", key: id }, () => {
    const execution = executionCodec.execution.decode(json.parse(rows.text(row.data, "data")), "")
    if (execution.id !== id) throw new reader.Invalid("id", `the row is another's: ${JSON.stringify(execution.id)}`)
    // A commit of it could never succeed: the swap compares the column.
    if (execution.version !== row.version) {
      throw new reader.Invalid("version", `${execution.version} is not the column's ${String(row.version)}`)
    }
    return execution
  })

const decodeSummary =
  (operation: string) =>
  (row: EncodedSummary): Either.Either<ExecutionSummary, StoreCorrupt> =>
    rows.decode({ operation, table: "executions", key: String(row.id) }, () => {
      if (row.parts === null) throw new reader.Invalid("data", "not a JSON object")
      const parts = reader.array((part) => part)(json.parse(rows.text(row.parts, "data")), "data")
      return executionCodec.summary(row.id, row.definitionId, row.version, parts)
    })

/** The failure of a read after a write that succeeded, as the failure of both. */
const afterWrite = ({ operation }: validate.Call, error: StoreError): StoreError => {
  if (error._tag !== "StoreUnavailable") return error
  const { cause, detail, reason } = error
  const why = cause === undefined ? { detail } : { detail, cause }
  return new StoreUnavailable({ operation, reason, outcome: "unknown", ...why })
}

/** @internal */
export const make = (encoded: Encoded, options: Options = {}): ExecutionStore => instrumented(bare(encoded, options))

const bare = (encoded: Encoded, options: Options): ExecutionStore => {
  const checks = validate.makeChecks(options.maxIdBytes ?? 1024)

  const checkIds = (
    call: validate.Call,
    ids: { readonly [path: string]: string }
  ): Effect.Effect<void, StoreRejected> => {
    for (const [path, id] of Object.entries(ids)) {
      const problem = checks.id(id)
      if (problem !== undefined) return Effect.fail(validate.rejected(call, path, problem))
    }
    return Effect.void
  }

  const checkWhole = (
    call: validate.Call,
    path: string,
    value: number,
    least: number,
    most = Number.MAX_SAFE_INTEGER
  ) => validate.refuse(call, path, validate.wholeNumber(value, least, most))

  const listeners = new Set<(notice: Notice) => void>()
  const notify = (notice: Notice): void => {
    for (const listener of listeners) listener(notice)
  }

  // Commits and loads are put together by hand: a generator costs as much as what it runs here.
  const commit: ExecutionStore["commit"] = (execution, commit = {}) =>
    Effect.flatMap(moment, ({ now, token, traceparent }) => {
      const after = stamp(execution, now)
      const call = { operation: "commit", executionId: execution.id }
      const encoding = encodeCommit(call, checks, execution, after, commit, token, { now, traceparent })
      if (Either.isLeft(encoding)) return Effect.fail(encoding.left)
      return Effect.flatMap(encoded.commit(encoding.right), (outcome) => {
        if (outcome._tag === "Conflict") {
          const { found } = outcome
          return Effect.fail(new StoreConflict({ executionId: execution.id, expected: execution.version, found }))
        }
        const committed = { execution: after, seqs: outcome.seqs }
        notify({
          committed: Option.some(committed),
          ...noticeOf(encoding.right),
          spawns: commit.spawns?.length ?? 0,
          nextTimer: armedFor(commit.timers ?? []),
          ...(commit.cause === undefined ? undefined : { cause: commit.cause })
        })
        return Effect.succeed(committed)
      })
    })

  const ack = (operation: string, seq: number, remove: (seq: number) => Effect.Effect<void, StoreError>) =>
    Effect.zipRight(checkWhole({ operation }, "seq", seq, 0), remove(seq))

  return {
    load: (id) =>
      Effect.zipRight(
        checkIds({ operation: "load", executionId: id }, { id }),
        Effect.flatMap(encoded.load(id), (row) =>
          Option.isNone(row) ? Effect.succeedNone : Either.map(decodeExecution("load", id, row.value), Option.some)
        )
      ),

    loadForEvent: (id, eventId) =>
      Effect.zipRight(
        validate.catching({ operation: "loadForEvent", executionId: id }, () => {
          validate.demand("id", checks.id(id))
          validate.demand("eventId", checks.eventId(eventId))
        }),
        Effect.flatMap(encoded.loadForEvent(id, eventId), (row) =>
          Option.isNone(row)
            ? Effect.succeed({ execution: Option.none(), processed: false })
            : Either.map(decodeExecution("loadForEvent", id, row.value), (execution) => ({
                execution: Option.some(execution),
                processed: row.value.processed
              }))
        )
      ),

    ...storePending.make(encoded, checks),
    ...storeDeadLetters.make(encoded, checks, notify),
    ...storeOutbox.make(encoded, checks, notify),
    ...storeLeases.make(encoded),

    commit,

    save: (execution) => Effect.map(commit(execution), (committed) => committed.execution),

    isProcessed: (id, eventId) =>
      Effect.gen(function* () {
        const call = { operation: "isProcessed", executionId: id }
        yield* checkIds(call, { id })
        yield* validate.refuse(call, "eventId", checks.eventId(eventId))
        return yield* encoded.isProcessed(id, eventId)
      }),

    listExecutions: (query = {}) =>
      Effect.gen(function* () {
        const call = { operation: "listExecutions" }
        const limit = query.limit ?? defaultPage
        yield* checkWhole(call, "limit", limit, 1, maxPage)
        if (query.definitionId !== undefined) yield* checkIds(call, { definitionId: query.definitionId })
        if (query.parentId !== undefined) yield* checkIds(call, { parentId: query.parentId })
        const status = query.status === undefined ? undefined : Array.from(new Set(query.status))
        for (const name of status ?? []) {
          if (executionCodec.statuses.includes(name)) continue
          return yield* validate.rejected(call, "status", `there is no status ${String(name)}`)
        }
        const after = query.cursor === undefined ? undefined : cursor.decode(query.cursor)
        if (query.cursor !== undefined && after === undefined) {
          return yield* validate.rejected(call, "cursor", "is not a cursor that a page gave")
        }
        const found =
          status?.length === 0
            ? []
            : yield* encoded.list({
                definitionId: query.definitionId,
                status,
                rootsOnly: query.rootsOnly ?? false,
                parentId: query.parentId,
                after,
                limit: limit + 1
              })
        const page = found.slice(0, limit)
        const { entries, corrupt } = rows.partition(page, decodeSummary(call.operation))
        const last = found.length > limit ? page.at(-1)?.id : undefined
        // What is no text comes behind all texts, where a page can end but not begin.
        const nextCursor = typeof last === "string" ? Option.some(cursor.encode(last)) : Option.none()
        return { items: entries, corrupt, nextCursor }
      }),

    ackOutbox: (seq) => ack("ackOutbox", seq, encoded.ackOutbox),

    ackSpawn: (seq) => ack("ackSpawn", seq, encoded.ackSpawn),

    isSpawnParent: (parentId) =>
      Effect.zipRight(
        checkIds({ operation: "isSpawnParent", executionId: parentId }, { parentId }),
        encoded.isSpawnParent(parentId)
      ),

    dropSpawns: (parentId) =>
      Effect.zipRight(
        checkIds({ operation: "dropSpawns", executionId: parentId }, { parentId }),
        encoded.dropSpawns(parentId)
      ),

    nextTimer: encoded.nextTimer,

    isArmed: (timer) =>
      Effect.gen(function* () {
        yield* validate.timer({ operation: "isArmed", executionId: timer.executionId }, checks, timer, "")
        return yield* encoded.isArmed(timer)
      }),

    deleteTimer: (timer) =>
      Effect.gen(function* () {
        const call = { operation: "deleteTimer", executionId: timer.executionId }
        yield* validate.timer(call, checks, timer, "")
        return yield* encoded.deleteTimer(timer)
      }),

    appendTrace: (executionId, step) =>
      Effect.gen(function* () {
        const call = { operation: "appendTrace", executionId }
        yield* checkIds(call, { executionId })
        return yield* encoded.appendTrace(executionId, yield* validate.encoded(call, reader.toText(traceStep, step)))
      }),

    readTrace: (executionId) =>
      Effect.gen(function* () {
        yield* checkIds({ operation: "readTrace", executionId }, { executionId })
        const steps = yield* encoded.readTrace(executionId)
        return rows.partition(steps, (row) =>
          rows.decode(
            { operation: "readTrace", table: "trace", key: `${executionId} ${row.index}` },
            (): TraceEntry => ({
              ...traceStep.decode(json.parsePython(rows.text(row.entry, "entry")), "entry"),
              index: row.index
            })
          )
        )
      }),

    purge: (id, expectedVersion) =>
      Effect.gen(function* () {
        const call = { operation: "purge", executionId: id }
        yield* checkIds(call, { id })
        yield* checkWhole(call, "expectedVersion", expectedVersion, 0)
        return yield* encoded.purge(id, expectedVersion)
      }),

    idsWithPrefix: (prefix) =>
      Effect.zipRight(
        validate.refuse({ operation: "idsWithPrefix" }, "prefix", checks.text(prefix)),
        encoded.idsWithPrefix(prefix)
      ),

    markProcessed: Effect.flatMap(seconds, encoded.markProcessed),

    pruneProcessed: (before, { after, limit = defaultPage } = {}) =>
      Effect.gen(function* () {
        const call = { operation: "pruneProcessed" }
        yield* validate.refuse(call, "before", validate.finite(before))
        yield* checkWhole(call, "limit", limit, 1, maxPage)
        if (after !== undefined) yield* checkWhole(call, "after", after, 0)
        const { next, removed } = yield* encoded.pruneProcessed(before, after, limit)
        return { removed, next: Option.fromNullable(next) }
      }),

    publishDefinition: (definition) =>
      Effect.gen(function* () {
        const call = { operation: "publishDefinition" }
        const { definitionId, version } = definition
        yield* checkIds(call, { definitionId })
        yield* checkWhole(call, "version", version, 0)
        yield* validate.refuse(call, "digest", validate.wellFormed(definition.digest))
        yield* validate.refuse(call, "source", validate.wellFormed(definition.source))
        if (definition.publishedAt !== null) {
          yield* validate.refuse(call, "publishedAt", validate.finite(definition.publishedAt))
        }
        yield* encoded.publishDefinition(definition)
        const stored = Effect.mapError(encoded.loadDefinition(definitionId, version), (error) =>
          afterWrite(call, error)
        )
        return Option.getOrElse(yield* stored, () => definition)
      }),

    loadDefinition: (definitionId, version) =>
      Effect.gen(function* () {
        const call = { operation: "loadDefinition" }
        yield* checkIds(call, { definitionId })
        if (version !== undefined) yield* checkWhole(call, "version", version, 0)
        return yield* encoded.loadDefinition(definitionId, version)
      }),

    listen: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      )
  }
}
