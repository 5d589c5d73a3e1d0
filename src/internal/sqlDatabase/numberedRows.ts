import * as Effect from "effect/Effect"
import type { Call } from "../../SqlDriver.js"
import type { Database, Failure, Row } from "./database.js"
import * as pages from "./pages.js"

/** The texts that read a numbered table: all of its rows, or without those that are passed over, and then the number of the last one. */
interface Texts {
  readonly pending: string
  readonly pendingExcept: string
}

/** What a row of the table is not: the number of the last one. */
const isRow = (row: Row): boolean => Number(row.at(-4)) !== -1

/** Rows of a numbered table, and the number that they reach where some are passed over. */
export const read = (
  database: Database,
  call: Call,
  texts: Texts,
  after: number,
  limit: number,
  except: ReadonlyArray<string>
): Effect.Effect<{ readonly rows: ReadonlyArray<Row>; readonly reached: unknown }, Failure> => {
  if (except.length === 0) {
    const page = pages.numbered(texts.pending, after)
    return Effect.map(pages.read(database, call, limit, page), (rows) => ({ rows, reached: undefined }))
  }
  const definitions = JSON.stringify(except)
  const page: pages.Page = {
    statement: (row, limit) => {
      const from = row === undefined ? after : pages.numberOf(row)
      return { sql: texts.pendingExcept, params: [definitions, from, limit, from] }
    },
    counts: isRow
  }
  return Effect.map(pages.read(database, call, limit, page), (found) => ({
    rows: found.filter(isRow),
    reached: found.findLast((row) => !isRow(row))?.[0]
  }))
}
