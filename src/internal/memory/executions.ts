import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Iterable from "effect/Iterable"
import * as Option from "effect/Option"
import type { Encoded, EncodedAttribute, EncodedFilter, EncodedLoaded } from "../../EncodedStore.js"
import { definitionVersionKey, summaryPaths } from "../codec/execution.js"
import * as json from "../codec/json.js"
import { stringify } from "../codec/stringify.js"
import { takeEntry } from "./outbox.js"
import { dropSpawns } from "./spawns.js"
import type { Tables } from "./tables.js"
import { removeTimer } from "./timers.js"

/** The columns are `unknown` where another program could have written anything, as in a database. */
export interface ExecutionRow {
  readonly id: string
  readonly definitionId: unknown
  readonly data: unknown
  readonly version: unknown
}

export interface TraceRow {
  readonly index: number
  readonly entry: unknown
}

/** The traces of executions. */
export class Traces {
  readonly rows = new Map<string, ReadonlyArray<TraceRow>>()

  /** Adds a step and, with `traceMax` above 0, keeps only that many of the newest. */
  add(executionId: string, entry: unknown, traceMax: number): void {
    const rows = this.rows.get(executionId) ?? []
    const index = (rows.at(-1)?.index ?? -1) + 1
    const kept = traceMax > 0 ? rows.filter((row) => row.index > index - traceMax) : rows
    this.rows.set(executionId, [...kept, { index, entry }])
  }
}

/** What executions are found by: the JSON texts of values by name. */
export class AttributeRows {
  private readonly rows = new Map<string, ReadonlyMap<string, string>>()

  set(executionId: string, attributes: ReadonlyArray<EncodedAttribute>): void {
    if (attributes.length === 0) this.rows.delete(executionId)
    else this.rows.set(executionId, new Map(attributes))
  }

  of(executionId: string): ReadonlyMap<string, string> {
    return this.rows.get(executionId) ?? new Map()
  }
}

/** What a listing shows and filters by; a row that is not JSON has no parts. */
interface Listed {
  readonly status: unknown
  readonly parentId: unknown
  readonly definitionVersion: unknown
  readonly parts: string | null
}

/** What is no number of JSON as a text, so that a listing says which column it is. */
const asJson = (u: unknown): unknown => (typeof u === "number" && !Number.isFinite(u) ? String(u) : u)

const isObject = (u: unknown): u is object => typeof u === "object" && u !== null && !Array.isArray(u)

/** What is at a path of a row, null where there is nothing. */
const partOf = (row: object, path: ReadonlyArray<string>): unknown => {
  let at: unknown = row
  for (const key of path) at = isObject(at) && Object.hasOwn(at, key) ? Reflect.get(at, key) : null
  return at
}

const read = (data: unknown): Listed => {
  const none = { status: null, parentId: null, definitionVersion: null, parts: null }
  if (typeof data !== "string") return none
  try {
    const row = json.parseRounded(data)
    if (!isObject(row)) return none
    const parts = stringify(summaryPaths.map((path) => asJson(partOf(row, path))))
    return {
      status: partOf(row, ["status"]) ?? "PENDING",
      parentId: partOf(row, ["parent_id"]),
      // Numbers of other programs may be texts.
      definitionVersion: Number(partOf(row, ["invoke_seq", definitionVersionKey]) ?? 1),
      parts: Either.isRight(parts) ? parts.right.text : null
    }
  } catch {
    return none
  }
}

const listed = new WeakMap<ExecutionRow, Listed>()

/** Rows never change, so each is read once, when a listing first meets it. */
const listedOf = (row: ExecutionRow): Listed => {
  const known = listed.get(row)
  if (known !== undefined) return known
  const fresh = read(row.data)
  listed.set(row, fresh)
  return fresh
}

/** The status of an execution as a listing has it, null where there is none. */
export const statusOf = (row: ExecutionRow | undefined): unknown => (row === undefined ? null : listedOf(row).status)

