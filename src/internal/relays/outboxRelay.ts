import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { OutboxEntry } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { FencingToken } from "../../Lease.js"
import type { Options, OutboxRelay } from "../../OutboxRelay.js"
import { type Delivered, Postponed } from "../../QueueWorker.js"
import type { StoreRejected } from "../../StoreError.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { callable, oneOf, optional } from "../options/fields.js"
import { workerFields } from "../options/worker.js"
import * as telemetryContext from "../telemetry/context.js"
import * as traceContext from "../telemetry/traceContext.js"
import * as batchVariant from "../util/batchVariant.js"
import * as failureDecision from "../worker/failureDecision.js"
import * as idempotencyKey from "../worker/idempotencyKey.js"
import * as seqPages from "../worker/seqPages.js"
import * as worker from "../worker/worker.js"

/** An event that is for an execution. */
export interface Addressed {
  readonly entry: OutboxEntry
  readonly targetId: string
  /** What is fenced that settles it. */
  readonly fence: FencingToken | undefined
}

/** Delivers events to different executions at once: see `worker.Ends`. */
export type DeliverTogether = (entries: ReadonlyArray<Addressed>, ends: worker.Ends) => Effect.Effect<void>

/** A delivery, and a second one where the target is not found. */
interface Attempt {
  readonly targetId: string
  readonly first: Effect.Effect<Delivered, unknown>
  readonly again: Effect.Effect<Delivered, unknown>
}

/** Whether the target is still to be created is asked where it is not found. */
const lookingForTarget = (
  store: ExecutionStore,
  { again, first, targetId }: Attempt
): Effect.Effect<Delivered, unknown> =>
  Effect.catchIf(
    first,
    (error) => failureDecision.isNotFound(error, targetId),
    () =>
      Effect.flatMap(store.spawns.isPending(targetId), (spawning) =>
        // Where no spawn is left, it may have been carried out since the target was looked for: only a second look tells.
        spawning ? Effect.fail(new Postponed({ reason: `a spawn of ${JSON.stringify(targetId)} is pending` })) : again
      )
  )

const decode = decoder(
  Schema.Struct({
    ...workerFields,
    deliver: callable,
    unknownTarget: optional(oneOf("drop", "dead-letter", "wait"))
  } satisfies Fields<Options>),
  refused("start", "OutboxRelay")
)

/** A relay; `together` delivers several events of executions as `deliver` would each of them. */
export const make = <E = never, R = never>(
  options: Options<E, R>,
  together?: DeliverTogether
): Effect.Effect<OutboxRelay, StoreRejected, ExecutionStore | Scope.Scope | R> =>
  Effect.gen(function* () {
    yield* decode(options)
    const store = yield* ExecutionStore
    const provide = telemetryContext.provide(yield* Effect.context<R>())
    const policy = options.unknownTarget ?? "dead-letter"

    const once = (entry: OutboxEntry, attempt: number): Effect.Effect<Delivered, unknown> => {
      const delivery = { attempt, idempotencyKey: idempotencyKey.make(entry.targetId, entry.event.id) }
      return Effect.suspend(() => provide(options.deliver(entry, delivery)))
    }
    const deliver = (entry: OutboxEntry, attempt: number): Effect.Effect<Delivered, unknown> => {
      const { targetId } = entry
      const first = once(entry, attempt)
      return targetId === null ? first : lookingForTarget(store, { targetId, first, again: first })
    }

    const runTogether =
      (together: DeliverTogether): worker.RunTogether<OutboxEntry> =>
      (works, { acknowledged, rest }) => {
        const addressed: Array<Addressed> = []
        const places: Array<number> = []
        for (const [place, { attempt, fence, item }] of works.entries()) {
          const { targetId } = item
          if (targetId === null) rest(place, deliver(item, attempt))
          else places[addressed.push({ entry: item, targetId, fence }) - 1] = place
        }
        if (addressed.length === 0) return Effect.void
        const placeOf = (i: number): number => places[i] ?? -1
        return together(addressed, {
          acknowledged: (i) => acknowledged(placeOf(i)),
          rest: (i, first) => {
            const work = works[placeOf(i)]
            if (work === undefined) return
            const { attempt, item } = work
            const { targetId } = item
            const again = once(item, attempt)
            rest(placeOf(i), targetId === null ? first : lookingForTarget(store, { targetId, first, again }))
          }
        })
      }

    // Who does one piece of work after the other reads the execution of each.
    const executions = together !== undefined && (yield* worker.canRunTogether(options))
    const pending: ExecutionStore["pendingOutbox"] = (query) => store.pendingOutbox({ ...query, executions })

    return yield* worker.make<OutboxEntry>({
      module: "OutboxRelay",
      settings: options,
      polling: seqPages.polling(options),
      heed: seqPages.heed,
      from: seqPages.pages(options, "outbox", pending, toWork),
      noticed: (notice) => (notice.emits > 0 ? seqPages.added : undefined),
      added: batchVariant.isOf(store.listen, store.pendingOutbox)
        ? (notice) => notice.outbox?.()?.map((entry) => toWork(entry))
        : undefined,
      run: deliver,
      runTogether: together && runTogether(together),
      spanName: "OutboxRelay.deliver",
      described,
      since: ({ emittedAt }) => emittedAt,
      workItem: ({ seq }) => ({ _tag: "Outbox", seq }),
      remove: ({ seq }) => store.ackOutbox(seq),
      decide: ({ targetId }, cause) => failureDecision.decide(cause, targetId, failureDecision.unknownTarget(policy))
    })
  })

const described = ({ event, seq, targetId, traceparent }: OutboxEntry) => ({
  annotations: { ...(targetId === null ? undefined : { executionId: targetId }), eventId: event.id, seq },
  span: () => ({
    kind: "consumer" as const,
    // A link, as an execution that sends itself events would be one trace for years.
    links: traceContext.links(traceparent),
    attributes: {
      "messaging.system": "holdfast",
      "messaging.operation.type": "process",
      "messaging.message.id": event.id,
      eventKind: event.kind
    }
  })
})

const label = ({ event, seq, targetId }: OutboxEntry): string =>
  `delivery of event ${JSON.stringify(event.id)} (outbox ${seq}) to ${targetId === null ? "no target" : JSON.stringify(targetId)}`

const toWork = seqPages.toWork<OutboxEntry>(({ targetId }) => targetId, label)
