/**
 * What the workers, the two relays and the timer sweeper, have in common: how they run, how they are, and how they end.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { Failure } from "./DeadLetter.js"
import { printable } from "./internal/util/printable.js"
import type { Shards } from "./Shards.js"

/**
 * How a worker runs. A lane is what is served in order: the target of an event, a child to create, the execution of a timer.
 *
 * - `concurrency`: how many lanes are served side by side, by default 16.
 * - `pageSize`: how many rows are read at once, 1 to 1,000, by default 100. At most that many of one lane are held in memory.
 * - `pollInterval`: how often to look for what other processes wrote while there is nothing to do, by default 1 second for the relays and 5
 *   for the sweeper. A relay that finds something so looks more often for a while. What this process writes is seen at once.
 * - `retry`: when to try again what failed, by default exponential from 1 second, jittered, up to 10 minutes. It is given the failure; where
 *   it ends, the work becomes a dead letter. A restart takes it up where it was, by the number of attempts.
 * - `maxAttempts`: after how many failures work becomes a dead letter, by default 20.
 * - `shards`: which lanes this process serves; by default all. What settles work is fenced: with `token`, by the lane's lease, which the database
 *   checks; without it, `owns` is asked before each such write. Work of a lane that was lost meanwhile is not settled here, and does not count
 *   as failed.
 * - `shutdownTimeout`: how long running work may take when the scope closes, before it is interrupted; by default 10 seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly concurrency?: number | undefined
  readonly pageSize?: number | undefined
  readonly pollInterval?: Duration.DurationInput | undefined
  readonly retry?: Schedule.Schedule<unknown, Omit<Failure, "retryAt">> | undefined
  readonly maxAttempts?: number | undefined
  readonly shards?: (Pick<Shards, "owns" | "onChange"> & Partial<Pick<Shards, "token" | "forfeit">>) | undefined
  readonly shutdownTimeout?: Duration.DurationInput | undefined
}

/**
 * A time during which the store does not do what it is asked: it is away, locked, full or read-only, refuses, or answers with what it cannot
 * have meant. Workers wait it out: they ask again, after 200 milliseconds at first and after half a minute in the end, and go on by themselves
 * when the store does, however long that takes.
 *
 * - `since`: when it began, in seconds since the epoch.
 * - `message`: what the store said last.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outage {
  readonly since: number
  readonly message: string
}

/**
 * How a worker is.
 *
 * - `lastRun`: when it last read its work from the store, in seconds since the epoch; none before the first time. It grows at least once in
 *   each `pollInterval`, except while the worker is paused, waits for a free place, or stalls.
 * - `lastError`: the last thing that went wrong, and when, in seconds since the epoch. It stays when all is well again.
 * - `outage`: what it waits out now, where the store does not let it go on; none otherwise.
 * - `backlog`: how much work it has taken and not finished. What else waits, the store's `stats` say.
 * - `runningSince`: when the work began that runs the longest now, in seconds since the epoch; none where nothing runs.
 * - `saturatedSince`: since when each of its places (`concurrency`) is taken by work that has not ended, in seconds since the epoch; none where one
 *   is free. Nothing else is done meanwhile.
 * - `held`: how many lanes (targets, children, executions) it holds back because their work failed.
 * - `deadLetters`: how much work it has given up since it began.
 * - `paused`: whether it is paused.
 *
 * @since 0.1.0
 * @category models
 */
export interface Health {
  readonly lastRun: Option.Option<number>
  readonly lastError: Option.Option<{ readonly time: number; readonly message: string }>
  readonly outage: Option.Option<Outage>
  readonly backlog: number
  readonly runningSince: Option.Option<number>
  readonly saturatedSince: Option.Option<number>
  readonly held: number
  readonly deadLetters: number
  readonly paused: boolean
}

/**
 * A worker: a fiber that runs until its scope closes. Then it takes no more work, finishes what it is doing and leaves the rest in the
 * store.
 *
 * - `pause`: takes no more work until `resume`, and leaves what waits in the store. What runs goes on: `awaitQuiet` waits for its end.
 * - `resume`: goes on at once.
 * - `retryWaiting`: tries again at once what only waits, as for a suspended execution or a definition.
 * - `awaitQuiet`: waits until it sleeps with nothing in hand. What its store still holds then failed and is tried again later, is not due,
 *   or was written by another process since.
 * - `awaitFatal`: dies with the defect that ended the worker: a bug of this library, or of a store. It ends no other way: whatever the store
 *   answers is waited out, see {@link Outage}.
 *
 * @since 0.1.0
 * @category models
 */
export interface QueueWorker {
  readonly health: Effect.Effect<Health>
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  readonly retryWaiting: Effect.Effect<void>
  readonly awaitQuiet: Effect.Effect<void>
  readonly awaitFatal: Effect.Effect<never>
}

/**
 * What a delivery came to: `"Delivered"` leaves it to the worker to remove the row, `"Acknowledged"` says that the delivery has removed
 * it, as a commit with its `ack` does.
 *
 * @since 0.1.0
 * @category models
 */
export type Delivered = "Delivered" | "Acknowledged"

/**
 * What a delivery is told beside what to deliver.
 *
 * - `attempt`: which attempt this is, counted from 1, over restarts. A delivery that was cut off by a crash or a shutdown does not count.
 * - `idempotencyKey`: the same for each attempt, also after a redrive, and another for each other event to a target: what a receiver needs
 *   to tell a repetition. It is printable ASCII without spaces, fit for a header.
 *
 * @since 0.1.0
 * @category models
 */
export interface Delivery {
  readonly attempt: number
  readonly idempotencyKey: string
}

/**
 * Work that will never succeed: it becomes a dead letter at once. For a delivery, or `child`, to fail with.
 *
 * @since 0.1.0
 * @category errors
 */
export class Refused extends Schema.TaggedError<Refused>("holdfast/QueueWorker/Refused")("Refused", {
  reason: Schema.String
}) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`refused for good: ${this.reason}`)
  }
}

/**
 * Work that cannot be done yet, for no fault of its own: it is tried again later, and at once when a commit of this process advances the
 * lane's execution. It is not counted as an attempt, and therefore never becomes a dead letter. For a delivery, or `child`, to fail with.
 *
 * @since 0.1.0
 * @category errors
 */
export class Postponed extends Schema.TaggedError<Postponed>("holdfast/QueueWorker/Postponed")("Postponed", {
  reason: Schema.String
}) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`not yet: ${this.reason}`)
  }
}

/**
 * A delivery, or making a child, took longer than the runtime's `transitionTimeout`, `after` seconds. It was interrupted, and is tried again as after
 * any failure.
 *
 * @since 0.1.0
 * @category errors
 */
export class DeliveryTimedOut extends Schema.TaggedError<DeliveryTimedOut>("holdfast/QueueWorker/DeliveryTimedOut")(
  "DeliveryTimedOut",
  { work: Schema.Literal("child", "deliverExternal"), after: Schema.Number }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `${this.work} took more than ${this.after} seconds and was interrupted: let it end soon, or give a longer transitionTimeout`
    )
  }
}

/**
 * There is nobody to deliver to. What becomes of the event, the relay's policy for unknown targets says. For a delivery to fail with.
 *
 * @since 0.1.0
 * @category errors
 */
export class TargetNotFound extends Schema.TaggedError<TargetNotFound>("holdfast/QueueWorker/TargetNotFound")(
  "TargetNotFound",
  { targetId: Schema.NullOr(Schema.String) }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      this.targetId === null
        ? "there is no target"
        : `there is no target ${JSON.stringify(this.targetId)}: create it, or choose a policy for unknown targets`
    )
  }
}
