import * as Effect from "effect/Effect"
import type { Encoded, StoredRow, StoredTable } from "../../EncodedStore.js"
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
