import type { ActivityOp, Emit, Spawn, TraceStep } from "../../Commit.js"
import * as Commit from "../../Commit.js"
import * as Event from "../../Event.js"
import * as Execution from "../../Execution.js"
import type { JsonObject } from "../../Json.js"

/** An execution of the definition "order" at version 0. */
export const order = (id: string, parts: Partial<Omit<Execution.Execution, "id" | "version">> = {}) =>
  Execution.make({ id, definitionId: "order", ...parts })

export const emit = (eventId: string, targetId: string | null = "target"): Emit => ({
  targetId,
  event: Event.make({ id: eventId, kind: "Happened" })
})

export const spawn = (childId: string, context: Spawn["context"] = {}): Spawn => ({
  childId,
  rootPath: "Root",
  context
})

export const activity = (key: string, name = "charge", payload: JsonObject = {}): ActivityOp =>
  Commit.runActivity({ key, name, payload })

export const step = (eventKind: string, parts: Partial<TraceStep> = {}): TraceStep =>
  Commit.traceStep({ eventKind, timestamp: 1790000000.125, ...parts })

/** A commit with one of everything. */
export const everything = (eventId: string): Commit.Commit => ({
  emits: [emit(`${eventId}-emitted`)],
  processed: eventId,
  timers: [Commit.scheduleTimer(`${eventId}-path`, 1790000060)],
  spawns: [spawn(`${eventId}-child`)],
  activities: [activity(`${eventId}-key`)],
  attributes: { customer: eventId },
  trace: step(eventId)
})

/**
 * Texts that a layer between the store and its disk could take for something else: literals of blobs, quotes, wildcards, names that
 * objects have, the edges of Unicode.
 */
export const awkwardTexts: ReadonlyArray<string> = [
  "x'4142'",
  " X'00' ",
  "'; DROP TABLE executions; --",
  '"quoted" and \\back\\slashed\\',
  "a\u0000b",
  "\u0000",
  "line\u2028separator\u2029",
  "\r\n\t\u0001\u007f",
  "%_*[a-z]?",
  "?1 :name @name $1",
  "NaN",
  "null",
  "12",
  "1e5",
  '{"a":1}',
  "__proto__",
  "constructor",
  "toString",
  "\u00e9 and e\u0301",
  "\u{1f600}\u{1f469}\u200d\u{1f680}",
  "\ud7ff\ue000\uffff\u{10000}\u{10ffff}",
  " leading and trailing ",
  "\ufeff"
]
