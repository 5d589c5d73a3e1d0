/**
 * Executions: long-lived state machines, processes or workflow instances, each kept as one JSON row.
 *
 * @since 0.1.0
 */
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Event } from "./Event.js"
import * as codec from "./internal/codec/execution.js"
import { schemaFromCodec } from "./internal/codec/reader.js"
import { JsonObject } from "./Json.js"
import type { StoreCorrupt } from "./StoreError.js"

/**
 * Where an execution stands. `DONE`, `CANCELLED` and `FAILED` are ends; a failed execution may be redriven.
 *
 * @since 0.1.0
 * @category models
 */
export type Status = typeof Status.Type

/**
 * The schema of a status.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Status = Schema.Literal(...codec.statuses).annotations({ identifier: "Status" })

/**
 * Values by which an execution is found, by name: see `Commit.attributes` and `ExecutionStore.ExecutionFilter`. Equal ones are of the same
 * type: `1` is neither `"1"` nor `true`.
 *
 * A name has 1 to 64 letters, digits and signs of `_`, `.` and `-`, and begins with a letter or `_`. A text is at most `maxIdBytes` long,
 * as an id. An execution has 32 attributes at most.
 *
 * @since 0.1.0
 * @category models
 */
export interface Attributes extends Schema.Schema.Type<typeof Attributes> {}

/**
 * The schema of attributes.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Attributes = Schema.Record({
  key: Schema.String,
  value: Schema.Union(Schema.String, Schema.Finite, Schema.Boolean)
}).annotations({ identifier: "Attributes" })

/**
 * The value of an attribute.
 *
 * @since 0.1.0
 * @category models
 */
export type AttributeValue = Attributes[string]

/**
 * What a parent knows of a child that it created.
 *
 * - `key`: the place in the parent that spawned it; `rootPath`: the part of the definition that the child runs.
 * - `finished`: whether it has ended; `outcome`, `result`: the word and the data that it ended with.
 * - `submachine`, `extra`: kept for harel, which shares the stored format.
 *
 * @since 0.1.0
 * @category models
 */
export interface ChildState extends Schema.Schema.Type<typeof ChildState> {}

/**
 * The schema of a child's state.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ChildState = Schema.Struct({
  rootPath: Schema.String,
  finished: Schema.Boolean,
  outcome: Schema.NullOr(Schema.String),
  result: JsonObject,
  submachine: Schema.Boolean,
  key: Schema.String,
  extra: JsonObject
}).annotations({ identifier: "ChildState" })

/**
 * An execution at one version. It is a value: a commit takes it at version *n* and returns another at *n + 1*.
 *
 * - `version`: the counter of the compare-and-swap; 0 means not stored yet.
 * - `definitionVersion`: the version of the definition by which its context was written, 1 or more; 1 where the row does not say.
 * - `status`: where it stands. `outcome`: the word with which its definition ended it. `error`: what broke, where it is `FAILED`.
 * - `result`: what it ended with, any JSON value; where it is `FAILED`, its definition's own error. Null where there is none, or it has not
 *   ended. It is kept until the execution is purged.
 * - `activePath`, `history`: the dotted path of the active state, and the last active child of each composite state.
 * - `context`: the data of the user.
 * - `processedEvents`: how many events it has consumed.
 * - `parentId`, `childId`, `children`, `invokeSeq`, `rootPath`, `definitionFqn`: its place in a tree of executions.
 * - `deferred`: events that are held back until the state changes.
 * - `createdAt`, `updatedAt`, `finishedAt`: seconds since the epoch with a fraction, or null. The store stamps them from `Clock` at each
 *   commit; `finishedAt` is set while the status is `DONE` or `CANCELLED`.
 * - `priority`, 0 to 4, and `expiresAt`, seconds since the epoch or null: kept for harel, which shares the stored format. Nothing here acts
 *   on them. Use a timer for what is to happen at a time; events are delivered in the order of the outbox.
 * - `extra`: keys of the stored row that this version does not know. They are kept when the row is written again.
 *
 * @since 0.1.0
 * @category models
 */
export interface Execution extends Schema.Schema.Type<typeof Execution> {}

