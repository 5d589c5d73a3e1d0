/**
 * Typed definitions: a value with the schemas of an execution, a layer with its handlers, and a client for every other process.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { Pipeable } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as Activity from "./Activity.js"
import type {
  AlreadyExists,
  AlreadyRegistered,
  ExecutionCancelled,
  ExecutionFailed,
  ExecutionMissing,
  InvalidImplementation,
  InvalidInput,
  OtherDefinition,
  StoredInvalid
} from "./DefinitionError.js"
import type { AttributeValue, Execution, Status } from "./Execution.js"
import type { ExecutionRuntime } from "./ExecutionRuntime.js"
import type { ExecutionFilter, ExecutionStore, ListQuery } from "./ExecutionStore.js"
import type { GivenUp, Target } from "./GivenUp.js"
import * as internal from "./internal/definition/definition.js"
import type { JsonObject } from "./Json.js"
import type * as Processor from "./Processor.js"
import type { PublishedDefinition } from "./PublishedDefinition.js"
import type { Builder, RunOptions, Step } from "./Step.js"
import type { StoreCorrupt, StoreError, StoreRejected } from "./StoreError.js"
import type * as Time from "./Time.js"

/**
 * The identifier of definitions.
 *
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: typeof internal.TypeId = internal.TypeId

/**
 * The type of the identifier of definitions.
 *
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

/**
 * The types of a definition, by name, as an editor shows them.
 *
 * - `context`: the data of an execution; `input`: what it is started with.
 * - `events`: the payload of each event; `timers`: the names of its timers.
 * - `children`: the definition of the children under each key; `activities`: the activity under each name.
 * - `attributes`: the values that it is found by.
 * - `result`: what it ends with; `error`: what it fails with.
 *
 * @since 0.1.0
 * @category models
 */
export interface Spec {
  readonly context: unknown
  readonly input: unknown
  readonly events: { readonly [kind: string]: unknown }
  readonly timers: string
  readonly children: { readonly [key: string]: Any }
  readonly activities: { readonly [name: string]: Activity.Any }
  readonly attributes: { readonly [name: string]: AttributeValue }
  readonly result: unknown
  readonly error: unknown
}

/**
 * A definition of any types.
 *
 * @since 0.1.0
 * @category models
 */
export interface Any {
  readonly [TypeId]: TypeId
  readonly name: string
  readonly version: number
  readonly schemas: Schemas
}

/**
 * The schemas of a definition, for tools that show forms or check what is stored. `result` and `error` are undefined where the definition
 * has none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Schemas {
  readonly context: Schema.Schema.AnyNoContext
  readonly input: Schema.Schema.AnyNoContext
  readonly events: { readonly [kind: string]: Schema.Schema.AnyNoContext }
  readonly result: Schema.Schema.AnyNoContext | undefined
  readonly error: Schema.Schema.AnyNoContext | undefined
}

/**
 * The types of a definition: its {@link Spec}.
 *
 * @since 0.1.0
 * @category type-level
 */
export type SpecOf<D> = D extends Definition<infer _Name, infer S> ? S : never

/**
 * An execution of a definition, decoded.
 *
 * - `id`, `version`, `status`, `activePath`, `outcome`: see `Execution`.
 * - `definitionVersion`: the version of the definition in which it is stored. Where that is an older one, `context` and `activePath` are
 *   what the migrations make of it.
 * - `context`: its data.
 * - `result`: what it ended with; none unless it is `DONE`.
 * - `failure`: the definition's own error with which it failed; none where it failed with another one, or did not fail.
 * - `error`: the error as text, whichever it is; null where it did not fail.
 * - `execution`: the execution as it is stored.
 *
 * @since 0.1.0
 * @category models
 */
export interface Instance<out S extends Spec> {
  readonly id: string
  readonly version: number
  readonly definitionVersion: number
  readonly status: Status
  readonly activePath: string | null
  readonly context: S["context"]
  readonly outcome: string | null
  readonly result: Option.Option<S["result"]>
  readonly failure: Option.Option<S["error"]>
  readonly error: string | null
  readonly execution: Execution
}

/**
 * One page of the executions of a definition.
 *
 * - `invalid`: executions that do not decode by the schemas of the definition.
 * - `corrupt`: rows that are no executions.
 * - `nextCursor`: the `cursor` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface InstancePage<out S extends Spec> {
  readonly items: ReadonlyArray<Instance<S>>
  readonly invalid: ReadonlyArray<StoredInvalid>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<string>
}

/**
 * A child that has ended. `outcome` is the word that it ended with, and `cancelled` where it was cancelled without one. `result` is none
 * where the child has none, as one that was cancelled. `rejected` says that it was never created, because another execution has its id:
 * its outcome is `rejected` then.
 *
 * @since 0.1.0
 * @category models
 */
export interface EndedChild<out Result> {
  readonly id: string
  readonly outcome: string | null
  readonly result: Option.Option<Result>
  readonly rejected: boolean
}

