import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Work } from "../../Commit.js"
import type { Kind } from "../../DeadLetter.js"
import type { Encoded, EncodedDeadLetter } from "../../EncodedStore.js"
import type { Param } from "../../SqlDriver.js"
import { prefixEnd } from "../codec/utf8Order.js"
import { statement } from "../sql/commitPlan.js"
import type { Sql } from "../sql/statements.js"
import type { Database, Row } from "../sqlDatabase/database.js"
import * as fenced from "../sqlDatabase/fenced.js"
import * as idempotentWrite from "../sqlDatabase/idempotentWrite.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"

/** What names a row of work: a timer is found by the time it is armed for or, where it is none, by the texts of its columns. */
const keyOf = (work: Work): ReadonlyArray<Param> =>
  work._tag === "Timer" ? [work.executionId, work.path, work.fireAt, work.executionId, work.path] : [work.seq]

const decode = ([id, kind, seq, ...columns]: Row): EncodedDeadLetter => {
  const [executionId, childId, path, fireAt, body, broken, reason, attempts, error, diedAt] = columns
  const row = { id, kind, seq, executionId, childId, path, fireAt, body, broken: broken === 1 }
  return { ...row, reason, attempts, error, diedAt }
}

/** The parameters of what narrows a listing: each twice. */
const narrowing = (query: Parameters<Encoded["listDeadLetters"]>[0]): ReadonlyArray<Param> => {
  const { definitionId, diedBefore, executionIdPrefix: prefix, reason } = query
  const end = prefix === undefined ? undefined : prefixEnd(prefix)
  const reasons = reason === undefined ? undefined : JSON.stringify(reason)
  return [reasons, diedBefore, prefix, end, definitionId].flatMap((value) => [value ?? null, value ?? null])
}

const list = (database: Database, query: Parameters<Encoded["listDeadLetters"]>[0]) => {
  const { after = 0, executionId, kind, limit } = query
  const sql = database.sql.deadLetters
  const rest = narrowing(query)
  const page =
    executionId === undefined
      ? kind === undefined
        ? pages.numbered(sql.list, after, ...rest)
        : pages.numbered(sql.listOfKind, after, kind, ...rest)
      : kind === undefined
        ? pages.numbered(sql.listOf, after, executionId, ...rest)
        : pages.numbered(sql.listOfBoth, after, executionId, kind, ...rest)
  return Effect.map(pages.read(database, { operation: "listDeadLetters" }, limit, page), (rows) => rows.map(decode))
}

const isKind = (u: unknown): u is Kind => u === "Outbox" || u === "Spawn" || u === "Timer" || u === "Activity"

/** What removes a dead letter that was restored. */
const restoredOf = (sql: Sql["deadLetters"], kind: Kind): string => {
  if (kind === "Timer") return sql.restoredTimer
  return kind === "Activity" ? sql.restoredActivity : sql.discard
}

const redrive = (database: Database, id: number) =>
  Effect.gen(function* () {
    const call = { operation: "redrive" }
    const sql = database.sql.deadLetters
    const [kind, fireAt] = Option.getOrElse(yield* pages.first(database, call, sql.find, id), (): Row => [])
    if (!isKind(kind)) return Option.none()
    const { changes } = yield* idempotentWrite.run(database, call, (key) => ({
      before: [{ sql: sql.restore[kind], params: [id, key] }],
      main: { sql: restoredOf(sql, kind), params: [id, key] }
    }))
    return changes === 1 ? Option.some({ kind, fireAt }) : Option.none()
  })

/** Work that failed and work that was given up. */
export const make = (
  database: Database
): Pick<Encoded, "recordFailure" | "bury" | "listDeadLetters" | "redrive" | "discard"> => {
  const sql = database.sql.deadLetters
  return {
    recordFailure: ({ attempts, error, failedAt, retryAt, work }, fence) => {
      const call = { operation: "recordFailure" }
      const key = work._tag === "Timer" ? [work.executionId, work.path, work.fireAt] : [work.seq]
      const columns = [attempts, error, failedAt, retryAt, ...key]
      const write = repeatableWrite.run(database, call, [statement(sql.record[work._tag], fence, ...columns)])
      return Effect.asVoid(fenced.changed(database, call, fence, write))
    },

    bury: (work, { attempts, diedAt, error, reason }, fence, emits) => {
      const call = { operation: "bury" }
      const write = idempotentWrite.run(database, call, (key) => ({
        before: [
          statement(sql.bury[work._tag], fence, reason, attempts, error, diedAt, ...keyOf(work), key),
          ...emits.map(({ event, targetId }) =>
            statement(sql.told[work._tag], fence, targetId, event, ...keyOf(work), key)
          )
        ],
        main: statement(sql.buried[work._tag], fence, ...keyOf(work), key)
      }))
      const changes = Effect.map(write, (result) => result.changes)
      return Effect.map(fenced.changed(database, call, fence, changes), (changes) => changes > 0)
    },

    listDeadLetters: (query) => list(database, query),

    redrive: (id) => redrive(database, id),

    discard: (id) =>
      Effect.map(
        idempotentWrite.run(database, { operation: "discard" }, (key) => ({
          main: { sql: sql.discard, params: [id, key] }
        })),
        (result) => result.changes === 1
      )
  }
}
