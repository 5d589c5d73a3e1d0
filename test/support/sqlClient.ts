import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** A client as an application makes it. */
export const make = (
  config: Partial<SqliteClient.SqliteClientConfig> = {}
): Effect.Effect<SqlClient.SqlClient, never, Scope.Scope> =>
  SqliteClient.make({ filename: ":memory:", ...config }).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
  )

/** What a result code of SQLite looks like to a client's user. */
export const failure = (code: string | number, message = "provoked"): SqlError =>
  new SqlError({ cause: Object.assign(new Error(message), { code }), message: "Failed to execute statement" })

/** A client of the same connection whose statements are handed to `intercept` first. */
export const intercepted = (
  client: SqlClient.SqlClient,
  intercept: (connection: Connection) => Partial<Connection>,
  options: Partial<SqlClient.SqlClient.MakeOptions> = {}
): Effect.Effect<SqlClient.SqlClient> => {
  const known = new WeakMap<Connection, Connection>()
  const acquirer = Effect.map(client.reserve, (connection) => {
    const wrapped = known.get(connection) ?? { ...connection, ...intercept(connection) }
    known.set(connection, wrapped)
    return wrapped
  })
  return SqlClient.make({
    acquirer,
    transactionAcquirer: acquirer,
    compiler: Statement.makeCompilerSqlite(),
    spanAttributes: [],
    ...options
  }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Effect.scoped(Reactivity.make)))
}
