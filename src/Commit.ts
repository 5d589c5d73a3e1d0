/**
 * What one step of an execution writes beside the execution itself.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Event } from "./Event.js"
import { type Execution, Status } from "./Execution.js"
import { parsePython } from "./internal/codec/json.js"
import { schemaFromCodec } from "./internal/codec/reader.js"
import * as codec from "./internal/codec/traceStep.js"
import { JsonObject } from "./Json.js"
import * as Time from "./Time.js"

/**
 * An event to deliver, put into the outbox by the commit. `targetId` is the receiving execution, or null for an event without one,
 * which is for whoever relays the outbox.
 *
 * One with `dueAt` is kept apart until then and is put into the outbox when it is due; at once where that is past. The bounds of `dueAt`,
 * in seconds since the epoch, are those of a timer's `fireAt`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Emit extends Schema.Schema.Type<typeof Emit> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Emit = Schema.Struct({
  targetId: Schema.NullOr(Schema.String),
  event: Event,
  dueAt: Schema.optional(Time.Input)
}).annotations({ identifier: "Emit" })

/**
 * Arm or cancel the timer of an execution at a path. Operations of one commit apply in order: the last one on a path wins.
 *
 * `fireAt` is in seconds since the epoch and kept as the double it is: zero, or 2^-10 to 2^53 in magnitude.
 *
 * @since 0.1.0
 * @category models
 */
export type TimerOp = typeof TimerOp.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const TimerOp = Schema.Union(
  Schema.TaggedStruct("Schedule", { path: Schema.String, fireAt: Schema.Finite }),
  Schema.TaggedStruct("Cancel", { path: Schema.String })
).annotations({ identifier: "TimerOp" })

/**
 * Arms the timer at a path, for a point in time.
 *
 * @since 0.1.0
 * @category constructors
 */
export const scheduleTimer = (path: string, fireAt: Time.Input): TimerOp => ({
  _tag: "Schedule",
  path,
  fireAt: Time.toSeconds(fireAt)
})

/**
 * Cancels the timer at a path.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cancelTimer = (path: string): TimerOp => ({ _tag: "Cancel", path })

/**
 * The intent to create a child execution, carried out by the spawn relay.
 *
 * @since 0.1.0
 * @category models
 */
export interface Spawn extends Schema.Schema.Type<typeof Spawn> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Spawn = Schema.Struct({
  childId: Schema.String,
  rootPath: Schema.String,
  context: JsonObject
}).annotations({ identifier: "Spawn" })

/**
 * What a step did, for people: kept in a ring of the last `traceMax` steps of each execution.
 *
 * - `timestamp`: seconds since the epoch.
 * - `assigned`: what the step wrote into the context, where it wrote something.
 *
 * @since 0.1.0
 * @category models
 */
export interface TraceStep extends Schema.Schema.Type<typeof TraceStep> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const TraceStep = Schema.Struct({
  eventKind: Schema.String,
  eventData: JsonObject,
  fromPath: Schema.NullOr(Schema.String),
  toPath: Schema.NullOr(Schema.String),
  actions: Schema.Array(Schema.String),
  contextOut: JsonObject,
  timestamp: Schema.Finite,
  assigned: Schema.optional(JsonObject),
  extra: JsonObject
}).annotations({ identifier: "TraceStep" })

/**
 * The stored form of a trace step: JSON text with snake_case keys. `NaN` and `Infinity`, which harel writes into it, are read as null.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TraceStepFromText: Schema.Schema<TraceStep, string> = schemaFromCodec(
  TraceStep,
  codec.traceStep,
  "TraceStepFromText",
  parsePython
)

/**
 * A stored trace step. `index` counts from 0 for each execution and goes on when old steps are trimmed.
 *
 * @since 0.1.0
 * @category models
 */
export interface TraceEntry extends TraceStep {
  readonly index: number
}

