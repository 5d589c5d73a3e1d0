import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Timer } from "../../Commit.js"
import type { Failure } from "../../DeadLetter.js"
import type { BrokenTimer, Encoded } from "../../EncodedStore.js"
import type { Statement } from "../../SqlDriver.js"
import * as reader from "../codec/reader.js"
import { statement } from "../sql/commitPlan.js"
import type { Database, Row } from "../sqlDatabase/database.js"
import * as fenced from "../sqlDatabase/fenced.js"
import * as idempotentWrite from "../sqlDatabase/idempotentWrite.js"
import * as pages from "../sqlDatabase/pages.js"
import { decodeRow, failed } from "./rows.js"

const decode = (row: Row): Timer => ({
  executionId: reader.string(row[0], "execution_id"),
  path: reader.string(row[1], "path"),
  fireAt: reader.finite(row[2], "fire_at")
})

/** Whether a row of due timers is a timer. The statement has looked at what the columns of the others hold. */
const isTimer = (row: Row): boolean => Number(row[3]) !== -1

/** Sorts the rows of due timers into those that are timers and those that are none. */
const sort = (rows: ReadonlyArray<Row>) => {
  const timers: Array<Timer> = []
  const failures: Array<Failure> = []
  const broken: Array<BrokenTimer> = []
  for (const row of rows) {
    const timer = { executionId: String(row[0]), path: String(row[1]), fireAt: Number(row[2]) }
    if (!isTimer(row)) {
      broken.push({ ...timer, problem: String(row[4]) })
      continue
    }
    const failure = failed(row.slice(3))
    timers.push(timer)
    if (failure !== undefined) failures.push({ work: { _tag: "Timer", ...timer }, ...failure })
  }
  return { timers, failures, broken }
}

const dueTimers = (database: Database, ...[now, after, limit, except]: Parameters<Encoded["dueTimers"]>) => {
  const sql = database.sql.timers
  const behind = after === undefined ? undefined : [after.executionId, after.path, after.fireAt]
  const passes = except.length > 0
  const passed = passes ? [JSON.stringify(except)] : []
  const statement = (row: Row | undefined, limit: number): Statement => {
    const [executionId, path, fireAt] = row ?? behind ?? []
    return executionId === undefined
      ? { sql: passes ? sql.dueExcept : sql.due, params: [...passed, now, limit, limit] }
      : {
          sql: passes ? sql.dueExceptAfter : sql.dueAfter,
          params: [...passed, now, Number(fireAt), String(executionId), String(path), limit]
        }
  }
  return Effect.map(pages.read(database, { operation: "dueTimers" }, limit, { statement, counts: isTimer }), sort)
}

/** Armed timers. */
export const make = (database: Database): Pick<Encoded, "dueTimers" | "nextTimer" | "isArmed" | "deleteTimer"> => {
  const sql = database.sql.timers
  return {
    dueTimers: (...query) => dueTimers(database, ...query),

    nextTimer: Effect.gen(function* () {
      const call = { operation: "nextTimer" }
      const row = yield* pages.first(database, call, sql.next)
      return Option.isNone(row) ? Option.none() : Option.some(yield* decodeRow(call, "timers", row.value, decode))
    }),

    isArmed: ({ executionId, fireAt, path }) =>
      Effect.map(
        pages.first(database, { operation: "isArmed", executionId }, sql.isArmed, executionId, path, fireAt),
        Option.isSome
      ),

    deleteTimer: ({ executionId, fireAt, path }, fence) => {
      const call = { operation: "deleteTimer", executionId }
      const write = idempotentWrite.run(database, call, (key) => ({
        main: statement(sql.delete, fence, executionId, path, fireAt, key)
      }))
      const changes = Effect.map(write, (result) => result.changes)
      return Effect.map(fenced.changed(database, call, fence, changes), (changes) => changes === 1)
    }
  }
}
