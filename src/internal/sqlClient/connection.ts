import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { Statement, StatementResult } from "../../SqlDriver.js"
import type { Failure } from "../sqlite/busyRetry.js"
import { problemOf } from "../sqlite/error.js"

export type Rows = ReadonlyArray<ReadonlyArray<unknown>>

/** What a statement failed with, and whether it was before it ran: it did not prepare. */
export interface Broken extends Failure {
  readonly unprepared: boolean
}

/**
 * How statements run on a connection, whose own methods know nothing of the client's name transforms, and make no span.
 *
 * - `query`: the rows, as arrays of columns, whose names must differ and not be numbers (or be alone).
 * - `write`: runs a statement that gives no rows.
 * - `command`: the same of a statement without parameters, for its effect.
 */
export interface Runner {
  readonly query: (statement: Statement) => Effect.Effect<Rows, Failure>
  readonly write: (statement: Statement) => Effect.Effect<StatementResult, Failure>
  readonly command: (sql: string) => Effect.Effect<unknown, Failure>
}

interface Methods {
  readonly raw: (sql: string, params: Statement["params"]) => Effect.Effect<unknown, SqlError>
  readonly values: (sql: string, params: Statement["params"]) => Effect.Effect<Rows, SqlError>
}

const counts = "SELECT changes(), last_insert_rowid()"

const broken = (error: SqlError): Broken => ({
  problem: problemOf(error),
  committing: false,
  unprepared: error.message.startsWith("Failed to prepare")
})

const runner = ({ raw, values }: Methods): Runner => ({
  query: ({ params, sql }) => Effect.mapError(values(sql, params), broken),
  write: ({ params, sql }) =>
    Effect.flatMap(raw(sql, params), (result) =>
      Predicate.hasProperty(result, "changes") && Predicate.hasProperty(result, "lastInsertRowid")
        ? Effect.succeed({ changes: Number(result.changes), lastRowid: Number(result.lastInsertRowid) })
        : // Not every client says what a statement did.
          Effect.map(values(counts, []), ([row = []]) => ({ changes: Number(row[0]), lastRowid: Number(row[1]) }))
    ).pipe(Effect.mapError(broken)),
  command: (sql) => Effect.mapError(raw(sql, []), broken)
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
const guarded = <A>(effect: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
  Effect.catchAllDefect(effect, (cause) => Effect.fail({ problem: problemOf({ cause }), committing: false }))

/**
 * Uses a connection. Where a statement does not prepare, all is done again with statements that are prepared anew: a client keeps one that
 * did not prepare, failed as it is, for minutes, whatever becomes of the lock or of the missing table. What is used must leave nothing
 * behind where it fails.
 */
export const using = (connection: Connection) => {
  const runners = { kept: kept(connection), anew: anew(connection) }
  return <A>(use: (runner: Runner) => Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
    Effect.catchAll(guarded(use(runners.kept)), (failure) =>
      Predicate.hasProperty(failure, "unprepared") && failure.unprepared === true
        ? guarded(use(runners.anew))
        : Effect.fail(failure)
    )
}

/** A connection, through which a piece of work gets at it. */
export type Used = ReturnType<typeof using>
