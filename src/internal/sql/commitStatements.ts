import { lines } from "../util/lines.js"
import { askActivities, stopActivities } from "./activityStatements.js"
import { removeAttributes, writeAttributes } from "./attributeStatements.js"
import { double, exact, fenceable, fewEmits, held, lastNumber, nextNumber, pairs, token } from "./expressions.js"

/** The last index of an execution's trace. The column can hold anything: only integers count as indexes. */
const lastIndex = (p: string): string => lines`
  (
    SELECT MAX(idx)
    FROM ${p}trace
    WHERE execution_id = ?
      AND idx BETWEEN 0 AND ${lastNumber}
      AND typeof(idx) = 'integer'
  )`

/** Adds a step to the end of a trace. Its parameters are the execution's id twice, then the entry. */
export const appendTrace = (p: string, guard: string): string => lines`
  INSERT INTO ${p}trace (execution_id, idx, entry)
  SELECT ?, COALESCE(${lastIndex(p)}, -1) + 1, ?
  WHERE ${guard}`

/** Removes all but the newest steps of a trace. Its parameters are the execution's id twice, then how many are kept. */
export const trimTrace = (p: string): string => lines`
  DELETE FROM ${p}trace
  WHERE execution_id = ?
    AND idx <= ${lastIndex(p)} - ?`

/** The side-writes of a commit, each with a guard behind its own parameters. */
const sideWrites = (p: string, guard: string) => ({
  emits: lines`
    INSERT INTO ${p}outbox (seq, target_id, event)
    SELECT ${nextNumber(`${p}outbox`)}, json_extract(value, '$[0]'), json_extract(value, '$[1]')
    FROM json_each(?)
    WHERE ${guard}
    ORDER BY key`,
  fewEmits: Array.from(
    { length: fewEmits },
    (_, i) => lines`
      INSERT INTO ${p}outbox (seq, target_id, event)
      SELECT ${nextNumber(`${p}outbox`)}, column1, column2
      FROM ${pairs(i + 1)}
      WHERE ${guard}`
  ),
  delayed: lines`
    INSERT INTO ${p}holdfast_delayed (seq, due_at, target_id, event)
    SELECT ${nextNumber(`${p}holdfast_delayed`)}, ${double(2)}, json_extract(value, '$[0]'), json_extract(value, '$[1]')
    FROM json_each(?)
    WHERE ${guard}
    ORDER BY key`,
  processed: lines`
    INSERT OR IGNORE INTO ${p}processed_events (execution_id, event_id)
    SELECT ?, ?
    WHERE ${guard}`,
  ackOutbox: lines`
    DELETE FROM ${p}outbox
    WHERE seq = ?
      AND ${guard}`,
  ackSpawn: lines`
    DELETE FROM ${p}spawns
    WHERE seq = ?
      AND ${guard}`,
  ackTimer: lines`
    DELETE FROM ${p}timers
    WHERE execution_id = ? AND path = ? AND fire_at = ?
      AND ${guard}`,
  cancelTimers: lines`
    DELETE FROM ${p}timers
    WHERE execution_id = ?
      AND path IN (SELECT value FROM json_each(?))
      AND ${guard}`,
  armTimer: lines`
    INSERT INTO ${p}timers (execution_id, path, fire_at)
    SELECT ?, ?, CAST(? AS REAL) / (1 << ?)
    WHERE ${guard}
    ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at`,
  armTimers: lines`
    INSERT INTO ${p}timers (execution_id, path, fire_at)
    SELECT ?, json_extract(value, '$[0]'), ${double(1)}
    FROM json_each(?)
    WHERE ${guard}
    ORDER BY key
    ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at`,
  // What a step took back or asked for anew must not come back by a redrive of what was given up before.
  discardLetters: lines`
    DELETE FROM ${p}holdfast_dead_letters
    WHERE execution_id = ?
      AND (
        (+kind = 'Timer' AND path IN (SELECT value FROM json_each(?)))
        OR (+kind = 'Activity' AND child_id IN (SELECT value FROM json_each(?)))
      )
      AND ${guard}`,
  spawns: lines`
    INSERT INTO ${p}spawns (seq, parent_id, child_id, root_path, context)
    SELECT ${nextNumber(`${p}spawns`)}, ?, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
    FROM json_each(?)
    WHERE ${guard}
    ORDER BY key`,
  stopActivities: stopActivities(p, guard),
  askActivities: askActivities(p, guard),
  writeAttributes: writeAttributes(p, guard),
  removeAttributes: removeAttributes(p, guard),
  trace: appendTrace(p, guard),
  trimTrace: lines`
    ${trimTrace(p)}
      AND ${guard}`
})

