/**
 * The worker that delivers the events of the outbox.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { OutboxEntry } from "./Commit.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import * as internal from "./internal/relays/outboxRelay.js"
import type { Delivered, Delivery, QueueWorker, Options as WorkerOptions } from "./QueueWorker.js"
import type { StoreRejected } from "./StoreError.js"

/**
 * - `deliver`: delivers an entry, to a processor, a queue, a webhook or anything else. It gets every entry at least once: again after a
 *   crash or a failure that came before the entry was removed. Receivers recognise a repetition by the event's id or, where they are no
 *   executions, by the `idempotencyKey`. What it fails with decides what comes next, see {@link OutboxRelay}.
 * - `unknownTarget`: what becomes of an event whose target does not exist: see {@link UnknownTarget}.
 * - the others: see `QueueWorker.Options`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> extends WorkerOptions {
  readonly deliver: (entry: OutboxEntry, delivery: Delivery) => Effect.Effect<Delivered, E, R>
  readonly unknownTarget?: UnknownTarget | undefined
}

/**
 * What becomes of an event whose target does not exist.
 *
 * - `"dead-letter"`, the default: it is a dead letter at once.
 * - `"drop"`: it is removed.
 * - `"wait"`: it is kept, and so are later events to this target, until the target exists.
 *
 * Where a spawn of the target is pending, the event waits whatever the policy.
 *
 * @since 0.1.0
 * @category models
 */
export type UnknownTarget = "drop" | "dead-letter" | "wait"

/**
 * The outbox relay. Entries of one target are delivered in the order of their seq, different targets side by side. Entries without a target
 * count as those of one target.
 *
 * A delivery that fails keeps its entry, and is tried again as `retry` says; later entries of the same target wait for it, others do not.
 * The store remembers attempts and error over restarts. After `maxAttempts` the entry is a dead letter, and the next one is delivered. Some
 * failures are treated in another way:
 *
 * - `QueueWorker.Refused`, and a row that does not decode: a dead letter at once.
 * - `QueueWorker.TargetNotFound`, and a processor's `ExecutionNotFound` of the entry's target: as `unknownTarget` says.
 * - `QueueWorker.Postponed`, a processor's `ExecutionSuspended`, and `StoreUnavailable`: the entry waits, and that counts as no attempt. It
 *   is tried at once when a commit of this process advances the target.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutboxRelay extends QueueWorker {}

/**
 * The service of the outbox relay.
 *
 * @since 0.1.0
 * @category tags
 */
export const OutboxRelay: Context.Tag<OutboxRelay, OutboxRelay> =
  Context.GenericTag<OutboxRelay>("holdfast/OutboxRelay")

/**
 * Starts a relay, which runs until the scope closes. The services that `deliver` needs are taken from the context here.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: <E = never, R = never>(
  options: Options<E, R>
) => Effect.Effect<OutboxRelay, StoreRejected, ExecutionStore | Scope.Scope | R> = (options) => internal.make(options)

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { OutboxRelay, QueueWorker } from "holdfast"
 *
 * declare const publish: (key: string, body: unknown) => Effect.Effect<void, QueueWorker.Refused>
 *
 * // For an application that only passes its events on. `ExecutionRuntime.layer` starts a relay of its own.
 * const Relay = OutboxRelay.layer({
 *   concurrency: 4,
 *   deliver: ({ event }, { idempotencyKey }) => Effect.as(publish(idempotencyKey, event), "Delivered" as const)
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  options: Options<E, R>
): Layer.Layer<OutboxRelay, StoreRejected, ExecutionStore | Exclude<R, Scope.Scope>> =>
  Layer.scoped(OutboxRelay, make(options))
