import * as Effect from "effect/Effect"
import { type StoreError, StoreRejected } from "../../StoreError.js"
import { ddl, names, repair, schemaVersion } from "../schema/schema.js"
import type { Database, Failure } from "../sqlDatabase/database.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"
import * as log from "../telemetry/log.js"

const call = { operation: "open" }

const refuse = (path: string, detail: string): StoreRejected =>
  new StoreRejected({ ...call, reason: "schema", path, detail })

/** What is there of the schema: its version, none where there are no tables, and what is missing of this version. */
interface Found {
  readonly version: unknown
  readonly missing: ReadonlyArray<string>
}

const read = (database: Database, prefix: string): Effect.Effect<Found, Failure> =>
  Effect.map(pages.rows(database, call, database.sql.schema, JSON.stringify(names(prefix))), (rows) => ({
    version: rows.find(([what]) => what === "version")?.[1],
    missing: rows.flatMap(([what, name]) => (what === "missing" ? [String(name)] : []))
  }))

const expectCurrent = ({ missing, version }: Found): Effect.Effect<void, StoreRejected> => {
  if (version !== String(schemaVersion)) {
    return refuse(
      "schema_version",
      `the database's schema has version ${String(version)}, this library knows version ${schemaVersion}`
    )
  }
  return missing.length === 0
    ? Effect.void
    : refuse("createSchema", `the schema lacks ${missing.join(", ")}, which could not be made`)
}

/** That the schema would have to be made, where it is to be left as it is. */
const notMade = ({ missing, version }: Found): StoreRejected => {
  if (version === undefined) return refuse("createSchema", "the tables are missing and are not to be created")
  const lacks = version === String(schemaVersion) ? `lacks ${missing.join(", ")}` : `has version ${String(version)}`
  return refuse(
    "createSchema",
    `the schema ${lacks} and is to be left as it is: run the statements of SqlDriver.schema, which add what version ${schemaVersion} has`
  )
}

const isEarlier = ({ version }: Found): boolean => Number(version) >= 1 && Number(version) < schemaVersion

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
    const found = yield* Effect.catchIf(
      read(database, prefix),
      (error) => error._tag === "StoreRejected" && error.reason === "sql",
      () => Effect.succeed<Found>({ version: undefined, missing: [] })
    )
    const isCurrent = found.version === String(schemaVersion)
    if (isCurrent && found.missing.length === 0) return
    if (found.version !== undefined && !isCurrent && !isEarlier(found)) return yield* expectCurrent(found)
    if (!createSchema) return yield* notMade(found)
    if (isCurrent) {
      yield* log.warning(
        `the schema has version ${schemaVersion} and lacks ${found.missing.join(", ")}: it is made anew; what was in a table is gone`
      )
    }
    const texts = isCurrent ? repair(prefix, found.missing) : ddl(prefix)
    yield* repeatableWrite.run(
      database,
      call,
      texts.map((sql) => ({ sql, params: [] }))
    )
    yield* Effect.flatMap(read(database, prefix), expectCurrent)
  })