/** Holds where the outbox row that a commit consumes holds that commit's token. Its parameters are the row's seq and the token. */
const claimed = (p: string): string => `EXISTS (SELECT 1 FROM ${p}outbox WHERE seq = ? AND event = ?)`

/**
 * The writes of a commit to an execution that was not read. What a read would have told is asked once, by `claim`: where it is as it was
 * remembered, the outbox row of the event gets the commit's token for its event, which all other guards look for; at the end the row goes.
 * Its parameters are the token, the seq, the id, the version, the length of the text's end in bytes, counted from behind, that end, and the event's id.
 */
const rememberedWrites = (p: string) => {
  const claim = lines`
    UPDATE ${p}outbox AS o
    SET event = ?
    WHERE seq = ?
      AND target_id = ?
      AND EXISTS (
        SELECT 1
        FROM ${p}executions
        WHERE id = o.target_id
          AND version = ?
          AND substr(CAST(data AS BLOB), ?) = CAST(? AS BLOB)
      )
      AND NOT EXISTS (SELECT 1 FROM ${p}processed_events WHERE execution_id = o.target_id AND event_id = ?)`
  return {
    claim: fenceable(p, claim),
    writes: sideWrites(p, claimed(p)),
    swap: lines`
      UPDATE ${p}executions
      SET definition_id = ?, data = ?, version = ?
      WHERE id = ?
        AND ((version = ? AND ${claimed(p)}) OR (version = ? AND ${token("data")} = ?))`,
    ack: lines`
      DELETE FROM ${p}outbox
      WHERE seq = ? AND event = ?`
  }
}

/**
 * The writes of a commit that is fenced. The guards take the lease's parameters behind their own. An insert, or a swap, that was applied
 * knows itself again also where the lease was lost since.
 */
const fencedWrites = (p: string) => ({
  first: sideWrites(p, `NOT EXISTS (SELECT 1 FROM ${p}executions WHERE id = ?) AND ${held(p)}`),
  next: sideWrites(p, `EXISTS (SELECT 1 FROM ${p}executions WHERE id = ? AND version = ?) AND ${held(p)}`),

  insert: lines`
    INSERT INTO ${p}executions (id, definition_id, data, version)
    SELECT ?, ?, ?, 1
    WHERE ${held(p)} OR EXISTS (SELECT 1 FROM ${p}executions WHERE id = ?)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version
    WHERE ${p}executions.version = 1
      AND ${token(`${p}executions.data`)} = ?`,

  swap: lines`
    UPDATE ${p}executions
    SET definition_id = ?, data = ?, version = ?
    WHERE id = ?
      AND ((version = ? AND ${held(p)}) OR (version = ? AND ${token("data")} = ?))`
})

/**
 * What a commit writes. The guards read: the compare-and-swap at the end of this transaction will hold. `next` guards take the id and the
 * expected version, `first` guards, for version 0, the id alone.
 */
export const makeCommitSql = (p: string) => ({
  first: sideWrites(p, `NOT EXISTS (SELECT 1 FROM ${p}executions WHERE id = ?)`),
  next: sideWrites(p, `EXISTS (SELECT 1 FROM ${p}executions WHERE id = ? AND version = ?)`),

  insert: lines`
    INSERT INTO ${p}executions (id, definition_id, data, version)
    VALUES (?, ?, ?, 1)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version
    WHERE ${p}executions.version = 1
      AND ${token(`${p}executions.data`)} = ?`,

  swap: lines`
    UPDATE ${p}executions
    SET definition_id = ?, data = ?, version = ?
    WHERE id = ?
      AND (version = ? OR (version = ? AND ${token("data")} = ?))`,

  fenced: fencedWrites(p),
  remembered: rememberedWrites(p),

  /** The stored version, for a conflict. */
  version: lines`
    SELECT ${exact("version")}
    FROM ${p}executions
    WHERE id = ?`,

  /** The rows by which the outcome of a commit is found whose answer was lost. */
  outcome: lines`
    SELECT ${exact("version")}, ${token("data")}
    FROM ${p}executions
    WHERE id = ?`,

  /** Which of a commit's emits are still in the outbox behind a seq: the place among them, and the seq. */
  findEmits: lines`
    SELECT json_each.key, ${exact("o.seq")}
    FROM json_each(?)
    CROSS JOIN ${p}outbox AS o
      ON o.target_id IS json_extract(json_each.value, '$[0]')
      AND o.event = json_extract(json_each.value, '$[1]')
      AND o.seq > ?`
})
