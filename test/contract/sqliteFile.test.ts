import Database from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqliteStore from "holdfast/SqliteStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import { insertion } from "../support/sqlRows.js"
import * as Temp from "../support/temp.js"

class Filename extends Context.Tag("test/Filename")<Filename, string>() {}

const layerWith = (options: Omit<SqliteStore.Options, "filename">) =>
  Layer.unwrapScoped(
    Effect.map(Temp.database, (filename) =>
      Layer.merge(SqliteStore.layer({ ...options, filename }), Layer.succeed(Filename, filename))
    )
  )

ContractSuite.suite("SqliteStore on a file", layerWith({}), {
  layerWith,
  raw: (table, row) =>
    Effect.map(Filename, (filename) => {
      const { params, sql } = insertion(table, row)
      const database = new Database(filename)
      database.prepare(sql).run(...params)
      database.close()
    })
})