/**
 * A timer that has fired. `fireAt` is the time it was armed for, in seconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface FiredTimer {
  readonly path: string
  readonly fireAt: number
}

/**
 * What a handler returns: a step, or an effect that gives one.
 *
 * @since 0.1.0
 * @category handlers
 */
export type HandlerResult<Context> = Step<Context> | Effect.Effect<Step<Context>, unknown, unknown>

/**
 * A handler for each event that the definition names.
 *
 * @since 0.1.0
 * @category handlers
 */
export type EventHandlers<S extends Spec> = {
  readonly [K in keyof S["events"]]: (
    step: Builder<S["context"]>,
    payload: S["events"][K]
  ) => HandlerResult<S["context"]>
}

/**
 * A handler for each timer that the definition names.
 *
 * @since 0.1.0
 * @category handlers
 */
export type TimerHandlers<S extends Spec> = {
  readonly [K in S["timers"]]: (step: Builder<S["context"]>, timer: FiredTimer) => HandlerResult<S["context"]>
}

/**
 * A handler for the children under each key that the definition names. It runs when all children of the key have ended.
 *
 * @since 0.1.0
 * @category handlers
 */
export type ChildrenHandlers<S extends Spec> = {
  readonly [K in keyof S["children"]]: (
    step: Builder<S["context"]>,
    children: ReadonlyArray<EndedChild<SpecOf<S["children"][K]>["result"]>>
  ) => HandlerResult<S["context"]>
}

/**
 * Which activity has ended: under which key it was asked for, and how often it ran.
 *
 * @since 0.1.0
 * @category models
 */
export interface EndedActivity {
  readonly key: string
  readonly attempts: number
}

/**
 * The handlers of the outcomes of an activity.
 *
 * - `success`: gets what it gave.
 * - `failure`: gets the activity's own error, after the last attempt; `ActivityTimedOut` or `ActivityDied`, where the last attempt ended
 *   so; or
 *   `ActivityCancelled`.
 *
 * @since 0.1.0
 * @category handlers
 */
export interface OutcomeHandlers<S extends Spec, A> {
  readonly success: (
    step: Builder<S["context"]>,
    value: Activity.Success<A>,
    ended: EndedActivity
  ) => HandlerResult<S["context"]>
  readonly failure: (
    step: Builder<S["context"]>,
    error: Activity.Failure<Activity.Error<A>>,
    ended: EndedActivity
  ) => HandlerResult<S["context"]>
}

/**
 * Handlers for the outcomes of each activity that the definition names.
 *
 * @since 0.1.0
 * @category handlers
 */
export type ActivityHandlers<S extends Spec> = {
  readonly [K in keyof S["activities"]]: OutcomeHandlers<S, S["activities"][K]>
}

/**
 * The handlers that every definition can have.
 *
 * - `Start`: begins the execution.
 * - `Cancel`: cleans up before the execution is cancelled. Where the step leaves the execution `CANCELLING`, it becomes `CANCELLED`; a step
 *   that takes it to another status keeps it alive. Without this handler an execution is cancelled at once.
 * - `GivenUp`: is told of what was given up elsewhere, by whoever names this execution in `onGivenUp`. Without this handler a notice is an
 *   event that the definition does not name.
 *
 * @since 0.1.0
 * @category handlers
 */
export interface CommonHandlers<S extends Spec> {
  readonly Start: (step: Builder<S["context"]>) => HandlerResult<S["context"]>
  readonly Cancel?: ((step: Builder<S["context"]>, reason: JsonObject) => HandlerResult<S["context"]>) | undefined
  readonly GivenUp?: ((step: Builder<S["context"]>, notice: GivenUp) => HandlerResult<S["context"]>) | undefined
}

/**
 * The implementation of a definition: `Start`, a handler for each event, and, where the definition has any, `timers`, `children` and
 * `activities` with
 * handlers for each.
 *
 * A handler runs again after a crash, and where another commit came first. So its effects beyond the step must bear being repeated.
 *
 * @since 0.1.0
 * @category handlers
 */
export type Handlers<S extends Spec> = CommonHandlers<S> &
  EventHandlers<S> &
  ([S["timers"]] extends [never] ? unknown : { readonly timers: TimerHandlers<S> }) &
  ([keyof S["children"]] extends [never] ? unknown : { readonly children: ChildrenHandlers<S> }) &
  ([keyof S["activities"]] extends [never] ? unknown : { readonly activities: ActivityHandlers<S> })

/**
 * What an execution can receive, as a tagged union for a single handler of everything.
 *
 * @since 0.1.0
 * @category handlers
 */
