/**
 * Typed definitions: a value that says what there is, a layer that says how, a client for everybody else.
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
import type {
  AlreadyExists,
  AlreadyRegistered,
  ExecutionCancelled,
  ExecutionFailed,
  ExecutionMissing,
  InvalidInput,
  OtherDefinition,
  StoredInvalid
} from "./DefinitionError.js"
import type { Execution, Status } from "./Execution.js"
import type { ExecutionRuntime } from "./ExecutionRuntime.js"
import type { ExecutionStore, ListQuery } from "./ExecutionStore.js"
import * as internal from "./internal/definition/definition.js"
import type { JsonObject } from "./Json.js"
import type * as Processor from "./Processor.js"
import type { Builder, Step } from "./Step.js"
import type { StoreCorrupt, StoreError } from "./StoreError.js"
import type * as Time from "./Time.js"

export {
  /** @since 0.1.0 */
  AlreadyExists,
  /** @since 0.1.0 */
  AlreadyRegistered,
  /** @since 0.1.0 */
  ExecutionCancelled,
  /** @since 0.1.0 */
  ExecutionFailed,
  /** @since 0.1.0 */
  ExecutionMissing,
  /** @since 0.1.0 */
  InvalidInput,
  /** @since 0.1.0 */
  OtherDefinition,
  /** @since 0.1.0 */
  StoredInvalid
} from "./DefinitionError.js"

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
 * The types of a definition, by name, as an editor shows them.
 *
 * - `context`: what an execution carries along; `input`: what it is started with.
 * - `events`: the payload of each event; `timers`: the names of its timers.
 * - `children`: the definition of the children under each key.
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
  readonly result: unknown
  readonly error: unknown
}

/**
 * A definition of whatever types.
 *
 * @since 0.1.0
 * @category models
 */
export interface Any {
  readonly [TypeId]: TypeId
  readonly name: string
  readonly schemas: Schemas
}

/**
 * The schemas of a definition: for tools that show forms or check what is stored. Result and error are undefined where it has none.
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
 * What a definition's name stands for as types.
 *
 * @since 0.1.0
 * @category type-level
 */
export type SpecOf<D> = D extends Definition<infer _Name, infer S> ? S : never

/**
 * An execution of a definition, decoded.
 *
 * - `activePath`, `outcome`, `status`, `version`: see `Execution`.
 * - `result`: what it ended with, none until it is `DONE`.
 * - `failure`: the error of the definition's own that it failed with; `error`: the same, or any other, as text.
 * - `execution`: the execution as it is stored.
 *
 * @since 0.1.0
 * @category models
 */
