import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Param, Statement, StatementResult } from "../../SqlDriver.js"
import { isOneRow, type OneRow } from "../sqlDatabase/oneRow.js"
import type { LazyDriver, Results } from "./lazyDriver.js"

/** Statements as they run, and of each how many it is of those that were given. */
interface Together {
  readonly statements: ReadonlyArray<Statement>
  readonly counts: ReadonlyArray<number>
}

/** The statements from this one on that insert a row each in the same way, as many as there is a text for. */
const alike = (given: ReadonlyArray<Statement>, from: number, { insert }: OneRow): ReadonlyArray<OneRow> => {
  const found: Array<OneRow> = []
  const most = 2 ** (insert.texts.length - 1)
  for (let i = from; found.length < most; i++) {
    const next = given[i]
    if (next === undefined || !isOneRow(next)) break
    if (next.insert.texts !== insert.texts || next.insert.last !== insert.last) break
    found.push(next)
  }
  return found.slice(0, 2 ** Math.floor(Math.log2(found.length)))
}

const asOne = (rows: ReadonlyArray<OneRow>, { insert: { last, texts } }: OneRow): Statement => {
  const params: Array<Param> = []
  for (const { insert } of rows) params.push(...insert.row)
  params.push(last)
  return { sql: texts[Math.log2(rows.length)] ?? "", params }
}

const merge = (given: ReadonlyArray<Statement>): Together => {
  const statements: Array<Statement> = []
  const counts: Array<number> = []
  let i = 0
  for (let first = given[i]; first !== undefined; first = given[i]) {
    const rows = isOneRow(first) ? alike(given, i, first) : []
    statements.push(isOneRow(first) && rows.length > 1 ? asOne(rows, first) : first)
    counts.push(Math.max(1, rows.length))
    i += Math.max(1, rows.length)
  }
  return { statements, counts }
}

/** What each of those that were given did. The rows of one statement are numbered one behind the other. */
const split = ({ counts }: Together, results: Results): Results => {
  const parts: Array<StatementResult> = []
  for (const [i, result] of results.entries()) {
    const count = counts[i] ?? 1
    for (let left = count - 1; left >= 0; left--) {
      parts.push(
        count === 1 ? result : { changes: result.changes === count ? 1 : 0, lastRowid: result.lastRowid - left }
      )
    }
  }
  return parts
}

/** Runs the inserts of single rows that come one behind the other as fewer statements. Each has its own result. */
export const make = (driver: LazyDriver): LazyDriver => {
  /** The statements of one transaction, and what is to be made of their results. */
  const prepare = (given: () => ReadonlyArray<Statement>) => {
    let together: Together | undefined
    const statements = (): ReadonlyArray<Statement> => {
      const asked = given()
      together = asked.length > 1 && asked.some(isOneRow) ? merge(asked) : undefined
      return together?.statements ?? asked
    }
    const resultsOf = (results: Results): Results => (together === undefined ? results : split(together, results))
    return { statements, resultsOf }
  }
  const { attempt, transaction } = driver
  return {
    ...driver,
    transaction: (call, given) =>
      Effect.suspend(() => {
        const { resultsOf, statements } = prepare(given)
        return Effect.map(transaction(call, statements), resultsOf)
      }),
    ...(attempt && {
      attempt: (call, given) => {
        const { resultsOf, statements } = prepare(given)
        const attempted = attempt(call, statements)
        return attempted && Either.map(attempted, resultsOf)
      }
    })
  }
}
