/**
 * Notices of what was given up: work that became a dead letter, and executions that failed.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Reason } from "./DeadLetter.js"
import { type Event, WellKnownKind } from "./Event.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import * as internal from "./internal/runtime/givenUp.js"

/**
 * What was given up.
 *
 * - `what`: an execution, which failed, or the kind of work.
 * - `executionId`: the execution that failed; or that the work was for: the target of an event, the parent of a child, whose timer or
 *   activity it was. Null for an event without a target, and where the row did not say.
 * - `definition`, `definitionVersion`, `parentId`: of that execution; null where it is not stored, and a root has no parent.
 * - `subject`: the id of the event or of the child, the path of the timer, the key of the activity; null for an execution.
 * - `name`: the kind of the event, or the name of the activity; null for the rest.
 * - `reason`: why, as in `DeadLetter.Reason`; `failed` for an execution.
 * - `attempts`: how often it was tried; 0 where it was not, and for an execution.
 * - `error`: what it failed with, for people.
 *
 * @since 0.1.0
 * @category models
 */
export interface GivenUp extends Schema.Schema.Type<typeof GivenUp> {}

/**
 * The schema of a notice, as the data of its event.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GivenUp = Schema.Struct({
  what: Schema.Literal("Execution", "Outbox", "Spawn", "Timer", "Activity"),
  executionId: Schema.propertySignature(Schema.NullOr(Schema.String)).pipe(Schema.fromKey("execution_id")),
  definition: Schema.propertySignature(Schema.NullOr(Schema.String)).pipe(Schema.fromKey("definition_id")),
  // Notices of before there was one have none.
  definitionVersion: Schema.optionalWith(Schema.NullOr(Schema.Int), { default: () => null }).pipe(
    Schema.fromKey("definition_version")
  ),
  parentId: Schema.propertySignature(Schema.NullOr(Schema.String)).pipe(Schema.fromKey("parent_id")),
  subject: Schema.NullOr(Schema.String),
  name: Schema.NullOr(Schema.String),
  reason: Schema.Literal(...Reason.literals, "failed"),
  attempts: Schema.Int,
  error: Schema.String
}).annotations({ identifier: "GivenUp" })

/**
 * Whom a notice is for: the id of an execution, null for an event that leaves the store (`deliverExternal` of the runtime), or a function
 * that gives one of these, or undefined for nobody.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Layer, Schema } from "effect"
 * import { Definition, ExecutionRuntime, MemoryStore, Step } from "holdfast"
 *
 * const Order = Definition.make("order", { context: Schema.Struct({ item: Schema.String }) })
 * const OrderLive = Order.toLayer({ Start: (step) => Step.fail(step, `there is no ${step.context.item}`) })
 *
 * // Who is to know. A handler may as well run an activity that writes to people.
 * const Operations = Definition.make("operations", { context: Schema.Struct({ told: Schema.Array(Schema.String) }) })
 * const OperationsLive = Operations.toLayer({
 *   Start: (step) => Step.advance(step, "Listening"),
 *   GivenUp: (step, { error, executionId }) =>
 *     Step.updateContext(step, ({ told }) => ({ told: [...told, `${executionId}: ${error}`] }))
 * })
 *
 * const Live = Layer.merge(OrderLive, OperationsLive).pipe(
 *   Layer.provideMerge(ExecutionRuntime.layer({ onGivenUp: "operations" })),
 *   Layer.provideMerge(MemoryStore.layer)
 * )
 *
 * const program = Effect.gen(function* () {
 *   yield* Operations.start("operations", { told: [] })
 *   yield* Order.start("order-17", { item: "lamp" })
 *   yield* (yield* ExecutionRuntime.ExecutionRuntime).awaitIdle
 *   const { context } = yield* Operations.get("operations")
 *   assert.deepStrictEqual(context.told, ["order-17: there is no lamp"])
 * }).pipe(Effect.provide(Live))
 * ```
 *
 * @since 0.1.0
 * @category models
 */
export type Target = string | null | ((notice: GivenUp) => string | null | undefined)

/**
 * The execution that the work was for. One that has failed takes no events: where a definition says this, whom the runtime says is told of
 * that.
 *
 * @since 0.1.0
 * @category targets
 */
export const toItself = ({ executionId }: GivenUp): string | undefined => executionId ?? undefined

/**
 * The parent of the execution that failed, or that the work was for, where it has one.
 *
 * @since 0.1.0
 * @category targets
 */
export const toParent = ({ parentId }: GivenUp): string | undefined => parentId ?? undefined

/**
 * The notice that an event is; none where it is another event. Its kind is `Event.WellKnownKind.GivenUp`.
 *
 * @since 0.1.0
 * @category accessors
 */
export const fromEvent = ({ data, kind }: Event): Option.Option<GivenUp> =>
  kind === WellKnownKind.GivenUp ? Schema.decodeUnknownOption(GivenUp)(data) : Option.none()

/**
 * The same store, which sends a notice with each dead letter and each execution that becomes `FAILED` through it, in the same transaction:
 * so there is one for each, whatever crashes. A runtime does so by its option `onGivenUp`; use this where you run workers by themselves.
 *
 * A notice that is given up itself is a dead letter, and sends no other.
 *
 * @example
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { ExecutionStore, GivenUp, MemoryStore } from "holdfast"
 *
 * const Store = Layer.effect(
 *   ExecutionStore.ExecutionStore,
 *   Effect.map(ExecutionStore.ExecutionStore, (store) => GivenUp.telling(store, "operations"))
 * ).pipe(Layer.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const telling: (store: ExecutionStore, target: Target) => ExecutionStore = internal.telling
