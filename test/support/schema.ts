/**
 * A database with the tables of a store and nothing in them, made once: where each test has a new database of its own, it begins with a
 * copy of this one, as making the tables takes longer than most tests. What makes them is tested by itself.
 */
import { writeFileSync } from "node:fs"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import { ddl } from "holdfast/internal/schema/schema"
import * as Temp from "./temp.js"

const made = new Map<string, Buffer>()

/** Its bytes, as SQLite keeps it in a file; the prefix is that of most stores by default. */
export const database = (prefix = "harel_"): Buffer => {
  const known = made.get(prefix)
  if (known !== undefined) return known
  const db = new Sqlite(":memory:")
  for (const sql of ddl(prefix)) db.exec(sql)
  const bytes = db.serialize()
  db.close()
  made.set(prefix, bytes)
  return bytes
}

/** The path of a copy, in a directory of its own. */
export const file = Effect.tap(Temp.database, (filename) => Effect.sync(() => writeFileSync(filename, database())))