export type Incoming<S extends Spec> =
  | { readonly _tag: "Start" }
  | { readonly _tag: "Cancel"; readonly reason: JsonObject }
  | { readonly _tag: "GivenUp"; readonly notice: GivenUp }
  | { readonly [K in keyof S["events"]]: { readonly _tag: K; readonly payload: S["events"][K] } }[keyof S["events"]]
  | ([S["timers"]] extends [never]
      ? never
      : { readonly _tag: "Timeout"; readonly timer: FiredTimer & { readonly path: S["timers"] } })
  | {
      readonly [K in keyof S["children"]]: {
        readonly _tag: "Finished"
        readonly key: K
        readonly children: ReadonlyArray<EndedChild<SpecOf<S["children"][K]>["result"]>>
      }
    }[keyof S["children"]]
  | {
      readonly [K in keyof S["activities"]]: {
        readonly _tag: "Activity"
        readonly name: K
        readonly outcome: Activity.Outcome<Activity.Success<S["activities"][K]>, Activity.Error<S["activities"][K]>>
      }
    }[keyof S["activities"]]

/**
 * A single handler for everything that an execution can receive.
 *
 * @since 0.1.0
 * @category handlers
 */
export type Handler<S extends Spec> = (
  step: Builder<S["context"]>,
  incoming: Incoming<S>
) => HandlerResult<S["context"]>

type Returned<F> = F extends (...args: never) => infer Out ? Out : never

type ReturnedOfGroup<G> = G extends (...args: never) => infer Out ? Out : { [J in keyof G]: Returned<G[J]> }[keyof G]

type ReturnedOf<H> = H extends (...args: never) => infer Out
  ? Out
  : {
      [K in keyof H]: H[K] extends (...args: never) => infer Out
        ? Out
        : { [J in keyof H[K]]: ReturnedOfGroup<H[K][J]> }[keyof H[K]]
    }[keyof H]

type ErrorOf<T> = T extends Effect.Effect<infer _A, infer E, infer _R> ? E : never

type ContextOf<T> = T extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/**
 * What the handlers can fail with.
 *
 * @since 0.1.0
 * @category type-level
 */
export type HandlersError<H> = ErrorOf<ReturnedOf<H>>

/**
 * The services that the handlers need.
 *
 * @since 0.1.0
 * @category type-level
 */
export type HandlersContext<H> = ContextOf<ReturnedOf<H>>

/**
 * - `onFailure`: what becomes of an execution whose handler fails: see `Processor.OnFailure`. By default what the options of the runtime
 *   say. An event that does not decode reaches no handler: it is a dead letter.
 *
 * @since 0.1.0
 * @category models
 */
export interface ImplementationOptions<E, R> {
  readonly onFailure?: Processor.OnFailure<E, R> | undefined
}

/**
 * - `id`: the id of the event. An execution consumes an id once, so an event that is sent again with the same id has no second effect. By
 *   default a new id each time.
 * - `after`: how long the event waits before it is delivered, by default not at all.
 * - `at`: when it is delivered, in place of `after`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  readonly id?: string | undefined
  readonly after?: Duration.DurationInput | undefined
  readonly at?: Time.Input | undefined
}

/**
 * The attributes that executions of a definition are sought by. An execution must have all of them. One that is undefined is refused, so
 * that it does not select all: leave it out.
 *
 * @since 0.1.0
 * @category models
 */
export type Where<S extends Spec> = [keyof S["attributes"]] extends [never]
  ? { readonly [name: string]: never }
  : { readonly [K in keyof S["attributes"]]?: S["attributes"][K] }

/**
 * Which executions of a definition.
 *
 * - `where`: those with these attributes, sought by the first one: name that one first which the fewest have.
 * - the others: see `ExecutionStore.ExecutionFilter`.
 *
 * @since 0.1.0
 * @category models
 */
export interface InstanceFilter<in out S extends Spec> extends Omit<ExecutionFilter, "definitionId" | "attributes"> {
  readonly where?: Where<S> | undefined
}

/**
 * What to list: see {@link InstanceFilter} and `ExecutionStore.ListQuery`. The default limit is 100.
 *
 * @since 0.1.0
 * @category models
 */
export interface InstanceQuery<in out S extends Spec> extends InstanceFilter<S>, Pick<ListQuery, "limit" | "cursor"> {}

/**
 * Which page of the executions of a definition to index anew: the one behind `cursor`, at most `limit` executions (1 to 1,000, by default
 * 100).
 *
 * - `dryRun`: whether to write nothing, by default false.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReindexOptions extends Pick<ListQuery, "limit" | "cursor"> {
  readonly dryRun?: boolean | undefined
}

/**
 * What one page of indexing came to.
 *
 * - `read`: how many executions were read.
 * - `changed`: the ids of those whose attributes were not those of their context.
 * - `invalid`: executions that do not decode by the schemas of the definition, or of which an attribute cannot be made. They were left as
 *   they are.
 * - `corrupt`: rows that are no executions.
 * - `nextCursor`: the `cursor` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reindexed {
  readonly read: number
  readonly changed: ReadonlyArray<string>
  readonly invalid: ReadonlyArray<StoredInvalid>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<string>
}

/**
 * The ids that `startMany` started, and those under which an execution existed already and was left as it is.
 *
 * @since 0.1.0
 * @category models
 */