/**
 * The schema of an execution.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Execution = Schema.Struct({
  id: Schema.String,
  definitionId: Schema.String,
  definitionVersion: Schema.Int.pipe(Schema.positive()),
  definitionFqn: Schema.NullOr(Schema.String),
  rootPath: Schema.String,
  status: Status,
  outcome: Schema.NullOr(Schema.String),
  result: Schema.Unknown,
  error: Schema.NullOr(Schema.String),
  activePath: Schema.NullOr(Schema.String),
  history: Schema.Record({ key: Schema.String, value: Schema.String }),
  context: JsonObject,
  processedEvents: Schema.Int,
  version: Schema.NonNegativeInt,
  priority: Schema.Int.pipe(Schema.between(0, 4)),
  parentId: Schema.NullOr(Schema.String),
  childId: Schema.NullOr(Schema.String),
  deferred: Schema.Array(Event),
  children: Schema.Record({ key: Schema.String, value: ChildState }),
  invokeSeq: Schema.Record({ key: Schema.String, value: Schema.Int }),
  createdAt: Schema.NullOr(Schema.Finite),
  updatedAt: Schema.NullOr(Schema.Finite),
  finishedAt: Schema.NullOr(Schema.Finite),
  expiresAt: Schema.NullOr(Schema.Finite),
  extra: JsonObject
}).annotations({ identifier: "Execution" })

/**
 * An execution whose context has a known type.
 *
 * @since 0.1.0
 * @category models
 */
export interface WithContext<out Context> extends Omit<Execution, "context"> {
  readonly context: Context
}

/**
 * The stored form of an execution: compact JSON text with snake_case keys, as in the `data` column. Keys that a stored row may leave out
 * get their defaults. What other readers of the format reject does not decode either, and the failure names the key.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ExecutionFromText: Schema.Schema<Execution, string> = schemaFromCodec(
  Execution,
  codec.execution,
  "ExecutionFromText"
)

/**
 * A new execution at version 0, `PENDING`, with an empty context and of version 1 of its definition unless the options say otherwise.
 *
 * @example
 * ```ts
 * import { Execution } from "holdfast"
 *
 * const order = Execution.make({ id: "order-17", definitionId: "order", context: { qty: 2 } })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: { readonly id: string; readonly definitionId: string } & {
    readonly [K in Exclude<keyof Execution, "id" | "definitionId" | "version">]?: Execution[K] | undefined
  }
): Execution => ({
  id: options.id,
  definitionId: options.definitionId,
  definitionVersion: options.definitionVersion ?? 1,
  definitionFqn: options.definitionFqn ?? null,
  rootPath: options.rootPath ?? "",
  status: options.status ?? "PENDING",
  outcome: options.outcome ?? null,
  result: options.result ?? null,
  error: options.error ?? null,
  activePath: options.activePath ?? null,
  history: options.history ?? {},
  context: options.context ?? {},
  processedEvents: options.processedEvents ?? 0,
  version: 0,
  priority: options.priority ?? 0,
  parentId: options.parentId ?? null,
  childId: options.childId ?? null,
  deferred: options.deferred ?? [],
  children: options.children ?? {},
  invokeSeq: options.invokeSeq ?? {},
  createdAt: options.createdAt ?? null,
  updatedAt: options.updatedAt ?? null,
  finishedAt: options.finishedAt ?? null,
  expiresAt: options.expiresAt ?? null,
  extra: options.extra ?? {}
})

/**
 * Whether the status is an end: `DONE`, `CANCELLED` or `FAILED`.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isFinished = (execution: { readonly status: Status }): boolean =>
  execution.status === "DONE" || execution.status === "CANCELLED" || execution.status === "FAILED"

/**
 * What a listing shows of an execution. `definitionVersion` is the version of the definition, 1 where the row does not say; `finishedAt` is in
 * seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecutionSummary extends Schema.Schema.Type<typeof ExecutionSummary> {}

/**
 * The schema of a summary.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ExecutionSummary = Schema.Struct({
  id: Schema.String,
  definitionId: Schema.String,
  definitionVersion: Schema.Int.pipe(Schema.positive()),
  status: Status,
  outcome: Schema.NullOr(Schema.String),
  activePath: Schema.NullOr(Schema.String),
  version: Schema.Int,
  parentId: Schema.NullOr(Schema.String),
  finishedAt: Schema.NullOr(Schema.Finite)
}).annotations({ identifier: "ExecutionSummary" })

/**
 * One page of a listing, in the order of the ids' UTF-8 bytes.
 *
 * - `corrupt`: the rows of this page that do not decode.
 * - `nextCursor`: the `cursor` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecutionPage {
  readonly items: ReadonlyArray<ExecutionSummary>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<string>
}
