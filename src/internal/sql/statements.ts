import type { Statement } from "../../SqlDriver.js"
import { summaryPaths, tokenKey } from "../codec/execution.js"
import { brokenTimers, makeFailureSql } from "./deadLetterStatements.js"
import { makeLeaseSql } from "./leaseStatements.js"

/**
 * A double of an array, which travels as an integer and a power of two: SQLite 3.45 reads one decimal text in ten thousand one bit off.
 */
const double = (index: number): string =>
  `CAST(json_extract(value, '$[${index}]') AS REAL) / (1 << json_extract(value, '$[${index + 1}]'))`

/** Up to so many emits travel as parameters of their own. As one JSON text they cost twice as much, but they can be any number. */
const fewEmits = 4

/** Rows of two columns, given as parameters. */
const pairs = (count: number): string =>
  `SELECT column1, column2 FROM (VALUES ${Array.from({ length: count }, () => "(?, ?)").join(", ")})`

/**
 * Every SQL text of a store, built once for its table prefix. Values are always bound.
 *
 * The guards read: the compare-and-swap at the end of this transaction will hold. `next` guards take the id and the expected version,
 * `first` guards, for version 0, the id alone.
 */
export const makeSql = (p: string) => {
  const next = `EXISTS (SELECT 1 FROM ${p}executions WHERE id = ? AND version = ?)`
  const first = `NOT EXISTS (SELECT 1 FROM ${p}executions WHERE id = ?)`
  const delayed = `SELECT ${double(2)}, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)`
  const guarded = (guard: string) => ({
    emits: `INSERT INTO ${p}outbox (target_id, event) SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?) WHERE ${guard} ORDER BY key`,
    fewEmits: Array.from(
      { length: fewEmits },
      (_, i) => `INSERT INTO ${p}outbox (target_id, event) ${pairs(i + 1)} WHERE ${guard}`
    ),
    delayed: `INSERT INTO ${p}holdfast_delayed (due_at, target_id, event) ${delayed} WHERE ${guard} ORDER BY key`,
    processed: `INSERT OR IGNORE INTO ${p}processed_events (execution_id, event_id) SELECT ?, ? WHERE ${guard}`,
    ackOutbox: `DELETE FROM ${p}outbox WHERE seq = ? AND ${guard}`,
    ackSpawn: `DELETE FROM ${p}spawns WHERE seq = ? AND ${guard}`,
    ackTimer: `DELETE FROM ${p}timers WHERE execution_id = ? AND path = ? AND fire_at = ? AND ${guard}`,
    cancelTimers: `DELETE FROM ${p}timers WHERE execution_id = ? AND path IN (SELECT value FROM json_each(?)) AND ${guard}`,
    armTimer: `INSERT INTO ${p}timers (execution_id, path, fire_at) SELECT ?, ?, CAST(? AS REAL) / (1 << ?) WHERE ${guard} ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at`,
    armTimers: `INSERT INTO ${p}timers (execution_id, path, fire_at) SELECT ?, json_extract(value, '$[0]'), ${double(1)} FROM json_each(?) WHERE ${guard} ORDER BY key ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at`,
    spawns: `INSERT INTO ${p}spawns (parent_id, child_id, root_path, context) SELECT ?, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?) WHERE ${guard} ORDER BY key`,
    trace: `INSERT INTO ${p}trace (execution_id, idx, entry) SELECT ?, COALESCE((SELECT MAX(idx) FROM ${p}trace WHERE execution_id = ?), -1) + 1, ? WHERE ${guard}`,
    trimTrace: `DELETE FROM ${p}trace WHERE execution_id = ? AND idx <= (SELECT MAX(idx) FROM ${p}trace WHERE execution_id = ?) - ? AND ${guard}`
  })
  // Purging sweeps the leftovers of an execution that is gone; one at another version is left alone.
  const purgeGuard = `NOT EXISTS (SELECT 1 FROM ${p}executions WHERE id = ? AND version <> ?)`
  // A write without a guard of its own stores a key: see `once.ts`.
  const once = `NOT EXISTS (SELECT 1 FROM ${p}holdfast_meta WHERE key = ?)`
  // Rows of the ledger are numbered in the order of their ages, which also VACUUM keeps; a mark goes with the row that it names.
  const marked = `(SELECT MAX(e.rowid) FROM ${p}holdfast_marks AS m CROSS JOIN ${p}processed_events AS e ON e.execution_id = m.execution_id AND e.event_id = m.event_id WHERE m.marked_at <= ?)`
  const failed = "f.attempts, f.error, f.failed_at, f.retry_at"
  // What is no text is reported by itself.
  const timers = (due: string): string =>
    `SELECT page.execution_id, page.path, page.fire_at, ${failed} FROM (SELECT execution_id, path, fire_at FROM ${p}timers WHERE ${due} AND typeof(execution_id) = 'text' AND typeof(path) = 'text' ORDER BY fire_at, execution_id, path LIMIT ?) AS page LEFT JOIN ${p}holdfast_timer_failures AS f ON f.execution_id = page.execution_id AND f.path = page.path AND f.fire_at = page.fire_at`
  const parts = `CASE WHEN json_valid(e.data) AND json_type(e.data) = 'object' THEN json_extract(e.data, ${summaryPaths.map((key) => `'$.${key}'`).join(", ")}) END`
  // A row of another program need not be JSON: that must not make a lost swap a failing one.
  const token = (data: string): string =>
    `CASE WHEN json_valid(${data}) THEN json_extract(${data}, '$.${tokenKey}') END`
  return {
    schemaVersion: `SELECT value FROM ${p}holdfast_meta WHERE key = 'schema_version'`,
    load: `SELECT data, version FROM ${p}executions WHERE id = ?`,
    loadForEvent: `SELECT data, version, EXISTS (SELECT 1 FROM ${p}processed_events WHERE execution_id = ? AND event_id = ?) FROM ${p}executions WHERE id = ?`,
    version: `SELECT version FROM ${p}executions WHERE id = ?`,
    outcome: `SELECT version, ${token("data")} FROM ${p}executions WHERE id = ?`,
    findEmits: `SELECT json_each.key, o.seq FROM json_each(?) CROSS JOIN ${p}outbox AS o ON o.target_id IS json_extract(json_each.value, '$[0]') AND o.event = json_extract(json_each.value, '$[1]') AND o.seq > ?`,
    mark: `INSERT OR IGNORE INTO ${p}holdfast_meta (key, value) VALUES (?, changes() || ' ' || last_insert_rowid())`,
    readMark: `SELECT value FROM ${p}holdfast_meta WHERE key = ?`,
    sweepMarks: `DELETE FROM ${p}holdfast_meta WHERE key IN (SELECT value FROM json_each(?) UNION ALL SELECT key FROM ${p}holdfast_meta WHERE key >= 'once:' AND key < ?)`,
    isProcessed: `SELECT 1 FROM ${p}processed_events WHERE execution_id = ? AND event_id = ?`,
    first: guarded(first),
    next: guarded(next),
    insert: `INSERT INTO ${p}executions (id, definition_id, data, version) VALUES (?, ?, ?, 1) ON CONFLICT (id) DO UPDATE SET version = excluded.version WHERE ${p}executions.version = 1 AND ${token(`${p}executions.data`)} = ?`,
    swap: `UPDATE ${p}executions SET definition_id = ?, data = ?, version = ? WHERE id = ? AND (version = ? OR (version = ? AND ${token("data")} = ?))`,
    enqueue: `INSERT INTO ${p}outbox (target_id, event) SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?) WHERE ${once} ORDER BY key`,
    enqueueFew: Array.from(
      { length: fewEmits },
      (_, i) => `INSERT INTO ${p}outbox (target_id, event) ${pairs(i + 1)} WHERE ${once}`
    ),
    enqueueDelayed: `INSERT INTO ${p}holdfast_delayed (due_at, target_id, event) ${delayed} WHERE ${once} ORDER BY key`,
    nextDelayed: `SELECT due_at FROM ${p}holdfast_delayed WHERE due_at > -9e999 AND due_at < 9e999 ORDER BY due_at LIMIT 1`,
    releaseDelayed: `INSERT INTO ${p}outbox (target_id, event) SELECT target_id, event FROM ${p}holdfast_delayed WHERE due_at <= ? AND ${once} ORDER BY due_at, seq LIMIT ?`,
    removeReleased: `DELETE FROM ${p}holdfast_delayed WHERE seq IN (SELECT seq FROM ${p}holdfast_delayed WHERE due_at <= ? ORDER BY due_at, seq LIMIT ?) AND ${once}`,
    leases: makeLeaseSql(p),
    ...makeFailureSql(p, once),
    pendingOutbox: `SELECT o.seq, o.target_id, o.event, ${failed} FROM ${p}outbox AS o LEFT JOIN ${p}holdfast_outbox_failures AS f ON f.seq = o.seq WHERE o.seq > ? ORDER BY o.seq LIMIT ?`,
    ackOutbox: `DELETE FROM ${p}outbox WHERE seq = ?`,
    pendingSpawns: `SELECT s.seq, s.parent_id, s.child_id, s.root_path, s.context, ${failed} FROM ${p}spawns AS s LEFT JOIN ${p}holdfast_spawn_failures AS f ON f.seq = s.seq WHERE s.seq > ? ORDER BY s.seq LIMIT ?`,
    ackSpawn: `DELETE FROM ${p}spawns WHERE seq = ?`,
    // Elsewhere a timer may be armed for an infinite time; here it fires never.
    // The rows come in the order of the part that they are read from: sorting them once more would sort nothing.
    dueTimers: `${timers("fire_at > -9e999 AND fire_at <= ?")} UNION ALL SELECT * FROM (${brokenTimers(p)})`,
    dueTimersAfter: timers("fire_at <= ? AND (fire_at, execution_id, path) > (?, ?, ?)"),
    nextTimer: `SELECT execution_id, path, fire_at FROM ${p}timers WHERE fire_at > -9e999 AND fire_at < 9e999 AND typeof(execution_id) = 'text' AND typeof(path) = 'text' ORDER BY fire_at, execution_id, path LIMIT 1`,
    isArmed: `SELECT 1 FROM ${p}timers WHERE execution_id = ? AND path = ? AND fire_at = ?`,
    deleteTimer: `DELETE FROM ${p}timers WHERE execution_id = ? AND path = ? AND fire_at = ? AND ${once}`,
    appendTrace: `INSERT INTO ${p}trace (execution_id, idx, entry) SELECT ?, COALESCE((SELECT MAX(idx) FROM ${p}trace WHERE execution_id = ?), -1) + 1, ? WHERE ${once}`,
    trimTrace: `DELETE FROM ${p}trace WHERE execution_id = ? AND idx <= (SELECT MAX(idx) FROM ${p}trace WHERE execution_id = ?) - ?`,
    readTrace: `SELECT idx, entry FROM ${p}trace WHERE execution_id = ? ORDER BY idx LIMIT ?`,
    readTraceAfter: `SELECT idx, entry FROM ${p}trace WHERE execution_id = ? AND idx > ? ORDER BY idx LIMIT ?`,
    purgeProcessed: `DELETE FROM ${p}processed_events WHERE execution_id = ? AND ${purgeGuard} AND ${once}`,
    purgeTrace: `DELETE FROM ${p}trace WHERE execution_id = ? AND ${purgeGuard} AND ${once}`,
    purgeTimers: `DELETE FROM ${p}timers WHERE execution_id = ? AND ${purgeGuard} AND ${once}`,
    purgeOutbox: `DELETE FROM ${p}outbox WHERE target_id = ? AND ${purgeGuard} AND ${once}`,
    purgeDelayed: `DELETE FROM ${p}holdfast_delayed WHERE target_id = ? AND ${purgeGuard} AND ${once}`,
    purgeSpawns: `DELETE FROM ${p}spawns WHERE parent_id = ? AND ${purgeGuard} AND ${once}`,
    purgeDeadLetters: `DELETE FROM ${p}holdfast_dead_letters WHERE execution_id = ? AND ${purgeGuard} AND ${once}`,
    purge: `DELETE FROM ${p}executions WHERE id = ? AND version = ? AND ${once}`,
    isSpawnParent: `SELECT 1 FROM ${p}spawns WHERE parent_id = ? LIMIT 1`,
    dropSpawns: `DELETE FROM ${p}spawns WHERE parent_id = ? AND ${once}`,
    markProcessed: `INSERT OR IGNORE INTO ${p}holdfast_marks (execution_id, event_id, marked_at) SELECT execution_id, event_id, ? FROM ${p}processed_events WHERE rowid = (SELECT MAX(rowid) FROM ${p}processed_events) AND ${once}`,
    oldProcessed: `SELECT rowid FROM ${p}processed_events WHERE rowid > ? AND rowid < ${marked} ORDER BY rowid LIMIT ?`,
    pruneProcessed: `DELETE FROM ${p}processed_events WHERE rowid > ? AND rowid <= ? AND rowid < ${marked} AND NOT EXISTS (SELECT 1 FROM ${p}outbox WHERE target_id = ${p}processed_events.execution_id) AND NOT EXISTS (SELECT 1 FROM ${p}holdfast_delayed WHERE target_id = ${p}processed_events.execution_id) AND NOT EXISTS (SELECT 1 FROM ${p}holdfast_dead_letters WHERE execution_id = ${p}processed_events.execution_id)`,
    ids: `SELECT id FROM ${p}executions WHERE id >= ? ORDER BY id LIMIT ?`,
    idsAfter: `SELECT id FROM ${p}executions WHERE id > ? ORDER BY id LIMIT ?`,
    idsBelow: `SELECT id FROM ${p}executions WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`,
    idsBelowAfter: `SELECT id FROM ${p}executions WHERE id > ? AND id < ? ORDER BY id LIMIT ?`,
    publishDefinition: `INSERT OR IGNORE INTO ${p}definitions (definition_id, version, digest, source, published_at) VALUES (?, ?, ?, ?, ?)`,
    loadDefinition: `SELECT definition_id, version, digest, source, published_at FROM ${p}definitions WHERE definition_id = ? AND version = ?`,
    loadLatestDefinition: `SELECT definition_id, version, digest, source, published_at FROM ${p}definitions WHERE definition_id = ? ORDER BY version DESC LIMIT 1`,
    list: listings(p, parts)
  }
}

