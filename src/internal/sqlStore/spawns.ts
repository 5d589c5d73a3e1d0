import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded } from "../../EncodedStore.js"
import { statement } from "../sql/commitPlan.js"
import type { Database } from "../sqlDatabase/database.js"
import * as fenced from "../sqlDatabase/fenced.js"
import * as idempotentWrite from "../sqlDatabase/idempotentWrite.js"
import * as numberedRows from "../sqlDatabase/numberedRows.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"
import { failed } from "./rows.js"

/** Children to create. */
export const make = (
  database: Database
): Pick<Encoded, "pendingSpawns" | "ackSpawn" | "isSpawning" | "isSpawnParent" | "dropSpawns"> => {
  const sql = database.sql.spawns
  return {
    pendingSpawns: (after = 0, limit, except) =>
      Effect.map(
        numberedRows.read(database, { operation: "pendingSpawns" }, sql, after, limit, except),
        ({ reached, rows }) => ({
          rows: rows.map(([seq, parentId, childId, rootPath, context, ...failure]) => ({
            seq,
            parentId,
            childId,
            rootPath,
            context,
            failed: failed(failure)
          })),
          reached
        })
      ),

    ackSpawn: (seq, fence) => {
      const call = { operation: "ackSpawn" }
      const write = repeatableWrite.run(database, call, [statement(sql.ack, fence, seq)])
      return Effect.asVoid(fenced.changed(database, call, fence, write))
    },

    isSpawning: (childId) =>
      Effect.map(pages.first(database, { operation: "isSpawning" }, sql.ofChild, childId), Option.isSome),

    isSpawnParent: (parentId) =>
      Effect.map(
        pages.first(database, { operation: "isSpawnParent", executionId: parentId }, sql.ofParent, parentId),
        Option.isSome
      ),

    dropSpawns: (parentId) =>
      Effect.asVoid(
        idempotentWrite.run(database, { operation: "dropSpawns", executionId: parentId }, (key) => ({
          main: { sql: sql.drop, params: [parentId, key] }
        }))
      )
  }
}
