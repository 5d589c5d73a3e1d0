/**
 * Typed definitions: a value with the schemas of an execution, a layer with its handlers, and a client for every other process.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { Pipeable } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as Activity from "./Activity.js"
import type { AlreadyRegistered, InvalidImplementation } from "./DefinitionError.js"
import type { AttributeValue, Execution, Status } from "./Execution.js"
import type { ExecutionRuntime } from "./ExecutionRuntime.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import type { Target } from "./GivenUp.js"
import * as internal from "./internal/definition/definition.js"
import type { Client } from "./internal/definitionTypes/client.js"
import type { Handler, Handlers, HandlersContext, HandlersError } from "./internal/definitionTypes/handlers.js"
import type { MigratedState, Migration, Migrations, StoredState } from "./internal/definitionTypes/migrations.js"
import type { Steps } from "./internal/definitionTypes/steps.js"
import type { JsonObject } from "./Json.js"
import type * as Processor from "./Processor.js"
import type { PublishedDefinition } from "./PublishedDefinition.js"
import type { StoreError } from "./StoreError.js"

export type {
  /** @since 0.1.0 */
  AwaitError,
  /** @since 0.1.0 */
  Client,
  /** @since 0.1.0 */
  GetError,
  /** @since 0.1.0 */
  InstanceFilter,
  /** @since 0.1.0 */
  InstancePage,
  /** @since 0.1.0 */
  InstanceQuery,
  /** @since 0.1.0 */
  Reindexed,
  /** @since 0.1.0 */
  ReindexOptions,
  /** @since 0.1.0 */
  SendOptions,
  /** @since 0.1.0 */
  StartedMany,
  /** @since 0.1.0 */
  Where
} from "./internal/definitionTypes/client.js"
export type {
  /** @since 0.1.0 */
  ActivityHandlers,
  /** @since 0.1.0 */
  ChildrenHandlers,
  /** @since 0.1.0 */
  CommonHandlers,
  /** @since 0.1.0 */
  EndedActivity,
  /** @since 0.1.0 */
  EndedChild,
  /** @since 0.1.0 */
  EventHandlers,
  /** @since 0.1.0 */
  FiredTimer,
  /** @since 0.1.0 */
  Handler,
  /** @since 0.1.0 */
  HandlerResult,
  /** @since 0.1.0 */
  Handlers,
  /** @since 0.1.0 */
  HandlersContext,
  /** @since 0.1.0 */
  HandlersError,
  /** @since 0.1.0 */
  Incoming,
  /** @since 0.1.0 */
  OutcomeHandlers,
  /** @since 0.1.0 */
  TimerHandlers
} from "./internal/definitionTypes/handlers.js"
export type {
  /** @since 0.1.0 */
  MigratedState,
  /** @since 0.1.0 */
  Migration,
  /** @since 0.1.0 */
  Migrations,
  /** @since 0.1.0 */
  StoredState
} from "./internal/definitionTypes/migrations.js"
export type {
  /** @since 0.1.0 */
  Steps
} from "./internal/definitionTypes/steps.js"

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
