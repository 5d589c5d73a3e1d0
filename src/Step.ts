/**
 * What a transition decides, built up from functions.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { Pipeable } from "effect/Pipeable"
import type { Activity } from "./Activity.js"
import type { Commit, TraceStep } from "./Commit.js"
import type { Event } from "./Event.js"
import type { Attributes, ChildState, Status, WithContext } from "./Execution.js"
import * as activities from "./internal/activity/step.js"
import * as internal from "./internal/processor/step.js"
import * as children_ from "./internal/processor/stepChildren.js"
import type { JsonObject } from "./Json.js"
import type * as Time from "./Time.js"

/**
 * The identifier of {@link Builder}s.
 *
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: typeof internal.TypeId = internal.TypeId

/**
 * The type of the identifier of {@link Builder}s.
 *
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

/**
 * What a transition decided: the execution as it should be, at the version at which it came in, and what else the commit writes. The
 * processor adds the consumed event and the acknowledgement, and counts `processedEvents`.
 *
 * A plain object is a step, too; a {@link Builder} makes one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step<out Context = JsonObject> {
  readonly execution: WithContext<Context>
  readonly commit?: Writes | undefined
}

/**
 * What a step writes beside the execution.
 *
 * @since 0.1.0
 * @category models
 */
export interface Writes extends Omit<Commit, "processed" | "ack" | "origin" | "remembered" | "trace"> {
  readonly trace?: Trace | undefined
}

/**
 * A trace step. The processor fills in what is left out: the event, the active state before and after, the context after the step, the
 * time.
 *
 * @since 0.1.0
 * @category models
 */
export type Trace = { readonly [K in keyof TraceStep]?: TraceStep[K] | undefined }

/**
 * A step that is being built. It is a value: each function gives another one.
 *
 * - `execution`: as it should be; `context`: its context.
 * - `event`: the event that the step consumes.
 * - `now`: when the step began, in seconds since the epoch. Every delay of the step counts from it.
 * - `commit`: what else the step writes.
 *
 * @since 0.1.0
 * @category models
 */
export interface Builder<out Context = JsonObject> extends Step<Context>, Pipeable {
  readonly [TypeId]: TypeId
  readonly context: Context
  readonly event: Event
  readonly now: number
  readonly commit: Writes
}

/**
 * Where an execution goes. What is left out stays as it is. A `PENDING` execution becomes `RUNNING`, unless `status` says otherwise.
 *
 * @since 0.1.0
 * @category models
 */
export interface To<out Context = JsonObject> {
  readonly path?: string | undefined
  readonly status?: Status | undefined
  readonly context?: Context | undefined
}

/**
 * An event to emit. Without an `id` it gets one that is made of the execution, its version and the place among the emits of the step. So a
 * step that runs again, after a crash or in another process, emits the same ids.
 *
 * @since 0.1.0
 * @category models
 */
export type NewEvent = Pick<Event, "kind"> & { readonly [K in keyof Event]?: Event[K] | undefined }

/**
 * How an execution ends: a word for it, and its result. The result is stored with the execution, and a child gives it to its parent,
 * without the keys `child_id`, `outcome` and `__deferred__`, which have a meaning of their own there.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ending {
  readonly outcome?: string | null | undefined
  readonly result?: JsonObject | undefined
}

/**
 * A child to create.
 *
 * - `id`: by default `<parent>:<key>:<n>`, where n counts the spawns of this key.
 * - `context`: its first context, by default empty.
 * - `definition`: the id of the definition that it follows; by default that of its parent.
 * - `definitionVersion`: the version of `definition` for which the context is, by default 1.
 * - `rootPath`: the part of the definition that it runs; by default the key, or the whole where `definition` is given.
 *
 * @since 0.1.0
 * @category models
 */
export interface NewChild {
  readonly id?: string | undefined
  readonly context?: JsonObject | undefined
  readonly definition?: string | undefined
  readonly definitionVersion?: number | undefined
  readonly rootPath?: string | undefined
}

/**
 * A child and what its parent knows of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Child extends ChildState {
  readonly id: string
}

/**
 * A value whose execution may have children, such as a step.
 *
 * @since 0.1.0
 * @category models
 */
export interface Children {
  readonly execution: { readonly children: { readonly [id: string]: ChildState } }
}

/**
 * Whether a value is a {@link Builder}.
 *
 * @since 0.1.0
 * @category guards
 */
export const isBuilder: (u: unknown) => u is Builder<unknown> = internal.isBuilder

