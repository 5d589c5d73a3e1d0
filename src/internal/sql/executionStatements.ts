import { lines } from "../util/lines.js"
import { appendTrace, trimTrace } from "./commitStatements.js"
import { exact, notAppliedYet } from "./expressions.js"

/** The tables of what belongs to an execution, and the column that names it. */
const owners = {
  processed_events: "execution_id",
  trace: "execution_id",
  timers: "execution_id",
  outbox: "target_id",
  holdfast_delayed: "target_id",
  spawns: "parent_id",
  holdfast_activities: "execution_id",
  holdfast_attributes: "execution_id",
  holdfast_dead_letters: "execution_id"
}

const ids = (p: string, range: string): string => lines`
  SELECT id
  FROM ${p}executions
  WHERE ${range}
  ORDER BY id
  LIMIT ?`

/** What several pairs of execution and event ids load: the place of each, whether there is such an execution, and the columns of `loadForEvent`. */
const loadForEvents = (p: string, more = ""): string => lines`
  SELECT page.key,
    e.id IS NOT NULL,
    e.data,
    ${exact("e.version")},
    EXISTS (
      SELECT 1
      FROM ${p}processed_events
      WHERE execution_id = e.id AND event_id = json_extract(page.value, '$[1]')
    )${more}
  FROM (
    SELECT key, value
    FROM json_each(?)
    WHERE key > ?
    ORDER BY key
    LIMIT ?
  ) AS page
  LEFT JOIN ${p}executions AS e ON e.id = json_extract(page.value, '$[0]')`

/** The time for which the timer is armed whose path is the third of each. It is compared outside: JSON does not keep every double. */
const armedFor = (p: string): string =>
  `,\n    (SELECT fire_at FROM ${p}timers WHERE execution_id = e.id AND path = json_extract(page.value, '$[2]'))`

/** The executions themselves, and purging them with all that is theirs. */
export const makeExecutionSql = (p: string) => ({
  load: lines`
    SELECT data, ${exact("version")}
    FROM ${p}executions
    WHERE id = ?`,

  loadForEvent: lines`
    SELECT data,
      ${exact("version")},
      EXISTS (SELECT 1 FROM ${p}processed_events WHERE execution_id = ? AND event_id = ?)
    FROM ${p}executions
    WHERE id = ?`,

  /** The same of several, which are `[id, event id]` pairs. */
  loadForEvents: loadForEvents(p),

  /** The same for timers, whose paths come behind these. */
  loadForTimers: loadForEvents(p, armedFor(p)),

  ids: ids(p, "id >= ?"),
  idsAfter: ids(p, "id > ?"),
  idsBelow: ids(p, "id >= ? AND id < ?"),
  idsBelowAfter: ids(p, "id > ? AND id < ?"),

  /** Removes what belongs to an execution, where the execution is gone or at the expected version. */
  sweeps: Object.entries(owners).map(
    ([table, owner]) => lines`
      DELETE FROM ${p}${table}
      WHERE ${owner} = ?
        AND NOT EXISTS (SELECT 1 FROM ${p}executions WHERE id = ? AND version <> ?)
        AND ${notAppliedYet(p)}`
  ),

  purge: lines`
    DELETE FROM ${p}executions
    WHERE id = ? AND version = ?
      AND ${notAppliedYet(p)}`
})

/** The traces of executions. */
export const makeTraceSql = (p: string) => ({
  append: appendTrace(p, notAppliedYet(p)),

  trim: trimTrace(p),

  read: lines`
    SELECT ${exact("idx")}, entry
    FROM ${p}trace
    WHERE execution_id = ?
    ORDER BY idx
    LIMIT ?`,

  readAfter: lines`
    SELECT ${exact("idx")}, entry
    FROM ${p}trace
    WHERE execution_id = ? AND idx > ?
    ORDER BY idx
    LIMIT ?`
})

/** The published texts of definitions. */
export const makeDefinitionSql = (p: string) => ({
  publish: lines`
    INSERT OR IGNORE INTO ${p}definitions (definition_id, version, digest, source, published_at)
    VALUES (?, ?, ?, ?, ?)`,

  load: lines`
    SELECT definition_id, ${exact("version")}, digest, source, published_at
    FROM ${p}definitions
    WHERE definition_id = ? AND version = ?`,

  loadLatest: lines`
    SELECT definition_id, ${exact("version")}, digest, source, published_at
    FROM ${p}definitions
    WHERE definition_id = ?
    ORDER BY version DESC
    LIMIT 1`
})
