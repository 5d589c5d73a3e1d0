import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StoreRejected } from "../../StoreError.js"
import { decoder, refused } from "../options/decode.js"
import { prefix } from "../options/store.js"
import { lines } from "../util/lines.js"
import { indexes } from "./indexes.js"
import { tables } from "./tables.js"
import { fillListing, triggers } from "./triggers.js"

/** The version of our additions to the tables; harel's own tables carry none. */
export const schemaVersion = 5

const decode = decoder(Schema.Struct({ prefix }), refused("open", "SqlDriver"))

/**
 * harel's six tables, its newer `definitions`, and what is ours: secondary indexes, companion tables and the triggers that keep them. Each
 * statement does nothing where its part is there.
 */
export const ddl = (p: string): ReadonlyArray<string> => [
  ...tables(p),
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
