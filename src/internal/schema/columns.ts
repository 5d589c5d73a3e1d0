import type { StoredTable } from "../../EncodedStore.js"

/**
 * What a column holds where nothing is wrong with it; `?` where it may be NULL. A `time` may be infinite, as harel's timers may that
 * never fire. A column of `any` takes what another table's column held.
 */
export type Type = "text" | "text?" | "integer" | "integer?" | "real" | "real?" | "time" | "any"

/**
 * A table: by which columns its rows are read in order, and what each of them holds. A table without a key of its own is read by `rowid`,
 * which is always an integer.
 */
export interface Table {
  readonly key: ReadonlyArray<string>
  readonly columns: { readonly [column: string]: Type }
}

const rowid = ["rowid"]
const failed = { attempts: "integer", error: "text", failed_at: "real", retry_at: "real" } as const

/** The tables of a store, as {@link tables} makes them. */
export const columns: { readonly [table in StoredTable]: Table } = {
  executions: {
    key: rowid,
    columns: { id: "text", definition_id: "text", data: "text", version: "integer" }
  },
  outbox: { key: rowid, columns: { seq: "integer", target_id: "text?", event: "text" } },
  processed_events: { key: rowid, columns: { execution_id: "text", event_id: "text" } },
  timers: { key: rowid, columns: { execution_id: "text", path: "text", fire_at: "time" } },
  spawns: {
    key: rowid,
    columns: { seq: "integer", parent_id: "text", child_id: "text", root_path: "text", context: "text" }
  },
  trace: { key: rowid, columns: { execution_id: "text", idx: "integer", entry: "text" } },
  definitions: {
    key: rowid,
    columns: { definition_id: "text", version: "integer", digest: "text", source: "text", published_at: "real?" }
  },
  holdfast_meta: { key: rowid, columns: { key: "text", value: "text" } },
  holdfast_listing: {
    key: ["id"],
    columns: { id: "text", definition_id: "text", status: "text?", parent_id: "text?", root: "integer" }
  },
  holdfast_marks: {
    key: ["execution_id", "event_id"],
    columns: { execution_id: "text", event_id: "text", marked_at: "real" }
  },
  holdfast_delayed: {
    key: rowid,
    columns: { seq: "integer", due_at: "real", target_id: "text?", event: "text" }
  },
  holdfast_members: {
    key: ["pool", "holder"],
    columns: { pool: "text", holder: "text", beat: "text", ttl: "real", renewed_at: "real" }
  },
  holdfast_leases: {
    key: ["pool", "name"],
    columns: { pool: "text", name: "text", holder: "text?", fence: "integer" }
  },
  holdfast_outbox_failures: { key: rowid, columns: { seq: "integer", ...failed } },
  holdfast_spawn_failures: { key: rowid, columns: { seq: "integer", ...failed } },
  holdfast_timer_failures: {
    key: ["execution_id", "path"],
    columns: { execution_id: "text", path: "text", fire_at: "real", ...failed }
  },
  holdfast_dead_letters: {
    key: rowid,
    columns: {
      id: "integer",
      kind: "text",
      seq: "integer?",
      execution_id: "any",
      child_id: "any",
      path: "any",
      fire_at: "any",
      body: "any",
      reason: "text",
      attempts: "integer",
      error: "text",
      died_at: "real"
    }
  },
  holdfast_activities: {
    key: rowid,
    columns: {
      seq: "integer",
      execution_id: "text",
      key: "text",
      name: "text",
      limit_key: "text",
      payload: "text",
      version: "integer",
      traceparent: "text?",
      asked_at: "real",
      ready_at: "real",
      attempts: "integer",
      error: "text?",
      owner: "text?",
      claim: "text?"
    }
  },
  holdfast_attributes: {
    key: ["execution_id", "name"],
    columns: { execution_id: "text", name: "text", value: "text" }
  },
  holdfast_activity_starts: {
    key: ["name", "key", "started_at", "n"],
    columns: { name: "text", key: "text", started_at: "real", n: "integer", until: "real" }
  }
}
