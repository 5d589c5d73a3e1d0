/**
 * Delivers the events of the outbox.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { OutboxEntry } from "./Commit.js"
import { ExecutionStore } from "./ExecutionStore.js"
import * as captured from "./internal/captured.js"
import * as seqs from "./internal/seqs.js"
import * as worker from "./internal/worker.js"
import type { Delivered, Worker } from "./Worker.js"

/**
 * How the outbox is delivered.
 *
 * - `deliver`: gets every entry at least once: again where a crash, or its own failure, came before the entry was removed. Receivers tell
 *   a repetition by the event's id.
 * - `concurrency`: how many targets are served side by side, by default 16.
 * - `pageSize`: how many entries are read at once, 1 to 1,000, by default 100. At most that many of one target are held in memory.
 * - `pollInterval`: how often to look for what other processes wrote, and when to try a target again whose delivery failed; by default 1
 *   second. What this process writes is delivered at once.
 * - `shutdownTimeout`: how long running deliveries may take when the scope closes, before they are interrupted; by default 10 seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> {
  readonly deliver: (entry: OutboxEntry) => Effect.Effect<Delivered, E, R>
  readonly concurrency?: number
  readonly pageSize?: number
  readonly pollInterval?: Duration.DurationInput
  readonly shutdownTimeout?: Duration.DurationInput
}

/**
 * The outbox relay. Entries of one target are delivered in the order of their seq, targets side by side; entries without a target count
 * as those of one target. A delivery that fails keeps its entry and holds back its own target alone, until the next poll or until a
 * commit of this process advances the target. An entry that does not decode is reported once and left in the store.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutboxRelay extends Worker {}

/**
 * @since 0.1.0
 * @category tags
 */
export const OutboxRelay: Context.Tag<OutboxRelay, OutboxRelay> =
  Context.GenericTag<OutboxRelay>("holdfast/OutboxRelay")

/**
 * Starts a relay, which runs until the scope closes. The services that `deliver` needs are taken once, here.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(
  options: Options<E, R>
): Effect.Effect<OutboxRelay, never, ExecutionStore | Scope.Scope | R> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const provide = captured.provide(yield* Effect.context<R>())
    return yield* worker.make<OutboxEntry>({
      ...seqs.settings(options),
      module: "OutboxRelay",
      from: seqs.pages(options, store.pendingOutbox, describe),
      noticed: (notice) => (notice.emits > 0 ? seqs.added : undefined),
      run: (entry) =>
        Effect.flatMap(provide(options.deliver(entry)), (delivered) =>
          delivered === "Delivered" ? worker.sitOut(store.ackOutbox(entry.seq)) : Effect.void
        )
    })
  })

const describe = ({ event, seq, targetId }: OutboxEntry) => ({
  lane: targetId,
  label: `delivery of event ${JSON.stringify(event.id)} (outbox ${seq}) to ${targetId === null ? "no target" : JSON.stringify(targetId)}`
})

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  options: Options<E, R>
): Layer.Layer<OutboxRelay, never, ExecutionStore | Exclude<R, Scope.Scope>> => Layer.scoped(OutboxRelay, make(options))
