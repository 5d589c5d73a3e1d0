import { lines } from "../util/lines.js"
import {
  double,
  exact,
  failure,
  fenceable,
  fewEmits,
  greatest,
  isServed,
  nextNumber,
  notAppliedYet,
  pairs
} from "./expressions.js"

/** Puts so many events into the outbox, whose texts are parameters of their own. */
const enqueue = (p: string, count: number): string => lines`
  INSERT INTO ${p}outbox (seq, target_id, event)
  SELECT ${nextNumber(`${p}outbox`)}, column1, column2
  FROM ${pairs(count)}
  WHERE ${notAppliedYet(p)}`

/**
 * Rows of the outbox from a number on, each with the text and the version of its execution where that comes along: it is the first row of its
 * target, and the ledger does not have its event. Row after row is looked up, so that no further text is read when there are enough
 * characters. Its parameters are the number, how many characters there may be, what `served` has, the characters again, the ids of which nothing is
 * needed, and how many rows.
 */
const pageWithExecutions = (p: string, served = ""): string => lines`
  WITH RECURSIVE page (seq, target_id, event, data, version, characters) AS (
    SELECT CAST(? AS INTEGER), NULL, NULL, NULL, NULL, 0
    UNION ALL
    SELECT o.seq,
      o.target_id,
      o.event,
      CASE WHEN page.characters + length(e.data) <= ? THEN e.data END,
      ${exact("e.version")},
      page.characters + COALESCE(length(e.data), 0)
    FROM page
    JOIN ${p}outbox AS o ON o.seq = (
      SELECT n.seq
      FROM ${p}outbox AS n
      WHERE n.seq > page.seq${served}
      ORDER BY n.seq
      LIMIT 1
    )
    LEFT JOIN ${p}executions AS e ON e.id = o.target_id
      AND page.characters < ?
      AND e.id NOT IN (SELECT value FROM json_each(?))
      AND NOT EXISTS (SELECT 1 FROM ${p}outbox AS b WHERE b.target_id = o.target_id AND b.seq < o.seq)
      AND NOT EXISTS (
        SELECT 1
        FROM ${p}processed_events
        WHERE execution_id = e.id
          AND event_id = CASE WHEN json_valid(o.event) THEN json_extract(o.event, '$.id') END
      )
      AND typeof(e.data) = 'text'
    LIMIT ? OFFSET 1
  )`

/** The rows of {@link pageWithExecutions} with what is recorded of their failures. */
const ofPage = (p: string): string => lines`
  SELECT ${exact("page.seq")}, page.target_id, page.event, page.data, page.version, ${failure}
  FROM page
  LEFT JOIN ${p}holdfast_outbox_failures AS f ON f.seq = page.seq
  ORDER BY page.seq`

/** Events to deliver. */
export const makeOutboxSql = (p: string) => ({
  enqueue: lines`
    INSERT INTO ${p}outbox (seq, target_id, event)
    SELECT ${nextNumber(`${p}outbox`)}, json_extract(value, '$[0]'), json_extract(value, '$[1]')
    FROM json_each(?)
    WHERE ${notAppliedYet(p)}
    ORDER BY key`,

  enqueueFew: Array.from({ length: fewEmits }, (_, i) => enqueue(p, i + 1)),

  /** The same for 1, 2, 4 and up to 64 events, which are sent one by one at the same time. */
  enqueueSent: Array.from({ length: 7 }, (_, i) => enqueue(p, 2 ** i)),

  pending: lines`
    SELECT ${exact("o.seq")}, o.target_id, o.event, ${failure}
    FROM ${p}outbox AS o
    LEFT JOIN ${p}holdfast_outbox_failures AS f ON f.seq = o.seq
    WHERE o.seq > ?
    ORDER BY o.seq
    LIMIT ?`,

  of: lines`
    SELECT ${exact("o.seq")}, o.target_id, o.event, ${failure}
    FROM ${p}outbox AS o
    LEFT JOIN ${p}holdfast_outbox_failures AS f ON f.seq = o.seq
    WHERE o.target_id = ? AND o.seq > ?
    ORDER BY o.seq
    LIMIT ?`,
  /** The same without rows that are passed over, and the number of the last row. */
  pendingExcept: lines`
    SELECT * FROM (
      SELECT ${exact("o.seq")}, o.target_id, o.event, ${failure}
      FROM ${p}outbox AS o
      LEFT JOIN ${p}holdfast_outbox_failures AS f ON f.seq = o.seq
      WHERE ${isServed(p, "o.target_id")}
        AND o.seq > ?
      ORDER BY o.seq
      LIMIT ?
    )
    UNION ALL
    ${greatest(`${p}outbox`, 2)}`,

  /** The same two with the executions of those that can be consumed next. */
  withExecutions: {
    pending: lines`
      ${pageWithExecutions(p)}
      ${ofPage(p)}`,
    pendingExcept: lines`
      ${pageWithExecutions(p, `\n        AND ${isServed(p, "n.target_id")}`)}
      SELECT * FROM (
        ${ofPage(p)}
      )
      UNION ALL
      ${greatest(`${p}outbox`, 4)}`
  },

  ack: fenceable(
    p,
    lines`
      DELETE FROM ${p}outbox
      WHERE seq = ?`
  )
})

