import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StoreRejected } from "../../StoreError.js"
import { decoder, refused } from "../options/decode.js"
import { prefix } from "../options/store.js"
import { lines } from "../util/lines.js"
import { indexes } from "./indexes.js"
import { perPrefix } from "./perPrefix.js"
import { tables } from "./tables.js"
import { fillListing, triggers } from "./triggers.js"

/** The version of our additions to the tables; harel's own tables carry none. */
export const schemaVersion = 5

const decode = decoder(Schema.Struct({ prefix }), refused("open", "SqlDriver"))

/** What has a name of its own among the parts of the schema. */
const nameOf = (sql: string): string | undefined => /^CREATE (?:TABLE|INDEX|TRIGGER) IF NOT EXISTS (\w+)/.exec(sql)?.[1]

/** The names of all tables, indexes and triggers. */
export const names = perPrefix((p): ReadonlyArray<string> => ddl(p).flatMap((sql) => nameOf(sql) ?? []))

/**
 * {@link ddl} for a database of this version that lacks some of it. Where the listing, or a trigger that keeps it, was not there, it is brought
 * up to date: its own triggers tell of it as they would have then.
 */
export const repair = (p: string, missing: ReadonlyArray<string>): ReadonlyArray<string> => {
  const listing = `${p}holdfast_listing`
  const kept = [listing, ...["insert", "update", "delete"].map((change) => `${listing}_${change}`)]
  if (!missing.some((name) => kept.includes(name))) return ddl(p)
  const stale = [
    lines`
      DELETE FROM ${listing}
      WHERE id NOT IN (SELECT id FROM ${p}executions)`,
    // The listing is filled where there is no version yet.
    lines`
      DELETE FROM ${p}holdfast_meta
      WHERE key = 'schema_version'`
  ]
  return [...tables(p), ...triggers(p), ...stale, ...ddl(p)]
}

/**
 * harel's six tables, its newer `definitions`, and what is ours: secondary indexes, companion tables and the triggers that keep them. Each
 * statement does nothing where its part is there.
 */
export const ddl = (p: string): ReadonlyArray<string> => [
  ...tables(p),
  // Version 4 kept rates so. What began before does not count any more.
  `DROP TABLE IF EXISTS ${p}holdfast_activity_limits`,
  ...indexes(p),
  ...triggers(p),
  fillListing(p),
  lines`
    INSERT INTO ${p}holdfast_meta (key, value)
    VALUES ('schema_version', '${schemaVersion}')
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
    WHERE CAST(value AS INTEGER) < CAST(excluded.value AS INTEGER)`
]

export const texts = (prefix: string): Effect.Effect<ReadonlyArray<string>, StoreRejected> =>
  Effect.map(decode({ prefix }), ({ prefix }) => ddl(prefix))
