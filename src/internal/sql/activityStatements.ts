import { activityPool } from "../util/activityPool.js"
import { heldClaim } from "../util/heldClaim.js"
import { lines } from "../util/lines.js"
import { exact, nextNumber, notAppliedYet } from "./expressions.js"

const names = [
  "execution_id",
  "key",
  "name",
  "limit_key",
  "payload",
  "version",
  "traceparent",
  "asked_at",
  "ready_at",
  "attempts",
  "error",
  "owner"
]

/** The columns of an activity, in the order in which they are read. */
const columns = (row: string): string =>
  [
    exact(`${row}.seq`),
    ...names.map((name) => (name === "version" || name === "attempts" ? exact(`${row}.${name}`) : `${row}.${name}`))
  ].join(", ")

/**
 * Asks for activities. What it takes before the guard's own parameters: the id of the execution, its version after the commit, the span, twice the
 * time as an integer and a power of two, and the activities as JSON.
 */
export const askActivities = (p: string, guard: string): string => lines`
  INSERT INTO ${p}holdfast_activities
    (seq, execution_id, version, traceparent, asked_at, ready_at, attempts, key, name, limit_key, payload)
  SELECT ${nextNumber(`${p}holdfast_activities`)},
    ?,
    ?,
    ?,
    CAST(? AS REAL) / (1 << ?),
    CAST(? AS REAL) / (1 << ?),
    0,
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]')
  FROM json_each(?)
  WHERE ${guard}
  ORDER BY json_each.key
  ON CONFLICT (execution_id, key) DO NOTHING`

/** Takes activities back. It takes the execution's id and their keys. */
export const stopActivities = (p: string, guard: string): string => lines`
  DELETE FROM ${p}holdfast_activities
  WHERE execution_id = ?
    AND key IN (SELECT value FROM json_each(?))
    AND ${guard}`

const makeReadSql = (p: string) => ({
  list: lines`
    SELECT ${columns("a")}
    FROM ${p}holdfast_activities AS a
    WHERE a.seq > ?
    ORDER BY a.seq
    LIMIT ?`,

  of: lines`
    SELECT ${columns("a")}
    FROM ${p}holdfast_activities AS a
    WHERE a.execution_id = ? AND a.key > ?
    ORDER BY a.key
    LIMIT ?`,

  find: lines`
    SELECT ${columns("a")}
    FROM ${p}holdfast_activities AS a
    WHERE a.execution_id = ? AND a.key = ?`,

  /** Names are few, activities may be many: each name is sought behind the one before. */
  waiting: lines`
    WITH RECURSIVE names (name) AS (
      SELECT (
        SELECT name
        FROM ${p}holdfast_activities
        WHERE owner IS NULL AND name >= ''
        ORDER BY name
        LIMIT 1
      )
      UNION ALL
      SELECT (
        SELECT a.name
        FROM ${p}holdfast_activities AS a
        WHERE a.owner IS NULL AND a.name > names.name
        ORDER BY a.name
        LIMIT 1
      )
      FROM names
      WHERE names.name IS NOT NULL
    )
    SELECT names.name,
      (
        SELECT a.ready_at
        FROM ${p}holdfast_activities AS a
        WHERE a.name = names.name AND a.owner IS NULL
        ORDER BY a.ready_at
        LIMIT 1
      )
    FROM names
    WHERE names.name IS NOT NULL
    UNION ALL
    SELECT NULL,
      EXISTS (SELECT 1 FROM ${p}holdfast_activities WHERE owner > '' AND owner < ?)
        OR EXISTS (SELECT 1 FROM ${p}holdfast_activities WHERE owner > ?)`,

  owned: lines`
    SELECT ${exact("seq")}, claim
    FROM ${p}holdfast_activities
    WHERE owner = ?`,

  owners: lines`
    SELECT owner, COUNT(*)
    FROM ${p}holdfast_activities
    WHERE owner IS NOT NULL
    GROUP BY owner
    LIMIT ?`
})

/**
 * The starts of a key are numbered in the order of their times: how many count is the difference of two numbers. `where` says of which name
 * and key.
 */
