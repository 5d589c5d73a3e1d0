import * as Effect from "effect/Effect"
import { StoreRejected } from "../../StoreError.js"

/** The version of our additions to the tables; harel's own tables carry none. */
export const schemaVersion = 2

const pattern = /^(?:[A-Za-z_][A-Za-z0-9_]{0,29})?$/

/** Names reach SQL as text, since they cannot be bound: only what cannot be anything else may be one. */
export const checkPrefix = (prefix: string): Effect.Effect<string, StoreRejected> =>
  pattern.test(prefix)
    ? Effect.succeed(prefix)
    : Effect.fail(
        new StoreRejected({
          operation: "open",
          reason: "invalid-input",
          path: "prefix",
          detail: `expected at most 30 letters, digits and underscores, not beginning with a digit, found ${JSON.stringify(prefix)}`
        })
      )

const part = (row: string, key: string): string =>
  `CASE WHEN json_valid(${row}.data) THEN json_extract(${row}.data, '$.${key}') END`

// A row without a status is pending, as its readers take it.
const status = (row: string): string =>
  `CASE WHEN json_valid(${row}.data) THEN COALESCE(json_extract(${row}.data, '$.status'), 'PENDING') END`

const failed = "attempts INTEGER NOT NULL, error TEXT NOT NULL, failed_at REAL NOT NULL, retry_at REAL NOT NULL"

/** A row of the timers that is none: harel's tables take anything. */
export const isBrokenTimer = "(typeof(execution_id) <> 'text' OR typeof(path) <> 'text' OR typeof(fire_at) <> 'real')"

/**
 * What is known of failed work goes with its row, whoever removes it. Each time a timer is armed is a new one.
 *
 * The columns of a dead letter have no type: they take what was in the row, to the byte.
 */
const failures = (p: string): ReadonlyArray<string> => {
  const forget = (event: string, table: string, failures: string, where: string): string =>
    `CREATE TRIGGER IF NOT EXISTS ${p}holdfast_${failures}_${event.toLowerCase()} AFTER ${event} ON ${p}${table} BEGIN DELETE FROM ${p}holdfast_${failures} WHERE ${where}; END`
  const timer = "execution_id = OLD.execution_id AND path = OLD.path"
  return [
    `CREATE TABLE IF NOT EXISTS ${p}holdfast_outbox_failures (seq INTEGER PRIMARY KEY, ${failed})`,
    `CREATE TABLE IF NOT EXISTS ${p}holdfast_spawn_failures (seq INTEGER PRIMARY KEY, ${failed})`,
    `CREATE TABLE IF NOT EXISTS ${p}holdfast_timer_failures (execution_id TEXT NOT NULL, path TEXT NOT NULL, fire_at REAL NOT NULL, ${failed}, PRIMARY KEY (execution_id, path)) WITHOUT ROWID`,
    forget("DELETE", "outbox", "outbox_failures", "seq = OLD.seq"),
    forget("DELETE", "spawns", "spawn_failures", "seq = OLD.seq"),
    forget("DELETE", "timers", "timer_failures", timer),
    forget("UPDATE", "timers", "timer_failures", timer),
    `CREATE TABLE IF NOT EXISTS ${p}holdfast_dead_letters (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, seq INTEGER, execution_id, child_id, path, fire_at, body, reason TEXT NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL, died_at REAL NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS ${p}holdfast_dead_letters_kind ON ${p}holdfast_dead_letters (kind)`,
    `CREATE INDEX IF NOT EXISTS ${p}holdfast_dead_letters_execution ON ${p}holdfast_dead_letters (execution_id)`,
    `CREATE TRIGGER IF NOT EXISTS ${p}holdfast_dead_letters_purge AFTER DELETE ON ${p}executions BEGIN DELETE FROM ${p}holdfast_dead_letters WHERE execution_id = OLD.id; END`,
    `CREATE INDEX IF NOT EXISTS ${p}holdfast_timers_broken ON ${p}timers (execution_id, path, fire_at) WHERE ${isBrokenTimer}`,
    `CREATE INDEX IF NOT EXISTS ${p}holdfast_spawns_child ON ${p}spawns (child_id)`
  ]
}

/**
 * harel's six tables, its newer `definitions`, and what is ours: secondary indexes, and companion tables. `holdfast_listing` holds
 * what listings filter by (`root` is whether there is no parent: within an index that goes on to the id, roots and others are each a walk).
 * Triggers keep it, so that harel's writes are seen too; they write only when a status or parent changes, where an index on an expression
 * over `data` would be rewritten by every commit (measured: 80 against 49 us a commit without fsync, 46 with no index at all).
 */
