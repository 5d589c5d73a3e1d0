import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { load, type Name } from "holdfast/internal/sqliteDriver/load"
import * as SqliteStore from "holdfast/SqliteStore"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import type * as Subject from "holdfast/testing/Subject"
import * as Schema from "./schema.js"
import { insertion } from "./sqlRows.js"

class Filename extends Context.Tag("test/Filename")<Filename, string>() {}

/** The contract suite, or a share of it, on files, by one of the libraries. It writes raw rows as well: two of them must not have a file open in a process. */
export const onFiles = (
  driver: Name,
  suite: (
    name: string,
    layer: Layer.Layer<ExecutionStore | Filename, unknown>,
    options: Subject.Options<Filename>
  ) => void
): void => {
  const layerWith = (options: Omit<SqliteStore.Options, "filename" | "driver">) =>
    Layer.unwrapScoped(
      Effect.map(Schema.file, (filename) =>
        Layer.merge(SqliteStore.layer({ ...options, driver, filename }), Layer.succeed(Filename, filename))
      )
    )

  suite(`SqliteStore on a file, by ${driver}`, layerWith({}), {
    layerWith,
    raw: (table, row) =>
      Effect.gen(function* () {
        const library = yield* load(driver)
        const { params, sql } = insertion(table, row)
        const database = library.open(yield* Filename)
        database.prepare(sql).run(params)
        database.close()
      })
  })
}
