import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import type { Kind } from "../../DeadLetter.js"
import type { Encoded, EncodedWork, StoredRow, StoredTable, WorkPosition } from "../../EncodedStore.js"
import * as json from "../codec/json.js"
import { compareUtf8 } from "../codec/utf8Order.js"
import { statusOf } from "./executions.js"
import { definitionOfChild } from "./spawns.js"
import type { Tables } from "./tables.js"

type Columns = StoredRow["columns"]

/**
 * The rows of a table, by the names of its columns. What is kept elsewhere than in a table of its own is typed as it is: nobody can have
 * put anything else there.
 */
const rowsOf = (tables: Tables, table: StoredTable): Iterable<Columns> => {
  switch (table) {
    case "executions":
      return Array.from(tables.executions.from(), ({ data, definitionId, id, version }) => ({
        id,
        definition_id: definitionId,
        data,
        version
      }))
    case "outbox":
      return Array.from(tables.outbox.from(), ({ event, seq, targetId }) => ({ seq, target_id: targetId, event }))
    case "spawns":
      return Array.from(tables.spawns.from(), ({ childId, context, parentId, rootPath, seq }) => ({
        seq,
        parent_id: parentId,
        child_id: childId,
        root_path: rootPath,
        context
      }))
    case "timers":
      return Array.from(tables.timers.due.from(), ({ executionId, fireAt, path }) => ({
        execution_id: executionId,
        path,
        fire_at: fireAt
      }))
    case "trace":
      return Array.from(tables.traces.rows).flatMap(([executionId, rows]) =>
        rows.map(({ entry, index }) => ({ execution_id: executionId, idx: index, entry }))
      )
    default:
      return []
  }
}

const counts = ({ executions }: Tables) => {
  const found = new Map<unknown, Map<unknown, number>>()
  for (const row of executions.from()) {
    const statuses = found.get(row.definitionId) ?? new Map<unknown, number>()
    const status = statusOf(row)
    found.set(row.definitionId, statuses.set(status, (statuses.get(status) ?? 0) + 1))
  }
  return Array.from(found)
    .flatMap(([definitionId, statuses]) => Array.from(statuses, ([status, count]) => ({ definitionId, status, count })))
    .sort((one, other) => compareUtf8(String(one.definitionId), String(other.definitionId)))
}

/** So many rows, which are in the order of their keys, from the first one on or behind a key; and the key behind which there are more. */
const pageOf = <A, K>(rows: Iterable<A>, keyOf: (row: A) => K, limit: number, isBehind: (key: K) => boolean) => {
  const found = Array.from(
    Iterable.take(
      Iterable.filter(rows, (row) => isBehind(keyOf(row))),
      limit + 1
    )
  )
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : undefined
  return { rows: page, next: last && keyOf(last) }
}

const workOf = (
  { delayed, failures, outbox, spawns, timers }: Tables,
  id: string,
  limit: number,
  after: WorkPosition | undefined
): EncodedWork => {
  // The path of a timer may be an empty text, behind which a page can begin.
  const start = after ?? { events: 0, delayed: 0, timers: null, spawns: 0 }
  const numbered = <A extends { readonly seq: number }>(rows: Iterable<A>, from: string | number | undefined) =>
    pageOf(
      rows,
      ({ seq }) => seq,
      limit,
      (seq) => from !== undefined && seq > Number(from)
    )
  const events = numbered(outbox.byTarget.of(id), start.events)
  const later = numbered(delayed.of(id), start.delayed)
  const children = numbered(spawns.byParent.of(id), start.spawns)
  const { timers: from } = start
  const armed = pageOf(
    timers.of(id).toSorted((one, other) => compareUtf8(one.path, other.path)),
    ({ path }) => path,
    limit,
    (path) => from !== undefined && (from === null || compareUtf8(path, from) > 0)
  )
  const next = { events: events.next, delayed: later.next, timers: armed.next, spawns: children.next }
  return {
    events: events.rows.map((row) => ({ ...row, failed: failures.get({ _tag: "Outbox", seq: row.seq }) })),
    delayed: later.rows.toSorted((one, other) => one.dueAt - other.dueAt),
    timers: armed.rows
      .toSorted((one, other) => one.fireAt - other.fireAt)
      .map((timer) => ({ ...timer, failed: failures.get({ _tag: "Timer", ...timer }) })),
    spawns: children.rows.map((row) => ({ ...row, failed: failures.get({ _tag: "Spawn", seq: row.seq }) })),
    next: Object.values(next).every((key) => key === undefined) ? undefined : next
  }
}

