import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import type { Encoded } from "../../EncodedStore.js"
import { fenced } from "./leases.js"
import type { Tables } from "./tables.js"

/** The columns are `unknown` where another program could have written anything, as in a database. */
export interface SpawnRow {
  readonly seq: number
  readonly parentId: unknown
  readonly childId: unknown
  readonly rootPath: unknown
  readonly context: unknown
}

export const addSpawn = (tables: Tables, { childId, context, parentId, rootPath }: Omit<SpawnRow, "seq">): number =>
  tables.spawns.add((seq) => ({ seq, parentId, childId, rootPath, context }))

/** Removes a spawn, and what is known of its failures. */
export const takeSpawn = (tables: Tables, seq: number): SpawnRow | undefined => {
  tables.failures.forget({ _tag: "Spawn", seq })
  return tables.spawns.take(seq)
}

export const dropSpawns = (tables: Tables, parentId: string): void => {
  for (const row of Array.from(tables.spawns.from())) {
    if (row.parentId === parentId) takeSpawn(tables, row.seq)
  }
}

/** Children to create. */
export const make = (
  tables: Tables
): Pick<Encoded, "pendingSpawns" | "ackSpawn" | "isSpawning" | "isSpawnParent" | "dropSpawns"> => ({
  pendingSpawns: (after, limit) =>
    Effect.sync(() =>
      Array.from(Iterable.take(tables.spawns.after(after), limit), (row) => ({
        ...row,
        failed: tables.failures.get({ _tag: "Spawn", seq: row.seq })
      }))
    ),

  ackSpawn: (seq, fence) => fenced(tables, { operation: "ackSpawn" }, fence, () => void takeSpawn(tables, seq)),

  isSpawning: (childId) => Effect.sync(() => Iterable.some(tables.spawns.from(), (row) => row.childId === childId)),

  isSpawnParent: (parentId) =>
    Effect.sync(() => Iterable.some(tables.spawns.from(), (row) => row.parentId === parentId)),

  dropSpawns: (parentId) => Effect.sync(() => dropSpawns(tables, parentId))
})