export type Sql = ReturnType<typeof makeSql>

/** What a listing selects; no status is any status. */
export interface ListFilter {
  readonly definitionId: string | undefined
  readonly status: ReadonlyArray<string>
  readonly rootsOnly: boolean
  readonly parentId: string | undefined
  readonly after: string
  readonly limit: number
}

/**
 * Each status is a walk of its own along an index in the order of ids, bounded by the page's size; so is each of those with and those
 * without a parent, where the index tells them apart. Merging the walks keeps the cost of a page the same wherever it begins and however
 * many rows there are: a single walk with `status IN (...)` would sort all of them, one that looks at each row's parent would pass over
 * all children. A text depends on the filter's shape alone.
 */
const listings = (p: string, parts: string) => {
  const texts = new Map<string, string>()
  const build = (walks: ReadonlyArray<string>): string => {
    const ids = walks.map(
      (condition) => `SELECT id FROM (SELECT id FROM ${p}holdfast_listing WHERE ${condition}id > ? ORDER BY id LIMIT ?)`
    )
    return `SELECT e.id, e.definition_id, e.version, ${parts} FROM (SELECT id FROM (${ids.join(" UNION ALL ")}) ORDER BY id LIMIT ?) AS page CROSS JOIN ${p}executions AS e ON e.id = page.id ORDER BY page.id`
  }
  return ({ after, definitionId, limit, parentId, rootsOnly, status }: ListFilter): Statement => {
    const definition = [
      ...(parentId === undefined ? [] : [parentId]),
      ...(definitionId === undefined ? [] : [definitionId])
    ]
    const statuses = status.length === 0 ? [[]] : status.map((name) => [name])
    // The children of one execution are a walk along the index of parents: with a sign before it, a column's own index is no choice.
    const [parent, sign] = parentId === undefined ? ["", ""] : ["parent_id = ? AND ", "+"]
    const filter = `${parent}${definitionId === undefined ? "" : `${sign}definition_id = ? AND `}${status.length === 0 ? "" : `${sign}status = ? AND `}`
    const all = rootsOnly ? ["parent_id IS NULL AND "] : [""]
    const either = rootsOnly ? ["root = 1 AND "] : ["root = 0 AND ", "root = 1 AND "]
    const roots = filter === "" || parentId !== undefined ? all : either
    const walks = statuses.flatMap((name) =>
      roots.map((root) => ({ condition: filter + root, params: [...definition, ...name, after, limit] }))
    )
    const shape = `${walks.length} ${filter}${rootsOnly}`
    const sql = texts.get(shape) ?? build(walks.map((walk) => walk.condition))
    texts.set(shape, sql)
    return { sql, params: [...walks.flatMap((walk) => walk.params), limit] }
  }
}
