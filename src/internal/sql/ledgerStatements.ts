import { lines } from "../util/lines.js"
import { exact, notAppliedYet } from "./expressions.js"

/** The events that executions have consumed. */
export const makeLedgerSql = (p: string) => {
  // Rows of the ledger are numbered in the order of their ages, which also VACUUM keeps; a mark goes with the row that it names.
  const marked = lines`
    (
      SELECT MAX(e.rowid)
      FROM ${p}holdfast_marks AS m
      CROSS JOIN ${p}processed_events AS e ON e.execution_id = m.execution_id AND e.event_id = m.event_id
      WHERE m.marked_at <= ?
    )`
  const without = (table: string, owner: string): string =>
    `NOT EXISTS (SELECT 1 FROM ${p}${table} WHERE ${owner} = ${p}processed_events.execution_id)`
  return {
    has: lines`
      SELECT 1
      FROM ${p}processed_events
      WHERE execution_id = ? AND event_id = ?`,

    mark: lines`
      INSERT OR IGNORE INTO ${p}holdfast_marks (execution_id, event_id, marked_at)
      SELECT execution_id, event_id, ?
      FROM ${p}processed_events
      WHERE rowid = (SELECT MAX(rowid) FROM ${p}processed_events)
        AND ${notAppliedYet(p)}`,

    old: lines`
      SELECT ${exact("rowid")}
      FROM ${p}processed_events
      WHERE rowid > ?
        AND rowid < ${marked}
      ORDER BY rowid
      LIMIT ?`,

    prune: lines`
      DELETE FROM ${p}processed_events
      WHERE rowid > ? AND rowid <= ?
        AND rowid < ${marked}
        AND ${without("outbox", "target_id")}
        AND ${without("holdfast_delayed", "target_id")}
        AND ${without("holdfast_dead_letters", "execution_id")}`
  }
}
