import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded, EncodedFilter, EncodedLoaded } from "../../EncodedStore.js"
import type { Statement } from "../../SqlDriver.js"
import { prefixEnd } from "../codec/utf8Order.js"
import type { Part } from "../sql/listingStatements.js"
import type { Database, Failure, Row } from "../sqlDatabase/database.js"
import * as idempotentWrite from "../sqlDatabase/idempotentWrite.js"
import * as listingParts from "../sqlDatabase/listingParts.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"

const load = (database: Database, id: string) =>
  Effect.map(
    pages.first(database, { operation: "load", executionId: id }, database.sql.executions.load, id),
    Option.map((row) => ({ data: row[0], version: row[1] }))
  )

/** The rows of one, which are at most one. */
const rowsForEvent = (database: Database, id: string, eventId: string) => {
  const call = { operation: "loadForEvent", executionId: id }
  return pages.rows(database, call, database.sql.executions.loadForEvent, id, eventId, id)
}

const ofRow = ([row]: ReadonlyArray<Row>): Option.Option<EncodedLoaded> =>
  row === undefined ? Option.none() : Option.some({ data: row[0], version: row[1], processed: row[2] === 1 })

const loadForEvent = (database: Database, id: string, eventId: string) =>
  Effect.map(rowsForEvent(database, id, eventId), ofRow)

type LoadQueries = Parameters<NonNullable<Encoded["loadForEvents"]>>[0]

const loadForEvents = (
  database: Database,
  queries: LoadQueries
): Effect.Effect<ReadonlyArray<Option.Option<EncodedLoaded>>, Failure> => {
  const [only] = queries
  const forTimers = queries.some(({ timer }) => timer !== undefined)
  // The statement for several takes as long as three of these.
  if (only !== undefined && queries.length === 1 && !forTimers) {
    return Effect.map(rowsForEvent(database, only.id, only.eventId), (rows) => [ofRow(rows)])
  }
  const asked = JSON.stringify(queries.map(({ eventId, id, timer }) => [id, eventId, ...(timer ? [timer.path] : [])]))
  // Old versions of SQLite cut a text there when they take it out of JSON.
  if (asked.includes("\\u0000")) {
    return Effect.forEach(queries, ({ eventId, id }) => loadForEvent(database, id, eventId), {
      concurrency: "unbounded"
    })
  }
  const { loadForEvents, loadForTimers } = database.sql.executions
  const page = pages.numbered(forTimers ? loadForTimers : loadForEvents, -1, asked)
  return Effect.map(pages.read(database, { operation: "loadForEvents" }, queries.length, page), (rows) => {
    const found = new Map(rows.map((row) => [row[0], row]))
    return queries.map(({ timer }, place) =>
      Option.fromNullable(found.get(place)).pipe(
        Option.filter(([, exists]) => exists === 1),
        Option.map(
          ([, , data, version, processed, armedFor]): EncodedLoaded => ({
            data,
            version,
            processed: processed === 1,
            armed: timer && armedFor !== null && Number(armedFor) === timer.fireAt
          })
        )
      )
    )
  })
}

const list = (database: Database, query: Parameters<Encoded["list"]>[0]) => {
  const { after, limit, ...rest } = query
  const filter = { ...rest, status: query.status ?? [] }
  // A listing may be a little old; whoever asks for children decides by them what becomes of a tree.
  const call = { operation: query.parentId === undefined ? "listExecutions" : "listChildren" }
  const read = (part: Part, limit: number) => {
    const statement = (row: Row | undefined, limit: number) =>
      database.sql.listing({ ...filter, ...part, after: row === undefined ? part.after : String(row[0]), limit })
    return pages.read(database, call, limit, { statement })
  }
  return Effect.map(
    listingParts.reduce<ReadonlyArray<Row>>(database, call, { filter, after, from: [] }, (found, part) =>
      Effect.map(read(part, limit - found.length), (more) => {
        const rows = [...found, ...more]
        return { value: rows, enough: rows.length >= limit }
      })
    ),
    (rows) => rows.map(([id, definitionId, version, parts]) => ({ id, definitionId, version, parts }))
  )
}