/** Events that wait until they are due. */
export const makeDelayedSql = (p: string) => ({
  enqueue: lines`
    INSERT INTO ${p}holdfast_delayed (seq, due_at, target_id, event)
    SELECT ${nextNumber(`${p}holdfast_delayed`)}, ${double(2)}, json_extract(value, '$[0]'), json_extract(value, '$[1]')
    FROM json_each(?)
    WHERE ${notAppliedYet(p)}
    ORDER BY key`,

  of: lines`
    SELECT ${exact("seq")}, due_at, event
    FROM ${p}holdfast_delayed
    WHERE target_id = ? AND seq > ?
      AND due_at > -9e999 AND due_at < 9e999
    ORDER BY seq
    LIMIT ?`,

  next: lines`
    SELECT due_at
    FROM ${p}holdfast_delayed
    WHERE due_at > -9e999 AND due_at < 9e999
    ORDER BY due_at
    LIMIT 1`,

  /** Puts those that are due into the outbox, in the order of their times. */
  release: lines`
    INSERT INTO ${p}outbox (seq, target_id, event)
    SELECT ${nextNumber(`${p}outbox`)}, target_id, event
    FROM ${p}holdfast_delayed
    WHERE due_at <= ?
      AND ${notAppliedYet(p)}
    ORDER BY due_at, seq
    LIMIT ?`,

  removeReleased: lines`
    DELETE FROM ${p}holdfast_delayed
    WHERE seq IN (SELECT seq FROM ${p}holdfast_delayed WHERE due_at <= ? ORDER BY due_at, seq LIMIT ?)
      AND ${notAppliedYet(p)}`
})

/** The definition that a child is made with where nobody says otherwise: its own, or its parent's. What is no JSON says nothing. */
export const childDefinition = (p: string): string => lines`
  CASE
    WHEN NOT json_valid(s.context) THEN NULL
    WHEN json_type(s.context, '$.__invoke_fqn__') = 'text' THEN json_extract(s.context, '$.__invoke_fqn__')
    ELSE (SELECT x.definition_id FROM ${p}executions AS x WHERE x.id = s.parent_id)
  END`

/** Children to create. */
export const makeSpawnSql = (p: string) => ({
  pending: lines`
    SELECT ${exact("s.seq")}, s.parent_id, s.child_id, s.root_path, s.context, ${failure}
    FROM ${p}spawns AS s
    LEFT JOIN ${p}holdfast_spawn_failures AS f ON f.seq = s.seq
    WHERE s.seq > ?
    ORDER BY s.seq
    LIMIT ?`,

  /** The same without rows that are passed over, and the number of the last row. */
  pendingExcept: lines`
    SELECT * FROM (
      SELECT ${exact("s.seq")}, s.parent_id, s.child_id, s.root_path, s.context, ${failure}
      FROM ${p}spawns AS s
      LEFT JOIN ${p}holdfast_spawn_failures AS f ON f.seq = s.seq
      WHERE NOT EXISTS (SELECT 1 FROM json_each(?) WHERE value = ${childDefinition(p)})
        AND s.seq > ?
      ORDER BY s.seq
      LIMIT ?
    )
    UNION ALL
    ${greatest(`${p}spawns`, 4)}`,

  ack: fenceable(
    p,
    lines`
      DELETE FROM ${p}spawns
      WHERE seq = ?`
  ),

  of: lines`
    SELECT ${exact("s.seq")}, s.parent_id, s.child_id, s.root_path, s.context, ${failure}
    FROM ${p}spawns AS s
    LEFT JOIN ${p}holdfast_spawn_failures AS f ON f.seq = s.seq
    WHERE s.parent_id = ? AND s.seq > ?
    ORDER BY s.seq
    LIMIT ?`,

  ofChild: lines`
    SELECT 1
    FROM ${p}spawns
    WHERE child_id = ?
    LIMIT 1`,

  ofParent: lines`
    SELECT 1
    FROM ${p}spawns
    WHERE parent_id = ?
    LIMIT 1`,

  drop: lines`
    DELETE FROM ${p}spawns
    WHERE parent_id = ?
      AND ${notAppliedYet(p)}`
})
