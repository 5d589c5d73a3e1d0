import * as Effect from "effect/Effect"
import type { Call, Param, Statement } from "../../SqlDriver.js"
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
export interface Read {
  readonly rows: ReadonlyArray<Row>
  readonly reached: unknown
}

/** Reads by a statement that ends, where `marked`, with a row that says the number of the last one. */
export const readBy = (
  database: Database,
  call: Call,
  statement: (from: Param, limit: number) => Statement,
  { after, limit, marked }: { readonly after: number; readonly limit: number; readonly marked: boolean }
): Effect.Effect<Read, Failure> => {
  const page: pages.Page = {
    statement: (row, limit) => statement(row === undefined ? after : pages.numberOf(row), limit),
    counts: marked ? isRow : undefined
  }
  return Effect.map(pages.read(database, call, limit, page), (found) =>
    marked
      ? { rows: found.filter(isRow), reached: found.findLast((row) => !isRow(row))?.[0] }
      : { rows: found, reached: undefined }
  )
}

/** Reads rows of a numbered table, without those that are passed over. */
export const read = (
  database: Database,
  call: Call,
  texts: Texts,
  after: number,
  limit: number,
  except: ReadonlyArray<string>
): Effect.Effect<Read, Failure> => {
  const definitions = JSON.stringify(except)
  const statement = (from: Param, limit: number): Statement =>
    except.length === 0
      ? { sql: texts.pending, params: [from, limit] }
      : { sql: texts.pendingExcept, params: [definitions, from, limit, from] }
  return readBy(database, call, statement, { after, limit, marked: except.length > 0 })
}
