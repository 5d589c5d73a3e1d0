import * as Effect from "effect/Effect"
import * as SqlDriver from "holdfast/SqlDriver"
import type { StoreRejected } from "holdfast/StoreError"

/** The statements that drop all tables of a store with this prefix. */
export const drops = (prefix: string): Effect.Effect<ReadonlyArray<string>, StoreRejected> =>
  Effect.map(SqlDriver.schema(prefix), (statements) =>
    statements.flatMap((statement) => {
      const name = /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.[1]
      return name === undefined ? [] : [`DROP TABLE IF EXISTS ${name}`]
    })
  )
