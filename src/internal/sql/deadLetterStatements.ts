import { isBrokenTimer } from "../schema/indexes.js"
import { lines } from "../util/lines.js"
import { asText, exact, type Fenceable, fenceable, nextNumber, notAppliedYet, unlessBytes } from "./expressions.js"

/** Records a failure of work. A record that comes late must not take the place of a newer one. */
const makeRecordSql = (p: string) => {
  const update = lines`
    attempts = excluded.attempts,
      error = excluded.error,
      failed_at = excluded.failed_at,
      retry_at = excluded.retry_at`
  const record = (table: string, failures: string): Fenceable => {
    const { fenced, free } = fenceable(
      p,
      lines`
        INSERT INTO ${p}holdfast_${failures} (seq, attempts, error, failed_at, retry_at)
        SELECT seq, ?, ?, ?, ?
        FROM ${p}${table}
        WHERE seq = ?`
    )
    const newest = lines`
      ON CONFLICT (seq) DO UPDATE
      SET ${update}
      WHERE excluded.attempts >= attempts`
    return { free: `${free}\n${newest}`, fenced: `${fenced}\n${newest}` }
  }
  const timer = fenceable(
    p,
    lines`
      INSERT INTO ${p}holdfast_timer_failures (execution_id, path, fire_at, attempts, error, failed_at, retry_at)
      SELECT execution_id, path, fire_at, ?, ?, ?, ?
      FROM ${p}timers
      WHERE execution_id = ? AND path = ? AND fire_at = ?`
  )
  const newestTimer = lines`
    ON CONFLICT (execution_id, path) DO UPDATE
    SET fire_at = excluded.fire_at,
      ${update}
    WHERE excluded.fire_at <> fire_at OR excluded.attempts >= attempts`
  return {
    Outbox: record("outbox", "outbox_failures"),
    Spawn: record("spawns", "spawn_failures"),
    Timer: { free: `${timer.free}\n${newestTimer}`, fenced: `${timer.fenced}\n${newestTimer}` }
  }
}

/** The row of a timer: by the time it is armed for or, where it is none, by the texts of its columns. */
const timerRow = (p: string): string => lines`
  rowid IN (
    SELECT rowid
    FROM ${p}timers
    WHERE execution_id = ? AND path = ? AND fire_at = ?
    UNION ALL
    SELECT rowid
    FROM ${p}timers
    WHERE ${isBrokenTimer}
      AND ${asText("execution_id")} = ?
      AND ${asText("path")} = ?
  )`

/** Moves work to the dead letters: `bury` copies the row, `told` emits an event where it is there, `buried` removes it. */
const makeBurySql = (p: string) => {
  const bury = (kind: string, columns: string, values: string, row: string): Fenceable =>
    fenceable(
      p,
      lines`
        INSERT INTO ${p}holdfast_dead_letters (id, reason, attempts, error, died_at, kind, ${columns})
        SELECT ${nextNumber(`${p}holdfast_dead_letters`)}, ?, ?, ?, ?, '${kind}', ${values}
        FROM ${p}${row}
          AND ${notAppliedYet(p)}`
    )
  const told = (row: string): Fenceable =>
    fenceable(
      p,
      lines`
        INSERT INTO ${p}outbox (seq, target_id, event)
        SELECT ${nextNumber(`${p}outbox`)}, ?, ?
        WHERE EXISTS (SELECT 1 FROM ${p}${row})
          AND ${notAppliedYet(p)}`
    )
  const buried = (row: string): Fenceable =>
    fenceable(
      p,
      lines`
        DELETE FROM ${p}${row}
          AND ${notAppliedYet(p)}`
    )
  const rows = {
    outbox: "outbox WHERE seq = ?",
    spawns: "spawns WHERE seq = ?",
    timers: `timers WHERE ${timerRow(p)}`,
    activities: "holdfast_activities WHERE seq = ?"
  }
  // What has no column of its own: the payload is a text in it, to the byte.
  const rest = "json_object('version', version, 'limit_key', limit_key, 'payload', payload)"
  const spawn = "seq, parent_id, child_id, root_path, context"
  return {
    bury: {
      Outbox: bury("Outbox", "seq, execution_id, body", "seq, target_id, event", rows.outbox),
      Spawn: bury("Spawn", "seq, execution_id, child_id, path, body", spawn, rows.spawns),
      Timer: bury("Timer", "execution_id, path, fire_at", "execution_id, path, fire_at", rows.timers),
      Activity: bury(
        "Activity",
        "seq, execution_id, child_id, path, body",
        `seq, execution_id, key, name, ${rest}`,
        rows.activities
      )
    },
    told: {
      Outbox: told(rows.outbox),
      Spawn: told(rows.spawns),
      Timer: told(rows.timers),
      Activity: told(rows.activities)
    },
    buried: {
      Outbox: buried(rows.outbox),
      Spawn: buried(rows.spawns),
      Timer: buried(rows.timers),
      Activity: buried(rows.activities)
    }
  }
}

