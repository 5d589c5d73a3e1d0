/**
 * Work that failed: what is remembered of it while it is tried again, and what becomes of it when it is given up.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { OutboxEntry, SpawnEntry, Timer, WorkItem } from "./Commit.js"

/**
 * Work that failed and is to be tried again.
 *
 * - `work`: which outbox entry, spawn or timer.
 * - `attempts`: how often it was tried.
 * - `error`: why it failed the last time, for people.
 * - `failedAt`, `retryAt`: when it failed the last time, and when it is to be tried again, in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure extends Schema.Schema.Type<typeof Failure> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Failure = Schema.Struct({
  work: WorkItem,
  attempts: Schema.Int,
  error: Schema.String,
  failedAt: Schema.Finite,
  retryAt: Schema.Finite
}).annotations({ identifier: "Failure" })

/**
 * Why work was given up.
 *
 * - `attempts`: it failed as often as it may.
 * - `corrupt`: its stored row does not decode.
 * - `no-target`: there is no execution to deliver it to.
 * - `rejected`: whoever was to carry it out said that it never will.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal("attempts", "corrupt", "no-target", "rejected").annotations({
  identifier: "Reason"
})

/**
 * How work was given up.
 *
 * @since 0.1.0
 * @category models
 */
export interface Burial extends Schema.Schema.Type<typeof Burial> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Burial = Schema.Struct({
  reason: Reason,
  attempts: Schema.Int,
  error: Schema.String
}).annotations({ identifier: "Burial" })

const [outboxWork, spawnWork, timerWork] = WorkItem.members

const fields = {
  id: Schema.Int,
  executionId: Schema.NullOr(Schema.String),
  text: Schema.String,
  ...Burial.fields,
  diedAt: Schema.Finite
}

/**
 * Work that was given up, kept for people to look at, to redrive or to discard.
 *
 * - `id`: numbers the dead letters, and is never used twice.
 * - `work`: which outbox entry, spawn or timer it was.
 * - `executionId`: the event's target, the spawn's parent or the timer's execution; null for an event without a target.
 * - `row`: what was stored, where it decodes.
 * - `text`: the stored row as JSON, for people, whether it decodes or not.
 * - `reason`, `attempts`, `error`: how it was given up.
 * - `diedAt`: when, in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export type DeadLetter = typeof DeadLetter.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const DeadLetter = Schema.Union(
  Schema.TaggedStruct("Outbox", { ...fields, work: outboxWork, row: Schema.Option(OutboxEntry) }),
  Schema.TaggedStruct("Spawn", { ...fields, work: spawnWork, row: Schema.Option(SpawnEntry) }),
  Schema.TaggedStruct("Timer", { ...fields, work: timerWork, row: Schema.Option(Timer) })
).annotations({ identifier: "DeadLetter" })

/**
 * The kinds of work, as `_tag` of a dead letter.
 *
 * @since 0.1.0
 * @category models
 */
export type Kind = DeadLetter["_tag"]