const lastStart = (p: string, where: string): string => lines`
  SELECT s.n
  FROM ${p}holdfast_activity_starts AS s
  WHERE ${where}
  ORDER BY s.started_at DESC, s.n DESC
  LIMIT 1`

/** The number, or the time, of the first start after a time. */
const firstStart = (p: string, column: "n" | "started_at", where: string): string => lines`
  SELECT s.${column}
  FROM ${p}holdfast_activity_starts AS s
  WHERE ${where} AND s.started_at > ?
  ORDER BY s.started_at, s.n
  LIMIT 1`

/**
 * Those that are ready under each key, a few keys at once, with how many of it run, the numbers of its last start and of its first one that
 * counts, and the time of that. Keys are sought one behind the
 * other: of one that is held back, however many there are of it, no more are read than may run.
 */
const ofKey = "s.name = ? AND s.key = keys.key"
const ofThis = "s.name = ? AND s.key = ?"

const candidates = (p: string, begins: ">" | ">="): string => lines`
  WITH RECURSIVE keys (key) AS (
    SELECT (
      SELECT limit_key
      FROM ${p}holdfast_activities
      WHERE name = ? AND owner IS NULL AND limit_key ${begins} ?
      ORDER BY limit_key
      LIMIT 1
    )
    UNION ALL
    SELECT (
      SELECT a.limit_key
      FROM ${p}holdfast_activities AS a
      WHERE a.name = ? AND a.owner IS NULL AND a.limit_key > keys.key
      ORDER BY a.limit_key
      LIMIT 1
    )
    FROM keys
    WHERE keys.key IS NOT NULL
    LIMIT ?
  )
  SELECT keys.key,
    a.seq,
    a.ready_at,
    (
      SELECT COUNT(*)
      FROM ${p}holdfast_activities AS r
      WHERE r.name = ? AND r.limit_key = keys.key AND r.owner IS NOT NULL
    ),
    (${lastStart(p, ofKey)}),
    (${firstStart(p, "n", ofKey)}),
    (${firstStart(p, "started_at", ofKey)})
  FROM keys
  LEFT JOIN ${p}holdfast_activities AS a
    ON a.seq IN (
      SELECT q.seq
      FROM ${p}holdfast_activities AS q
      WHERE q.name = ? AND q.limit_key = keys.key AND q.owner IS NULL AND q.ready_at <= ?
      ORDER BY q.ready_at, q.seq
      LIMIT ?
    )
  WHERE keys.key IS NOT NULL`

/** Taking activities. Only a member of the pool may, so that nobody takes what is freed at once. */
const makeClaimSql = (p: string) => {
  const isMember = lines`
    EXISTS (SELECT 1 FROM ${p}holdfast_members WHERE pool = '${activityPool}' AND holder = ?)`
  return {
    /** Takes those that are ready the longest. */
    claim: lines`
      UPDATE ${p}holdfast_activities
      SET owner = ?, claim = ?
      WHERE seq IN (
        SELECT seq
        FROM ${p}holdfast_activities
        WHERE name = ? AND owner IS NULL AND ready_at <= ?
        ORDER BY ready_at, seq
        LIMIT ?
      )
        AND ${isMember}
        AND ${notAppliedYet(p)}`,

    candidates: candidates(p, ">"),
    firstCandidates: candidates(p, ">="),

    /** Takes one, where fewer of its key run than may, and its rate is free. */
    claimOne: lines`
      UPDATE ${p}holdfast_activities
      SET owner = ?, claim = ?
      WHERE seq = ? AND owner IS NULL AND ready_at <= ?
        AND ? > (
          SELECT COUNT(*)
          FROM ${p}holdfast_activities AS r
          WHERE r.name = ? AND r.limit_key = ? AND r.owner IS NOT NULL
        )
        AND ? > COALESCE((${lastStart(p, ofThis)}) - (${firstStart(p, "n", ofThis)}) + 1, 0)
        AND ${isMember}
        AND ${notAppliedYet(p)}`,

    /** Writes down a start, where the statement before took an activity. No start comes before another, whatever the clocks say. */
    start: lines`
      INSERT INTO ${p}holdfast_activity_starts (name, key, started_at, n, until)
      SELECT name, key, started_at, n, started_at + ?
      FROM (
        SELECT ? AS name,
          ? AS key,
          MAX(?, COALESCE((SELECT MAX(s.started_at) FROM ${p}holdfast_activity_starts AS s WHERE ${ofThis}), ?)) AS started_at,
          COALESCE((${lastStart(p, ofThis)}), 0) + 1 AS n
      )
      WHERE changes() = 1`,

    /** Forgets starts that do not count any more. */
    forgetStarts: lines`
      DELETE FROM ${p}holdfast_activity_starts
      WHERE (name, key, started_at, n) IN (
        SELECT name, key, started_at, n
        FROM ${p}holdfast_activity_starts
        WHERE until <= ?
        ORDER BY until
        LIMIT ?
      )
        AND ${notAppliedYet(p)}`,

    claimed: lines`
      SELECT ${columns("a")}, l.status
      FROM ${p}holdfast_activities AS a
      LEFT JOIN ${p}holdfast_listing AS l ON l.id = a.execution_id
      WHERE a.owner = ? AND a.claim = ? AND a.seq > ?
      ORDER BY a.seq
      LIMIT ?`
  }
}

