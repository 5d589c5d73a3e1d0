import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type * as Subject from "holdfast/testing/Subject"
import * as memoryEncoded from "../../src/internal/memory/encoded.js"
import { addEmit } from "../../src/internal/memory/outbox.js"
import { addSpawn } from "../../src/internal/memory/spawns.js"
import { Tables } from "../../src/internal/memory/tables.js"
import { armTimer } from "../../src/internal/memory/timers.js"

/** The tables of a store in memory, which its public layer does not give. */
class MemoryTables extends Context.Tag("test/MemoryTables")<MemoryTables, Tables>() {}

export const layer: Layer.Layer<ExecutionStore.ExecutionStore | MemoryTables> = Layer.effectContext(
  Effect.sync(() => {
    const tables = new Tables()
    const store = ExecutionStore.make(memoryEncoded.make(tables, 200))
    return Context.make(MemoryTables, tables).pipe(Context.add(ExecutionStore.ExecutionStore, store))
  })
)

/** Adds rows until one has the seq, or one if it does not matter. Seqs are counted: those on the way were given and are gone. */
const numbered = (rows: { readonly delete: (seq: number) => boolean }, seq: number, add: () => number): void => {
  for (;;) {
    const given = add()
    if (Number.isNaN(seq) || given === seq) return
    if (given > seq) throw new RangeError(`seq ${seq} was given before`)
    rows.delete(given)
  }
}

/** Puts a row into a table of the shared format; it has no others that take anything. */
export const raw = (table: Subject.Table, row: Subject.Row): Effect.Effect<void, never, MemoryTables> =>
  Effect.map(MemoryTables, (tables) => {
    const text = (column: string): string => String(row[column])
    const number = (column: string): number => Number(row[column])
    switch (table) {
      case "executions":
        return tables.executions.set({
          id: text("id"),
          definitionId: row["definition_id"],
          data: row["data"],
          version: row["version"]
        })
      case "outbox":
        return numbered(tables.outbox, number("seq"), () =>
          addEmit(tables, { targetId: row["target_id"], event: row["event"] })
        )
      case "processed_events":
        return tables.ledger.add(text("execution_id"), text("event_id"))
      case "timers":
        // one at an infinite time is one that never fires
        return Number.isFinite(row["fire_at"])
          ? armTimer(tables, { executionId: text("execution_id"), path: text("path"), fireAt: number("fire_at") })
          : undefined
      case "spawns":
        return numbered(tables.spawns, number("seq"), () =>
          addSpawn(tables, {
            parentId: row["parent_id"],
            childId: row["child_id"],
            rootPath: row["root_path"],
            context: row["context"]
          })
        )
      case "trace": {
        const rows = tables.traces.rows.get(text("execution_id")) ?? []
        tables.traces.rows.set(text("execution_id"), [...rows, { index: number("idx"), entry: row["entry"] }])
        return
      }
      case "definitions":
        return tables.definitions.add({
          definitionId: text("definition_id"),
          version: number("version"),
          digest: text("digest"),
          source: text("source"),
          publishedAt: row["published_at"] === null ? null : number("published_at")
        })
      default:
        throw new TypeError(`a store in memory has no table ${table}`)
    }
  })
