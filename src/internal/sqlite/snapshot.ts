import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { SqlDriver } from "../../SqlDriver.js"
import type { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import type { Access, Library } from "../sqliteDriver/database.js"
import type * as busyRetry from "./busyRetry.js"
import * as connections from "./connection.js"

const call = { operation: "export" }

/**
 * A connection of its own in one read transaction, in which the file stays as it is, whatever others write. Its log grows meanwhile: nobody can
 * empty it before the transaction ends.
 */
export const ofFile = (
  library: Library,
  filename: string,
  patiently: ReturnType<typeof busyRetry.make>,
  access?: Access
): Effect.Effect<SqlDriver["query"], StoreUnavailable | StoreRejected, Scope.Scope> =>
  Effect.gen(function* () {
    const connection = yield* connections.open(library, filename, access)
    const query: SqlDriver["query"] = (call, statement) => patiently(call, connection.query(statement))
    // The transaction begins with what it reads first.
    for (const sql of [
      "PRAGMA busy_timeout = 0",
      "PRAGMA query_only = ON",
      "BEGIN",
      "SELECT count(*) FROM sqlite_master"
    ]) {
      yield* query(call, { sql, params: [] })
    }
    return query
  })