const count = (database: Database, query: EncodedFilter) => {
  const filter = { ...query, status: query.status ?? [] }
  const call = { operation: "countExecutions" }
  const counted = ({ params, sql }: Statement) =>
    Effect.map(pages.first(database, call, sql, ...params), (row) => Number(Option.getOrElse(row, (): Row => [])[0]))
  if (filter.definitionVersion === undefined) return counted(database.sql.count(filter))
  return listingParts.reduce<number>(database, call, { filter, after: undefined, from: 0 }, (count, part) => {
    const statement = database.sql.part.count({ ...filter, ...part, limit: listingParts.size })
    return Effect.map(counted(statement), (more) => ({ value: count + more, enough: false }))
  })
}

/** What executions are found by. */
export const makeAttributes = (database: Database): Pick<Encoded, "attributesOf" | "setAttributes"> => {
  const sql = database.sql.attributes
  return {
    attributesOf: (executionId) =>
      Effect.map(pages.rows(database, { operation: "attributesOf", executionId }, sql.of, executionId), (rows) =>
        rows.map(([name, value]) => ({ name, value }))
      ),

    setAttributes: (executionId, expectedVersion, attributes) => {
      const params = [executionId, JSON.stringify(attributes), executionId, expectedVersion]
      const statements = [sql.write, sql.remove].map((sql) => ({ sql, params }))
      return Effect.asVoid(repeatableWrite.run(database, { operation: "setAttributes", executionId }, statements))
    }
  }
}

const purge = (database: Database, id: string, expectedVersion: number) => {
  const sql = database.sql.executions
  return Effect.map(
    idempotentWrite.run(database, { operation: "purge", executionId: id }, (key) => ({
      before: sql.sweeps.map((sql) => ({ sql, params: [id, id, expectedVersion, key] })),
      main: { sql: sql.purge, params: [id, expectedVersion, key] }
    })),
    (result) => result.changes === 1
  )
}

const idsWithPrefix = (database: Database, prefix: string) => {
  const sql = database.sql.executions
  const end = prefixEnd(prefix)
  const statement = (row: Row | undefined, limit: number): Statement => {
    const from = row === undefined ? prefix : String(row[0])
    return end === undefined
      ? { sql: row === undefined ? sql.ids : sql.idsAfter, params: [from, limit] }
      : { sql: row === undefined ? sql.idsBelow : sql.idsBelowAfter, params: [from, end, limit] }
  }
  // What is no text comes behind all texts.
  const page = { statement, counts: ([id]: Row) => typeof id === "string" }
  return Effect.map(pages.read(database, { operation: "idsWithPrefix" }, pages.all, page), (rows) =>
    rows.flatMap(([id]) => (typeof id === "string" ? [id] : []))
  )
}

const readTrace = (database: Database, executionId: string) => {
  const sql = database.sql.trace
  const statement = (row: Row | undefined, limit: number): Statement =>
    row === undefined
      ? { sql: sql.read, params: [executionId, limit] }
      : { sql: sql.readAfter, params: [executionId, pages.numberOf(row), limit] }
  const call = { operation: "readTrace", executionId }
  // What is no index comes behind all that are.
  const page = { statement, counts: ([index]: Row) => typeof index === "number" }
  return Effect.map(pages.read(database, call, pages.all, page), (rows) =>
    rows.map(([index, entry]) => ({ index, entry }))
  )
}

/** The executions themselves, except for committing them. */
export const make = (
  database: Database
): Pick<Encoded, "load" | "loadForEvent" | "loadForEvents" | "list" | "count" | "purge" | "idsWithPrefix"> => ({
  load: (id) => load(database, id),
  loadForEvent: (id, eventId) => loadForEvent(database, id, eventId),
  loadForEvents: (queries) => loadForEvents(database, queries),
  list: (query) => list(database, query),
  count: (filter) => count(database, filter),
  purge: (id, expectedVersion) => purge(database, id, expectedVersion),
  idsWithPrefix: (prefix) => idsWithPrefix(database, prefix)
})

/** Traces, of which the newest steps are kept: all of them where `traceMax` is 0. */
export const makeTrace = (database: Database, traceMax: number): Pick<Encoded, "appendTrace" | "readTrace"> => {
  const sql = database.sql.trace
  return {
    appendTrace: (executionId, entry) => {
      const trim = { sql: sql.trim, params: [executionId, executionId, traceMax] }
      return Effect.asVoid(
        idempotentWrite.run(database, { operation: "appendTrace", executionId }, (key) => ({
          main: { sql: sql.append, params: [executionId, executionId, entry, key] },
          after: traceMax > 0 ? [trim] : []
        }))
      )
    },

    readTrace: (executionId) => readTrace(database, executionId)
  }
}