export interface StartedMany {
  readonly started: ReadonlyArray<string>
  readonly existing: ReadonlyArray<string>
}

/**
 * How reading an execution of a definition can fail.
 *
 * @since 0.1.0
 * @category errors
 */
export type GetError = ExecutionMissing | OtherDefinition | StoredInvalid | StoreError

/**
 * How waiting for the end of an execution can fail, beside the definition's own error.
 *
 * @since 0.1.0
 * @category errors
 */
export type AwaitError = ExecutionFailed | ExecutionCancelled | GetError

/**
 * The client of a definition. It needs the store alone: any process that has the store can start executions, send them events, read them
 * and wait for their end, whichever process runs them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Client<in out S extends Spec> {
  /** Starts an execution: stores it and its `Start` event in one commit. */
  readonly start: (
    id: string,
    input: S["input"]
  ) => Effect.Effect<Instance<S>, AlreadyExists | InvalidInput | StoreError, ExecutionStore>

  /** Starts an execution. Where one of this id exists, gives that one as it is now. */
  readonly startOrGet: (
    id: string,
    input: S["input"]
  ) => Effect.Effect<Instance<S>, InvalidInput | GetError, ExecutionStore>

  /**
   * Starts many executions, as many as possible in one transaction. All inputs are checked before the first is written. Where the store
   * fails in the middle, some are started: call it again, and it starts the others.
   */
  readonly startMany: (
    executions: Iterable<{ readonly id: string; readonly input: S["input"] }>
  ) => Effect.Effect<StartedMany, InvalidInput | StoreError, ExecutionStore>

  /**
   * Sends an event, which is durable when this succeeds; gives its id. It does not check whether the execution exists: the option
   * `unknownTarget` of the runtime says what becomes of an event whose target does not.
   */
  readonly send: <K extends keyof S["events"] & string>(
    id: string,
    kind: K,
    payload: S["events"][K],
    options?: SendOptions
  ) => Effect.Effect<string, InvalidInput | StoreError, ExecutionStore>

  /** The execution as it is now. */
  readonly get: (id: string) => Effect.Effect<Instance<S>, GetError, ExecutionStore>

  /** One page of the executions of this definition, in the order of their ids. */
  readonly list: (query?: InstanceQuery<S>) => Effect.Effect<InstancePage<S>, StoreError, ExecutionStore>

  /**
   * The same filter in the terms of the store, for what is not the definition's own: `Control.many`, `ExecutionStore.streamExecutions`.
   * Fails where it names what the definition does not have, as `list` does.
   */
  readonly filter: (filter?: InstanceFilter<S>) => Effect.Effect<ExecutionFilter, StoreRejected>

  /** How many executions of this definition a filter selects. It looks at each of them. */
  readonly count: (filter?: InstanceFilter<S>) => Effect.Effect<number, StoreError, ExecutionStore>

  /**
   * Gives one page of the executions of this definition the attributes that their contexts have, where these are others: those that were
   * written before the definition named them, or by another program. Each is written only where the execution is still at the version that
   * was read. Versions stay.
   */
  readonly reindex: (options?: ReindexOptions) => Effect.Effect<Reindexed, StoreError, ExecutionStore>

  /**
   * Waits until the execution ends, in whichever process, and gives its result. Fails with the definition's own error, `ExecutionFailed` or
   * `ExecutionCancelled` where it ended so. A wait that is interrupted changes nothing: wait again.
   */
  readonly await: (id: string) => Effect.Effect<S["result"], S["error"] | AwaitError, ExecutionStore>

  /** Starts an execution, or finds it started, and waits for its result. */
  readonly run: (
    id: string,
    input: S["input"]
  ) => Effect.Effect<S["result"], S["error"] | InvalidInput | AwaitError, ExecutionStore>
}

/**
 * Functions on steps in the types of the definition, beside those of `Step`. Where a value does not encode, the step fails with
 * `StepInvalid` and nothing is written.
 *
 * @since 0.1.0
 * @category models
 */
export interface Steps<in out S extends Spec> {
  /** The execution is `DONE`, with this result. A parent is told. */
  readonly finish: {
    (
      result: S["result"],
      options?: { readonly outcome?: string | undefined }
    ): (self: Builder<S["context"]>) => Builder<S["context"]>
    (
      self: Builder<S["context"]>,
      result: S["result"],
      options?: { readonly outcome?: string | undefined }
    ): Builder<S["context"]>
  }

  /** The execution is `FAILED`, with this error. A parent is not told: a failed execution waits to be redriven. */
  readonly fail: {
    (error: S["error"]): (self: Builder<S["context"]>) => Builder<S["context"]>
    (self: Builder<S["context"]>, error: S["error"]): Builder<S["context"]>
  }

  /** Arms a timer, to fire after a delay that counts from the begin of the step. A timer of this name that is armed already is replaced. */
  readonly armTimer: {
    (name: S["timers"], delay: Duration.DurationInput): (self: Builder<S["context"]>) => Builder<S["context"]>
    (self: Builder<S["context"]>, name: S["timers"], delay: Duration.DurationInput): Builder<S["context"]>
  }

