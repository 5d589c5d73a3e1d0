/**
 * Work that failed: what the store remembers of it while it is tried again, and the dead letter that it becomes when it is given up.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ActivityEntry, OutboxEntry, SpawnEntry, Timer, Work, WorkItem } from "./Commit.js"

/**
 * Work that failed and will be tried again.
 *
 * - `work`: which outbox entry, spawn or timer.
 * - `attempts`: how often it was tried.
 * - `error`: why it failed the last time, for people.
 * - `failedAt`, `retryAt`: when it failed the last time, and when it is tried again, in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure extends Schema.Schema.Type<typeof Failure> {}

/**
 * The schema of a failure.
 *
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
 * - `no-target`: the execution that it is for does not exist.
 * - `id-taken`: another execution has the id of the child that was to be created.
 * - `rejected`: it failed with an error that says that it will never succeed, such as `QueueWorker.Refused`.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * The schema of a reason.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal("attempts", "corrupt", "no-target", "id-taken", "rejected").annotations({
  identifier: "Reason"
})

/**
 * Why work was given up, after how many attempts, and with which error, for people.
 *
 * @since 0.1.0
 * @category models
 */
export interface Burial extends Schema.Schema.Type<typeof Burial> {}

/**
 * The schema of a burial.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Burial = Schema.Struct({
  reason: Reason,
  attempts: Schema.Int,
  error: Schema.String
}).annotations({ identifier: "Burial" })

const [outboxWork, spawnWork, timerWork, activityWork] = Work.members

const fields = {
  id: Schema.Int,
  executionId: Schema.NullOr(Schema.String),
  text: Schema.String,
  ...Burial.fields,
  diedAt: Schema.Finite
}

/**
 * Work that was given up, kept for people to look at, to redrive or to discard. That of a timer or an activity is kept until its execution
 * cancels it or asks for it anew.
 *
 * - `id`: numbers the dead letters, and is never used twice.
 * - `work`: which outbox entry, spawn, timer or activity it was.
 * - `executionId`: the event's target, the spawn's parent or the execution of a timer or an activity; null for an event without a target.
 * - `row`: what was stored, where it decodes.
 * - `text`: the stored row as JSON, for people, whether it decodes or not.
 * - `reason`, `attempts`, `error`: how it was given up.
 * - `diedAt`: when, in seconds since the epoch.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { ExecutionStore, MemoryStore } from "holdfast"
 *
 * // After an outage of a webhook's receiver: all events that were given up go back to the outbox.
 * const program = Effect.gen(function* () {
 *   const { deadLetters } = yield* ExecutionStore.ExecutionStore
 *   const { entries } = yield* deadLetters.list({ kind: "Outbox" })
 *   const givenUp = entries.filter((letter) => letter.reason === "attempts")
 *   yield* Effect.forEach(givenUp, (letter) => deadLetters.redrive(letter.id), { discard: true })
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export type DeadLetter = typeof DeadLetter.Type

/**
 * The schema of a dead letter.
 *
 * @since 0.1.0
 * @category schemas
 */
export const DeadLetter = Schema.Union(
  Schema.TaggedStruct("Outbox", { ...fields, work: outboxWork, row: Schema.Option(OutboxEntry) }),
  Schema.TaggedStruct("Spawn", { ...fields, work: spawnWork, row: Schema.Option(SpawnEntry) }),
  Schema.TaggedStruct("Timer", { ...fields, work: timerWork, row: Schema.Option(Timer) }),
  Schema.TaggedStruct("Activity", {
    ...fields,
    work: activityWork,
    row: Schema.Option(ActivityEntry.pick("executionId", "key", "name", "limitKey", "payload", "version"))
  })
).annotations({ identifier: "DeadLetter" })

/**
 * The kind of work that became a dead letter: its `_tag`.
 *
 * @since 0.1.0
 * @category models
 */
export type Kind = DeadLetter["_tag"]
