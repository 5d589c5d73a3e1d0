import { isBrokenTimer } from "./schema.js"

// A column that holds no text, as a text: what a client makes of bytes differs.
const name = (column: string): string => `CASE typeof(${column}) WHEN 'text' THEN ${column} ELSE quote(${column}) END`

const bytes = (column: string): string => `CASE typeof(${column}) WHEN 'blob' THEN quote(${column}) ELSE ${column} END`

/**
 * Rows of the timers that are none, in the columns of those that are: with a number of attempts that none has, and as their error what is
 * wrong with them. A time that is none is 0.
 */
export const brokenTimers = (p: string): string =>
  `SELECT ${name("execution_id")}, ${name("path")}, CASE WHEN typeof(fire_at) = 'real' AND abs(fire_at) < 9e999 THEN fire_at ELSE 0 END, -1, CASE WHEN typeof(execution_id) <> 'text' THEN 'execution_id: expected a text, found a ' || typeof(execution_id) WHEN typeof(path) <> 'text' THEN 'path: expected a text, found a ' || typeof(path) ELSE 'fire_at: expected a number, found a ' || typeof(fire_at) END, NULL, NULL FROM ${p}timers WHERE ${isBrokenTimer} ORDER BY execution_id, path LIMIT ?`

/** The SQL texts of work that failed and of work that was given up. `once` takes the key of a write: see `once.ts`. */
export const makeFailureSql = (p: string, once: string) => {
  const letters = `${p}holdfast_dead_letters`
  const columns = "attempts, error, failed_at, retry_at"
  const update =
    "attempts = excluded.attempts, error = excluded.error, failed_at = excluded.failed_at, retry_at = excluded.retry_at"
  // A record that comes late must not take the place of a newer one.
  const record = (table: string, failures: string): string =>
    `INSERT INTO ${p}holdfast_${failures} (seq, ${columns}) SELECT seq, ?, ?, ?, ? FROM ${p}${table} WHERE seq = ? ON CONFLICT (seq) DO UPDATE SET ${update} WHERE excluded.attempts >= attempts`
  const timer = `rowid IN (SELECT rowid FROM ${p}timers WHERE execution_id = ? AND path = ? AND fire_at = ? UNION ALL SELECT rowid FROM ${p}timers WHERE ${isBrokenTimer} AND ${name("execution_id")} = ? AND ${name("path")} = ?)`
  const bury = (kind: string, columns: string, values: string, from: string): string =>
    `INSERT INTO ${letters} (reason, attempts, error, died_at, kind, ${columns}) SELECT ?, ?, ?, ?, '${kind}', ${values} FROM ${from} AND ${once}`
  // The columns that hold texts where nothing is broken.
  const broken = `'blob' IN (typeof(execution_id), typeof(child_id), typeof(path), typeof(body)) OR typeof(fire_at) NOT IN ('null', 'real')`
  const list = (filter: string): string =>
    `SELECT id, kind, seq, ${bytes("execution_id")}, ${bytes("child_id")}, ${bytes("path")}, ${bytes("fire_at")}, ${bytes("body")}, ${broken}, reason, attempts, error, died_at FROM ${letters} WHERE ${filter}id > ? ORDER BY id LIMIT ?`
  const count = (table: string): string => `(SELECT COUNT(*) FROM ${p}${table})`
  return {
    isSpawning: `SELECT 1 FROM ${p}spawns WHERE child_id = ? LIMIT 1`,
    record: {
      Outbox: record("outbox", "outbox_failures"),
      Spawn: record("spawns", "spawn_failures"),
      Timer: `INSERT INTO ${p}holdfast_timer_failures (execution_id, path, fire_at, ${columns}) SELECT execution_id, path, fire_at, ?, ?, ?, ? FROM ${p}timers WHERE execution_id = ? AND path = ? AND fire_at = ? ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at, ${update} WHERE excluded.fire_at <> fire_at OR excluded.attempts >= attempts`
    },
    bury: {
      Outbox: bury("Outbox", "seq, execution_id, body", "seq, target_id, event", `${p}outbox WHERE seq = ?`),
      Spawn: bury(
        "Spawn",
        "seq, execution_id, child_id, path, body",
        "seq, parent_id, child_id, root_path, context",
        `${p}spawns WHERE seq = ?`
      ),
      Timer: bury("Timer", "execution_id, path, fire_at", "execution_id, path, fire_at", `${p}timers WHERE ${timer}`)
    },
    buried: {
      Outbox: `DELETE FROM ${p}outbox WHERE seq = ? AND ${once}`,
      Spawn: `DELETE FROM ${p}spawns WHERE seq = ? AND ${once}`,
      Timer: `DELETE FROM ${p}timers WHERE ${timer} AND ${once}`
    },
    listDeadLetters: list(""),
    listDeadLettersOf: list("execution_id = ? AND "),
    listDeadLettersOfKind: list("kind = ? AND "),
    // With a sign before it the other index is no choice.
    listDeadLettersOfBoth: list("execution_id = ? AND +kind = ? AND "),
    deadLetter: `SELECT kind, fire_at FROM ${letters} WHERE id = ?`,
    restore: {
      Outbox: `INSERT INTO ${p}outbox (target_id, event) SELECT execution_id, body FROM ${letters} WHERE id = ? AND ${once}`,
      Spawn: `INSERT INTO ${p}spawns (parent_id, child_id, root_path, context) SELECT execution_id, child_id, path, body FROM ${letters} WHERE id = ? AND ${once}`,
      Timer: `INSERT INTO ${p}timers (execution_id, path, fire_at) SELECT execution_id, path, fire_at FROM ${letters} WHERE id = ? AND ${once} ON CONFLICT (execution_id, path) DO NOTHING`
    },
    discard: `DELETE FROM ${letters} WHERE id = ? AND ${once}`,
    restoredTimer: `DELETE FROM ${letters} WHERE id = ? AND EXISTS (SELECT 1 FROM ${p}timers AS t WHERE t.execution_id = ${letters}.execution_id AND t.path = ${letters}.path AND t.fire_at = ${letters}.fire_at) AND ${once}`,
    stats: `SELECT ${count("outbox")}, ${count("holdfast_outbox_failures")}, (SELECT event FROM ${p}outbox ORDER BY seq LIMIT 1), ${count("spawns")}, ${count("holdfast_spawn_failures")}, ${count("timers")}, ${count("holdfast_timer_failures")}, (SELECT COUNT(*) FROM ${p}timers WHERE fire_at > -9e999 AND fire_at <= ?), (SELECT fire_at FROM ${p}timers WHERE fire_at > -9e999 AND fire_at < 9e999 ORDER BY fire_at LIMIT 1), ${count("holdfast_dead_letters")}, (SELECT died_at FROM ${letters} ORDER BY id LIMIT 1)`
  }
}
