import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as ActivityWorker from "../../ActivityWorker.js"
import type { OutboxEntry } from "../../Commit.js"
import type { CommonOptions } from "../../ExecutionRuntime.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type * as Processor from "../../Processor.js"
import type * as QueueWorker from "../../QueueWorker.js"
import type { Shards } from "../../Shards.js"
import * as SpawnRelay from "../../SpawnRelay.js"
import type { StoreRejected } from "../../StoreError.js"
import type * as processTogether from "../processor/batch.js"
import * as outboxRelay from "../relays/outboxRelay.js"
import * as timerSweeper from "../relays/timerSweeper.js"
import * as deliveryTimeout from "./deliveryTimeout.js"
import type * as health from "./health.js"
import type { TransitionFailed } from "./transitionFailed.js"
import type { Process, Processing, Registry } from "./transitions.js"

export type Workers = health.Options["workers"]

type WorkerOptions<EC, RC, ED, RD> = Omit<CommonOptions<EC, RC, ED, RD>, "definitions" | "onFailure">

export const timerInterval = ({
  timerInterval = "5 seconds"
}: Pick<CommonOptions, "timerInterval">): Duration.DurationInput => timerInterval

/** Starts the workers. At the end all stop at the same time, each in its own order. */
export const startWorkers = <EC, RC, ED, RD>(
  options: WorkerOptions<EC, RC, ED, RD>,
  definitions: Registry,
  { process, together }: Processing,
  { elsewhere, shards }: { readonly shards: Shards | undefined } & Pick<QueueWorker.Options, "elsewhere">
): Effect.Effect<Workers, StoreRejected, ExecutionStore | Scope.Scope | RC | RD> => {
  const common = { ...options, shards, elsewhere }
  return Effect.parallelFinalizers(
    Effect.all({
      outbox: Effect.sequentialFinalizers(
        outboxRelay.make({ ...common, deliver: deliverEvent(options, process) }, together && deliverTogether(together))
      ),
      spawns: Effect.sequentialFinalizers(
        SpawnRelay.make({
          ...common,
          child: deliveryTimeout.child(options, options.child),
          serves: (definitionId) => options.unknownDefinition === "fail" || definitions.transitions.has(definitionId),
          attributes: ({ context, definitionId, definitionVersion }) =>
            definitions.facets(definitionId, definitionVersion)?.attributes(context)
        })
      ),
      timers: Effect.sequentialFinalizers(
        timerSweeper.make(
          {
            ...common,
            pollInterval: timerInterval(options),
            deliver: (timer, event) => fired(process(timer.executionId, event, { ack: { _tag: "Timer", ...timer } }))
          },
          together && fireTogether(together)
        )
      ),
      activities: Effect.sequentialFinalizers(
        ActivityWorker.make({
          ttl: options.activityTtl,
          pollInterval: options.pollInterval,
          shutdownTimeout: options.shutdownTimeout,
          name: shards && Array.from(shards.holder).slice(0, 100).join("")
        })
      )
    })
  )
}

/** Delivers an event to its execution, and one without a target to the application. */
const deliverEvent =
  <EC, RC, ED, RD>(options: WorkerOptions<EC, RC, ED, RD>, process: Process) =>
  (
    entry: OutboxEntry,
    delivery: QueueWorker.Delivery
  ): Effect.Effect<
    QueueWorker.Delivered,
    ED | TransitionFailed | Processor.ProcessError | QueueWorker.DeliveryTimedOut,
    RD
  > => {
    const { event, seq, targetId } = entry
    if (targetId !== null) return Effect.as(process(targetId, event, { ack: { _tag: "Outbox", seq } }), acknowledged)
    const { deliverExternal } = options
    const sent = deliverExternal === undefined ? Effect.void : deliverExternal(entry, delivery)
    return Effect.as(deliveryTimeout.deliver(options, "deliverExternal", sent), delivered)
  }

/** Delivers events to their executions, several at once. */
const deliverTogether =
  (together: processTogether.ProcessTogether<TransitionFailed>): outboxRelay.DeliverTogether =>
  (entries, { acknowledged: ended, rest }) =>
    together(
      entries.map(({ entry: { event, seq }, fence, targetId }) => ({
        executionId: targetId,
        event,
        ack: { _tag: "Outbox", seq },
        fence
      })),
      { advanced: ended, rest: (place, processed) => rest(place, Effect.as(processed, acknowledged)) }
    )

/** Fires timers of executions, several at once. */
const fireTogether =
  (together: processTogether.ProcessTogether<TransitionFailed>): timerSweeper.FireTogether =>
  (due, { acknowledged: ended, rest }) =>
    together(
      due.map(({ event, fence, timer }) => ({
        executionId: timer.executionId,
        event,
        ack: { _tag: "Timer", ...timer },
        fence
      })),
      { advanced: ended, rest: (place, processed) => rest(place, fired(processed)) }
    )

/** What became of a timer whose event was processed. */
const fired = <E>(
  processed: Effect.Effect<unknown, E | Processor.ProcessError>
): Effect.Effect<QueueWorker.Delivered, E | Processor.ProcessError> =>
  Effect.matchEffect(processed, {
    // Purged: there is nobody to wait for.
    onFailure: (error) => (isPurged(error) ? Effect.succeed(delivered) : Effect.fail(error)),
    onSuccess: () => Effect.succeed(acknowledged)
  })

const isPurged = Predicate.isTagged("ExecutionNotFound")

const delivered: QueueWorker.Delivered = "Delivered"
const acknowledged: QueueWorker.Delivered = "Acknowledged"
