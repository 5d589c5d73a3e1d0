import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import type { Encoded, EncodedWork, StoredRow, StoredTable } from "../../EncodedStore.js"
import { compareUtf8 } from "../codec/utf8Order.js"
import { statusOf } from "./executions.js"
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

const workOf = ({ delayed, failures, outbox, spawns, timers }: Tables, id: string, limit: number): EncodedWork => {
  const first = <A>(rows: Iterable<A>, matches: (row: A) => boolean) =>
    Array.from(Iterable.take(Iterable.filter(rows, matches), limit))
  return {
    events: first(outbox.from(), ({ targetId }) => targetId === id).map((row) => ({
      ...row,
      failed: failures.get({ _tag: "Outbox", seq: row.seq })
    })),
    delayed: first(delayed.all(), ({ targetId }) => targetId === id),
    timers: first(
      timers.of(id).toSorted((one, other) => one.fireAt - other.fireAt),
      () => true
    ).map((timer) => ({ ...timer, failed: failures.get({ _tag: "Timer", ...timer }) })),
    spawns: first(spawns.from(), ({ parentId }) => parentId === id).map((row) => ({
      ...row,
      failed: failures.get({ _tag: "Spawn", seq: row.seq })
    }))
  }
}

/** How many executions there are, and what is to be done for one of them. */
export const makeLook = (tables: Tables): Pick<Encoded, "counts" | "workOf"> => ({
  counts: Effect.sync(() => counts(tables)),

  workOf: (executionId, limit) => Effect.sync(() => workOf(tables, executionId, limit))
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
