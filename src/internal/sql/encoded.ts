import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Timer } from "../../Commit.js"
import type { Encoded } from "../../EncodedStore.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { PublishedDefinition } from "../../PublishedDefinition.js"
import type { Call, Options, Param, SqlDriver, Statement } from "../../SqlDriver.js"
import { StoreCorrupt, type StoreError, StoreRejected, type StoreUnavailable } from "../../StoreError.js"
import * as reader from "../codec/reader.js"
import { prefixEnd } from "../codec/utf8Order.js"
import { wholeNumber } from "../codec/validate.js"
import { make as makeStore } from "../store/store.js"
import * as duration from "../util/duration.js"
import * as ambiguousWrite from "./ambiguousWrite.js"
import { make as makeCommit } from "./commit.js"
import * as sqlDeadLetters from "./deadLetters.js"
import * as sqlDelayed from "./delayed.js"
import { make as makeOnce } from "./idempotentWrite.js"
import * as sqlLeases from "./leases.js"
import * as pages from "./pages.js"
import { checkPrefix, ddl, schemaVersion } from "./schema.js"
import { makeSql, type Sql } from "./statements.js"

type Row = ReadonlyArray<unknown>

/** Decodes the columns of a row that are keys and numbers; what is wrong with them names the row. */
const decodeRow = <A>(call: Call, table: string, row: Row, decode: (row: Row) => A): Effect.Effect<A, StoreCorrupt> =>
  Effect.try({
    try: () => decode(row),
    catch: (cause) =>
      new StoreCorrupt({
        operation: call.operation,
        table,
        key: row.slice(0, 2).map(String).join(" "),
        problem: cause instanceof reader.Invalid ? reader.describe(cause) : String(cause)
      })
  })

const timer = (row: Row): Timer => ({
  executionId: reader.string(row[0], "execution_id"),
  path: reader.string(row[1], "path"),
  fireAt: reader.finite(row[2], "fire_at")
})

const definition = (row: Row): PublishedDefinition => ({
  definitionId: reader.string(row[0], "definition_id"),
  version: reader.integer(row[1], "version"),
  digest: reader.string(row[2], "digest"),
  source: reader.string(row[3], "source"),
  publishedAt: reader.nullable(reader.finite)(row[4], "published_at")
})

/**
 * Runs statements that do the same when they are applied again, until they certainly were. Gives how many rows they changed, as far as the
 * last answer tells.
 */
const repeat = (
  driver: SqlDriver,
  call: Call,
  statements: ReadonlyArray<Statement>,
  budget: Duration.Duration
): Effect.Effect<number, StoreUnavailable | StoreRejected> => {
  const send = Effect.map(driver.transaction(call, statements), (results) =>
    Option.some(results.reduce((sum, { changes }) => sum + changes, 0))
  )
  return Effect.map(ambiguousWrite.run({ send, look: Effect.succeed(ambiguousWrite.open) }, budget), ({ outcome }) =>
    Option.getOrElse(outcome, () => 0)
  )
}

/** A page of a numbered table, whose text takes a seq and a limit. */
const numbered = (sql: string, after = 0): pages.Page => ({
  statement: (row, limit) => ({ sql, params: [row === undefined ? after : Number(row[0]), limit] })
})

