/**
 * A `LibsqlStore` together with an `SqlClient` for the application's own tables in the same database. It needs `@effect/sql-libsql` and its
 * peers beside `@libsql/client`; all of them are optional peers.
 *
 * @since 0.1.0
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import * as LibsqlClient from "@effect/sql-libsql/LibsqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ExecutionStore from "./ExecutionStore.js"
import * as LibsqlStore from "./LibsqlStore.js"
import type { StoreError } from "./StoreError.js"

/**
 * `LibsqlStore.layer`, and an `SqlClient` for the application's own tables in the same database.
 *
 * Transactions of this client and commits of the store are separate. On a file or in memory, a commit waits for the lock that such a
 * transaction holds, and fails after `busyTimeout`. A server takes the lock from the transaction after 5 seconds: then the commit succeeds
 * and the transaction fails.
 *
 * @example
 * ```ts
 * import { SqlClient } from "@effect/sql"
 * import { Effect } from "effect"
 * import * as LibsqlSqlClient from "holdfast/LibsqlSqlClient"
 *
 * const program = Effect.gen(function* () {
 *   const sql = yield* SqlClient.SqlClient
 *   yield* sql`CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT NOT NULL)`
 *   yield* sql`INSERT INTO customers ${sql.insert({ id: "c1", name: "Ada" })}`
 * }).pipe(Effect.provide(LibsqlSqlClient.layer({ url: ":memory:" })))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: LibsqlStore.Options
): Layer.Layer<
  ExecutionStore.ExecutionStore | LibsqlStore.Replica | LibsqlClient.LibsqlClient | SqlClient.SqlClient,
  StoreError
> =>
  Layer.scopedContext(
    Effect.flatMap(LibsqlStore.make(options), ({ client, replica, store }) =>
      Effect.map(LibsqlClient.make({ liveClient: client }), (sql) =>
        Context.make(ExecutionStore.ExecutionStore, store).pipe(
          Context.add(LibsqlStore.Replica, replica),
          Context.add(LibsqlClient.LibsqlClient, sql),
          Context.add(SqlClient.SqlClient, sql)
        )
      )
    ).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))
  )