/** What becomes of a run. All of it counts only while its claim stands. */
const makeEndSql = (p: string) => {
  const run = (claim: string): string => lines`
    seq = ?
      AND ${claim}
      AND NOT EXISTS (
        SELECT 1
        FROM ${p}holdfast_listing AS l
        WHERE l.id = ${p}holdfast_activities.execution_id AND l.status = 'FAILED'
      )
      AND ${notAppliedYet(p)}`
  const isHalted = lines`
    EXISTS (
      SELECT 1
      FROM ${p}holdfast_listing AS l
      WHERE l.id = ${p}holdfast_activities.execution_id AND l.status IN ('SUSPENDED', 'FAILED')
    )`
  const end = (claim: string) => ({
    emit: lines`
      INSERT INTO ${p}outbox (seq, target_id, event)
      SELECT ${nextNumber(`${p}outbox`)}, execution_id, ?
      FROM ${p}holdfast_activities
      WHERE ${run(claim)}`,
    remove: lines`
      DELETE FROM ${p}holdfast_activities
      WHERE ${run(claim)}`
  })
  return {
    end: end("claim = ?"),
    // It takes as many parameters.
    endAny: end("? IS NULL"),

    fail: lines`
      UPDATE ${p}holdfast_activities
      SET owner = NULL, claim = NULL, attempts = ?, error = ?, ready_at = ?
      WHERE seq = ? AND claim = ?
        AND ${notAppliedYet(p)}`,

    release: lines`
      UPDATE ${p}holdfast_activities
      SET owner = NULL, claim = '${heldClaim}', ready_at = ?
      WHERE seq = ? AND claim = ?
        AND ${notAppliedYet(p)}`,

    /** The same as long as its execution is halted. Where that went on since it was claimed, there is nothing to wait for any more. */
    releaseHalted: lines`
      UPDATE ${p}holdfast_activities
      SET owner = NULL,
        claim = CASE WHEN ${isHalted} THEN '${heldClaim}' END,
        ready_at = CASE WHEN ${isHalted} THEN ? ELSE asked_at END
      WHERE seq = ? AND claim = ?
        AND ${notAppliedYet(p)}`,

    drop: lines`
      DELETE FROM ${p}holdfast_activities
      WHERE seq = ? AND claim = ?
        AND ${notAppliedYet(p)}`,

    releaseAll: lines`
      UPDATE ${p}holdfast_activities
      SET owner = NULL, claim = NULL
      WHERE owner = ?`,

    releaseOrphans: lines`
      UPDATE ${p}holdfast_activities
      SET owner = NULL, claim = NULL
      WHERE owner > ''
        AND NOT EXISTS (
          SELECT 1
          FROM ${p}holdfast_members AS m
          WHERE m.pool = '${activityPool}' AND m.holder = ${p}holdfast_activities.owner
        )`
  }
}

/** Activities: what waits, who runs it, and how it ends. */
export const makeActivitySql = (p: string) => ({ ...makeReadSql(p), ...makeClaimSql(p), ...makeEndSql(p) })
