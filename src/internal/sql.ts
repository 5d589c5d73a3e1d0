import type { Statement } from "../SqlDriver.js"
import { summaryPaths, tokenKey } from "./executionCodec.js"

/**
 * Every SQL text of a store, built once for its table prefix. Values are always bound.
 *
 * The guards read: the compare-and-swap at the end of this transaction will hold. `next` guards take the id and the expected version,
 * `first` guards, for version 0, the id alone.
 */
export const makeSql = (p: string) => {
  const next = `EXISTS (SELECT 1 FROM ${p}executions WHERE id = ? AND version = ?)`
  const first = `NOT EXISTS (SELECT 1 FROM ${p}executions WHERE id = ?)`
  const guarded = (guard: string) => ({
    emits: `INSERT INTO ${p}outbox (target_id, event) SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?) WHERE ${guard} ORDER BY key`,
    processed: `INSERT OR IGNORE INTO ${p}processed_events (execution_id, event_id) SELECT ?, ? WHERE ${guard}`,
    ackOutbox: `DELETE FROM ${p}outbox WHERE seq = ? AND ${guard}`,
    ackSpawn: `DELETE FROM ${p}spawns WHERE seq = ? AND ${guard}`,
    ackTimer: `DELETE FROM ${p}timers WHERE execution_id = ? AND path = ? AND fire_at = ? AND ${guard}`,
    cancelTimers: `DELETE FROM ${p}timers WHERE execution_id = ? AND path IN (SELECT value FROM json_each(?)) AND ${guard}`,
    // A double travels as an integer and a power of two: SQLite 3.45 reads one decimal text in ten thousand one bit off.
    armTimers: `INSERT INTO ${p}timers (execution_id, path, fire_at) SELECT ?, json_extract(value, '$[0]'), CAST(json_extract(value, '$[1]') AS REAL) / (1 << json_extract(value, '$[2]')) FROM json_each(?) WHERE ${guard} ORDER BY key ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at`,
    spawns: `INSERT INTO ${p}spawns (parent_id, child_id, root_path, context) SELECT ?, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?) WHERE ${guard} ORDER BY key`,
    trace: `INSERT INTO ${p}trace (execution_id, idx, entry) SELECT ?, COALESCE((SELECT MAX(idx) FROM ${p}trace WHERE execution_id = ?), -1) + 1, ? WHERE ${guard}`,
    trimTrace: `DELETE FROM ${p}trace WHERE execution_id = ? AND idx <= (SELECT MAX(idx) FROM ${p}trace WHERE execution_id = ?) - ? AND ${guard}`
  })
  // Purging sweeps the leftovers of an execution that is gone; one at another version is left alone.
  const purgeGuard = `NOT EXISTS (SELECT 1 FROM ${p}executions WHERE id = ? AND version <> ?)`
  // A write without a guard of its own stores a key: see `once.ts`.
  const once = `NOT EXISTS (SELECT 1 FROM ${p}holdfast_meta WHERE key = ?)`
  // Elsewhere a timer may be armed for an infinite time; here it fires never.
  const timerColumns = "execution_id, path, fire_at"
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
    findEmits: `SELECT DISTINCT o.seq, o.target_id, o.event FROM json_each(?) CROSS JOIN ${p}outbox AS o ON o.target_id IS json_extract(json_each.value, '$[0]') AND o.event = json_extract(json_each.value, '$[1]')`,
    mark: `INSERT OR IGNORE INTO ${p}holdfast_meta (key, value) VALUES (?, changes() || ' ' || last_insert_rowid())`,
    readMark: `SELECT value FROM ${p}holdfast_meta WHERE key = ?`,
    sweepMarks: `DELETE FROM ${p}holdfast_meta WHERE key IN (SELECT value FROM json_each(?) UNION ALL SELECT key FROM ${p}holdfast_meta WHERE key >= 'once:' AND key < ?)`,
    isProcessed: `SELECT 1 FROM ${p}processed_events WHERE execution_id = ? AND event_id = ?`,
    first: guarded(first),
    next: guarded(next),
    insert: `INSERT INTO ${p}executions (id, definition_id, data, version) VALUES (?, ?, ?, 1) ON CONFLICT (id) DO UPDATE SET version = excluded.version WHERE ${p}executions.version = 1 AND ${token(`${p}executions.data`)} = ?`,
    swap: `UPDATE ${p}executions SET definition_id = ?, data = ?, version = ? WHERE id = ? AND (version = ? OR (version = ? AND ${token("data")} = ?))`,
    enqueue: `INSERT INTO ${p}outbox (target_id, event) SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?) WHERE ${once} ORDER BY key`,
    pendingOutbox: `SELECT seq, target_id, event FROM ${p}outbox WHERE seq > ? ORDER BY seq LIMIT ?`,
    ackOutbox: `DELETE FROM ${p}outbox WHERE seq = ?`,
    pendingSpawns: `SELECT seq, parent_id, child_id, root_path, context FROM ${p}spawns WHERE seq > ? ORDER BY seq LIMIT ?`,
    ackSpawn: `DELETE FROM ${p}spawns WHERE seq = ?`,
    dueTimers: `SELECT ${timerColumns} FROM ${p}timers WHERE fire_at > -9e999 AND fire_at <= ? ORDER BY fire_at, execution_id, path LIMIT ?`,
    dueTimersAfter: `SELECT ${timerColumns} FROM ${p}timers WHERE fire_at <= ? AND (fire_at, execution_id, path) > (?, ?, ?) ORDER BY fire_at, execution_id, path LIMIT ?`,
    nextTimer: `SELECT ${timerColumns} FROM ${p}timers WHERE fire_at > -9e999 AND fire_at < 9e999 AND typeof(execution_id) = 'text' AND typeof(path) = 'text' ORDER BY fire_at, execution_id, path LIMIT 1`,
    isArmed: `SELECT 1 FROM ${p}timers WHERE execution_id = ? AND path = ? AND fire_at = ?`,
    deleteTimer: `DELETE FROM ${p}timers WHERE execution_id = ? AND path = ? AND fire_at = ? AND ${once}`,
    appendTrace: `INSERT INTO ${p}trace (execution_id, idx, entry) SELECT ?, COALESCE((SELECT MAX(idx) FROM ${p}trace WHERE execution_id = ?), -1) + 1, ? WHERE ${once}`,
    trimTrace: `DELETE FROM ${p}trace WHERE execution_id = ? AND idx <= (SELECT MAX(idx) FROM ${p}trace WHERE execution_id = ?) - ?`,
    readTrace: `SELECT idx, entry FROM ${p}trace WHERE execution_id = ? ORDER BY idx`,
    purgeProcessed: `DELETE FROM ${p}processed_events WHERE execution_id = ? AND ${purgeGuard} AND ${once}`,
    purgeTrace: `DELETE FROM ${p}trace WHERE execution_id = ? AND ${purgeGuard} AND ${once}`,
    purgeTimers: `DELETE FROM ${p}timers WHERE execution_id = ? AND ${purgeGuard} AND ${once}`,
    purgeOutbox: `DELETE FROM ${p}outbox WHERE target_id = ? AND ${purgeGuard} AND ${once}`,
    purgeSpawns: `DELETE FROM ${p}spawns WHERE parent_id = ? AND ${purgeGuard} AND ${once}`,
    purge: `DELETE FROM ${p}executions WHERE id = ? AND version = ? AND ${once}`,
    ids: `SELECT id FROM ${p}executions WHERE id >= ? ORDER BY id`,
    idsBelow: `SELECT id FROM ${p}executions WHERE id >= ? AND id < ? ORDER BY id`,
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
  return ({ after, definitionId, limit, rootsOnly, status }: ListFilter): Statement => {
    const definition = definitionId === undefined ? [] : [definitionId]
    const statuses = status.length === 0 ? [[]] : status.map((name) => [name])
    const filter = `${definitionId === undefined ? "" : "definition_id = ? AND "}${status.length === 0 ? "" : "status = ? AND "}`
    const all = rootsOnly ? ["parent_id IS NULL AND "] : [""]
    const roots = filter === "" ? all : rootsOnly ? ["root = 1 AND "] : ["root = 0 AND ", "root = 1 AND "]
    const walks = statuses.flatMap((name) =>
      roots.map((root) => ({ condition: filter + root, params: [...definition, ...name, after, limit] }))
    )
    const shape = `${walks.length} ${filter}${rootsOnly}`
    const sql = texts.get(shape) ?? build(walks.map((walk) => walk.condition))
    texts.set(shape, sql)
    return { sql, params: [...walks.flatMap((walk) => walk.params), limit] }
  }
}