  /** Cancels a timer, where it is armed. */
  readonly cancelTimer: {
    (name: S["timers"]): (self: Builder<S["context"]>) => Builder<S["context"]>
    (self: Builder<S["context"]>, name: S["timers"]): Builder<S["context"]>
  }

  /** Starts a child under a key. Its id is `<parent>:<key>:<n>` unless `id` is given. */
  readonly spawn: {
    <K extends keyof S["children"] & string>(
      key: K,
      input: SpecOf<S["children"][K]>["input"],
      options?: { readonly id?: string | undefined }
    ): (self: Builder<S["context"]>) => Builder<S["context"]>
    <K extends keyof S["children"] & string>(
      self: Builder<S["context"]>,
      key: K,
      input: SpecOf<S["children"][K]>["input"],
      options?: { readonly id?: string | undefined }
    ): Builder<S["context"]>
  }

  /** Starts a child under a key for each input. */
  readonly spawnAll: {
    <K extends keyof S["children"] & string>(
      key: K,
      inputs: Iterable<SpecOf<S["children"][K]>["input"]>
    ): (self: Builder<S["context"]>) => Builder<S["context"]>
    <K extends keyof S["children"] & string>(
      self: Builder<S["context"]>,
      key: K,
      inputs: Iterable<SpecOf<S["children"][K]>["input"]>
    ): Builder<S["context"]>
  }

  /** Asks for an activity of the definition: see `Step.run`. */
  readonly runActivity: {
    <K extends keyof S["activities"] & string>(
      name: K,
      payload: Activity.Payload<S["activities"][K]>,
      options?: RunOptions
    ): (self: Builder<S["context"]>) => Builder<S["context"]>
    <K extends keyof S["activities"] & string>(
      self: Builder<S["context"]>,
      name: K,
      payload: Activity.Payload<S["activities"][K]>,
      options?: RunOptions
    ): Builder<S["context"]>
  }

  /** Sends an event to an execution of this definition, from a step of any definition, in the commit of that step. */
  readonly emit: {
    <K extends keyof S["events"] & string>(
      id: string,
      kind: K,
      payload: S["events"][K],
      options?: SendOptions
    ): <Context>(self: Builder<Context>) => Builder<Context>
    <Context, K extends keyof S["events"] & string>(
      self: Builder<Context>,
      id: string,
      kind: K,
      payload: S["events"][K],
      options?: SendOptions
    ): Builder<Context>
  }
}

/**
 * A definition: the name under which executions are stored, and the schemas of their context, input, events, result and error. It has no
 * implementation: `toLayer` makes one, which a process that runs executions provides to its runtime. All other processes need this value
 * alone.
 *
 * Schemas must encode and decode synchronously and without services. Contexts, inputs and payloads must encode to a JSON object.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definition<in out Name extends string, in out S extends Spec>
  extends Any,
    Client<S>,
    Steps<S>,
    Pipeable {
  readonly name: Name

  /** The same handlers, checked against the types of this definition: for handlers that are not written inside `toLayer`. */
  readonly of: <H extends Handlers<S> | Handler<S>>(handlers: H) => H

  /**
   * The transition that the handlers make, for a `Processor`, or for the `definitions` of a runtime. Throws `InvalidImplementation` where
   * `toLayer` fails with it.
   */
  readonly toTransition: <H extends Handlers<S> | Handler<S>, RP = never>(
    handlers: H,
    options?: ImplementationOptions<HandlersError<H>, RP>
  ) => Processor.Transition<Processor.TransitionFailure<HandlersError<H>>, HandlersContext<H> | RP>

  /**
   * Implements the definition: a layer that registers it with the runtime for as long as the layer is in use. Work that waited for the
   * definition goes on at once. Layers of several versions can stand side by side: an execution is run by the one of its own version, where
   * there is one, and else migrated to the newest to which migrations lead.
   *
   * Fails with `AlreadyRegistered` where the runtime has a definition of this name and version, and with `InvalidImplementation` where a
   * handler is missing or an option is not one; the compiler, where there is one, finds these first.
   */
  readonly toLayer: <H extends Handlers<S> | Handler<S>, EX = never, RX = never, RP = never>(
    handlers: H | Effect.Effect<H, EX, RX>,
    options?: ImplementationOptions<HandlersError<H>, RP>
  ) => Layer.Layer<
    never,
    AlreadyRegistered | InvalidImplementation | EX,
    ExecutionRuntime | Exclude<RX | RP | HandlersContext<H>, Scope.Scope>
  >
}

/**
 * Names that events cannot have: they are those of the other handlers, and of the events that every definition receives.
 *
 * @since 0.1.0
 * @category models
 */
export type ReservedName =
  | "Start"
  | "Cancel"
  | "Timeout"
  | "Finished"
  | "ActivityEnded"
  | "GivenUp"
  | "timers"
  | "children"
  | "activities"

