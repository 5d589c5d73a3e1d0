import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { Statement, StatementResult } from "../../SqlDriver.js"

type Rows = ReadonlyArray<ReadonlyArray<unknown>>

/**
 * How statements run on a connection, whose own methods know nothing of the client's name transforms, and make no span.
 *
 * - `query`: the rows, as arrays of columns, whose names must differ and not be numbers (or be alone).
 * - `write`: runs a statement that gives no rows.
 * - `command`: the same of a statement without parameters, for its effect.
 */
export interface Runner {
  readonly query: (statement: Statement) => Effect.Effect<Rows, SqlError>
  readonly write: (statement: Statement) => Effect.Effect<StatementResult, SqlError>
  readonly command: (sql: string) => Effect.Effect<unknown, SqlError>
}

interface Methods {
  readonly raw: (sql: string, params: Statement["params"]) => Effect.Effect<unknown, SqlError>
  readonly values: (sql: string, params: Statement["params"]) => Effect.Effect<Rows, SqlError>
}

const counts = "SELECT changes(), last_insert_rowid()"

const runner = ({ raw, values }: Methods): Runner => ({
  query: ({ params, sql }) => values(sql, params),
  write: ({ params, sql }) =>
    Effect.flatMap(raw(sql, params), (result) =>
      Predicate.hasProperty(result, "changes") && Predicate.hasProperty(result, "lastInsertRowid")
        ? Effect.succeed({ changes: Number(result.changes), lastRowid: Number(result.lastInsertRowid) })
        : // Not every client says what a statement did.
          Effect.map(values(counts, []), ([row = []]) => ({ changes: Number(row[0]), lastRowid: Number(row[1]) }))
    ),
  command: (sql) => raw(sql, [])
})

/** Statements that the client keeps prepared. */
const kept = (connection: Connection): Runner =>
  runner({
    raw: (sql, params) => connection.executeRaw(sql, params),
    values: (sql, params) => connection.executeValues(sql, params)
  })

/** Statements that are prepared each time, whose rows come as objects. */
const anew = (connection: Connection): Runner => {
  const run = (sql: string, params: Statement["params"]) =>
    Effect.suspend(() => connection.executeUnprepared(sql, params, undefined))
  return runner({
    raw: run,
    values: (sql, params) =>
      Effect.map(run(sql, params), (rows: ReadonlyArray<object>) =>
        rows.map((row): ReadonlyArray<unknown> => Object.values(row))
      )
  })
}

// Clients throw where a statement does not prepare, instead of failing.
const guarded = <A, E>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, E | SqlError> =>
  Effect.catchAllDefect(effect, (cause) => new SqlError({ cause, message: "Failed to execute statement" }))

/**
 * Uses a connection. Where a statement does not prepare, all is done again with statements that are prepared anew: a client keeps one that
 * did not prepare, failed as it is, for minutes, whatever becomes of the lock or of the missing table. What is used must leave nothing
 * behind where it fails.
 */
export const using = (connection: Connection) => {
  const runners = { kept: kept(connection), anew: anew(connection) }
  return <A>(use: (runner: Runner) => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
    Effect.catchAll(guarded(use(runners.kept)), (error) =>
      error.message.startsWith("Failed to prepare") ? guarded(use(runners.anew)) : Effect.fail(error)
    )
}

/** A connection, through which a piece of work gets at it. */
export type Used = ReturnType<typeof using>
