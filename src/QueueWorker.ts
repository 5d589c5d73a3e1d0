/**
 * What the workers (the two relays and the timer sweeper) have in common: options, health, and the failures that a delivery can answer
 * with.
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
import type { DefinitionNotFound, DefinitionVersionNotFound } from "./ProcessorError.js"
import type { Shards } from "./Shards.js"

/**
 * The options of a worker. A *lane* is what a worker carries out in order: the events of one target, one child to create, the timers of one
 * execution.
 *
 * - `concurrency`: how many lanes run side by side, by default 16.
 * - `pageSize`: how many rows are read at once, 1 to 1,000, by default 100. At most that many of one lane are held in memory.
 * - `pollInterval`: how often to look for what other processes wrote while there is nothing to do, by default 1 second for the relays and 5
 *   for the sweeper. A relay that finds something so looks more often for a while. What this process writes is seen at once.
 * - `retry`: when to try again what failed, by default exponential from 1 second, jittered, up to 10 minutes. The schedule gets the failure
 *   as input; where it ends, the work becomes a dead letter. After a restart it goes on by the recorded number of attempts.
 * - `maxAttempts`: after how many failures work becomes a dead letter, by default 20.
 * - `shards`: which lanes this process serves; by default all. Writes that settle work are fenced: with `token`, by the lease of the lane,
 *   which the database checks; without it, `owns` is asked before each such write. Work of a lane that was lost meanwhile is not settled
 *   here, and does not count as failed.
 * - `elsewhere`: which work is left to other processes, see {@link Elsewhere}.
 * - `shutdownTimeout`: how long work may go on when the scope closes, before it is interrupted; by default 10 seconds.
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
  readonly elsewhere?: Elsewhere | undefined
  readonly shutdownTimeout?: Duration.DurationInput | undefined
}

/**
 * Definitions that this process does not have. A worker passes over their work: it reads none of it, and keeps nothing in memory for it.
 * Work that fails with a processor's `DefinitionNotFound`, or with `DefinitionVersionNotFound`, is put aside, and the worker looks at all of
 * it again when this says so, at `retryWaiting`, and every ten minutes.
 *
 * - `passed`: the definitions that are passed over now, at most 1,000, and until when, in milliseconds since the epoch. It is asked before
 *   each page that is read. A child to create is passed over only where the relay has no `child` of its own.
 * - `found`: is told of work for a definition that the process does not have; gives false where the process has it by now.
 *
 * @since 0.1.0
 * @category models
 */
export interface Elsewhere {
  readonly passed: () => Effect.Effect<{ readonly definitions: ReadonlyArray<string>; readonly until: number }>
  readonly found: (error: DefinitionNotFound | DefinitionVersionNotFound) => Effect.Effect<boolean>
}

/**
 * A time during which the store does not do what it is asked: it cannot be reached, is locked, full or read-only, refuses, or gives an
 * answer that makes no sense. Workers do not end then. They ask again, first after 200 milliseconds and in the end every half a minute, and
 * go on when the store does, however long that takes.
 *
 * - `since`: when it began, in seconds since the epoch.
 * - `message`: the last failure.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outage {
  readonly since: number
  readonly message: string
}

/**
 * The state of a worker.
 *
 * - `lastRun`: when it last read its work from the store, in seconds since the epoch; none before the first time. It grows at least once in
 *   each `pollInterval`, except while the worker is paused, waits for a free place, or stalls.
 * - `lastError`: the last failure and when it was, in seconds since the epoch. It is kept when later work succeeds.
 * - `outage`: the outage that it waits for the end of; none where there is none.
 * - `backlog`: how many rows of work it has read and not finished. `ExecutionStore.stats` counts those in the store.
 * - `runningSince`: when the work that runs the longest began, in seconds since the epoch; none where nothing runs.
 * - `saturatedSince`: since when all its places (`concurrency`) are taken by work that does not end, in seconds since the epoch; none where
 *   one is free. Nothing else is done meanwhile.
 * - `held`: how many lanes it holds back because their work failed or waits. Work for a definition that the process does not have is not
 *   among them.
 * - `deadLetters`: how much work became dead letters since it began.
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
 * A worker: a fiber that runs until its scope closes. Then it takes no new work, finishes what runs and leaves the rest in the store.
 *
 * - `health`: its state.
 * - `pause`: takes no new work until `resume`. Work that runs goes on; `awaitQuiet` waits for its end.
 * - `resume`: goes on at once.
 * - `retryWaiting`: tries work at once that waits without having failed, such as that of a suspended execution or of a definition that was
 *   missing.
 * - `awaitQuiet`: waits until nothing runs and nothing that it has read is left. What the store still holds then has failed and is tried
 *   again later, is not due, or was written by another process since.
 * - `awaitFatal`: waits for the defect that ends the worker, a bug of this library or of a store, and dies with it. Failures of the store
 *   do not end a worker, see {@link Outage}.
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
 * What a delivery did. After `"Delivered"` the worker removes the row of the work; `"Acknowledged"` says that the delivery removed it
 * already, as a commit with `ack` does.
 *
 * @since 0.1.0
 * @category models
 */
export type Delivered = "Delivered" | "Acknowledged"

/**
 * What a delivery is told beside the work.
 *
 * - `attempt`: which attempt this is, counted from 1, over restarts. An attempt that a crash or a shutdown cut off does not count.
 * - `idempotencyKey`: a text that is the same for each attempt, also after a redrive, and different for each event of a target. A receiver
 *   recognises a repetition by it. It is printable ASCII without spaces, fit for a header.
 *
 * @since 0.1.0
 * @category models
 */
export interface Delivery {
  readonly attempt: number
  readonly idempotencyKey: string
}

/**
 * Work that will never succeed: it becomes a dead letter at once. A delivery, or `child`, fails with it.
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
 * Work that cannot be done yet, through no fault of its own. It is tried again later, and at once when a commit of this process advances
 * the lane's execution. It counts as no attempt, so it never becomes a dead letter. A delivery, or `child`, fails with it.
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
 * A delivery, or making a child, took longer than `after` seconds, the runtime's `transitionTimeout`. It was interrupted, and is tried
 * again as after any failure.
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
 * The target of the event does not exist. The relay's `unknownTarget` says what becomes of the event. A delivery fails with it.
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