/**
 * The events, children, activities or attributes of a definition that has none.
 *
 * @since 0.1.0
 * @category models
 */
export type NoNames = Record<never, never>

/**
 * The context and the path of an execution, as a migration gets them.
 *
 * @since 0.1.0
 * @category migrations
 */
export interface StoredState<out Context = JsonObject> {
  readonly context: Context
  readonly path: string | null
}

/**
 * What a migration makes of them. Without `path` the path stays as it is.
 *
 * @since 0.1.0
 * @category migrations
 */
export interface MigratedState<out Context> {
  readonly context: Context
  readonly path?: string | null | undefined
}

/**
 * Takes an execution on from one version of a definition to the next: the stored context in, the stored context of the next version out. It
 * must be a pure function: it runs whenever an execution is read that is not migrated yet, and again after a crash.
 *
 * @since 0.1.0
 * @category migrations
 */
export type Migration<out New = object> = (old: StoredState) => MigratedState<New>

type Digit = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9"

// What is counted step by step, the compiler can count only so far.
type IsCounted<Version extends number> = number extends Version
  ? false
  : `${Version}` extends `${Exclude<Digit, "0">}${Digit | ""}`
    ? true
    : false

type Below<
  Version extends number,
  Counted extends ReadonlyArray<unknown> = [unknown],
  Found = never
> = Counted["length"] extends Version | 100 ? Found : Below<Version, [...Counted, unknown], Found | Counted["length"]>

type Before<Version extends number, Counted extends ReadonlyArray<unknown> = []> = [
  ...Counted,
  unknown
]["length"] extends Version | 100
  ? Counted["length"]
  : Before<Version, [...Counted, unknown]>

/**
 * The migrations of a definition: the one under each version leads to the next. They begin at any version and lead up to the definition's
 * own without a gap; the last must make what its schema of the context encodes to.
 *
 * @since 0.1.0
 * @category migrations
 */
export type Migrations<Version extends number, ContextEncoded> =
  IsCounted<Version> extends true
    ? { readonly [V in Below<Version>]?: Migration<V extends Before<Version> ? ContextEncoded : object> | undefined }
    : { readonly [version: number]: Migration | undefined }

/**
 * A migration on decoded contexts.
 *
 * - `from`: the schema of the old version. Without it `migrate` gets the context as it is stored.
 * - `to`: the schema of the new version. Without it `migrate` makes the context as it is stored.
 *
 * @example
 * ```ts
 * import { BigDecimal, Schema } from "effect"
 * import { Definition } from "holdfast"
 *
 * const OrderV1 = Schema.Struct({ total: Schema.Number, items: Schema.Array(Schema.String) })
 * const OrderV2 = Schema.Struct({ total: Schema.BigDecimal, lines: Schema.Array(Schema.Struct({ item: Schema.String })) })
 *
 * export const Order = Definition.make("order", {
 *   version: 2,
 *   context: OrderV2,
 *   migrations: {
 *     1: Definition.migration({
 *       from: OrderV1,
 *       to: OrderV2,
 *       migrate: ({ context, path }) => ({
 *         context: {
 *           total: BigDecimal.unsafeFromNumber(context.total),
 *           lines: context.items.map((item) => ({ item }))
 *         },
 *         path: path === "Paying" ? "AwaitingPayment" : path
 *       })
 *     })
 *   }
 * })
 * ```
 *
 * @since 0.1.0
 * @category migrations
 */
export const migration: {
  <New, NewEncoded extends object, Old = JsonObject, OldEncoded extends object = JsonObject>(options: {
    readonly from?: Schema.Schema<Old, OldEncoded> | undefined
    readonly to: Schema.Schema<New, NewEncoded>
    readonly migrate: (old: StoredState<Old>) => MigratedState<NoInfer<New>>
  }): Migration<NewEncoded>
  <New extends object, Old = JsonObject, OldEncoded extends object = JsonObject>(options: {
    readonly from?: Schema.Schema<Old, OldEncoded> | undefined
    readonly to?: undefined
    readonly migrate: (old: StoredState<Old>) => MigratedState<New>
  }): Migration<New>
} = internal.migration

