import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded } from "../../EncodedStore.js"
import type { Database } from "../sqlDatabase/database.js"
import * as idempotentWrite from "../sqlDatabase/idempotentWrite.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"

/** The events that executions have consumed. */
export const make = (database: Database): Pick<Encoded, "isProcessed" | "markProcessed" | "pruneProcessed"> => {
  const sql = database.sql.ledger
  return {
    isProcessed: (id, eventId) =>
      Effect.map(
        pages.first(database, { operation: "isProcessed", executionId: id }, sql.has, id, eventId),
        Option.isSome
      ),

    markProcessed: (now) =>
      Effect.asVoid(
        idempotentWrite.run(database, { operation: "markProcessed" }, (key) => ({
          main: { sql: sql.mark, params: [now, key] }
        }))
      ),

    pruneProcessed: (before, after = 0, limit) =>
      Effect.gen(function* () {
        const call = { operation: "pruneProcessed" }
        const old = yield* pages.rows(database, call, sql.old, after, before, limit)
        const last = old.at(-1)
        if (last === undefined) return { removed: 0, next: undefined }
        const end = pages.numberOf(last)
        const removed = yield* repeatableWrite.run(database, call, [{ sql: sql.prune, params: [after, end, before] }])
        return { removed, next: old.length < limit || typeof end !== "number" ? undefined : end }
      })
  }
}
