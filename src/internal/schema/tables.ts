import { lines } from "../util/lines.js"

/** The tables of the format that is shared with harel. */
const shared = (p: string): ReadonlyArray<string> => [
  lines`
    CREATE TABLE IF NOT EXISTS ${p}executions (
      id TEXT PRIMARY KEY,
      definition_id TEXT NOT NULL,
      data TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}outbox (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      target_id TEXT,
      event TEXT NOT NULL
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}processed_events (
      execution_id TEXT NOT NULL,
      event_id TEXT NOT NULL,
      PRIMARY KEY (execution_id, event_id)
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}timers (
      execution_id TEXT NOT NULL,
      path TEXT NOT NULL,
      fire_at REAL NOT NULL,
      PRIMARY KEY (execution_id, path)
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}spawns (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      parent_id TEXT NOT NULL,
      child_id TEXT NOT NULL,
      root_path TEXT NOT NULL,
      context TEXT NOT NULL
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}trace (
      execution_id TEXT NOT NULL,
      idx INTEGER NOT NULL,
      entry TEXT NOT NULL,
      PRIMARY KEY (execution_id, idx)
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}definitions (
      definition_id TEXT NOT NULL,
      version INTEGER NOT NULL,
      digest TEXT NOT NULL,
      source TEXT NOT NULL,
      published_at REAL,
      PRIMARY KEY (definition_id, version)
    )`
]

/**
 * What is ours beside it. `holdfast_listing` holds what listings filter by; `root` is whether there is no parent: within an index that
 * goes on to the id, roots and others are each a walk.
 */
const companions = (p: string): ReadonlyArray<string> => [
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_meta (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_listing (
      id TEXT PRIMARY KEY,
      definition_id TEXT NOT NULL,
      status TEXT,
      parent_id TEXT,
      root INTEGER NOT NULL
    ) WITHOUT ROWID`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_marks (
      execution_id TEXT NOT NULL,
      event_id TEXT NOT NULL,
      marked_at REAL NOT NULL,
      PRIMARY KEY (execution_id, event_id)
    ) WITHOUT ROWID`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_delayed (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      due_at REAL NOT NULL,
      target_id TEXT,
      event TEXT NOT NULL
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_members (
      pool TEXT NOT NULL,
      holder TEXT NOT NULL,
      beat TEXT NOT NULL,
      ttl REAL NOT NULL,
      renewed_at REAL NOT NULL,
      PRIMARY KEY (pool, holder)
    ) WITHOUT ROWID`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_leases (
      pool TEXT NOT NULL,
      name TEXT NOT NULL,
      holder TEXT,
      fence INTEGER NOT NULL,
      PRIMARY KEY (pool, name)
    ) WITHOUT ROWID`
]

const failed = "attempts INTEGER NOT NULL, error TEXT NOT NULL, failed_at REAL NOT NULL, retry_at REAL NOT NULL"

/** The tables of failed work. The columns of a dead letter have no type, so that they keep exactly what was in the row. */
const failures = (p: string): ReadonlyArray<string> => [
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_outbox_failures (
      seq INTEGER PRIMARY KEY,
      ${failed}
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_spawn_failures (
      seq INTEGER PRIMARY KEY,
      ${failed}
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_timer_failures (
      execution_id TEXT NOT NULL,
      path TEXT NOT NULL,
      fire_at REAL NOT NULL,
      ${failed},
      PRIMARY KEY (execution_id, path)
    ) WITHOUT ROWID`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_dead_letters (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL,
      seq INTEGER,
      execution_id,
      child_id,
      path,
      fire_at,
      body,
      reason TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      error TEXT NOT NULL,
      died_at REAL NOT NULL
    )`
]

/** The values that executions are found by: JSON texts, of which equal ones are equal values, which no client of a database changes. */
const attributes = (p: string): ReadonlyArray<string> => [
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_attributes (
      execution_id TEXT NOT NULL,
      name TEXT NOT NULL,
      value TEXT NOT NULL,
      PRIMARY KEY (execution_id, name)
    ) WITHOUT ROWID`
]

/**
 * Activities that steps have asked for: one of a key for each execution. What has an `owner` runs there, and `claim` tells this run from
 * others. A start is when an activity with a rate began, the last ones of each key, numbered.
 */
const activities = (p: string): ReadonlyArray<string> => [
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_activities (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      execution_id TEXT NOT NULL,
      key TEXT NOT NULL,
      name TEXT NOT NULL,
      limit_key TEXT NOT NULL,
      payload TEXT NOT NULL,
      version INTEGER NOT NULL,
      traceparent TEXT,
      asked_at REAL NOT NULL,
      ready_at REAL NOT NULL,
      attempts INTEGER NOT NULL,
      error TEXT,
      owner TEXT,
      claim TEXT,
      UNIQUE (execution_id, key)
    )`,
  lines`
    CREATE TABLE IF NOT EXISTS ${p}holdfast_activity_starts (
      name TEXT NOT NULL,
      key TEXT NOT NULL,
      started_at REAL NOT NULL,
      n INTEGER NOT NULL,
      until REAL NOT NULL,
      PRIMARY KEY (name, key, started_at, n)
    ) WITHOUT ROWID`
]

export const tables = (p: string): ReadonlyArray<string> => [
  ...shared(p),
  ...companions(p),
  ...failures(p),
  ...activities(p),
  ...attributes(p)
]