/** How many executions there are, and what is to be done for one of them. */
export const makeLook = (tables: Tables): Pick<Encoded, "counts" | "workOf"> => ({
  counts: Effect.sync(() => counts(tables)),

  workOf: (executionId, limit, after) => Effect.sync(() => workOf(tables, executionId, limit, after))
})

/** All rows of all tables. A position is how many rows come before it. */
export const make = (tables: Tables): Pick<Encoded, "verify"> => ({
  verify: (table, [after] = [0], limit) =>
    Effect.sync(() => {
      const begin = Number(after ?? 0)
      const rows = Array.from(rowsOf(tables, table)).slice(begin, begin + limit)
      return {
        rows: rows.map((columns) => ({ columns, problem: undefined })),
        next: rows.length < limit ? undefined : [begin + limit]
      }
    })
})

const most = 10_000
const mostSpawns = 1000
const mostIds = 1000

/** When an event was emitted, where its row says so. */
const emittedAt = (event: unknown): number | undefined => {
  if (typeof event !== "string") return undefined
  try {
    const parsed = json.parseRounded(event)
    if (typeof parsed !== "object" || parsed === null) return undefined
    const time = new Map<string, unknown>(Object.entries(parsed)).get("emitted_at")
    return number(time)
  } catch {
    return undefined
  }
}

const number = (u: unknown): number | undefined => (typeof u === "number" && Math.abs(u) <= 9e15 ? u : undefined)

interface Found {
  count: number
  oldest: number | undefined
}

/** How many rows there are of each id that is not ours, and since when the first waits. */
const grouped = <Row>(
  kind: Kind,
  rows: Iterable<Row>,
  ours: ReadonlySet<string>,
  idOf: (row: Row) => string | undefined,
  since: (row: Row, isFirst: boolean) => number | undefined
) => {
  const groups = new Map<string, Found>()
  for (const row of rows) {
    const id = idOf(row)
    if (id === undefined || ours.has(id)) continue
    const group = groups.get(id)
    const time = since(row, group === undefined)
    if (group === undefined) groups.set(id, { count: 1, oldest: time })
    else {
      group.count++
      if (time !== undefined) group.oldest = Math.min(group.oldest ?? time, time)
    }
  }
  return Array.from(Iterable.take(groups, mostIds), ([id, { count, oldest }]) => ({ kind, id, count, oldest }))
}

const isMore = (rows: Iterable<unknown>, than: number): boolean => Iterable.size(Iterable.take(rows, than + 1)) > than

/** What waits for definitions and activities that are not among these. */
export const makeUnserved = (tables: Tables): Pick<Encoded, "unserved"> => ({
  unserved: (now, served) =>
    Effect.sync(() => {
      const definitions = new Set(served.definitions)
      const due = () => Iterable.takeWhile(tables.timers.due.from(), ({ fireAt }) => fireAt <= now)
      const waiting = () => Iterable.filter(tables.activities.after(0), ({ owner }) => owner === null)
      const rows = [
        ...grouped(
          "Outbox",
          Iterable.take(tables.outbox.after(), most),
          definitions,
          ({ targetId }) => tables.definitionOf(targetId),
          ({ event }, isFirst) => (isFirst ? emittedAt(event) : undefined)
        ),
        ...grouped(
          "Spawn",
          Iterable.take(tables.spawns.after(), mostSpawns),
          definitions,
          (row) => definitionOfChild(tables, row),
          () => undefined
        ),
        ...grouped(
          "Timer",
          Iterable.take(due(), most),
          definitions,
          ({ executionId }) => tables.definitionOf(executionId),
          ({ fireAt }) => fireAt
        ),
        ...grouped(
          "Activity",
          Iterable.take(waiting(), most),
          new Set(served.activities),
          ({ name }) => name,
          ({ askedAt }) => number(askedAt)
        )
      ]
      const more =
        isMore(tables.outbox.after(), most) ||
        isMore(tables.spawns.after(), mostSpawns) ||
        isMore(due(), most) ||
        isMore(waiting(), most)
      return { rows, more }
    })
})
