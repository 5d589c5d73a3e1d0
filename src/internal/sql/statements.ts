import { perPrefix } from "../schema/perPrefix.js"
import { lines } from "../util/lines.js"
import { makeActivitySql } from "./activityStatements.js"
import { makeAttributeSql } from "./attributeStatements.js"
import { makeCommitSql } from "./commitStatements.js"
import { makeDeadLetterSql, makeStatsSql } from "./deadLetterStatements.js"
import { makeDefinitionSql, makeExecutionSql, makeTraceSql } from "./executionStatements.js"
import { exact, lastNumber } from "./expressions.js"
import { makeUnservedSql, makeVerifySql } from "./inspectionStatements.js"
import { makeLeaseSql } from "./leaseStatements.js"
import { makeLedgerSql } from "./ledgerStatements.js"
import { makeCountSql, makeCountsSql, makeListingSql, makePartSql } from "./listingStatements.js"
import { makeDelayedSql, makeOutboxSql, makeSpawnSql } from "./outboxStatements.js"
import { makeTimerSql } from "./timerStatements.js"

/** What keeps a write that has no guard of its own from being applied twice: it leaves a key behind, with what it did. */
const makeOnceSql = (p: string) => ({
  mark: lines`
    INSERT OR IGNORE INTO ${p}holdfast_meta (key, value)
    VALUES (?, changes() || ' ' || last_insert_rowid())`,

  read: lines`
    SELECT value
    FROM ${p}holdfast_meta
    WHERE key = ?`,

  sweep: lines`
    DELETE FROM ${p}holdfast_meta
    WHERE key IN (
      SELECT value
      FROM json_each(?)
      UNION ALL
      SELECT key
      FROM ${p}holdfast_meta
      WHERE key >= 'once:' AND key < ?
    )`
})

/** Every SQL text of a store, built once for its table prefix. Values are always bound. */
export const makeSql = perPrefix((p) => ({
  /** The tables that have no numbers left. */
  exhausted: lines`
    SELECT name, ${exact("seq")}
    FROM sqlite_sequence
    WHERE seq >= ${lastNumber}
      AND name IN ('${p}outbox', '${p}spawns', '${p}holdfast_delayed', '${p}holdfast_dead_letters', '${p}holdfast_activities')`,
  schemaVersion: lines`
    SELECT value
    FROM ${p}holdfast_meta
    WHERE key = 'schema_version'`,
  /** The version of the schema, and which of these names none of its tables, indexes and triggers has. */
  schema: lines`
    SELECT 'version', value
    FROM ${p}holdfast_meta
    WHERE key = 'schema_version'
    UNION ALL
    SELECT 'missing', value
    FROM json_each(?)
    WHERE lower(value) NOT IN (SELECT lower(name) FROM sqlite_master)`,
  once: makeOnceSql(p),
  commit: makeCommitSql(p),
  executions: makeExecutionSql(p),
  listing: makeListingSql(p),
  part: makePartSql(p),
  count: makeCountSql(p),
  attributes: makeAttributeSql(p),
  trace: makeTraceSql(p),
  ledger: makeLedgerSql(p),
  outbox: makeOutboxSql(p),
  delayed: makeDelayedSql(p),
  spawns: makeSpawnSql(p),
  timers: makeTimerSql(p),
  activities: makeActivitySql(p),
  deadLetters: makeDeadLetterSql(p),
  stats: makeStatsSql(p),
  counts: makeCountsSql(p),
  unserved: makeUnservedSql(p),
  verify: makeVerifySql(p),
  leases: makeLeaseSql(p),
  definitions: makeDefinitionSql(p)
}))

export type Sql = ReturnType<typeof makeSql>
