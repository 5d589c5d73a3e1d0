import { isBrokenTimer } from "../schema/indexes.js"
import { lines } from "../util/lines.js"
import { asText, failure, fenceable, isServed, notAppliedYet } from "./expressions.js"

// Rows with other types are reported by `brokenTimers`. An infinite time, for which other programs may arm a timer, is never due.
const dueTimers = (p: string, due: string): string => lines`
  SELECT page.execution_id, page.path, page.fire_at, ${failure}
  FROM (
    SELECT execution_id, path, fire_at
    FROM ${p}timers
    WHERE ${due}
      AND typeof(execution_id) = 'text' AND typeof(path) = 'text'
    ORDER BY fire_at, execution_id, path
    LIMIT ?
  ) AS page
  LEFT JOIN ${p}holdfast_timer_failures AS f
    ON f.execution_id = page.execution_id AND f.path = page.path AND f.fire_at = page.fire_at`

/**
 * Rows of the timers that are none, in the columns of those that are: with a number of attempts that none has, and as their error what is
 * wrong with them. A time that is none is 0.
 */
const brokenTimers = (p: string): string => lines`
  SELECT ${asText("execution_id")},
    ${asText("path")},
    CASE WHEN typeof(fire_at) = 'real' AND abs(fire_at) < 9e999 THEN fire_at ELSE 0 END,
    -1,
    CASE
      WHEN typeof(execution_id) <> 'text' THEN 'execution_id: expected a text, found a ' || typeof(execution_id)
      WHEN typeof(path) <> 'text' THEN 'path: expected a text, found a ' || typeof(path)
      ELSE 'fire_at: expected a number, found a ' || typeof(fire_at)
    END,
    NULL,
    NULL
  FROM ${p}timers
  WHERE ${isBrokenTimer}
  ORDER BY execution_id, path
  LIMIT ?`

/** The timers of an execution, in the order of their paths, from a path on. */
const timersOf = (p: string, from: string): string => lines`
  SELECT t.path, t.fire_at, ${failure}
  FROM ${p}timers AS t
  LEFT JOIN ${p}holdfast_timer_failures AS f
    ON f.execution_id = t.execution_id AND f.path = t.path AND f.fire_at = t.fire_at
  WHERE t.execution_id = ? AND ${from}
    AND typeof(t.path) = 'text'
    AND t.fire_at > -9e999 AND t.fire_at < 9e999
  ORDER BY t.path
  LIMIT ?`
const fromFirst = "fire_at > -9e999 AND fire_at <= ?"

const behind = "fire_at <= ? AND (fire_at, execution_id, path) > (?, ?, ?)"

// The rows come in the order in which each part reads them, so they need no sorting here.
const withBroken = (p: string, timers: string): string => lines`
  ${timers}
  UNION ALL
  SELECT * FROM (${brokenTimers(p)})`

/** Armed timers. */
export const makeTimerSql = (p: string) => ({
  due: withBroken(p, dueTimers(p, fromFirst)),

  dueAfter: dueTimers(p, behind),

  /** The same without those that are passed over. */
  dueExcept: withBroken(p, dueTimers(p, `${isServed(p, "execution_id")} AND ${fromFirst}`)),

  dueExceptAfter: dueTimers(p, `${isServed(p, "execution_id")} AND ${behind}`),

  of: timersOf(p, "t.path >= ?"),

  ofAfter: timersOf(p, "t.path > ?"),

  next: lines`
    SELECT execution_id, path, fire_at
    FROM ${p}timers
    WHERE fire_at > -9e999 AND fire_at < 9e999
      AND typeof(execution_id) = 'text' AND typeof(path) = 'text'
    ORDER BY fire_at, execution_id, path
    LIMIT 1`,

  isArmed: lines`
    SELECT 1
    FROM ${p}timers
    WHERE execution_id = ? AND path = ? AND fire_at = ?`,

  delete: fenceable(
    p,
    lines`
      DELETE FROM ${p}timers
      WHERE execution_id = ? AND path = ? AND fire_at = ?
        AND ${notAppliedYet(p)}`
  )
})
