/**
 * What a commit writes beside the execution: events to emit, timers, children to create, a trace step, and the work that it finishes.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Event } from "./Event.js"
import { Attributes, type Execution, Status } from "./Execution.js"
import { parsePython } from "./internal/codec/json.js"
import { schemaFromCodec } from "./internal/codec/reader.js"
import * as codec from "./internal/codec/traceStep.js"
import { JsonObject } from "./Json.js"
import * as Time from "./Time.js"

/**
 * An event that the commit puts into the outbox. `targetId` is the id of the execution that receives it, or null for an event that leaves
 * the store: a relay hands it to the application (`deliverExternal` of the runtime).
 *
 * An event with `dueAt` waits in a table of its own until then. Where that time is past, it goes into the outbox at once. `dueAt` has the
 * bounds of a timer's `fireAt`; as a number it is in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Emit extends Schema.Schema.Type<typeof Emit> {}

/**
 * The schema of an emit.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Emit = Schema.Struct({
  targetId: Schema.NullOr(Schema.String),
  event: Event,
  dueAt: Schema.optional(Time.Input)
}).annotations({ identifier: "Emit" })

/**
 * Arms or cancels the timer at a path of the execution. The operations of a commit apply in order: the last one on a path wins.
 *
 * `fireAt` is in seconds since the epoch and is kept as exactly this double: zero, or 2^-10 to 2^53 in magnitude.
 *
 * @since 0.1.0
 * @category models
 */
export type TimerOp = typeof TimerOp.Type

/**
 * The schema of a timer operation.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TimerOp = Schema.Union(
  Schema.TaggedStruct("Schedule", { path: Schema.String, fireAt: Schema.Finite }),
  Schema.TaggedStruct("Cancel", { path: Schema.String })
).annotations({ identifier: "TimerOp" })

/**
 * Arms the timer at a path, to fire at a point in time. A timer that is armed there already is replaced.
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
 * Cancels the timer at a path. Where none is armed, nothing happens.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cancelTimer = (path: string): TimerOp => ({ _tag: "Cancel", path })

/**
 * A child execution to create. The spawn relay creates it: see `SpawnRelay`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Spawn extends Schema.Schema.Type<typeof Spawn> {}

/**
 * The schema of a spawn.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Spawn = Schema.Struct({
  childId: Schema.String,
  rootPath: Schema.String,
  context: JsonObject
}).annotations({ identifier: "Spawn" })

/**
 * Ask for an activity, or take it back. Operations of one commit apply in order.
 *
 * - `Run`: an activity of this `name` is run with this payload, outside of any step, and its outcome comes back as an event. `key` tells
 *   it from
 *   the execution's others: while there is one of this key that has not ended, asking for it again changes nothing. `limitKey` is what
 *   limits of the activity go by.
 * - `Cancel`: the activity of this key is not run any more, and no event comes of it.
 *
 * @since 0.1.0
 * @category models
 */
export type ActivityOp = typeof ActivityOp.Type

/**
 * The schema of an operation on activities.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ActivityOp = Schema.Union(
  Schema.TaggedStruct("Run", {
    key: Schema.String,
    name: Schema.String,
    payload: JsonObject,
    limitKey: Schema.optional(Schema.String)
  }),
  Schema.TaggedStruct("Cancel", { key: Schema.String })
).annotations({ identifier: "ActivityOp" })

/**
 * Asks for an activity.
 *
 * @since 0.1.0
 * @category constructors
 */
export const runActivity = (options: {
  readonly key: string
  readonly name: string
  readonly payload?: JsonObject | undefined
  readonly limitKey?: string | undefined
}): ActivityOp => ({
  _tag: "Run",
  key: options.key,
  name: options.name,
  payload: options.payload ?? {},
  limitKey: options.limitKey
})

/**
 * Takes back an activity.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cancelActivity = (key: string): ActivityOp => ({ _tag: "Cancel", key })

/**
 * What a step did, for people who look into an execution. The store keeps the last `traceMax` steps of each execution.
 *
 * - `eventKind`, `eventData`: the event that the step consumed.
 * - `fromPath`, `toPath`: the active state before and after it.
 * - `actions`: names of what the step did.
 * - `contextOut`: the context after the step; `assigned`: the keys that the step wrote into it, where it wrote any.
 * - `timestamp`: when the step ran, in seconds since the epoch.
 * - `extra`: keys of the stored step that this version does not know.
 *
 * @since 0.1.0
 * @category models
 */
export interface TraceStep extends Schema.Schema.Type<typeof TraceStep> {}

/**
 * The schema of a trace step.
 *
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
 * A trace step, with defaults for what is left out: null for a path, nothing for the rest.
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
 * The schema of an armed timer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Timer = Schema.Struct({
  executionId: Schema.String,
  path: Schema.String,
  fireAt: Schema.Finite
}).annotations({ identifier: "Timer" })

/**
 * An event in the outbox. `seq` is its number there and is never used twice.
 *
 * - `emittedAt`: from when on it is to be delivered, in seconds since the epoch: when it was emitted, or, where it was emitted with a
 *   delay, when it was due. Null where another program wrote the row.
 * - `traceparent`: the span in which it was emitted, in the form of W3C Trace Context (see `TraceContext`); null where there was no span,
 *   or none that is sampled.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutboxEntry extends Schema.Schema.Type<typeof OutboxEntry> {}

/**
 * The schema of an outbox entry.
 *
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
 * A child to create, as stored. `seq` is its number among the spawns and is never used twice.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpawnEntry extends Schema.Schema.Type<typeof SpawnEntry> {}

/**
 * The schema of a stored spawn.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SpawnEntry = Schema.Struct({
  seq: Schema.Int,
  parentId: Schema.String,
  ...Spawn.fields
}).annotations({ identifier: "SpawnEntry" })

/**
 * A stored activity that has not ended. `seq` numbers the activities and is never used twice.
 *
 * - `version`: the execution's, at which it was asked for.
 * - `askedAt`: when, in seconds since the epoch; `traceparent`: the span in which it was, as of {@link OutboxEntry}.
 * - `readyAt`: before when it does not run, in seconds since the epoch.
 * - `attempts`: how often it has failed; `error`: why it did the last time, null where it did not.
 * - `owner`: who runs it, null where nobody does.
 *
 * @since 0.1.0
 * @category models
 */
