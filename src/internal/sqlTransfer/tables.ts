import * as Struct from "effect/Struct"
import type { TransferTable } from "../../EncodedStore.js"
import { columns, type Table } from "../schema/columns.js"

/** The tables of rows, in the order in which they are moved: what work is about before the work itself. */
const moved = {
  executions: columns.executions,
  processed_events: columns.processed_events,
  holdfast_marks: columns.holdfast_marks,
  trace: columns.trace,
  holdfast_attributes: columns.holdfast_attributes,
  definitions: columns.definitions,
  holdfast_dead_letters: columns.holdfast_dead_letters,
  timers: columns.timers,
  holdfast_timer_failures: columns.holdfast_timer_failures,
  holdfast_delayed: columns.holdfast_delayed,
  holdfast_activities: columns.holdfast_activities,
  holdfast_activity_starts: columns.holdfast_activity_starts,
  spawns: columns.spawns,
  holdfast_spawn_failures: columns.holdfast_spawn_failures,
  outbox: columns.outbox,
  holdfast_outbox_failures: columns.holdfast_outbox_failures
} satisfies { readonly [table in Exclude<TransferTable, "sequences">]: Table }

export const tables: ReadonlyArray<readonly [name: keyof typeof moved, table: Table]> = Struct.entries(moved)

export const tableOf = (name: keyof typeof moved): Table => moved[name]

/** The tables that number their rows. */
export const numbered = [
  "outbox",
  "spawns",
  "holdfast_delayed",
  "holdfast_dead_letters",
  "holdfast_activities"
] as const
