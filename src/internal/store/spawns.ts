import * as Effect from "effect/Effect"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as rows from "../codec/row.js"
import { type Backend, checkIds, checkWhole, fenceFor, numberedPage } from "./backend.js"

/** The children to create. */
export const make = (backend: Backend): Pick<ExecutionStore, "pendingSpawns" | "ackSpawn" | "spawns"> => {
  const { encoded } = backend
  const table = {
    operation: "pendingSpawns",
    table: "spawns",
    kind: "Spawn",
    read: encoded.pendingSpawns,
    decode: rows.spawnEntry
  } as const

  return {
    pendingSpawns: (query = {}) => numberedPage(table, query),

    ackSpawn: (seq) => {
      const call = { operation: "ackSpawn" }
      return checkWhole(call, "seq", seq, 0).pipe(
        Effect.zipRight(fenceFor(call)),
        Effect.flatMap((fence) => encoded.ackSpawn(seq, fence))
      )
    },

    spawns: {
      isParent: (parentId) =>
        Effect.zipRight(
          checkIds(backend, { operation: "isSpawnParent", executionId: parentId }, { parentId }),
          encoded.isSpawnParent(parentId)
        ),

      isPending: (childId) =>
        Effect.zipRight(checkIds(backend, { operation: "isSpawning" }, { childId }), encoded.isSpawning(childId)),

      drop: (parentId) =>
        Effect.zipRight(
          checkIds(backend, { operation: "dropSpawns", executionId: parentId }, { parentId }),
          encoded.dropSpawns(parentId)
        )
    }
  }
}
