import type { TraceStep } from "../../Commit.js"
import * as codec from "./reader.js"

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

const strings = codec.array(codec.string)

export const traceStep: codec.Codec<TraceStep> = {
  decode: (u, path) => {
    const row = codec.object(u, path)
    const assigned = codec.orNull(row, path, "assigned", codec.object)
    return {
      eventKind: codec.required(row, path, "event_kind", codec.string),
      eventData: codec.optional(row, path, "event_data", codec.object, {}),
      fromPath: codec.orNull(row, path, "from_path", codec.string),
      toPath: codec.orNull(row, path, "to_path", codec.string),
      actions: codec.optional(row, path, "actions", strings, []),
      contextOut: codec.optional(row, path, "context_out", codec.object, {}),
      timestamp: codec.required(row, path, "timestamp", codec.finite),
      ...(assigned === null ? undefined : { assigned }),
      extra: codec.rest(row, traceKeys)
    }
  },
  encode: (step, path) => ({
    event_kind: step.eventKind,
    event_data: step.eventData,
    from_path: step.fromPath,
    to_path: step.toPath,
    actions: step.actions,
    context_out: step.contextOut,
    timestamp: step.timestamp,
    ...(step.assigned === undefined ? undefined : { assigned: step.assigned }),
    ...codec.extra(step.extra, traceKeys, path)
  })
}
