import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { TraceEntry } from "../../Commit.js"
import type { EncodedExecution, EncodedFilter, EncodedLoaded, EncodedSummary } from "../../EncodedStore.js"
import type { Execution, ExecutionSummary, Status } from "../../Execution.js"
import type { ExecutionFilter, ExecutionStore, Loaded, LoadQuery } from "../../ExecutionStore.js"
import { type StoreCorrupt, type StoreError, type StoreRejected, StoreUnavailable } from "../../StoreError.js"
import * as cursor from "../codec/cursor.js"
import * as executionCodec from "../codec/execution.js"
import * as json from "../codec/json.js"
import * as reader from "../codec/reader.js"
import * as rows from "../codec/row.js"
import { traceStep } from "../codec/traceStep.js"
import * as validate from "../codec/validate.js"
import { goesOn } from "../executionCache/executionCache.js"
import { type Backend, checkIds, checkWhole, defaultPage, maxPage, quiet } from "./backend.js"

/** Reads the row of an execution; throws. */
export const executionOf = (id: string, row: EncodedExecution): Execution =>
  executionOfRow(id, json.parse(rows.text(row.data, "data")), row.version)

/** The same where its text is parsed already. */
const executionOfRow = (id: string, row: unknown, version: unknown): Execution => {
  const execution = executionCodec.execution.decode(row, "")
  if (execution.id !== id) throw new reader.Invalid("id", `the row is another's: ${JSON.stringify(execution.id)}`)
  // A commit of it could never succeed: the swap compares the column.
  if (execution.version !== version) {
    throw new reader.Invalid("version", `${execution.version} is not the column's ${String(version)}`)
  }
  return execution
}

const decodeExecution = (
  operation: string,
  id: string,
  row: EncodedExecution
): Either.Either<Execution, StoreCorrupt> =>
  rows.decode({ operation, table: "executions", key: id }, () => executionOf(id, row))

/** Throws for an id that other programs may store and that no operation takes but purging. */
const demandId = ({ checks }: Backend, { id, version }: EncodedSummary): void => {
  const problem = typeof id === "string" ? checks.id(id) : undefined
  if (problem !== undefined) {
    throw new reader.Invalid("id", `${problem}; it can be purged, at version ${String(version)}`)
  }
}

const decodeSummary = (backend: Backend, row: EncodedSummary): Either.Either<ExecutionSummary, StoreCorrupt> =>
  rows.decode({ operation: "listExecutions", table: "executions", key: String(row.id) }, () => {
    demandId(backend, row)
    if (row.parts === null) throw new reader.Invalid("data", "not a JSON object")
    const parts = reader.array((part) => part)(json.parseRounded(rows.text(row.parts, "data")), "data")
    return executionCodec.summary(row.id, row.definitionId, row.version, parts)
  })

const decodeStep =
  (executionId: string) =>
  (row: { readonly index: unknown; readonly entry: unknown }): Either.Either<TraceEntry, StoreCorrupt> =>
    rows.decode({ operation: "readTrace", table: "trace", key: `${executionId} ${String(row.index)}` }, () => ({
      ...traceStep.decode(json.parsePython(rows.text(row.entry, "entry"), "entry"), "entry"),
      index: reader.integerColumn(row.index, "idx")
    }))

const statusesOf = (
  call: validate.Call,
  { status }: ExecutionFilter
): Either.Either<ReadonlyArray<Status> | undefined, StoreRejected> => {
  if (status === undefined) return Either.right(undefined)
  const unknown = status.find((name) => !executionCodec.statuses.includes(name))
  return unknown === undefined
    ? Either.right(Array.from(new Set(status)))
    : Either.left(validate.rejected(call, "status", `there is no status ${reader.show(unknown)}`))
}

/** What a filter selects, checked; nothing where it can select nothing. */
const filterOf = (
  backend: Backend,
  call: validate.Call,
  query: ExecutionFilter
): Effect.Effect<EncodedFilter | undefined, StoreRejected> =>
  Effect.gen(function* () {
    const { attributes = {}, definitionId, definitionVersion, idPrefix = "", parentId, rootsOnly = false } = query
    if (definitionId !== undefined) yield* checkIds(backend, call, { definitionId })
    if (definitionVersion !== undefined) {
      yield* checkWhole(call, "definitionVersion", definitionVersion, 1)
      if (definitionId === undefined) {
        return yield* validate.rejected(call, "definitionVersion", "is of a definition: give its `definitionId`, too")
      }
    }
    if (parentId !== undefined) yield* checkIds(backend, call, { parentId })
    yield* validate.refuse(call, "idPrefix", backend.checks.text(idPrefix))
    const status = yield* statusesOf(call, query)
    const sought = yield* validate.catching(call, () => validate.attributes(backend.checks, attributes))
    const parts = { definitionId, definitionVersion, status, rootsOnly, parentId, attributes: sought }
    return status?.length === 0 ? undefined : { ...parts, idPrefix: idPrefix === "" ? undefined : idPrefix }
  })

