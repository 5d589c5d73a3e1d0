/**
 * What one step of an execution does, built up from functions.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { Pipeable } from "effect/Pipeable"
import type { Commit, TraceStep } from "./Commit.js"
import type { Event } from "./Event.js"
import type { ChildState, Status, WithContext } from "./Execution.js"
import * as internal from "./internal/processor/step.js"
import * as children_ from "./internal/processor/stepChildren.js"
import type { JsonObject } from "./Json.js"
import type * as Time from "./Time.js"

/**
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: typeof internal.TypeId = internal.TypeId

/**
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

/**
 * What a transition decided: the execution as it is to be, at the version at which it came in, and what else the commit writes. The
 * processor adds the processed event and the acknowledgement, and counts `processedEvents`.
 *
 * A plain object will do; a {@link Builder} makes one.
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
export interface Writes extends Omit<Commit, "processed" | "ack" | "cause" | "trace"> {
  readonly trace?: Trace | undefined
}

/**
 * A trace step. What is left out the processor knows: the event, where the execution was and is, its context after the step, the time.
 *
 * @since 0.1.0
 * @category models
 */
export type Trace = { readonly [K in keyof TraceStep]?: TraceStep[K] | undefined }

/**
 * A step that is being built. It is a value: each function gives another one.
 *
 * - `execution`: as it is to be; `context`: its context.
 * - `event`: the event that the step consumes.
 * - `now`: when the step began, in seconds since the epoch. Every delay of the step counts from it.
 * - `commit`: what else is to be written.
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
 * Where an execution is to be. What is left out stays; one that is `PENDING` is `RUNNING` then, unless `status` says otherwise.
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
 * An event to emit. Without an `id` it gets one that is made of the execution, its version and the place among the emits of the step: a
 * step that is run again from where it ran, after a crash or by another process, emits the same ids.
 *
 * @since 0.1.0
 * @category models
 */
export type NewEvent = Pick<Event, "kind"> & { readonly [K in keyof Event]?: Event[K] | undefined }

/**
 * How an execution ends: the model's own verdict, and its result. The result is stored with the execution, and a child carries it home to
 * its parent, except for the keys `child_id`, `outcome` and `__deferred__`, which have a meaning of their own there.
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
 * - `context`: what it begins with.
 * - `definition`: the id of the definition that it follows; by default that of its parent.
 * - `rootPath`: the part of the definition that it runs; by default the key, or the whole where `definition` is given.
 *
 * @since 0.1.0
 * @category models
 */
export interface NewChild {
  readonly id?: string | undefined
  readonly context?: JsonObject | undefined
  readonly definition?: string | undefined
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
 * Whatever has children: a step, whose execution has them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Children {
  readonly execution: { readonly children: { readonly [id: string]: ChildState } }
}

/**
 * @since 0.1.0
 * @category guards
 */
export const isBuilder: (u: unknown) => u is Builder<unknown> = internal.isBuilder

/**
 * A step that leaves an execution as it is at this event, begun now.
 *
 * @example
 * import { Effect } from "effect"
 * import { type Processor, Step } from "holdfast"
 *
 * const order: Processor.Transition = (execution, event) =>
 *   Effect.map(Step.make(execution, event), (step) =>
 *     event.kind === "Start"
 *       ? step.pipe(Step.advance("AwaitingPayment"), Step.armTimer("payment", "1 hour"))
 *       : step.pipe(Step.finish(event.kind === "Paid" ? "paid" : "unpaid"))
 *   )
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: <Context>(execution: WithContext<Context>, event: Event) => Effect.Effect<Builder<Context>> =
  internal.make

/**
 * {@link make} for a step that began at `now`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeAt: <Context>(execution: WithContext<Context>, event: Event, now: Time.Input) => Builder<Context> =
  internal.makeAt

/**
 * Takes the execution to a path, or to what `to` says. `history` remembers the last active child of each state on the way there.
 *
 * @since 0.1.0
 * @category execution
 */
export const advance: {
  <Context>(to: string | To<NoInfer<Context>>): (self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, to: string | To<NoInfer<Context>>): Builder<Context>
} = dual(2, internal.advance)

/**
 * Makes the context another one.
 *
 * @since 0.1.0
 * @category execution
 */
export const updateContext: {
  <Context, const Next extends Context>(f: (context: Context) => Next): (self: Builder<Context>) => Builder<Context>
  <Context, const Next extends Context>(self: Builder<Context>, f: (context: Context) => Next): Builder<Context>
} = dual(2, internal.updateContext)

/**
 * The execution is `DONE`. Where it is a child, its parent is told by a `Finished` event with the child's id, the outcome, the result and
 * the events that it held back.
 *
 * A timer that is armed still fires for nobody; {@link cancelTimer} removes it at once.
 *
 * @since 0.1.0
 * @category execution
 */
export const finish: {
  (ending?: string | Ending): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, ending?: string | Ending): Builder<Context>
} = dual((args) => isBuilder(args[0]), internal.finish)