export interface Instance<out S extends Spec> {
  readonly id: string
  readonly version: number
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
 * One page of the executions of a definition. `invalid` reports those that do not decode by the definition's schemas, `corrupt` the rows
 * that are no executions; `nextCursor` is none at the end.
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
 * A child that has ended. `outcome` is its own word for how, `cancelled` where it was cancelled without one; `result` is none where it
 * ended without one, as a cancelled child does.
 *
 * @since 0.1.0
 * @category models
 */
export interface EndedChild<out Result> {
  readonly id: string
  readonly outcome: string | null
  readonly result: Option.Option<Result>
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
 * What a handler returns: the step, or an effect of one.
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
 * A handler for the children under each key that the definition names, run when all of the key have ended.
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
 * The handlers that any definition has.
 *
 * - `Start`: begins the execution.
 * - `Cancel`: cleans up before the execution is cancelled; without it, it is cancelled at once. A step that leaves it `CANCELLING` cancels
 *   it, one that leads elsewhere does not.
 *
 * @since 0.1.0
 * @category handlers
 */
export interface CommonHandlers<S extends Spec> {
  readonly Start: (step: Builder<S["context"]>) => HandlerResult<S["context"]>
  readonly Cancel?: ((step: Builder<S["context"]>, reason: JsonObject) => HandlerResult<S["context"]>) | undefined
}

/**
 * The implementation of a definition: a handler for each event, and, where it has any, `timers` and `children` with a handler for each of
 * these. Handlers run again where a crash or another commit came first: effects beyond the step must bear being repeated.
 *
 * @since 0.1.0
 * @category handlers
 */
export type Handlers<S extends Spec> = CommonHandlers<S> &
  EventHandlers<S> &
  ([S["timers"]] extends [never] ? unknown : { readonly timers: TimerHandlers<S> }) &
  ([keyof S["children"]] extends [never] ? unknown : { readonly children: ChildrenHandlers<S> })

/**
 * What comes to an execution, for a single handler of everything.
 *
 * @since 0.1.0
 * @category handlers
 */
export type Incoming<S extends Spec> =
  | { readonly _tag: "Start" }
  | { readonly _tag: "Cancel"; readonly reason: JsonObject }
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

/**
 * A single handler of everything that comes to an execution.
 *
 * @since 0.1.0
 * @category handlers
 */
export type Handler<S extends Spec> = (
  step: Builder<S["context"]>,
  incoming: Incoming<S>
) => HandlerResult<S["context"]>

type Returned<F> = F extends (...args: never) => infer Out ? Out : never

type ReturnedOf<H> = H extends (...args: never) => infer Out
  ? Out
  : {
      [K in keyof H]: H[K] extends (...args: never) => infer Out
        ? Out
        : { [J in keyof H[K]]: Returned<H[K][J]> }[keyof H[K]]
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
 * - `onFailure`: what becomes of an execution whose handler fails: see `Processor.OnFailure`; by default what the runtime's options say.
 *   An event that does not decode never gets there: it is a dead letter.
 *
 * @since 0.1.0
 * @category models
 */
export interface ImplementationOptions<E, R> {
  readonly onFailure?: Processor.OnFailure<E, R> | undefined
}

/**
 * - `id`: the id of the event, by which a repetition is known: the same id takes effect once. By default a new one each time.
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
 * What to list: see `ExecutionStore.ListQuery`. The default limit is 100.
 *
 * @since 0.1.0
 * @category models
 */
export interface InstanceQuery extends Omit<ListQuery, "definitionId"> {}

/**
 * What of many executions was started, and what of them was there already and is left as it is.
 *
 * @since 0.1.0
 * @category models
 */
export interface StartedMany {
  readonly started: ReadonlyArray<string>
  readonly existing: ReadonlyArray<string>
}

/**
 * What is not a problem of the store, of looking at an execution.
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
 * The client of a definition. It needs the store alone: any process that has it can start, send, look and wait, whoever runs the
 * executions.
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

  /** Starts an execution, or gives the one of this id as it is now. */
  readonly startOrGet: (
    id: string,
    input: S["input"]
  ) => Effect.Effect<Instance<S>, InvalidInput | GetError, ExecutionStore>

  /**
   * Starts many executions, as many as possible in one transaction. All are checked before the first is written. Each is started by itself:
   * where the store fails in the middle, those before are started, and doing it again starts the others.
   */
  readonly startMany: (
    executions: Iterable<{ readonly id: string; readonly input: S["input"] }>
  ) => Effect.Effect<StartedMany, InvalidInput | StoreError, ExecutionStore>

  /**
   * Sends an event, which is durable when this succeeds; gives its id. Whether the execution exists is not asked: what becomes of an event
   * without a target, the runtime's `unknownTarget` says.
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
  readonly list: (query?: InstanceQuery) => Effect.Effect<InstancePage<S>, StoreError, ExecutionStore>

  /**
   * Waits until the execution ends, in whatever process, and gives its result. Fails with the definition's own error, `ExecutionFailed` or
   * `ExecutionCancelled` where it ended so. A wait that is cut off loses nothing: ask again.
   */
  readonly await: (id: string) => Effect.Effect<S["result"], S["error"] | AwaitError, ExecutionStore>

  /** Starts an execution, or finds it started, and waits for its result. */
  readonly run: (
    id: string,
    input: S["input"]
  ) => Effect.Effect<S["result"], S["error"] | InvalidInput | AwaitError, ExecutionStore>
}

/**
 * What a handler does to its step in the definition's types, beside the functions of `Step`. What does not encode makes the step fail with
 * `StepInvalid`, and nothing is written.
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

  /** Arms a timer, to fire after a delay, which counts from when the step began. One that is armed already is armed anew. */
  readonly armTimer: {
    (name: S["timers"], delay: Duration.DurationInput): (self: Builder<S["context"]>) => Builder<S["context"]>
    (self: Builder<S["context"]>, name: S["timers"], delay: Duration.DurationInput): Builder<S["context"]>
  }

  /** Cancels a timer, where it is armed. */
  readonly cancelTimer: {
    (name: S["timers"]): (self: Builder<S["context"]>) => Builder<S["context"]>
    (self: Builder<S["context"]>, name: S["timers"]): Builder<S["context"]>
  }

  /** Starts a child under a key. Its id is `<parent>:<key>:<n>` unless `id` says another. */
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

  /** Sends an event to an execution of this definition, from a step of any: it is sent by the commit of the step. */
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
 * A definition: the name under which executions are stored, and the schemas of what they carry, get, and end with. It has no implementation:
 * `toLayer` makes one, which a process that runs executions provides to its runtime; any other needs the value alone.
 *
 * Schemas must encode and decode at once, without services. What contexts, inputs and payloads encode to must be a JSON object.
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

  /** Handlers in the types of this definition, for those that are written elsewhere than in `toLayer`. */
  readonly of: <H extends Handlers<S> | Handler<S>>(handlers: H) => H