const countExecutions =
  (backend: Backend): ExecutionStore["countExecutions"] =>
  (query = {}) =>
    Effect.flatMap(filterOf(backend, { operation: "countExecutions" }, query), (filter) =>
      filter === undefined ? Effect.succeed(0) : backend.encoded.count(filter)
    )

/** What executions are found by. */
export const makeAttributes = (backend: Backend): ExecutionStore["attributes"] => ({
  of: (executionId) =>
    Effect.gen(function* () {
      const operation = "attributesOf"
      yield* checkIds(backend, { operation, executionId }, { executionId })
      const found = yield* backend.encoded.attributesOf(executionId)
      const entries = yield* Either.all(
        found.map(({ name, value }) =>
          rows.decode({ operation, table: "holdfast_attributes", key: `${executionId} ${String(name)}` }, () =>
            rows.attribute({ name, value })
          )
        )
      )
      return Object.fromEntries(entries)
    }),

  set: (executionId, expectedVersion, attributes) =>
    Effect.gen(function* () {
      const call = { operation: "setAttributes", executionId }
      yield* checkIds(backend, call, { executionId })
      yield* checkWhole(call, "expectedVersion", expectedVersion, 1)
      const written = yield* validate.catching(call, () => validate.attributes(backend.checks, attributes))
      return yield* backend.encoded.setAttributes(executionId, expectedVersion, written)
    })
})

const listExecutions =
  (backend: Backend): ExecutionStore["listExecutions"] =>
  (query = {}) =>
    Effect.gen(function* () {
      const call = { operation: "listExecutions" }
      const limit = query.limit ?? defaultPage
      yield* checkWhole(call, "limit", limit, 1, maxPage)
      const filter = yield* filterOf(backend, call, query)
      const after = query.cursor === undefined ? undefined : cursor.decode(query.cursor)
      if (query.cursor !== undefined && after === undefined) {
        return yield* validate.rejected(call, "cursor", "is not a cursor that a page gave")
      }
      const found = filter === undefined ? [] : yield* backend.encoded.list({ ...filter, after, limit: limit + 1 })
      const page = found.slice(0, limit)
      const { corrupt, entries } = rows.partition(page, (row) => decodeSummary(backend, row))
      const last = found.length > limit ? page.at(-1)?.id : undefined
      // What is no text comes behind all texts, where a page can end but not begin.
      const nextCursor = typeof last === "string" ? Option.some(cursor.encode(last)) : Option.none()
      return { items: entries, corrupt, nextCursor }
    })

const notLoaded: Loaded = { execution: Option.none(), processed: false }

const checkForEvent = ({ checks }: Backend, id: string, eventId: string): Either.Either<void, StoreRejected> =>
  validate.catching({ operation: "loadForEvent", executionId: id }, () => {
    validate.demand("id", checks.id(id))
    validate.demand("eventId", checks.eventId(eventId))
  })

const checkQuery = (backend: Backend, { eventId, id, timer }: LoadQuery): Either.Either<void, StoreRejected> => {
  const checked = checkForEvent(backend, id, eventId)
  if (timer === undefined || Either.isLeft(checked)) return checked
  const call = { operation: "loadForEvent", executionId: id }
  return validate.timer(call, backend.checks, { ...timer, executionId: id }, "timer")
}

const loadedForEvent = (id: string, row: Option.Option<EncodedLoaded>): Either.Either<Loaded, StoreCorrupt> =>
  Option.isNone(row)
    ? Either.right(notLoaded)
    : Either.map(decodeExecution("loadForEvent", id, row.value), (execution) => ({
        execution: Option.some(execution),
        processed: row.value.processed,
        armed: row.value.armed
      }))

const loadForEvent =
  (backend: Backend): ExecutionStore["loadForEvent"] =>
  (id, eventId) =>
    Effect.zipRight(
      checkForEvent(backend, id, eventId),
      Effect.flatMap(backend.encoded.loadForEvent(id, eventId), (row) => loadedForEvent(id, row))
    )

/** What befell several loads at once, as one of them must see it. */
const attributed = ({ cause, detail, outcome, reason }: StoreUnavailable, executionId: string): StoreUnavailable =>
  new StoreUnavailable({ operation: "loadForEvent", executionId, reason, outcome, detail, cause })

const isTimerUnknown = ({ armed }: EncodedLoaded): boolean => armed === undefined