/**
 * A step with defaults for what is left out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const traceStep = (
  options: Pick<TraceStep, "eventKind" | "timestamp"> & { readonly [K in keyof TraceStep]?: TraceStep[K] | undefined }
): TraceStep => ({
  eventKind: options.eventKind,
  eventData: options.eventData ?? {},
  fromPath: options.fromPath ?? null,
  toPath: options.toPath ?? null,
  actions: options.actions ?? [],
  contextOut: options.contextOut ?? {},
  timestamp: options.timestamp,
  assigned: options.assigned,
  extra: options.extra ?? {}
})

/**
 * An armed timer of an execution. `fireAt` is in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Timer extends Schema.Schema.Type<typeof Timer> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Timer = Schema.Struct({
  executionId: Schema.String,
  path: Schema.String,
  fireAt: Schema.Finite
}).annotations({ identifier: "Timer" })

/**
 * A stored event to deliver. `seq` numbers the outbox and is never used twice.
 *
 * - `emittedAt`: since when it is to be delivered, in seconds since the epoch: when it was emitted, or, of one that was emitted after a
 *   delay, when it was due. Null where another program wrote it.
 * - `traceparent`: the span in which it was emitted, in the form of W3C Trace Context (see `TraceContext`); null where there was none, or
 *   none that is sampled.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutboxEntry extends Schema.Schema.Type<typeof OutboxEntry> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const OutboxEntry = Schema.Struct({
  seq: Schema.Int,
  targetId: Emit.fields.targetId,
  event: Emit.fields.event,
  emittedAt: Schema.NullOr(Schema.Finite),
  traceparent: Schema.NullOr(Schema.String)
}).annotations({ identifier: "OutboxEntry" })

/**
 * A stored intent to create a child. `seq` numbers the spawns and is never used twice.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpawnEntry extends Schema.Schema.Type<typeof SpawnEntry> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const SpawnEntry = Schema.Struct({
  seq: Schema.Int,
  parentId: Schema.String,
  ...Spawn.fields
}).annotations({ identifier: "SpawnEntry" })

/**
 * The work that a commit finishes: this outbox entry, spawn or timer is removed with the commit, so that there is nothing between an
 * effect and its acknowledgement. A timer that was armed anew meanwhile, at another time, is left alone.
 *
 * @since 0.1.0
 * @category models
 */
export type WorkItem = typeof WorkItem.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const WorkItem = Schema.Union(
  Schema.TaggedStruct("Outbox", { seq: Schema.Int }),
  Schema.TaggedStruct("Spawn", { seq: Schema.Int }),
  Schema.TaggedStruct("Timer", Timer.fields)
).annotations({ identifier: "WorkItem" })

/**
 * Why a commit is made, for those that are told of it (see `ExecutionStore.listen`). It is not stored.
 *
 * - `status`, `activePath`: where the execution stood before.
 * - `event`: the event that it takes the execution through, null where there is none.
 * - `command`: the command of the control plane that it carries out, null where there is none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Origin extends Schema.Schema.Type<typeof Origin> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Origin = Schema.Struct({
  status: Status,
  activePath: Schema.NullOr(Schema.String),
  event: Schema.NullOr(Schema.Struct({ id: Schema.String, kind: Schema.String })),
  command: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Origin" })

/**
 * An event takes an execution, as it stands before the step, to its next version.
 *
 * @since 0.1.0
 * @category constructors
 */
export const originOfEvent = ({ activePath, status }: Execution, { id, kind }: Event): Origin => ({
  status,
  activePath,
  event: { id, kind },
  command: null
})

/**
 * A command of the control plane takes an execution, as it stands before, to its next version.
 *
 * @since 0.1.0
 * @category constructors
 */
export const originOfCommand = ({ activePath, status }: Execution, command: string): Origin => ({
  status,
  activePath,
  event: null,
  command
})

/**
 * What a commit writes beside the execution: all of it or, where the commit fails, none of it.
 *
 * - `emits`: events for the outbox, in order.
 * - `processed`: the id of the event that this step consumed, for the dedupe ledger; an id that is there already is no error.
 * - `timers`, `spawns`, `trace`: see their types.
 * - `ack`: the work that this commit finishes.
 * - `origin`: why it is made; it is not stored.
 *
 * @since 0.1.0
 * @category models
 */
export interface Commit extends Schema.Schema.Type<typeof Commit> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Commit = Schema.Struct({
  emits: Schema.optional(Schema.Array(Emit)),
  processed: Schema.optional(Schema.String),
  timers: Schema.optional(Schema.Array(TimerOp)),
  spawns: Schema.optional(Schema.Array(Spawn)),
  trace: Schema.optional(TraceStep),
  ack: Schema.optional(WorkItem),
  origin: Schema.optional(Origin)
}).annotations({ identifier: "Commit" })

/**
 * A commit that was applied: the execution at its new version, and the outbox seqs of the emits in their order; those with `dueAt` have none
 * yet. There are no seqs where the answer to the commit was lost, and its events were delivered before they were looked for or look the same as
 * others in the outbox.
 *
 * @since 0.1.0
 * @category models
 */
export interface Committed {
  readonly execution: Execution
  readonly seqs: ReadonlyArray<number>
}