/**
 * What else a dead letter must be, of which each part is left out where its first parameter is NULL: its reason, when it was given up, from
 * and up to which id of an execution, and of which definition that is.
 */
const narrowed = (p: string): string => lines`
  (? IS NULL OR reason IN (SELECT value FROM json_each(?)))
    AND (? IS NULL OR died_at <= ?)
    AND (? IS NULL OR (typeof(execution_id) = 'text' AND execution_id >= ?))
    AND (? IS NULL OR execution_id < ?)
    AND (? IS NULL OR EXISTS (
      SELECT 1
      FROM ${p}holdfast_listing AS l
      WHERE l.id = ${p}holdfast_dead_letters.execution_id AND l.definition_id = ?
    ))`

const list = (p: string, filter: string): string => lines`
  SELECT ${exact("id")},
    kind,
    ${exact("seq")},
    ${unlessBytes("execution_id")},
    ${unlessBytes("child_id")},
    ${unlessBytes("path")},
    ${unlessBytes("fire_at")},
    ${unlessBytes("body")},
    'blob' IN (typeof(execution_id), typeof(child_id), typeof(path), typeof(body))
      OR typeof(fire_at) NOT IN ('null', 'real'),
    reason,
    ${exact("attempts")},
    error,
    died_at
  FROM ${p}holdfast_dead_letters
  WHERE ${filter}${narrowed(p)}
    AND id > ?
  ORDER BY id
  LIMIT ?`

/** Puts dead letters back to work. A timer's path may be armed for another time by now: then it stays. */
const makeRedriveSql = (p: string) => ({
  restore: {
    Outbox: lines`
      INSERT INTO ${p}outbox (seq, target_id, event)
      SELECT ${nextNumber(`${p}outbox`)}, execution_id, body
      FROM ${p}holdfast_dead_letters
      WHERE id = ?
        AND ${notAppliedYet(p)}`,
    Spawn: lines`
      INSERT INTO ${p}spawns (seq, parent_id, child_id, root_path, context)
      SELECT ${nextNumber(`${p}spawns`)}, execution_id, child_id, path, body
      FROM ${p}holdfast_dead_letters
      WHERE id = ?
        AND ${notAppliedYet(p)}`,
    Timer: lines`
      INSERT INTO ${p}timers (execution_id, path, fire_at)
      SELECT execution_id, path, fire_at
      FROM ${p}holdfast_dead_letters
      WHERE id = ?
        AND ${notAppliedYet(p)}
      ON CONFLICT (execution_id, path) DO NOTHING`,
    Activity: lines`
      INSERT INTO ${p}holdfast_activities
        (seq, execution_id, key, name, limit_key, payload, version, asked_at, ready_at, attempts)
      SELECT ${nextNumber(`${p}holdfast_activities`)},
        execution_id,
        child_id,
        path,
        json_extract(body, '$.limit_key'),
        json_extract(body, '$.payload'),
        json_extract(body, '$.version'),
        died_at,
        died_at,
        0
      FROM ${p}holdfast_dead_letters
      WHERE id = ?
        AND ${notAppliedYet(p)}
      ON CONFLICT (execution_id, key) DO NOTHING`
  },

  restoredTimer: lines`
    DELETE FROM ${p}holdfast_dead_letters
    WHERE id = ?
      AND EXISTS (
        SELECT 1
        FROM ${p}timers AS t
        WHERE t.execution_id = ${p}holdfast_dead_letters.execution_id
          AND t.path = ${p}holdfast_dead_letters.path
          AND t.fire_at = ${p}holdfast_dead_letters.fire_at
      )
      AND ${notAppliedYet(p)}`
})

