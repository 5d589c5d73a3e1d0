import * as Effect from "effect/Effect"
import { type StoreError, StoreRejected } from "../../StoreError.js"
import { ddl, schemaVersion } from "../schema/schema.js"
import type { Database } from "../sqlDatabase/database.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"

const call = { operation: "open" }

const refuse = (path: string, detail: string): StoreRejected =>
  new StoreRejected({ ...call, reason: "schema", path, detail })

const storedVersion = (database: Database) =>
  Effect.map(pages.rows(database, call, database.sql.schemaVersion), ([row]) => row?.[0])

const expectCurrent = (stored: unknown): Effect.Effect<void, StoreRejected> =>
  stored === String(schemaVersion)
    ? Effect.void
    : refuse(
        "schema_version",
        `the database's schema has version ${String(stored)}, this library knows version ${schemaVersion}`
      )

/** That the schema would have to be made, where it is to be left as it is. */
const notMade = (stored: unknown): StoreRejected =>
  refuse(
    "createSchema",
    stored === undefined
      ? "the tables are missing and are not to be created"
      : `the schema has version ${String(stored)} and is to be left as it is: run the statements of SqlDriver.schema, which add what version ${schemaVersion} has`
  )

/**
 * Makes what is missing of the schema, also in a database of an earlier version, to which later ones only add. A database that has it all
 * is only read, so that opening it waits for no writer.
 */
export const openSchema = (
  database: Database,
  prefix: string,
  createSchema: boolean
): Effect.Effect<void, StoreError> =>
  Effect.gen(function* () {
    // Whether the tables are there shows only in asking: rqlite and libSQL have no other way in common.
    const stored = yield* Effect.catchIf(
      storedVersion(database),
      (error) => error._tag === "StoreRejected" && error.reason === "sql",
      () => Effect.succeed(undefined)
    )
    const earlier = Number(stored) >= 1 && Number(stored) < schemaVersion
    if (stored !== undefined && !earlier) return yield* expectCurrent(stored)
    if (!createSchema) return yield* notMade(stored)
    const statements = ddl(prefix).map((sql) => ({ sql, params: [] }))
    yield* repeatableWrite.run(database, call, statements)
    yield* Effect.flatMap(storedVersion(database), expectCurrent)
  })
