import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import type { Encoded } from "../../EncodedStore.js"
import * as json from "../codec/json.js"
import { fenced } from "./leases.js"
import { Indexed } from "./sortedArray.js"
import type { Tables } from "./tables.js"

/** The columns are `unknown` where another program could have written anything, as in a database. */
export interface SpawnRow {
  readonly seq: number
  readonly parentId: unknown
  readonly childId: unknown
  readonly rootPath: unknown
  readonly context: unknown
}

/** Children to create, by their numbers, their parents and their ids. */
export class Spawns extends Indexed<SpawnRow> {
  readonly byParent = this.by((row) => row.parentId)
  readonly byChild = this.by((row) => row.childId)
}

export const addSpawn = (tables: Tables, { childId, context, parentId, rootPath }: Omit<SpawnRow, "seq">): number =>
  tables.spawns.add((seq) => ({ seq, parentId, childId, rootPath, context }))

/** Removes a spawn, and what is known of its failures. */
export const takeSpawn = (tables: Tables, seq: number): SpawnRow | undefined => {
  tables.failures.forget({ _tag: "Spawn", seq })
  return tables.spawns.take(seq)
}

export const dropSpawns = (tables: Tables, parentId: string): void => {
  for (const { seq } of tables.spawns.byParent.of(parentId)) takeSpawn(tables, seq)
}

/** The definition that a context names for the child, null where it names none; undefined where it is no JSON. */
const namedIn = (context: unknown): string | null | undefined => {
  if (typeof context !== "string") return undefined
  try {
    const parsed = json.parseRounded(context)
    if (typeof parsed !== "object" || parsed === null) return null
    const named = new Map<string, unknown>(Object.entries(parsed)).get("__invoke_fqn__")
    return typeof named === "string" ? named : null
  } catch {
    return undefined
  }
}

/** The definition that a child is made with where nobody says otherwise: its own, or its parent's. */
export const definitionOfChild = (tables: Tables, { context, parentId }: SpawnRow): string | undefined => {
  const named = namedIn(context)
  if (typeof named === "string") return named
  return named === undefined ? undefined : tables.definitionOf(parentId)
}

/** Children to create. */
export const make = (
  tables: Tables
): Pick<Encoded, "pendingSpawns" | "ackSpawn" | "isSpawning" | "isSpawnParent" | "dropSpawns"> => ({
  pendingSpawns: (after, limit, except) =>
    Effect.sync(() => {
      const isExcepted = tables.excepted(except)
      const isServed = ({ context, parentId }: SpawnRow): boolean => {
        if (except.length === 0) return true
        const named = namedIn(context)
        if (named === undefined) return true
        return typeof named === "string" ? !except.includes(named) : !isExcepted(parentId)
      }
      return {
        rows: Array.from(Iterable.take(Iterable.filter(tables.spawns.after(after), isServed), limit), (row) => ({
          ...row,
          failed: tables.failures.get({ _tag: "Spawn", seq: row.seq })
        })),
        reached: tables.spawns.reached(after)
      }
    }),

  ackSpawn: (seq, fence) => fenced(tables, { operation: "ackSpawn" }, fence, () => void takeSpawn(tables, seq)),

  isSpawning: (childId) => Effect.sync(() => tables.spawns.byChild.has(childId)),

  isSpawnParent: (parentId) => Effect.sync(() => tables.spawns.byParent.has(parentId)),

  dropSpawns: (parentId) => Effect.sync(() => dropSpawns(tables, parentId))
})