/** An activity's key may be that of another by now: then the letter stays. */
const restoredActivity = (p: string): string => lines`
  DELETE FROM ${p}holdfast_dead_letters
  WHERE id = ?
    AND EXISTS (
      SELECT 1
      FROM ${p}holdfast_activities AS a
      WHERE a.execution_id = ${p}holdfast_dead_letters.execution_id
        AND a.key = ${p}holdfast_dead_letters.child_id
        AND a.version = json_extract(${p}holdfast_dead_letters.body, '$.version')
    )
    AND ${notAppliedYet(p)}`

/** Work that failed, and work that was given up. */
export const makeDeadLetterSql = (p: string) => ({
  record: makeRecordSql(p),

  ...makeBurySql(p),

  list: list(p, ""),
  listOf: list(p, "execution_id = ? AND "),
  listOfKind: list(p, "kind = ? AND "),
  // With a sign before it the other index is no choice.
  listOfBoth: list(p, "execution_id = ? AND +kind = ? AND "),

  find: lines`
    SELECT kind, fire_at
    FROM ${p}holdfast_dead_letters
    WHERE id = ?`,

  ...makeRedriveSql(p),

  restoredActivity: restoredActivity(p),

  discard: lines`
    DELETE FROM ${p}holdfast_dead_letters
    WHERE id = ?
      AND ${notAppliedYet(p)}`
})

/** How much work there is. What is no number is greater than any number: a delayed event with such a time is never due. */
export const makeStatsSql = (p: string): string => {
  const count = (table: string): string => `(SELECT COUNT(*) FROM ${p}${table})`
  return lines`
    SELECT ${count("outbox")},
      ${count("holdfast_outbox_failures")},
      (SELECT event FROM ${p}outbox ORDER BY seq LIMIT 1),
      ${count("spawns")},
      ${count("holdfast_spawn_failures")},
      ${count("timers")},
      ${count("holdfast_timer_failures")},
      (SELECT COUNT(*) FROM ${p}timers WHERE fire_at > -9e999 AND fire_at <= ?),
      (SELECT fire_at FROM ${p}timers WHERE fire_at > -9e999 AND fire_at < 9e999 ORDER BY fire_at LIMIT 1),
      ${count("holdfast_delayed")},
      (SELECT COUNT(*) FROM ${p}holdfast_delayed WHERE due_at >= 9e999),
      (SELECT due_at FROM ${p}holdfast_delayed WHERE due_at > -9e999 AND due_at < 9e999 ORDER BY due_at LIMIT 1),
      ${count("holdfast_activities")},
      (SELECT COUNT(*) FROM ${p}holdfast_activities WHERE attempts > 0),
      (SELECT COUNT(*) FROM ${p}holdfast_activities WHERE owner IS NOT NULL),
      (SELECT asked_at FROM ${p}holdfast_activities ORDER BY seq LIMIT 1),
      ${count("holdfast_dead_letters")},
      (SELECT died_at FROM ${p}holdfast_dead_letters ORDER BY id LIMIT 1)`
}
