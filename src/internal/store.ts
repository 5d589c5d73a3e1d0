import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { OutboxEntry, SpawnEntry, TimerOp, TraceEntry } from "../Commit.js"
import type { Execution, ExecutionSummary } from "../Execution.js"
import type {
  Encoded,
  EncodedExecution,
  EncodedSummary,
  ExecutionStore,
  Notice,
  Options,
  Pending,
  PendingQuery
} from "../ExecutionStore.js"
import * as Ids from "../Ids.js"
import { StoreConflict, StoreCorrupt, type StoreError, type StoreRejected, StoreUnavailable } from "../StoreError.js"
import * as codec from "./codec.js"
import { traceStep } from "./commitCodec.js"
import * as cursors from "./cursor.js"
import { encodeCommit, encodeEmits } from "./encodeCommit.js"
import { event } from "./eventCodec.js"
import * as executionCodec from "./executionCodec.js"
import * as input from "./input.js"
import * as json from "./json.js"

const maxPage = 1000
const defaultPage = 100

const seconds: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

const stamp = (execution: Execution, now: number): Execution => ({
  ...execution,
  version: execution.version + 1,
  createdAt: execution.createdAt ?? now,
  updatedAt: now,
  finishedAt: execution.status === "DONE" || execution.status === "CANCELLED" ? (execution.finishedAt ?? now) : null
})

const earliest = (ops: ReadonlyArray<TimerOp>): Option.Option<number> =>
  ops.reduce(
    (least, op) =>
      op._tag === "Cancel" || Option.exists(least, (time) => time <= op.fireAt) ? least : Option.some(op.fireAt),
    Option.none<number>()
  )