/**
 * - `version`: the version of the definition, by default 1; each execution keeps the one that it was made or migrated with. Raise it when
 *   the context or the paths change their meaning.
 * - `migrations`: how executions of earlier versions are taken on, see {@link Migrations}. A step at an event migrates its execution in its
 *   own commit; reading one migrates it in memory.
 * - `context`: the data of an execution.
 * - `input`, `initial`: what an execution is started with, and the function that makes the first context of it. By default the input is the
 *   first context. The input is not stored beside it, nor given to `Start`: what handlers need of it, `initial` puts into the context.
 * - `events`: the payload of each event. `timers`: the names of the timers. `children`: the definition of the children under each key.
 * - `activities`: the activities that its steps ask for, each under a name: see `Activity`.
 * - `attributes`: the values of the context by which executions are to be found, each under a name, with the function that gives it: a
 *   text, a number, a boolean, or undefined where there is none. They are written by the same commit as the context. See
 *   `Execution.Attributes` for their bounds.
 * - `result`: what an execution ends with, by default nothing. `error`: the definition's own error, by default none.
 * - `onUnknownEvent`: what becomes of an event that the definition does not name: `"dead-letter"` (the default), or `"ignore"`, which
 *   consumes it without any effect.
 * - `onGivenUp`: who is sent a notice where work for one of its executions becomes a dead letter, or one of them fails: see `GivenUp`. By
 *   default whom the options of the runtime say.
 * - `onExcessProperty`: what becomes of keys of the stored context that the schema does not have: `"preserve"` (the default) keeps them
 *   where the step copies the context, `"ignore"` drops them, `"error"` refuses the context.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<
  Context,
  ContextEncoded extends object,
  Input,
  InputEncoded extends object,
  Events extends { readonly [kind: string]: Schema.Schema.AnyNoContext },
  Timers extends string,
  Children extends { readonly [key: string]: Any },
  Activities extends { readonly [name: string]: Activity.Any },
  Attributes extends { readonly [name: string]: AttributeValue },
  Result,
  ResultEncoded,
  Error,
  ErrorEncoded,
  Version extends number = number
> {
  readonly version?: Version | undefined
  readonly migrations?: Migrations<NoInfer<Version>, NoInfer<ContextEncoded>> | undefined
  readonly context: Schema.Schema<Context, ContextEncoded>
  readonly input?: Schema.Schema<Input, InputEncoded> | undefined
  readonly initial?: ((input: Input) => Context) | undefined
  readonly events?: (Events & { readonly [K in ReservedName]?: never }) | undefined
  readonly timers?: ReadonlyArray<Timers> | undefined
  readonly children?: Children | undefined
  readonly activities?: Activities | undefined
  readonly attributes?:
    | { readonly [K in keyof Attributes]: (context: Context) => Attributes[K] | undefined }
    | undefined
  readonly result?: Schema.Schema<Result, ResultEncoded> | undefined
  readonly error?: Schema.Schema<Error, ErrorEncoded> | undefined
  readonly onUnknownEvent?: "dead-letter" | "ignore" | undefined
  readonly onGivenUp?: Target | undefined
  readonly onExcessProperty?: "preserve" | "ignore" | "error" | undefined
}

/**
 * A definition of a name. Executions are stored under this name, so it must stay the same for as long as any of them exists.
 *
 * @example
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { Definition, ExecutionRuntime, MemoryStore, Step } from "holdfast"
 *
 * // The types. Any process may import them.
 * const Order = Definition.make("order", {
 *   context: Schema.Struct({ customer: Schema.String, total: Schema.Number }),
 *   events: { Paid: Schema.Struct({ amount: Schema.Number }) },
 *   timers: ["payment"],
 *   attributes: { customer: (order) => order.customer },
 *   result: Schema.Struct({ paid: Schema.Number })
 * })
 *
 * // The implementation. A process that runs orders provides it to its runtime.
 * const OrderLive = Order.toLayer({
 *   Start: (step) => step.pipe(Step.advance("AwaitingPayment"), Order.armTimer("payment", "1 hour")),
 *   Paid: (step, { amount }) => step.pipe(Order.cancelTimer("payment"), Order.finish({ paid: amount })),
 *   timers: { payment: (step) => Step.cancel(step, "unpaid") }
 * })
 *
 * const Live = OrderLive.pipe(Layer.provideMerge(ExecutionRuntime.layer()), Layer.provideMerge(MemoryStore.layer))
 *
 * const program = Effect.gen(function* () {
 *   yield* Order.start("order-17", { customer: "c-1", total: 39.98 })
 *   yield* Order.list({ where: { customer: "c-1" } })
 *   yield* Order.send("order-17", "Paid", { amount: 39.98 })
 *   return yield* Order.await("order-17") // { paid: 39.98 }
 * }).pipe(Effect.provide(Live))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export function make<
  const Name extends string,
  Context,
  ContextEncoded extends object,
  Input = Context,
  InputEncoded extends object = ContextEncoded,
  const Events extends { readonly [kind: string]: Schema.Schema.AnyNoContext } = NoNames,
  const Timers extends string = never,
  const Children extends { readonly [key: string]: Any } = NoNames,
  const Activities extends { readonly [name: string]: Activity.Any } = NoNames,
  Attributes extends { readonly [name: string]: AttributeValue } = NoNames,
  Result = void,
  ResultEncoded = void,
  Error = never,
  ErrorEncoded = never,
  const Version extends number = 1
>(
  name: Name,
  options: Options<
    Context,
    ContextEncoded,
    Input,
    InputEncoded,
    Events,
    Timers,
    Children,
    Activities,
    Attributes,
    Result,
    ResultEncoded,
    Error,
    ErrorEncoded,
    Version
  >
): Definition<
  Name,
  {
    readonly context: Context
    readonly input: Input
    readonly events: { readonly [K in keyof Events]: Schema.Schema.Type<Events[K]> }
    readonly timers: Timers
    readonly children: Children
    readonly activities: Activities
    readonly attributes: { readonly [K in keyof Attributes]: Attributes[K] }
    readonly result: Result
    readonly error: Error
  }
>
export function make(name: string, options: internal.Options): Any {
  return internal.make(name, options)
}

/**
 * Whether a value is a definition.
 *
 * @since 0.1.0
 * @category refinements
 */