export interface ActivityEntry extends Schema.Schema.Type<typeof ActivityEntry> {}

/**
 * The schema of a stored activity.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ActivityEntry = Schema.Struct({
  seq: Schema.Int,
  executionId: Schema.String,
  key: Schema.String,
  name: Schema.String,
  limitKey: Schema.String,
  payload: JsonObject,
  version: Schema.Int,
  traceparent: Schema.NullOr(Schema.String),
  askedAt: Schema.Finite,
  readyAt: Schema.Finite,
  attempts: Schema.Int,
  error: Schema.NullOr(Schema.String),
  owner: Schema.NullOr(Schema.String)
}).annotations({ identifier: "ActivityEntry" })

/**
 * A piece of work: an outbox entry, a spawn or a timer. A commit with `ack` removes it in the same transaction, so that no crash can come
 * between the effect of the work and its acknowledgement. A timer is removed only where its `fireAt` is still this one.
 *
 * @since 0.1.0
 * @category models
 */
export type WorkItem = typeof WorkItem.Type

/**
 * The schema of a piece of work.
 *
 * @since 0.1.0
 * @category schemas
 */
export const WorkItem = Schema.Union(
  Schema.TaggedStruct("Outbox", { seq: Schema.Int }),
  Schema.TaggedStruct("Spawn", { seq: Schema.Int }),
  Schema.TaggedStruct("Timer", Timer.fields)
).annotations({ identifier: "WorkItem" })

/**
 * A row of work of whatever kind. An activity is none that a commit finishes: its end is an event, which one does.
 *
 * @since 0.1.0
 * @category models
 */
export type Work = typeof Work.Type

/**
 * The schema of a row of work of any kind.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Work = Schema.Union(...WorkItem.members, Schema.TaggedStruct("Activity", { seq: Schema.Int })).annotations(
  { identifier: "Work" }
)

/**
 * What caused a commit. It is not stored: listeners of this process are told (see `ExecutionStore.listen`).
 *
 * - `status`, `activePath`: where the execution stood before the commit.
 * - `event`: the event that the commit consumes, null where there is none.
 * - `command`: the command of the control plane that it carries out, null where there is none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Origin extends Schema.Schema.Type<typeof Origin> {}

/**
 * The schema of an origin.
 *
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
 * The origin of a commit that takes an execution, given as it is before the commit, through an event.
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
 * The origin of a commit by a command of the control plane. The execution is given as it is before the commit.
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
 * - `processed`: the id of the event that the step consumed, for the dedupe ledger. An id that is there already is no error.
 * - `timers`: timers to arm and to cancel.
 * - `spawns`: children to create.
 * - `activities`: activities to run, and to take back.
 * - `attributes`: what the execution is found by from now on, in place of what it was found by before; without it that stays.
 * - `trace`: what the step did, for people.
 * - `ack`: the work that the commit finishes.
 * - `origin`: what caused it; it is not stored.
 * - `remembered`: where the execution was not read but given by `ExecutionStore.recall`, the token that came with it. The commit, which needs
 *   `processed` and an `ack` of the outbox, is applied only where that very commit is the last one of the execution, the event is not in the
 *   ledger, and its row is in the outbox. Else it fails with `StoreConflict`, whose `found` says nothing then: load the execution.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Commit, Event, Execution, ExecutionStore, MemoryStore } from "holdfast"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* ExecutionStore.ExecutionStore
 *   const order = Execution.make({ id: "order-17", definitionId: "order" })
 *
 *   const { execution, seqs } = yield* store.commit(order, {
 *     emits: [{ targetId: null, event: Event.make({ id: "order-17-placed", kind: "Placed" }) }],
 *     timers: [Commit.scheduleTimer("payment", new Date("2026-09-21T10:00:00Z"))]
 *   })
 *
 *   assert.strictEqual(execution.version, 1)
 *   assert.strictEqual(seqs.length, 1)
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export interface Commit extends Schema.Schema.Type<typeof Commit> {}

/**
 * The schema of a commit.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Commit = Schema.Struct({
  emits: Schema.optional(Schema.Array(Emit)),
  processed: Schema.optional(Schema.String),
  timers: Schema.optional(Schema.Array(TimerOp)),
  spawns: Schema.optional(Schema.Array(Spawn)),
  activities: Schema.optional(Schema.Array(ActivityOp)),
  attributes: Schema.optional(Attributes),
  trace: Schema.optional(TraceStep),
  ack: Schema.optional(WorkItem),
  origin: Schema.optional(Origin),
  remembered: Schema.optional(Schema.String)
}).annotations({ identifier: "Commit" })

/**
 * A commit that was applied.
 *
 * - `execution`: the execution at its new version, with the times that the store stamped.
 * - `seqs`: the numbers of the emits in the outbox, in their order; an emit with `dueAt` has none yet. It is empty where the answer to the
 *   commit was lost and the store could not tell afterwards which rows of the outbox are this commit's.
 *
 * @since 0.1.0
 * @category models
 */
export interface Committed {
  readonly execution: Execution
  readonly seqs: ReadonlyArray<number>
}