/**
 * A step that begins now and leaves the execution as it is at this event. The other functions of this module add to it.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { type Processor, Step } from "holdfast"
 *
 * const order: Processor.Transition = (execution, event) =>
 *   Effect.map(Step.make(execution, event), (step) =>
 *     event.kind === "Start"
 *       ? step.pipe(Step.advance("AwaitingPayment"), Step.armTimer("payment", "1 hour"))
 *       : step.pipe(Step.finish(event.kind === "Paid" ? "paid" : "unpaid"))
 *   )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: <Context>(execution: WithContext<Context>, event: Event) => Effect.Effect<Builder<Context>> =
  internal.make

/**
 * {@link make}, for a step that began at `now`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeAt: <Context>(execution: WithContext<Context>, event: Event, now: Time.Input) => Builder<Context> =
  internal.makeAt

/**
 * Takes the execution to a path, or where `to` says. `history` remembers the last active child of each state on the way.
 *
 * @since 0.1.0
 * @category execution
 */
export const advance: {
  <Context>(to: string | To<NoInfer<Context>>): (self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, to: string | To<NoInfer<Context>>): Builder<Context>
} = dual(2, internal.advance)

/**
 * Replaces the context.
 *
 * @since 0.1.0
 * @category execution
 */
export const updateContext: {
  <Context, const Next extends Context>(f: (context: Context) => Next): (self: Builder<Context>) => Builder<Context>
  <Context, const Next extends Context>(self: Builder<Context>, f: (context: Context) => Next): Builder<Context>
} = dual(2, internal.updateContext)

/**
 * Ends the execution: it is `DONE`. Where it is a child, its parent gets a `Finished` event with the child's id, the outcome, the result
 * and the events that the child held back.
 *
 * A timer that is still armed fires without effect; {@link cancelTimer} removes it at once.
 *
 * @since 0.1.0
 * @category execution
 */
export const finish: {
  (ending?: string | Ending): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, ending?: string | Ending): Builder<Context>
} = dual((args) => isBuilder(args[0]), internal.finish)

/**
 * Ends the execution: it is `CANCELLED`. A parent gets a `Finished` event as from {@link finish}, so it does not wait for a child that gave
 * up. Without an outcome that event says `cancelled`.
 *
 * @since 0.1.0
 * @category execution
 */
export const cancel: {
  (ending?: string | Ending): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, ending?: string | Ending): Builder<Context>
} = dual((args) => isBuilder(args[0]), internal.cancel)

/**
 * Stops the execution: it is `FAILED` with this error. A text is kept as it is, an `Error` as `Type: message` with the error that caused
 * it. What the step writes beside it is written.
 *
 * A parent gets no event: a failed execution waits to be redriven. Where the parent should react, end with an outcome of {@link finish}.
 *
 * @since 0.1.0
 * @category execution
 */
export const fail: {
  (error: unknown): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, error: unknown): Builder<Context>
} = dual(2, internal.fail)

/**
 * Emits an event to an execution, or with null as target to the application (see `Commit.Emit`).
 *
 * @since 0.1.0
 * @category writes
 */
export const emit: {
  (targetId: string | null, event: NewEvent): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, targetId: string | null, event: NewEvent): Builder<Context>
} = dual(3, internal.emit)

/**
 * Emits an event that is delivered after a delay. The delay counts from the begin of the step.
 *
 * @since 0.1.0
 * @category writes
 */
export const emitAfter: {
  (
    targetId: string | null,
    delay: Duration.DurationInput,
    event: NewEvent
  ): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(
    self: Builder<Context>,
    targetId: string | null,
    delay: Duration.DurationInput,
    event: NewEvent
  ): Builder<Context>
} = dual(4, internal.emitAfter)

/**
 * Emits an event that is delivered at a point in time.
 *
 * @since 0.1.0
 * @category writes
 */
export const emitAt: {
  (targetId: string | null, at: Time.Input, event: NewEvent): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, targetId: string | null, at: Time.Input, event: NewEvent): Builder<Context>
} = dual(4, internal.emitAt)

/**
 * Arms the execution's timer at a path, to fire after a delay that counts from the begin of the step. A timer that is armed there already
 * is replaced.
 *
 * @since 0.1.0
 * @category writes
 */
export const armTimer: {
  (path: string, delay: Duration.DurationInput): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, path: string, delay: Duration.DurationInput): Builder<Context>
} = dual(3, internal.armTimer)