export const isDefinition: (u: unknown) => u is Any = internal.isDefinition

/**
 * - `ended`: whether executions that are `DONE` or `CANCELLED` are checked too, which can only be read; by default not.
 * - `deadLetters`: whether the dead letters of executions are checked too, which may be redriven; by default they are.
 *
 * @since 0.1.0
 * @category changes
 */
export interface CheckOptions {
  readonly ended?: boolean | undefined
  readonly deadLetters?: boolean | undefined
}

/**
 * Something stored that a definition could not take.
 *
 * - `definition`, `executionId`: whose it is; `definitionVersion`: the version in which the execution is stored, null where its row does
 *   not decode.
 * - `subject`: what it is, such as `context`, `payload of event "Paid"` or `timer "payment"`.
 * - `path`: the place in it, empty for the whole; `problem`: what is wrong there.
 *
 * @since 0.1.0
 * @category changes
 */
export interface CheckProblem {
  readonly definition: string
  readonly executionId: string
  readonly definitionVersion: number | null
  readonly subject: string
  readonly path: string
  readonly problem: string
}

/**
 * Reads what is stored of these definitions and gives what they could not take, page by page and without changing anything: to be run
 * before a deployment, by the code that is to be deployed. Give all versions of a definition that are deployed side by side.
 *
 * It looks at the executions that have not ended: whether their context decodes after the migrations, and whether the events, delayed
 * events, timers, activities and children that they have on the way, or as dead letters, are named and decode.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema, Stream } from "effect"
 * import { Definition, MemoryStore } from "holdfast"
 *
 * const OrderV1 = Definition.make("order", { context: Schema.Struct({ total: Schema.String }) })
 * const Order = Definition.make("order", { context: Schema.Struct({ total: Schema.Number }) })
 *
 * const program = Effect.gen(function* () {
 *   yield* OrderV1.start("order-17", { total: "39.98" })
 *   const problems = yield* Stream.runCollect(Definition.check([Order]))
 *   assert.deepStrictEqual(Array.from(problems), [
 *     {
 *       definition: "order",
 *       executionId: "order-17",
 *       definitionVersion: 1,
 *       subject: "context",
 *       path: "total",
 *       problem: 'Expected number, actual "39.98"'
 *     }
 *   ])
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category changes
 */
export const check: (
  definitions: Any | ReadonlyArray<Any>,
  options?: CheckOptions
) => Stream.Stream<CheckProblem, StoreError, ExecutionStore> = internal.check

/**
 * - `dryRun`: whether to write nothing, and only count what would be migrated and name what stands in the way; by default false.
 *
 * @since 0.1.0
 * @category changes
 */
export interface MigrateOptions {
  readonly dryRun?: boolean | undefined
}

/**
 * How many executions were migrated, or would be, and what stood in the way of others.
 *
 * @since 0.1.0
 * @category changes
 */
export interface MigratedAll {
  readonly migrated: number
  readonly problems: ReadonlyArray<CheckProblem>
}

/**
 * Migrates the executions that have not ended, page by page, each in a commit of its own, so that a migration can be deleted. Give all
 * versions of a definition that are deployed side by side: an execution of one of them is left as it is. It may be run again, and beside
 * workers; processes that do not have the new version leave what was migrated to others.
 *
 * @since 0.1.0
 * @category changes
 */
export const migrateAll: (
  definitions: Any | ReadonlyArray<Any>,
  options?: MigrateOptions
) => Effect.Effect<MigratedAll, StoreError, ExecutionStore> = internal.migrateAll

/**
 * Stores what a definition is, under its name and version: its names and the JSON Schemas of what it stores, for people and tools that
 * have its executions and not its code. What was published before under this version stays, and is given.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { Definition, MemoryStore } from "holdfast"
 *
 * const Order = Definition.make("order", { version: 2, context: Schema.Struct({ cents: Schema.Number }) })
 *
 * const program = Effect.gen(function* () {
 *   const { definitionId, version } = yield* Definition.publish(Order)
 *   assert.deepStrictEqual([definitionId, version], ["order", 2])
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category changes
 */
export const publish: (definition: Any) => Effect.Effect<PublishedDefinition, StoreError, ExecutionStore> =
  internal.publish

/**
 * What {@link publish} would store of a definition.
 *
 * @since 0.1.0
 * @category changes
 */
export const describe: (definition: Any) => Effect.Effect<Omit<PublishedDefinition, "publishedAt">> = internal.describe