export const ddl = (p: string): ReadonlyArray<string> => [
  `CREATE TABLE IF NOT EXISTS ${p}executions (id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${p}outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, target_id TEXT, event TEXT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${p}processed_events (execution_id TEXT NOT NULL, event_id TEXT NOT NULL, PRIMARY KEY (execution_id, event_id))`,
  `CREATE TABLE IF NOT EXISTS ${p}timers (execution_id TEXT NOT NULL, path TEXT NOT NULL, fire_at REAL NOT NULL, PRIMARY KEY (execution_id, path))`,
  `CREATE TABLE IF NOT EXISTS ${p}spawns (seq INTEGER PRIMARY KEY AUTOINCREMENT, parent_id TEXT NOT NULL, child_id TEXT NOT NULL, root_path TEXT NOT NULL, context TEXT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${p}trace (execution_id TEXT NOT NULL, idx INTEGER NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (execution_id, idx))`,
  `CREATE TABLE IF NOT EXISTS ${p}definitions (definition_id TEXT NOT NULL, version INTEGER NOT NULL, digest TEXT NOT NULL, source TEXT NOT NULL, published_at REAL, PRIMARY KEY (definition_id, version))`,
  `CREATE TABLE IF NOT EXISTS ${p}holdfast_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${p}holdfast_listing (id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, status TEXT, parent_id TEXT, root INTEGER NOT NULL) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS ${p}holdfast_marks (execution_id TEXT NOT NULL, event_id TEXT NOT NULL, marked_at REAL NOT NULL, PRIMARY KEY (execution_id, event_id)) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_marks_time ON ${p}holdfast_marks (marked_at)`,
  // a mark says how old a row is: it must not outlive the row, whose ids may come again
  `CREATE TRIGGER IF NOT EXISTS ${p}holdfast_marks_delete AFTER DELETE ON ${p}processed_events BEGIN DELETE FROM ${p}holdfast_marks WHERE execution_id = OLD.execution_id AND event_id = OLD.event_id; END`,
  `CREATE TABLE IF NOT EXISTS ${p}holdfast_delayed (seq INTEGER PRIMARY KEY AUTOINCREMENT, due_at REAL NOT NULL, target_id TEXT, event TEXT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${p}holdfast_members (pool TEXT NOT NULL, holder TEXT NOT NULL, beat TEXT NOT NULL, ttl REAL NOT NULL, renewed_at REAL NOT NULL, PRIMARY KEY (pool, holder)) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS ${p}holdfast_leases (pool TEXT NOT NULL, name TEXT NOT NULL, holder TEXT, fence INTEGER NOT NULL, PRIMARY KEY (pool, name)) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_delayed_due ON ${p}holdfast_delayed (due_at, seq)`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_delayed_target ON ${p}holdfast_delayed (target_id)`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_outbox_target ON ${p}outbox (target_id)`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_spawns_parent ON ${p}spawns (parent_id)`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_timers_due ON ${p}timers (fire_at, execution_id, path)`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_listing_definition ON ${p}holdfast_listing (definition_id, root, id)`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_listing_status ON ${p}holdfast_listing (status, root, id)`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_listing_definition_status ON ${p}holdfast_listing (definition_id, status, root, id)`,
  `CREATE INDEX IF NOT EXISTS ${p}holdfast_listing_parent ON ${p}holdfast_listing (parent_id, id)`,
  `CREATE TRIGGER IF NOT EXISTS ${p}holdfast_listing_insert AFTER INSERT ON ${p}executions BEGIN INSERT OR REPLACE INTO ${p}holdfast_listing (id, definition_id, status, parent_id, root) VALUES (NEW.id, NEW.definition_id, ${status("NEW")}, ${part("NEW", "parent_id")}, ${part("NEW", "parent_id")} IS NULL); END`,
  `CREATE TRIGGER IF NOT EXISTS ${p}holdfast_listing_update AFTER UPDATE ON ${p}executions WHEN OLD.definition_id IS NOT NEW.definition_id OR ${status("OLD")} IS NOT ${status("NEW")} OR ${part("OLD", "parent_id")} IS NOT ${part("NEW", "parent_id")} BEGIN UPDATE ${p}holdfast_listing SET definition_id = NEW.definition_id, status = ${status("NEW")}, parent_id = ${part("NEW", "parent_id")}, root = ${part("NEW", "parent_id")} IS NULL WHERE id = NEW.id; END`,
  `CREATE TRIGGER IF NOT EXISTS ${p}holdfast_listing_delete AFTER DELETE ON ${p}executions BEGIN DELETE FROM ${p}holdfast_listing WHERE id = OLD.id; END`,
  ...failures(p),
  // what was there before the triggers: read once, when the version row is not there yet
  `INSERT OR REPLACE INTO ${p}holdfast_listing (id, definition_id, status, parent_id, root) SELECT e.id, e.definition_id, ${status("e")}, ${part("e", "parent_id")}, ${part("e", "parent_id")} IS NULL FROM ${p}executions AS e WHERE NOT EXISTS (SELECT 1 FROM ${p}holdfast_meta WHERE key = 'schema_version')`,
  `INSERT INTO ${p}holdfast_meta (key, value) VALUES ('schema_version', '${schemaVersion}') ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < CAST(excluded.value AS INTEGER)`
]

export const texts = (prefix: string): Effect.Effect<ReadonlyArray<string>, StoreRejected> =>
  Effect.map(checkPrefix(prefix), ddl)
