import * as SqlClient from "@effect/sql/SqlClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as String from "effect/String"
import * as SqlStore from "holdfast/SqlStore"
import * as ContractShare from "../support/contractShare.js"
import * as Schema from "../support/schema.js"
import { insertion } from "../support/sqlRows.js"

// The application's own conventions for names must not reach the store's tables.
const client = Layer.unwrapScoped(
  Effect.map(Schema.file, (filename) =>
    SqliteClient.layer({
      filename,
      transformQueryNames: String.camelToSnake,
      transformResultNames: String.snakeToCamel
    })
  )
)

const layerWith = (options: SqlStore.Options) => Layer.provideMerge(SqlStore.layer(options), client)

ContractShare.suite("SqlStore", layerWith({}), {
  layerWith,
  part: { of: 6, rest: 3 },
  raw: (table, row) =>
    Effect.flatMap(SqlClient.SqlClient, (client) => {
      const { params, sql } = insertion(table, row)
      return Effect.asVoid(client.unsafe(sql, params))
    })
})
