import { lines } from "../util/lines.js"

/** A row of the timers that is none: harel's tables take anything. */
export const isBrokenTimer = "(typeof(execution_id) <> 'text' OR typeof(path) <> 'text' OR typeof(fire_at) <> 'real')"

/** The secondary indexes; harel's tables come with none. */
export const indexes = (p: string): ReadonlyArray<string> => {
  const index = (name: string, on: string): string => lines`
    CREATE INDEX IF NOT EXISTS ${p}holdfast_${name}
    ON ${p}${on}`
  return [
    index("marks_time", "holdfast_marks (marked_at)"),
    index("delayed_due", "holdfast_delayed (due_at, seq)"),
    index("delayed_target", "holdfast_delayed (target_id)"),
    index("outbox_target", "outbox (target_id)"),
    index("spawns_parent", "spawns (parent_id)"),
    index("spawns_child", "spawns (child_id)"),
    index("timers_due", "timers (fire_at, execution_id, path)"),
    index("timers_broken", `timers (execution_id, path, fire_at) WHERE ${isBrokenTimer}`),
    index("listing_definition", "holdfast_listing (definition_id, root, id)"),
    index("listing_status", "holdfast_listing (status, root, id)"),
    index("listing_definition_status", "holdfast_listing (definition_id, status, root, id)"),
    index("listing_parent", "holdfast_listing (parent_id, id)"),
    index("dead_letters_kind", "holdfast_dead_letters (kind)"),
    index("dead_letters_execution", "holdfast_dead_letters (execution_id)"),
    index("activities_ready", "holdfast_activities (name, ready_at, seq) WHERE owner IS NULL"),
    index("activities_queued", "holdfast_activities (name, limit_key, ready_at, seq) WHERE owner IS NULL"),
    index("activities_owned", "holdfast_activities (owner) WHERE owner IS NOT NULL"),
    index("activities_running", "holdfast_activities (name, limit_key) WHERE owner IS NOT NULL"),
    index("attributes_value", "holdfast_attributes (name, value, execution_id)"),
    index("activity_starts_until", "holdfast_activity_starts (until)")
  ]
}
