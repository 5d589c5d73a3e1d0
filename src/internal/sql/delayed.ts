import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded } from "../../EncodedStore.js"
import type { SqlDriver } from "../../SqlDriver.js"
import { delayedParam, emitsParam, fewParams, seqsOf } from "./commitPlan.js"
import type { Once } from "./idempotentWrite.js"
import type { Sql } from "./statements.js"

/** Events that come into the outbox from outside of any commit, and those that wait until they are due. */
export const make = (
  driver: SqlDriver,
  sql: Sql,
  once: Once
): Pick<Encoded, "enqueue" | "releaseDelayed" | "nextDelayed"> => ({
  enqueue: ({ delayed, emits }) => {
    const result = once({ operation: "enqueue" }, (key) => {
      const few = sql.enqueueFew[emits.length - 1]
      const immediate =
        few === undefined
          ? { sql: sql.enqueue, params: [emitsParam(emits), key] }
          : { sql: few, params: [...fewParams(emits), key] }
      const later = { sql: sql.enqueueDelayed, params: [delayedParam(delayed), key] }
      if (emits.length === 0) return { main: later }
      return { before: delayed.length === 0 ? [] : [later], main: immediate }
    })
    return Effect.map(result, (result) => (emits.length === 0 ? [] : seqsOf(result)))
  },

  releaseDelayed: (now, limit) =>
    Effect.map(
      once({ operation: "releaseDelayed" }, (key) => ({
        before: [{ sql: sql.releaseDelayed, params: [now, key, limit] }],
        main: { sql: sql.removeReleased, params: [now, limit, key] }
      })),
      (result) => result.changes
    ),

  nextDelayed: Effect.map(driver.query({ operation: "nextDelayed" }, { sql: sql.nextDelayed, params: [] }), ([row]) =>
    Option.map(Option.fromNullable(row), ([dueAt]) => Number(dueAt))
  )
})