const makeEncoded = (driver: SqlDriver, sql: Sql, traceMax: number, budget: Duration.Duration): Encoded => {
  const once = makeOnce(driver, sql, budget)
  const readPage = pages.make(driver)
  const query = (call: Call, sql: string, ...params: ReadonlyArray<Param>) => driver.query(call, { sql, params })
  const first = (call: Call, sql: string, ...params: ReadonlyArray<Param>) =>
    Effect.map(pages.whole(query(call, sql, ...params)), (rows) => Option.fromNullable(rows[0]))
  /** A write that does the same when it is applied again. */
  const write = (call: Call, sql: string, ...params: ReadonlyArray<Param>) =>
    Effect.asVoid(repeat(driver, call, [{ sql, params }], budget))

  return {
    load: (id) =>
      Effect.map(
        first({ operation: "load", executionId: id }, sql.load, id),
        Option.map((row) => ({ data: row[0], version: row[1] }))
      ),

    loadForEvent: (id, eventId) =>
      Effect.map(
        first({ operation: "loadForEvent", executionId: id }, sql.loadForEvent, id, eventId, id),
        Option.map((row) => ({ data: row[0], version: row[1], processed: row[2] === 1 }))
      ),

    commit: makeCommit(driver, sql, traceMax, budget),

    isProcessed: (id, eventId) =>
      Effect.map(first({ operation: "isProcessed", executionId: id }, sql.isProcessed, id, eventId), Option.isSome),

    list: ({ after = "", definitionId, limit, parentId, rootsOnly, status = [] }) => {
      const statement = (row: Row | undefined, limit: number) =>
        sql.list({
          definitionId,
          status,
          rootsOnly,
          parentId,
          after: row === undefined ? after : String(row[0]),
          limit
        })
      // A listing may be a little old; whoever asks for children decides by them what becomes of a tree.
      const operation = parentId === undefined ? "listExecutions" : "listChildren"
      return Effect.map(readPage({ operation }, limit, { statement }), (rows) =>
        rows.map(([id, definitionId, version, parts]) => ({ id, definitionId, version, parts }))
      )
    },

    ...sqlDelayed.make(driver, sql, once),

    ...sqlLeases.make(driver, sql, (call, statements) => repeat(driver, call, statements, budget)),

    pendingOutbox: (after, limit) =>
      Effect.map(readPage({ operation: "pendingOutbox" }, limit, numbered(sql.pendingOutbox, after)), (rows) =>
        rows.map(([seq, targetId, event, ...failure]) => ({
          seq: Number(seq),
          targetId,
          event,
          failed: sqlDeadLetters.failed(failure)
        }))
      ),

    ackOutbox: (seq) => write({ operation: "ackOutbox" }, sql.ackOutbox, seq),

    pendingSpawns: (after, limit) =>
      Effect.map(readPage({ operation: "pendingSpawns" }, limit, numbered(sql.pendingSpawns, after)), (rows) =>
        rows.map(([seq, parentId, childId, rootPath, context, ...failure]) => ({
          seq: Number(seq),
          parentId,
          childId,
          rootPath,
          context,
          failed: sqlDeadLetters.failed(failure)
        }))
      ),

    ackSpawn: (seq) => write({ operation: "ackSpawn" }, sql.ackSpawn, seq),

    isSpawnParent: (parentId) =>
      Effect.map(
        first({ operation: "isSpawnParent", executionId: parentId }, sql.isSpawnParent, parentId),
        Option.isSome
      ),

    dropSpawns: (parentId) =>
      Effect.asVoid(
        once({ operation: "dropSpawns", executionId: parentId }, (key) => ({
          main: { sql: sql.dropSpawns, params: [parentId, key] }
        }))
      ),

    dueTimers: (now, after, limit) => {
      const behind = after === undefined ? undefined : [after.executionId, after.path, after.fireAt]
      const statement = (row: Row | undefined, limit: number): Statement => {
        const [executionId, path, fireAt] = row ?? behind ?? []
        return executionId === undefined
          ? { sql: sql.dueTimers, params: [now, limit, limit] }
          : { sql: sql.dueTimersAfter, params: [now, Number(fireAt), String(executionId), String(path), limit] }
      }
      const page = { statement, counts: sqlDeadLetters.isTimer }
      return Effect.map(readPage({ operation: "dueTimers" }, limit, page), sqlDeadLetters.dueTimers)
    },

    nextTimer: Effect.gen(function* () {
      const call = { operation: "nextTimer" }
      const row = yield* first(call, sql.nextTimer)
      return Option.isNone(row) ? Option.none() : Option.some(yield* decodeRow(call, "timers", row.value, timer))
    }),

    isArmed: ({ executionId, fireAt, path }) =>
      Effect.map(first({ operation: "isArmed", executionId }, sql.isArmed, executionId, path, fireAt), Option.isSome),

    deleteTimer: ({ executionId, fireAt, path }) =>
      Effect.map(
        once({ operation: "deleteTimer", executionId }, (key) => ({
          main: { sql: sql.deleteTimer, params: [executionId, path, fireAt, key] }
        })),
        (result) => result.changes === 1
      ),

    ...sqlDeadLetters.make(driver, sql, { once, write, readPage }),

    appendTrace: (executionId, entry) => {
      const trim = { sql: sql.trimTrace, params: [executionId, executionId, traceMax] }
      return Effect.asVoid(
        once({ operation: "appendTrace", executionId }, (key) => ({
          main: { sql: sql.appendTrace, params: [executionId, executionId, entry, key] },
          after: traceMax > 0 ? [trim] : []
        }))
      )
    },

    readTrace: (executionId) => {
      const statement = (row: Row | undefined, limit: number): Statement =>
        row === undefined
          ? { sql: sql.readTrace, params: [executionId, limit] }
          : { sql: sql.readTraceAfter, params: [executionId, Number(row[0]), limit] }
      return Effect.map(readPage({ operation: "readTrace", executionId }, pages.all, { statement }), (rows) =>
        rows.map(([index, entry]) => ({ index: Number(index), entry }))
      )
    },

    purge: (id, expectedVersion) => {
      const sweeps = [
        sql.purgeProcessed,
        sql.purgeTrace,
        sql.purgeTimers,
        sql.purgeOutbox,
        sql.purgeDelayed,
        sql.purgeSpawns,
        sql.purgeDeadLetters
      ]
      return Effect.map(
        once({ operation: "purge", executionId: id }, (key) => ({
          before: sweeps.map((sql) => ({ sql, params: [id, id, expectedVersion, key] })),
          main: { sql: sql.purge, params: [id, expectedVersion, key] }
        })),
        (result) => result.changes === 1
      )
    },

    idsWithPrefix: (prefix) => {
      const end = prefixEnd(prefix)
      const statement = (row: Row | undefined, limit: number): Statement => {
        const from = row === undefined ? prefix : String(row[0])
        return end === undefined
          ? { sql: row === undefined ? sql.ids : sql.idsAfter, params: [from, limit] }
          : { sql: row === undefined ? sql.idsBelow : sql.idsBelowAfter, params: [from, end, limit] }
      }
      // What is no text comes behind all texts.
      const page = { statement, counts: ([id]: Row) => typeof id === "string" }
      return Effect.map(readPage({ operation: "idsWithPrefix" }, pages.all, page), (rows) =>
        rows.flatMap(([id]) => (typeof id === "string" ? [id] : []))
      )
    },

    markProcessed: (now) =>
      Effect.asVoid(
        once({ operation: "markProcessed" }, (key) => ({ main: { sql: sql.markProcessed, params: [now, key] } }))
      ),

    pruneProcessed: (before, after = 0, limit) =>
      Effect.gen(function* () {
        const call = { operation: "pruneProcessed" }
        const old = yield* query(call, sql.oldProcessed, after, before, limit)
        const last = Number(old.at(-1)?.[0] ?? 0)
        if (old.length === 0) return { removed: 0, next: undefined }
        const removed = yield* repeat(
          driver,
          call,
          [{ sql: sql.pruneProcessed, params: [after, last, before] }],
          budget
        )
        return { removed, next: old.length < limit ? undefined : last }
      }),

    publishDefinition: ({ definitionId, digest, publishedAt, source, version }) =>
      write(
        { operation: "publishDefinition" },
        sql.publishDefinition,
        definitionId,
        version,
        digest,
        source,
        publishedAt
      ),

    loadDefinition: (definitionId, version) =>
      Effect.gen(function* () {
        const call = { operation: "loadDefinition" }
        const row =
          version === undefined
            ? yield* first(call, sql.loadLatestDefinition, definitionId)
            : yield* first(call, sql.loadDefinition, definitionId, version)
        return Option.isNone(row)
          ? Option.none()
          : Option.some(yield* decodeRow(call, "definitions", row.value, definition))
      })
  }
}