const matching = (tables: Tables, filter: EncodedFilter) => {
  const { attributes, definitionId, definitionVersion, idPrefix = "", parentId, rootsOnly, status } = filter
  const statuses = status === undefined ? undefined : new Set<unknown>(status)
  return (row: ExecutionRow): boolean =>
    row.id.startsWith(idPrefix) &&
    (definitionId === undefined || row.definitionId === definitionId) &&
    (definitionVersion === undefined || listedOf(row).definitionVersion === definitionVersion) &&
    (statuses === undefined || statuses.has(listedOf(row).status)) &&
    (!rootsOnly || listedOf(row).parentId === null) &&
    (parentId === undefined || listedOf(row).parentId === parentId) &&
    attributes.every(([name, value]) => tables.attributes.of(row.id).get(name) === value)
}

const list = (tables: Tables, query: Parameters<Encoded["list"]>[0]) => {
  const selected = Iterable.filter(tables.executions.after(query.after), matching(tables, query))
  const page = Iterable.take(selected, query.limit)
  return Array.from(page, (row) => ({ ...row, parts: listedOf(row).parts }))
}

const purge = (tables: Tables, id: string, expectedVersion: number): boolean => {
  const stored = tables.executions.get(id)
  if (stored !== undefined && stored.version !== expectedVersion) return false
  tables.ledger.purge(id)
  tables.traces.rows.delete(id)
  for (const timer of tables.timers.of(id)) removeTimer(tables, timer)
  tables.delayed.removeOf(id)
  for (const { seq } of tables.outbox.byTarget.of(id)) takeEntry(tables, seq)
  dropSpawns(tables, id)
  tables.activities.removeOf(id)
  tables.attributes.set(id, [])
  tables.deadLetters.removeOf(id)
  return tables.executions.delete(id)
}

const forEvent = (tables: Tables, id: string, eventId: string) =>
  Option.map(Option.fromNullable(tables.executions.get(id)), (row) => ({
    ...row,
    processed: tables.ledger.has(id, eventId)
  }))

/** The executions themselves, except for committing them. */
export const make = (
  tables: Tables
): Pick<Encoded, "load" | "loadForEvent" | "loadForEvents" | "list" | "count" | "purge" | "idsWithPrefix"> => ({
  load: (id) => Effect.sync(() => Option.fromNullable(tables.executions.get(id))),

  loadForEvent: (id, eventId) => Effect.sync(() => forEvent(tables, id, eventId)),

  loadForEvents: (queries) =>
    Effect.sync(() =>
      queries.map(({ eventId, id, timer }) =>
        Option.map(
          forEvent(tables, id, eventId),
          (loaded): EncodedLoaded =>
            timer === undefined
              ? loaded
              : { ...loaded, armed: tables.timers.at(id, timer.path)?.fireAt === timer.fireAt }
        )
      )
    ),

  list: (query) => Effect.sync(() => list(tables, query)),

  count: (filter) =>
    Effect.sync(() => Iterable.size(Iterable.filter(tables.executions.from(), matching(tables, filter)))),

  purge: (id, expectedVersion) => Effect.sync(() => purge(tables, id, expectedVersion)),

  idsWithPrefix: (prefix) =>
    Effect.sync(() =>
      // In this order the ids with a prefix are neighbours.
      Array.from(
        Iterable.takeWhile(tables.executions.from(prefix), (row) => row.id.startsWith(prefix)),
        (row) => row.id
      )
    )
})

/** What executions are found by. */
export const makeAttributes = ({
  attributes,
  executions
}: Tables): Pick<Encoded, "attributesOf" | "setAttributes"> => ({
  attributesOf: (executionId) =>
    Effect.sync(() => Array.from(attributes.of(executionId), ([name, value]) => ({ name, value }))),

  setAttributes: (executionId, expectedVersion, given) =>
    Effect.sync(() => {
      if (executions.get(executionId)?.version === expectedVersion) attributes.set(executionId, given)
    })
})

/** The traces of executions. */
export const makeTrace = ({ traces }: Tables, traceMax: number): Pick<Encoded, "appendTrace" | "readTrace"> => ({
  appendTrace: (executionId, entry) => Effect.sync(() => traces.add(executionId, entry, traceMax)),

  readTrace: (executionId) => Effect.sync(() => traces.rows.get(executionId) ?? [])
})
