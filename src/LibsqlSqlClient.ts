/**
 * A `LibsqlStore` that gives the application an `SqlClient` of @effect/sql for its own tables in the same database. Needs @effect/sql-libsql and
 * its peers beside @libsql/client; all are optional peers.
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
 * A transaction of this client is one of its own, of which a commit of the store is never a part. Within it, on a file or in memory, a commit
 * waits for the lock that the transaction holds, and fails after `busyTimeout`; a server takes the lock from the transaction after 5 seconds,
 * so that the commit succeeds and the transaction fails.
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