const refuseOpen = (reason: "invalid-input" | "schema", path: string, detail: string): StoreRejected =>
  new StoreRejected({ operation: "open", reason, path, detail })

/**
 * Makes what is missing of the schema, also in a database of an earlier version, to which later ones only add. A database that has it all is
 * only read, so that opening it waits for no writer.
 */
const openSchema = (driver: SqlDriver, sql: Sql, prefix: string, createSchema: boolean, budget: Duration.Duration) =>
  Effect.gen(function* () {
    const call = { operation: "open" }
    const read = Effect.map(driver.query(call, { sql: sql.schemaVersion, params: [] }), (rows) => rows[0]?.[0])
    // Whether the tables are there shows only in asking: rqlite and libSQL have no other way in common.
    const stored = yield* Effect.catchIf(
      read,
      (error) => error._tag === "StoreRejected" && error.reason === "sql",
      () => Effect.succeed(undefined)
    )
    const expect = (version: unknown) => {
      const detail = `the database's schema has version ${String(version)}, this library knows version ${schemaVersion}`
      return version === String(schemaVersion) ? Effect.void : refuseOpen("schema", "schema_version", detail)
    }
    const earlier = Number(stored) >= 1 && Number(stored) < schemaVersion
    if (stored !== undefined && !earlier) return yield* expect(stored)
    if (!createSchema) {
      const detail = earlier
        ? `the schema has version ${String(stored)} and is to be left as it is: run the statements of SqlDriver.schema, which add what version ${schemaVersion} has`
        : "the tables are missing and are not to be created"
      return yield* refuseOpen("schema", "createSchema", detail)
    }
    yield* repeat(
      driver,
      call,
      ddl(prefix).map((sql) => ({ sql, params: [] })),
      budget
    )
    yield* Effect.flatMap(read, expect)
  })

/** @internal */
export const make = (driver: SqlDriver, options: Options = {}): Effect.Effect<ExecutionStore, StoreError> =>
  Effect.gen(function* () {
    const prefix = yield* checkPrefix(options.prefix ?? "harel_")
    const traceMax = options.traceMax ?? 200
    const problem = wholeNumber(traceMax, 0, Number.MAX_SAFE_INTEGER)
    if (problem !== undefined) return yield* refuseOpen("invalid-input", "traceMax", problem)
    const budget = yield* duration.decode(options.resolveTimeout ?? "30 seconds", "resolveTimeout")
    const sql = makeSql(prefix)
    yield* openSchema(driver, sql, prefix, options.createSchema ?? true, budget)
    return makeStore(makeEncoded(driver, sql, traceMax, budget), options)
  })
