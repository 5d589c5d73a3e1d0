import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { StoreRejected } from "../../StoreError.js"

export const refused = (detail: string, cause?: unknown): StoreRejected =>
  new StoreRejected({ operation: "open", reason: "open", detail, cause })

/** Fails where a transaction of the caller is open: it may hold the very connection that a store must get hold of once. */
export const outsideTransaction: Effect.Effect<void, StoreRejected> = Effect.flatMap(
  Effect.serviceOption(SqlClient.TransactionConnection),
  Option.match({
    onNone: () => Effect.void,
    onSome: () => refused("a store cannot be made inside a transaction: make it before sql.withTransaction")
  })
)

const libsqlClient: unique symbol = Symbol.for("@effect/sql-libsql/LibsqlClient")

/** Refuses the clients that could not keep what the store promises. */
export const check = (client: SqlClient.SqlClient): Effect.Effect<void, StoreRejected> => {
  if (!client.onDialectOrElse({ sqlite: () => true, orElse: () => false })) {
    return refused("the SqlClient is not one of SQLite")
  }
  return Predicate.hasProperty(client, libsqlClient)
    ? refused(
        "a client of @effect/sql-libsql does not reserve its connection: statements of others would fall into the store's transactions"
      )
    : Effect.void
}
