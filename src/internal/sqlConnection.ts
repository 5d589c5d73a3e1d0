import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { Statement, StatementResult } from "../SqlDriver.js"

type Rows = ReadonlyArray<ReadonlyArray<unknown>>

// Clients throw where a statement does not prepare, instead of failing.
const guarded = <A>(run: () => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  Effect.catchAllDefect(Effect.suspend(run), (cause) => new SqlError({ cause, message: "Failed to execute statement" }))

// A client keeps a statement that did not prepare, failed as it is, for minutes, whatever becomes of the lock or of the missing table.
const prepared = <A>(
  run: () => Effect.Effect<A, SqlError>,
  anew: () => Effect.Effect<A, SqlError>
): Effect.Effect<A, SqlError> =>
  Effect.catchIf(
    guarded(run),
    (error) => error.message.startsWith("Failed to prepare"),
    () => guarded(anew)
  )

/**
 * The rows of a query, as arrays of columns, whose names must differ and not be numbers (or be alone): a statement prepared anew gives
 * objects. A connection's own methods know nothing of the client's name transforms, and make no span.
 */
export const query = (connection: Connection, { params, sql }: Statement): Effect.Effect<Rows, SqlError> =>
  prepared(
    () => connection.executeValues(sql, params),
    () =>
      Effect.map(connection.executeUnprepared(sql, params, undefined), (rows: ReadonlyArray<object>) =>
        rows.map((row): ReadonlyArray<unknown> => Object.values(row))
      )
  )

const counts = { sql: "SELECT changes(), last_insert_rowid()", params: [] }

/** Runs a statement that gives no rows. */
export const write = (connection: Connection, { params, sql }: Statement): Effect.Effect<StatementResult, SqlError> =>
  Effect.flatMap(
    prepared<unknown>(
      () => connection.executeRaw(sql, params),
      () => connection.executeUnprepared(sql, params, undefined)
    ),
    (result) =>
      Predicate.hasProperty(result, "changes") && Predicate.hasProperty(result, "lastInsertRowid")
        ? Effect.succeed({ changes: Number(result.changes), lastRowid: Number(result.lastInsertRowid) })
        : // Not every client says what a statement did.
          Effect.map(query(connection, counts), ([row = []]) => ({
            changes: Number(row[0]),
            lastRowid: Number(row[1])
          }))
  )

/** {@link write} of a statement without parameters, for its effect. */
export const command = (connection: Connection, sql: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(
    prepared<unknown>(
      () => connection.executeRaw(sql, []),
      () => connection.executeUnprepared(sql, [], undefined)
    )
  )