/** Loads by a query of its own, and asks for the timer afterwards: a commit that cancels it later makes that which is loaded too old. */
const loadByItself =
  (backend: Backend) =>
  (query: LoadQuery): Effect.Effect<Loaded, StoreError> => {
    const { eventId, id, timer } = query
    const loaded = Effect.zipRight(checkQuery(backend, query), loadForEvent(backend)(id, eventId))
    if (timer === undefined) return loaded
    return Effect.flatMap(loaded, (loaded) =>
      Option.isNone(loaded.execution)
        ? Effect.succeed(loaded)
        : Effect.map(backend.encoded.isArmed({ ...timer, executionId: id }), (armed) => ({ ...loaded, armed }))
    )
  }

/** Loads several at once; where that cannot be for what one of them is, each by itself. */
const loadForEvents = (backend: Backend): ExecutionStore["loadForEvents"] => {
  const { loadForEvents } = backend.encoded
  const single = loadByItself(backend)
  return (queries) => {
    const each = () => Effect.forEach(queries, (query) => Effect.exit(single(query)), { concurrency: "unbounded" })
    if (loadForEvents === undefined) return each()
    const valid = queries.every((query) => Either.isRight(checkQuery(backend, query)))
    if (!valid) return each()
    return Effect.matchEffect(loadForEvents(queries), {
      onFailure: (error) =>
        error._tag === "StoreUnavailable"
          ? Effect.succeed(queries.map(({ id }) => Exit.fail(attributed(error, id))))
          : each(),
      onSuccess: (rows) => {
        const knowsAll = queries.every(
          ({ timer }, i) => timer === undefined || !Option.exists(rows[i] ?? Option.none(), isTimerUnknown)
        )
        return knowsAll
          ? Effect.succeed(queries.map(({ id }, i) => Exit.fromEither(loadedForEvent(id, rows[i] ?? Option.none()))))
          : each()
      }
    })
  }
}

/** What is remembered of an execution, as a value of its own. */
const recall =
  ({ cache }: Backend): ExecutionStore["recall"] =>
  (id, fence) => {
    const row = cache?.get(id, fence)
    if (row === undefined) return Option.none()
    const { token, version } = row
    const execution = rows.decode({ operation: "recall", table: "executions", key: id }, () =>
      executionOfRow(id, row.row(), version)
    )
    return Option.filterMap(Either.getRight(execution), (execution) =>
      goesOn(execution) ? Option.some({ execution, token }) : Option.none()
    )
  }

/** The executions and their traces, except for committing them. */
export const make = (
  backend: Backend
): Pick<
  ExecutionStore,
  | "load"
  | "loadForEvent"
  | "loadForEvents"
  | "recall"
  | "listExecutions"
  | "countExecutions"
  | "appendTrace"
  | "readTrace"
  | "purge"
  | "idsWithPrefix"
> => {
  const { cache, checks, encoded, notify } = backend

  return {
    load: (id) =>
      Effect.zipRight(
        checkIds(backend, { operation: "load", executionId: id }, { id }),
        Effect.flatMap(encoded.load(id), (row) =>
          Option.isNone(row) ? Effect.succeedNone : Either.map(decodeExecution("load", id, row.value), Option.some)
        )
      ),

    loadForEvent: loadForEvent(backend),

    loadForEvents: loadForEvents(backend),

    recall: recall(backend),

    listExecutions: listExecutions(backend),

    countExecutions: countExecutions(backend),

    appendTrace: (executionId, step) =>
      Effect.gen(function* () {
        const call = { operation: "appendTrace", executionId }
        yield* checkIds(backend, call, { executionId })
        const { text } = yield* validate.encoded(call, reader.toText(traceStep, step, "", checks.limits.commit))
        return yield* encoded.appendTrace(executionId, text)
      }),

    readTrace: (executionId) =>
      Effect.zipRight(
        checkIds(backend, { operation: "readTrace", executionId }, { executionId }),
        Effect.map(encoded.readTrace(executionId), (steps) => rows.partition(steps, decodeStep(executionId)))
      ),

    purge: (id, expectedVersion) =>
      Effect.gen(function* () {
        const call = { operation: "purge", executionId: id }
        // Another program may have stored an id that is none: this is how it goes.
        yield* validate.refuse(call, "id", validate.wellFormed(id))
        yield* checkWhole(call, "expectedVersion", expectedVersion, 0)
        cache?.forget(id)
        const purged = yield* encoded.purge(id, expectedVersion)
        if (purged) notify({ ...quiet, purged: id })
        return purged
      }),

    idsWithPrefix: (prefix) =>
      Effect.zipRight(
        validate.refuse({ operation: "idsWithPrefix" }, "prefix", checks.text(prefix)),
        encoded.idsWithPrefix(prefix)
      )
  }
}
