import type { TraceStep } from "../../Commit.js"
import * as reader from "./reader.js"
import { mostLevels } from "./stringify.js"
import * as writer from "./writer.js"

const traceKeys = new Set([
  "event_kind",
  "event_data",
  "from_path",
  "to_path",
  "actions",
  "context_out",
  "timestamp",
  "assigned",
  // harel's own name for the column; a stored one would be overridden by it
  "index"
])

const strings = reader.array(reader.string)
const actions = writer.items(reader.string)

export const traceStep: reader.Codec<TraceStep> = {
  decode: (u, path) => {
    const row = reader.object(u, path)
    const assigned = reader.orNull(row, path, "assigned", reader.object)
    return {
      eventKind: reader.required(row, path, "event_kind", reader.string),
      eventData: reader.optional(row, path, "event_data", reader.object, {}),
      fromPath: reader.orNull(row, path, "from_path", reader.string),
      toPath: reader.orNull(row, path, "to_path", reader.string),
      actions: reader.optional(row, path, "actions", strings, []),
      contextOut: reader.optional(row, path, "context_out", reader.object, {}),
      timestamp: reader.required(row, path, "timestamp", reader.finite),
      ...(assigned === null ? undefined : { assigned }),
      extra: reader.rest(row, traceKeys)
    }
  },
  encode: (step, path) => ({
    event_kind: writer.required(step.eventKind, path, "event_kind", reader.string),
    event_data: writer.optional(step.eventData, path, "event_data", reader.object),
    from_path: writer.orNull(step.fromPath, path, "from_path", reader.string),
    to_path: writer.orNull(step.toPath, path, "to_path", reader.string),
    actions: writer.optional(step.actions, path, "actions", actions),
    context_out: writer.optional(step.contextOut, path, "context_out", reader.object),
    timestamp: writer.required(step.timestamp, path, "timestamp", reader.finite),
    assigned: writer.orNull(step.assigned, path, "assigned", reader.object),
    ...reader.extra(step.extra, traceKeys, path)
  }),
  levels: mostLevels
}
