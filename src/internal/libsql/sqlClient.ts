import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import * as LibsqlClient from "@effect/sql-libsql/LibsqlClient"
import type { Client } from "@libsql/client"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The clients of @effect/sql on a client. */
export const make = (
  client: Client
): Effect.Effect<Context.Context<LibsqlClient.LibsqlClient | SqlClient.SqlClient>, never, Scope.Scope> =>
  LibsqlClient.make({ liveClient: client }).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    Effect.map((client) =>
      Context.make(LibsqlClient.LibsqlClient, client).pipe(Context.add(SqlClient.SqlClient, client))
    )
  )
