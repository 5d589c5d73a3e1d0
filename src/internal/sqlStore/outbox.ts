import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded } from "../../EncodedStore.js"
import type { Param, Statement } from "../../SqlDriver.js"
import { delayedParam, emitsParam, fewParams, seqsOf, statement } from "../sql/commitPlan.js"
import type { Sql } from "../sql/statements.js"
import type { Database } from "../sqlDatabase/database.js"
import * as fenced from "../sqlDatabase/fenced.js"
import * as idempotentWrite from "../sqlDatabase/idempotentWrite.js"
import * as numberedRows from "../sqlDatabase/numberedRows.js"
import type { OneRow } from "../sqlDatabase/oneRow.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"
import { failed } from "./rows.js"

type Emits = Parameters<Encoded["enqueue"]>[0]

/** Puts events into the outbox. One that is sent alone may share its statement with others. */
const insertOf = (sql: Sql["outbox"], emits: Emits["emits"], key: string): Statement | OneRow => {
  const few = sql.enqueueFew[emits.length - 1]
  if (few === undefined) return { sql: sql.enqueue, params: [emitsParam(emits), key] }
  const row = fewParams(emits)
  const params = [...row, key]
  return emits.length === 1
    ? { sql: few, params, insert: { texts: sql.enqueueSent, row, last: key } }
    : { sql: few, params }
}

/** Writes events that come from outside of any commit: those that wait first, so that the seqs are those of the others. */
const enqueue = (database: Database, { delayed, emits }: Emits) => {
  const { sql } = database
  const later = (key: string): Statement => ({ sql: sql.delayed.enqueue, params: [delayedParam(delayed), key] })
  const build = (key: string): idempotentWrite.Marked =>
    emits.length === 0
      ? { main: later(key) }
      : { before: delayed.length === 0 ? [] : [later(key)], main: insertOf(sql.outbox, emits, key) }
  return idempotentWrite.runAs(database, { operation: "enqueue" }, build, (result) =>
    emits.length === 0 ? [] : seqsOf(result)
  )
}

const pending = { operation: "pendingOutbox" }

/** A page of events, and the executions of those that can be consumed next. */
const withExecutions =
  (database: Database): NonNullable<Encoded["pendingOutboxWithExecutions"]> =>
  (after = 0, limit, except, { characters, known }) => {
    const { withExecutions } = database.sql.outbox
    const marked = except.length > 0
    const ids = JSON.stringify(known)
    const statement = (from: Param, limit: number): Statement => ({
      sql: marked ? withExecutions.pendingExcept : withExecutions.pending,
      params: [
        from,
        characters,
        ...(marked ? [JSON.stringify(except)] : []),
        characters,
        ids,
        limit,
        ...(marked ? [from] : [])
      ]
    })
    const read = numberedRows.readBy(database, pending, statement, { after, limit, marked })
    return Effect.map(read, ({ reached, rows }) => ({
      rows: rows.map(([seq, targetId, event, , , ...failure]) => ({ seq, targetId, event, failed: failed(failure) })),
      executions: rows.flatMap(([, id, , data, version]) => (data === null ? [] : [{ id, data, version }])),
      reached
    }))
  }

/** Events to deliver. */
export const make = (
  database: Database
): Pick<Encoded, "enqueue" | "pendingOutbox" | "pendingOutboxWithExecutions" | "ackOutbox"> => ({
  enqueue: (emits) => enqueue(database, emits),

  pendingOutbox: (after = 0, limit, except) =>
    Effect.map(
      numberedRows.read(database, pending, database.sql.outbox, after, limit, except),
      ({ reached, rows }) => ({
        rows: rows.map(([seq, targetId, event, ...failure]) => ({ seq, targetId, event, failed: failed(failure) })),
        reached
      })
    ),

  // A database in this process reads both sooner by a statement for each: there is no request to save.
  pendingOutboxWithExecutions: database.driver.embedded === true ? undefined : withExecutions(database),

  ackOutbox: (seq, fence) => {
    const call = { operation: "ackOutbox" }
    const write = repeatableWrite.run(database, call, [statement(database.sql.outbox.ack, fence, seq)])
    return Effect.asVoid(fenced.changed(database, call, fence, write))
  }
})

/** Events that wait until they are due. */
export const makeDelayed = (database: Database): Pick<Encoded, "releaseDelayed" | "nextDelayed"> => {
  const sql = database.sql.delayed
  return {
    releaseDelayed: (now, limit) =>
      Effect.map(
        idempotentWrite.run(database, { operation: "releaseDelayed" }, (key) => ({
          before: [{ sql: sql.release, params: [now, key, limit] }],
          main: { sql: sql.removeReleased, params: [now, limit, key] }
        })),
        (result) => result.changes
      ),

    nextDelayed: Effect.map(
      pages.first(database, { operation: "nextDelayed" }, sql.next),
      Option.map(([dueAt]) => Number(dueAt))
    )
  }
}