  /** The transition that the handlers make, for a `Processor`, or for the `definitions` of a runtime. */
  readonly toTransition: <H extends Handlers<S> | Handler<S>, RP = never>(
    handlers: H,
    options?: ImplementationOptions<HandlersError<H>, RP>
  ) => Processor.Transition<Processor.TransitionFailure<HandlersError<H>>, HandlersContext<H> | RP>

  /**
   * Implements the definition: a layer that registers it with the runtime, until it is released. What waited for the definition goes on at
   * once. Fails with `AlreadyRegistered` where the runtime has one of this name.
   */
  readonly toLayer: <H extends Handlers<S> | Handler<S>, EX = never, RX = never, RP = never>(
    handlers: H | Effect.Effect<H, EX, RX>,
    options?: ImplementationOptions<HandlersError<H>, RP>
  ) => Layer.Layer<never, AlreadyRegistered | EX, ExecutionRuntime | Exclude<RX | RP | HandlersContext<H>, Scope.Scope>>
}

/**
 * The names that events cannot have: they are those of what every definition is sent, and of the handlers' own parts.
 *
 * @since 0.1.0
 * @category models
 */
export type ReservedName = "Start" | "Cancel" | "Timeout" | "Finished" | "timers" | "children"

/**
 * The events or children of a definition that has none.
 *
 * @since 0.1.0
 * @category models
 */
export type NoNames = Record<never, never>

/**
 * - `context`: what an execution carries along.
 * - `input`, `initial`: what it is started with where that is something else, and the first context that is made of it.
 * - `events`: the payload of each event. `timers`: the names of its timers. `children`: the definition of the children under each key.
 * - `result`: what it ends with, by default nothing. `error`: what it fails with, by default nothing of its own.
 * - `onUnknownEvent`: what becomes of an event that the definition does not name: `"dead-letter"` (the default), or `"ignore"`: it is
 *   consumed and nothing happens.
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
  Result,
  ResultEncoded,
  Error,
  ErrorEncoded
> {
  readonly context: Schema.Schema<Context, ContextEncoded>
  readonly input?: Schema.Schema<Input, InputEncoded> | undefined
  readonly initial?: ((input: Input) => Context) | undefined
  readonly events?: (Events & { readonly [K in ReservedName]?: never }) | undefined
  readonly timers?: ReadonlyArray<Timers> | undefined
  readonly children?: Children | undefined
  readonly result?: Schema.Schema<Result, ResultEncoded> | undefined
  readonly error?: Schema.Schema<Error, ErrorEncoded> | undefined
  readonly onUnknownEvent?: "dead-letter" | "ignore" | undefined
  readonly onExcessProperty?: "preserve" | "ignore" | "error" | undefined
}

/**
 * A definition.
 *
 * @example
 * import { Effect, Layer, Schema } from "effect"
 * import { Definition, ExecutionRuntime, MemoryStore, Step } from "holdfast"
 *
 * // What there is. Any process may import it.
 * const Order = Definition.make("order", {
 *   context: Schema.Struct({ total: Schema.Number }),
 *   events: { Paid: Schema.Struct({ amount: Schema.Number }) },
 *   timers: ["payment"],
 *   result: Schema.Struct({ paid: Schema.Number })
 * })
 *
 * // How it goes. A process that runs orders provides it to its runtime.
 * const OrderLive = Order.toLayer({
 *   Start: (step) => step.pipe(Step.advance("AwaitingPayment"), Order.armTimer("payment", "1 hour")),
 *   Paid: (step, { amount }) => step.pipe(Order.cancelTimer("payment"), Order.finish({ paid: amount })),
 *   timers: { payment: (step) => Step.cancel(step, "unpaid") }
 * })
 *
 * const Live = OrderLive.pipe(Layer.provideMerge(ExecutionRuntime.layer()), Layer.provideMerge(MemoryStore.layer))
 *
 * const program = Effect.gen(function* () {
 *   yield* Order.start("order-17", { total: 39.98 })
 *   yield* Order.send("order-17", "Paid", { amount: 39.98 })
 *   return yield* Order.await("order-17") // { paid: 39.98 }
 * }).pipe(Effect.provide(Live))
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
  Result = void,
  ResultEncoded = void,
  Error = never,
  ErrorEncoded = never
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
    Result,
    ResultEncoded,
    Error,
    ErrorEncoded
  >
): Definition<
  Name,
  {
    readonly context: Context
    readonly input: Input
    readonly events: { readonly [K in keyof Events]: Schema.Schema.Type<Events[K]> }
    readonly timers: Timers
    readonly children: Children
    readonly result: Result
    readonly error: Error
  }
>
export function make(name: string, options: internal.Options): Any {
  return internal.make(name, options)
}