/**
 * The execution is `CANCELLED`, and otherwise as {@link finish} has it: a parent does not wait for a child that gave up. Without an outcome
 * the parent is told `cancelled`.
 *
 * @since 0.1.0
 * @category execution
 */
export const cancel: {
  (ending?: string | Ending): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, ending?: string | Ending): Builder<Context>
} = dual((args) => isBuilder(args[0]), internal.cancel)

/**
 * The execution is `FAILED` with this error: a text as it is, an `Error` as `Type: message` with the error that led to it. What the step
 * writes beside it stays.
 *
 * A parent is not told: a failed execution waits to be redriven. A failure that the parent is to deal with is an outcome of
 * {@link finish}.
 *
 * @since 0.1.0
 * @category execution
 */
export const fail: {
  (error: unknown): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, error: unknown): Builder<Context>
} = dual(2, internal.fail)

/**
 * Emits an event to an execution, or with a target of null to whoever relays the outbox.
 *
 * @since 0.1.0
 * @category writes
 */
export const emit: {
  (targetId: string | null, event: NewEvent): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, targetId: string | null, event: NewEvent): Builder<Context>
} = dual(3, internal.emit)

/**
 * Emits an event that is delivered after a delay, which counts from when the step began.
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
 * Arms the execution's timer at a path, to fire after a delay, which counts from when the step began. One that is armed there already is
 * armed anew.
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
 * Leaves a step in the execution's trace. Called again it adds to what it said.
 *
 * @since 0.1.0
 * @category writes
 */
export const trace: {
  (step?: Trace): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, step?: Trace): Builder<Context>
} = dual((args) => isBuilder(args[0]), internal.trace)

/**
 * Creates a child and begins to wait for it. `key` is the place in the parent that spawns it: what {@link children} and
 * {@link isJoined} ask by. Where there is a child of this id already, nothing happens.
 *
 * @since 0.1.0
 * @category children
 */
export const spawn: {
  (key: string, child?: NewChild): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, key: string, child?: NewChild): Builder<Context>
} = dual((args) => isBuilder(args[0]), children_.spawn)

/**
 * Writes down that a child has finished, with its outcome and result, where the event of the step is its `Finished`. The events that the
 * child held back are held back by its parent then. Any other event changes nothing.
 *
 * @since 0.1.0
 * @category children
 */
export const join: <Context>(self: Builder<Context>) => Builder<Context> = children_.join

/**
 * The children, in the order in which they were spawned; of a key, those of the keys below it (`<key>.` or `<key>:`) as well.
 *
 * @since 0.1.0
 * @category children
 */
export const children: (self: Children, key?: string) => ReadonlyArray<Child> = children_.children

/**
 * Whether all children have finished, or all of a key and of those below it. Where there are none, there is nothing to wait for.
 *
 * @since 0.1.0
 * @category children
 */
export const isJoined: (self: Children, key?: string) => boolean = children_.isJoined

/**
 * Forgets the children that have finished, or those of a key and below it. An execution that spawns for ever must do so, for its row
 * carries every child that it knows.
 *
 * @since 0.1.0
 * @category children
 */
export const forgetChildren: {
  (key?: string): <Context>(self: Builder<Context>) => Builder<Context>
  <Context>(self: Builder<Context>, key?: string): Builder<Context>
} = dual((args) => isBuilder(args[0]), children_.forgetChildren)