/** Decodes one stored row; what is thrown or refused on the way becomes the error that names the row. */
const decodeRow = <A>(operation: string, table: string, key: string, decode: () => A): Either.Either<A, StoreCorrupt> =>
  Either.try({
    try: decode,
    catch: (cause) =>
      new StoreCorrupt({
        operation,
        table,
        key,
        problem:
          cause instanceof codec.Invalid
            ? codec.describe(cause)
            : `not JSON: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })

const text = (u: unknown, column: string): string => codec.string(u, column)

const freeData = (u: unknown, column: string): Execution["context"] =>
  codec.object(json.parsePython(text(u, column)), column)

/** Sorts the rows of a page into those that decode and those that do not. */
const partition = <Row, A>(rows: ReadonlyArray<Row>, decode: (row: Row) => Either.Either<A, StoreCorrupt>) => {
  const entries: Array<A> = []
  const corrupt: Array<StoreCorrupt> = []
  for (const row of rows) {
    const decoded = decode(row)
    if (Either.isRight(decoded)) entries.push(decoded.right)
    else corrupt.push(decoded.left)
  }
  return { entries, corrupt }
}

const decodeExecution = (
  operation: string,
  id: string,
  row: EncodedExecution
): Either.Either<Execution, StoreCorrupt> =>
  decodeRow(operation, "executions", id, () => {
    const execution = executionCodec.execution.decode(json.parse(text(row.data, "data")), "")
    if (execution.id !== id) throw new codec.Invalid("id", `the row is another's: ${JSON.stringify(execution.id)}`)
    // A commit of it could never succeed: the swap compares the column.
    if (execution.version !== row.version) {
      throw new codec.Invalid("version", `${execution.version} is not the column's ${String(row.version)}`)
    }
    return execution
  })

const decodeSummary =
  (operation: string) =>
  (row: EncodedSummary): Either.Either<ExecutionSummary, StoreCorrupt> =>
    decodeRow(operation, "executions", String(row.id), () => {
      if (row.parts === null) throw new codec.Invalid("data", "not a JSON object")
      const parts = codec.array((part) => part)(json.parse(text(row.parts, "data")), "data")
      return executionCodec.summary(row.id, row.definitionId, row.version, parts)
    })

/** The failure of a read after a write that succeeded, as the failure of both. */
const afterWrite = ({ operation }: input.Call, error: StoreError): StoreError => {
  if (error._tag !== "StoreUnavailable") return error
  const { cause, detail, reason } = error
  const why = cause === undefined ? { detail } : { detail, cause }
  return new StoreUnavailable({ operation, reason, outcome: "unknown", ...why })
}

/** @internal */
export const make = (encoded: Encoded, options: Options = {}): ExecutionStore => {
  const checks = input.makeChecks(options.maxIdBytes ?? 1024)

  const checkIds = (call: input.Call, ids: { readonly [path: string]: string }): Effect.Effect<void, StoreRejected> => {
    for (const [path, id] of Object.entries(ids)) {
      const problem = checks.id(id)
      if (problem !== undefined) return Effect.fail(input.rejected(call, path, problem))
    }
    return Effect.void
  }

  const checkWhole = (call: input.Call, path: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER) =>
    input.refuse(call, path, input.wholeNumber(value, least, most))

  const listeners = new Set<(notice: Notice) => void>()
  const notify = (notice: Notice): void => {
    for (const listener of listeners) listener(notice)
  }

  const commit: ExecutionStore["commit"] = (execution, commit = {}) =>
    Effect.gen(function* () {
      const after = stamp(execution, yield* seconds)
      const call = { operation: "commit", executionId: execution.id }
      const outcome = yield* encoded.commit(
        yield* encodeCommit(call, checks, execution, after, commit, yield* Ids.next)
      )
      if (outcome._tag === "Conflict") {
        return yield* new StoreConflict({
          executionId: execution.id,
          expected: execution.version,
          found: outcome.found
        })
      }
      const committed = { execution: after, seqs: outcome.seqs }
      notify({
        committed: Option.some(committed),
        emits: commit.emits?.length ?? 0,
        spawns: commit.spawns?.length ?? 0,
        nextTimer: earliest(commit.timers ?? [])
      })
      return committed
    })

  // One row more is read than asked for: it tells whether there is a next page.
  const pending = <Row extends { readonly seq: number }, A>(
    operation: string,
    query: PendingQuery,
    read: (after: number | undefined, limit: number) => Effect.Effect<ReadonlyArray<Row>, StoreError>,
    decode: (row: Row) => Either.Either<A, StoreCorrupt>
  ): Effect.Effect<Pending<A>, StoreError> =>
    Effect.gen(function* () {
      const limit = query.limit ?? defaultPage
      yield* checkWhole({ operation }, "limit", limit, 1, maxPage)
      if (query.after !== undefined) yield* checkWhole({ operation }, "after", query.after, 0)
      const rows = yield* read(query.after, limit + 1)
      const page = rows.slice(0, limit)
      const next = rows.length > limit ? Option.fromNullable(page.at(-1)?.seq) : Option.none()
      return { ...partition(page, decode), next }
    })

  const ack = (operation: string, seq: number, remove: (seq: number) => Effect.Effect<void, StoreError>) =>
    Effect.zipRight(checkWhole({ operation }, "seq", seq, 0), remove(seq))

  return {
    load: (id) =>
      Effect.gen(function* () {
        yield* checkIds({ operation: "load", executionId: id }, { id })
        const row = yield* encoded.load(id)
        return Option.isNone(row) ? Option.none() : Option.some(yield* decodeExecution("load", id, row.value))
      }),

    loadForEvent: (id, eventId) =>
      Effect.gen(function* () {
        yield* checkIds({ operation: "loadForEvent", executionId: id }, { id, eventId })
        const row = yield* encoded.loadForEvent(id, eventId)
        if (Option.isNone(row)) return { execution: Option.none(), processed: false }
        const execution = yield* decodeExecution("loadForEvent", id, row.value)
        return { execution: Option.some(execution), processed: row.value.processed }
      }),

    commit,

    save: (execution) => Effect.map(commit(execution), (committed) => committed.execution),

    isProcessed: (id, eventId) =>
      Effect.zipRight(
        checkIds({ operation: "isProcessed", executionId: id }, { id, eventId }),
        encoded.isProcessed(id, eventId)
      ),

    listExecutions: (query = {}) =>
      Effect.gen(function* () {
        const call = { operation: "listExecutions" }
        const limit = query.limit ?? defaultPage
        yield* checkWhole(call, "limit", limit, 1, maxPage)
        if (query.definitionId !== undefined) yield* checkIds(call, { definitionId: query.definitionId })
        const status = query.status === undefined ? undefined : Array.from(new Set(query.status))
        for (const name of status ?? []) {
          if (executionCodec.statuses.includes(name)) continue
          return yield* input.rejected(call, "status", `there is no status ${String(name)}`)
        }
        const after = query.cursor === undefined ? undefined : cursors.decode(query.cursor)
        if (query.cursor !== undefined && after === undefined) {
          return yield* input.rejected(call, "cursor", "is not a cursor that a page gave")
        }
        const rows =
          status?.length === 0
            ? []
            : yield* encoded.list({
                definitionId: query.definitionId,
                status,
                rootsOnly: query.rootsOnly ?? false,
                after,
                limit: limit + 1
              })
        const page = rows.slice(0, limit)
        const { entries, corrupt } = partition(page, decodeSummary(call.operation))
        const last = rows.length > limit ? page.at(-1)?.id : undefined
        // What is no text comes behind all texts, where a page can end but not begin.
        const nextCursor = typeof last === "string" ? Option.some(cursors.encode(last)) : Option.none()
        return { items: entries, corrupt, nextCursor }
      }),

    enqueue: (emits) =>
      Effect.gen(function* () {
        const encodedEmits = yield* encodeEmits({ operation: "enqueue" }, checks, emits)
        if (encodedEmits.length === 0) return []
        const seqs = yield* encoded.enqueue(encodedEmits)
        notify({ committed: Option.none(), emits: seqs.length, spawns: 0, nextTimer: Option.none() })
        return seqs
      }),

    pendingOutbox: (query = {}) =>
      pending("pendingOutbox", query, encoded.pendingOutbox, (row) =>
        decodeRow(
          "pendingOutbox",
          "outbox",
          String(row.seq),
          (): OutboxEntry => ({
            seq: row.seq,
            targetId: codec.nullable(codec.string)(row.targetId, "target_id"),
            event: event.decode(json.parse(text(row.event, "event")), "event")
          })
        )
      ),

    ackOutbox: (seq) => ack("ackOutbox", seq, encoded.ackOutbox),

    pendingSpawns: (query = {}) =>
      pending("pendingSpawns", query, encoded.pendingSpawns, (row) =>
        decodeRow(
          "pendingSpawns",
          "spawns",
          String(row.seq),
          (): SpawnEntry => ({
            seq: row.seq,
            parentId: text(row.parentId, "parent_id"),
            childId: text(row.childId, "child_id"),
            rootPath: text(row.rootPath, "root_path"),
            context: freeData(row.context, "context")
          })
        )
      ),

    ackSpawn: (seq) => ack("ackSpawn", seq, encoded.ackSpawn),

    dueTimers: (now, query = {}) =>
      Effect.gen(function* () {
        const call = { operation: "dueTimers" }
        const limit = query.limit ?? defaultPage
        yield* checkWhole(call, "limit", limit, 1, maxPage)
        yield* input.refuse(call, "now", input.finite(now))
        if (query.after !== undefined) yield* input.timer(call, checks, query.after, "after")
        return yield* encoded.dueTimers(now, query.after, limit)
      }),

    nextTimer: encoded.nextTimer,

    isArmed: (timer) =>
      Effect.gen(function* () {
        yield* input.timer({ operation: "isArmed", executionId: timer.executionId }, checks, timer, "")
        return yield* encoded.isArmed(timer)
      }),

    deleteTimer: (timer) =>
      Effect.gen(function* () {
        const call = { operation: "deleteTimer", executionId: timer.executionId }
        yield* input.timer(call, checks, timer, "")
        return yield* encoded.deleteTimer(timer)
      }),

    appendTrace: (executionId, step) =>
      Effect.gen(function* () {
        const call = { operation: "appendTrace", executionId }
        yield* checkIds(call, { executionId })
        return yield* encoded.appendTrace(executionId, yield* input.encoded(call, codec.toText(traceStep, step)))
      }),

    readTrace: (executionId) =>
      Effect.gen(function* () {
        yield* checkIds({ operation: "readTrace", executionId }, { executionId })
        const rows = yield* encoded.readTrace(executionId)
        return partition(rows, (row) =>
          decodeRow(
            "readTrace",
            "trace",
            `${executionId} ${row.index}`,
            (): TraceEntry => ({
              ...traceStep.decode(json.parsePython(text(row.entry, "entry")), "entry"),
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
        input.refuse({ operation: "idsWithPrefix" }, "prefix", checks.text(prefix)),
        encoded.idsWithPrefix(prefix)
      ),

    publishDefinition: (definition) =>
      Effect.gen(function* () {
        const call = { operation: "publishDefinition" }
        const { definitionId, version } = definition
        yield* checkIds(call, { definitionId })
        yield* checkWhole(call, "version", version, 0)
        yield* input.refuse(call, "digest", input.wellFormed(definition.digest))
        yield* input.refuse(call, "source", input.wellFormed(definition.source))
        if (definition.publishedAt !== null) {
          yield* input.refuse(call, "publishedAt", input.finite(definition.publishedAt))
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