/**
 * Arms the execution's timer at a path, to fire at a point in time.
 *
 * @since 0.1.0
 * @category writes
 */
export const armTimerAt: {
  (path: string, at: Time.Input): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, path: string, at: Time.Input): Builder<Context>
} = dual(3, internal.armTimerAt)

/**
 * Cancels the execution's timer at a path, where one is armed.
 *
 * @since 0.1.0
 * @category writes
 */
export const cancelTimer: {
  (path: string): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, path: string): Builder<Context>
} = dual(2, internal.cancelTimer)

/**
 * How an activity is asked for.
 *
 * - `key`: tells it from the execution's others, and makes the idempotency key of its attempts: the same key asks a partner for the same
 *   thing
 *   again. While an activity of this key has not ended, asking for it changes nothing. By default one that no other has.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  readonly key?: string | undefined
}

/**
 * Asks for an activity, which is run outside of the step when it is committed. Its outcome comes back as an event of kind
 * `ActivityEnded`: see
 * `Activity.outcome`; a `Definition` has handlers for it.
 *
 * Where the payload does not encode, the step fails with `StepInvalid` and nothing is written.
 *
 * @since 0.1.0
 * @category activities
 */
export const run: {
  <Payload, Success, Error>(
    activity: Activity<string, Payload, Success, Error>,
    payload: Payload,
    options?: RunOptions
  ): <Context>(self: Builder<Context>) => Builder<Context>
  <Context, Payload, Success, Error>(
    self: Builder<Context>,
    activity: Activity<string, Payload, Success, Error>,
    payload: Payload,
    options?: RunOptions
  ): Builder<Context>
} = dual((args) => isBuilder(args[0]), activities.run)

/**
 * Takes back the activity of a key, where there is one that has not ended: it is interrupted, wherever it runs, and no event comes of
 * it. What of it
 * was done already is done.
 *
 * @since 0.1.0
 * @category activities
 */
export const cancelActivity: {
  (key: string): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, key: string): Builder<Context>
} = dual(2, activities.cancel)

/**
 * Says what the execution is found by from now on, in place of what it was found by before: see `Execution.Attributes`. For a transition
 * without a definition that names them; of one that does, the definition's are written.
 *
 * @since 0.1.0
 * @category writes
 */
export const setAttributes: {
  (attributes: Attributes): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, attributes: Attributes): Builder<Context>
} = dual(2, internal.setAttributes)

/**
 * Adds to the trace step that the commit leaves in the execution's trace.
 *
 * @since 0.1.0
 * @category writes
 */
export const trace: {
  (step?: Trace): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, step?: Trace): Builder<Context>
} = dual((args) => isBuilder(args[0]), internal.trace)

/**
 * Creates a child and begins to wait for it. `key` is the place in the parent that spawns it, by which {@link children} and
 * {@link isJoined} ask. Where the execution has a child of this id already, nothing happens.
 *
 * @since 0.1.0
 * @category children
 */
export const spawn: {
  (key: string, child?: NewChild): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, key: string, child?: NewChild): Builder<Context>
} = dual((args) => isBuilder(args[0]), children_.spawn)

/**
 * Records in the parent that a child has finished, with its outcome and result, where the event of the step is its `Finished`. Events that
 * the child held back are then held back by its parent. At any other event nothing changes.
 *
 * @since 0.1.0
 * @category children
 */
export const join: <Context>(self: Builder<Context>) => Builder<Context> = children_.join

/**
 * The children, in the order in which they were spawned. With a key, those of this key and of the keys below it (`<key>.` or `<key>:`).
 *
 * @since 0.1.0
 * @category children
 */
export const children: (self: Children, key?: string) => ReadonlyArray<Child> = children_.children

/**
 * Whether all children have finished, or, with a key, all of this key and of those below it. True where there are none.
 *
 * @since 0.1.0
 * @category children
 */
export const isJoined: (self: Children, key?: string) => boolean = children_.isJoined

/**
 * Whether a child was never created, because another execution has its id: its outcome is `rejected`, and the spawn is a dead letter.
 *
 * @since 0.1.0
 * @category children
 */
export const isRejected: (child: Child) => boolean = children_.isRejected

/**
 * Removes the children that have finished from the execution, or, with a key, those of this key and below it. An execution that spawns
 * again and again must do so, because its row holds every child that it knows.
 *
 * @since 0.1.0
 * @category children
 */
export const forgetChildren: {
  (key?: string): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, key?: string): Builder<Context>
} = dual((args) => isBuilder(args[0]), children_.forgetChildren)
