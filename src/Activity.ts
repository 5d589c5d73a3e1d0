/**
 * Activities: named effects that run outside of the steps which ask for them, durably.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { Pipeable } from "effect/Pipeable"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type {
  ActivityCancelled,
  ActivityDied,
  ActivityRegistered,
  ActivityTimedOut,
  InvalidActivityHandler
} from "./ActivityError.js"
import type { Event } from "./Event.js"
import type { ExecutionRuntime } from "./ExecutionRuntime.js"
import * as internal from "./internal/activity/activity.js"
import * as currentRun from "./internal/activity/currentRun.js"

export {
  /** @since 0.1.0 */
  ActivityCancelled,
  /** @since 0.1.0 */
  ActivityDied,
  /** @since 0.1.0 */
  ActivityRegistered,
  /** @since 0.1.0 */
  ActivityTimedOut,
  /** @since 0.1.0 */
  InvalidActivityHandler
} from "./ActivityError.js"

/**
 * The identifier of activities.
 *
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: typeof internal.TypeId = internal.TypeId

/**
 * The type of the identifier of activities.
 *
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

/**
 * An activity of whatever types.
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
 * The schemas of an activity. Those that it was made without are undefined.
 *
 * @since 0.1.0
 * @category models
 */
export interface Schemas {
  readonly payload: Schema.Schema.AnyNoContext | undefined
  readonly success: Schema.Schema.AnyNoContext | undefined
  readonly error: Schema.Schema.AnyNoContext | undefined
}

/**
 * One attempt of an activity.
 *
 * - `executionId`, `key`: for which execution it runs, and under which key that asked for it.
 * - `attempt`: counted from 1, over restarts. One that was cut off by a crash or a shutdown does not count.
 * - `idempotencyKey`: made of execution and key alone, so that it is the same for each attempt, and for each time that the execution asks
 *   under this
 *   key: what a partner needs to tell a repetition. It is printable ASCII without spaces, fit for a header.
 *
 * @since 0.1.0
 * @category models
 */
export interface Run {
  readonly executionId: string
  readonly key: string
  readonly attempt: number
  readonly idempotencyKey: string
}

/**
 * The attempt that runs, as a service.
 *
 * @since 0.1.0
 * @category models
 */
export interface CurrentRun extends Run {}

/**
 * The attempt that runs, for what a handler calls; a handler itself is given it as its second argument.
 *
 * @since 0.1.0
 * @category tags
 */
export const CurrentRun: Context.Tag<CurrentRun, CurrentRun> = currentRun.CurrentRun

/**
 * What runs an activity. It may run more than once, as after a crash: `run.idempotencyKey` tells a repetition.
 *
 * @since 0.1.0
 * @category models
 */
export type Handler<Payload, Success, Error, R = never> = (
  payload: Payload,
  run: Run
) => Effect.Effect<Success, Error, R>

/**
 * A handler of an activity of whatever types.
 *
 * @since 0.1.0
 * @category models
 */
export type AnyHandler<R = never> = (payload: never, run: Run) => Effect.Effect<unknown, unknown, R>

/**
 * How an attempt can fail: what an activity's `retry` is given.
 *
 * @since 0.1.0
 * @category errors
 */
export type AttemptError<Error> = Error | ActivityTimedOut | ActivityDied

/**
 * How an activity can end without success.
 *
 * @since 0.1.0
 * @category errors
 */
export type Failure<Error> = AttemptError<Error> | ActivityCancelled

/**
 * How an activity went.
 *
 * - `key`: under which it was asked for.
 * - `attempts`: how often it ran.
 * - `result`: its success, or why there is none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outcome<out Success, out Error> {
  readonly key: string
  readonly attempts: number
  readonly result: Either.Either<Success, Failure<Error>>
}

/**
 * What limits an activity across all processes of a store.
 *
 * - `key`: what of a payload the limits go by; by default they are for all.
 * - `concurrency`: how many of a key may run at the same time.
 * - `rate`: no more than `limit` of a key begin in any time as long as `window`, by the clocks of the processes. Attempts count. The store
 *   keeps when each of the last `limit` began.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limit<in Payload> {
  readonly key?: ((payload: Payload) => string) | undefined
  readonly concurrency?: number | undefined
  readonly rate?: { readonly limit: number; readonly window: Duration.DurationInput } | undefined
}

/**
 * - `payload`: what it is given, by default nothing. It must encode to a JSON object.
 * - `success`: what it gives, by default nothing. `error`: what it fails with, by default nothing of its own.
 * - `retry`: when to try again what failed, given the error of the last attempt; where it ends, the activity has failed. By default
 *   exponential
 *   from 1 second, jittered, up to 10 minutes, 20 attempts in all. A restart takes it up where it was, by the number of attempts.
 * - `timeout`: how long an attempt may take, by default 10 minutes.
 * - `concurrency`: how many run side by side in a process, by default 16.
 * - `limit`: what limits it across processes: see {@link Limit}.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<Payload, PayloadEncoded extends object, Success, SuccessEncoded, Error, ErrorEncoded> {
  readonly payload?: Schema.Schema<Payload, PayloadEncoded> | undefined
  readonly success?: Schema.Schema<Success, SuccessEncoded> | undefined
  readonly error?: Schema.Schema<Error, ErrorEncoded> | undefined
  readonly retry?: Schedule.Schedule<unknown, AttemptError<Error>> | undefined
  readonly timeout?: Duration.DurationInput | undefined
  readonly concurrency?: number | undefined
  readonly limit?: Limit<Payload> | undefined
}

/**
 * An activity: its name, and what goes in and out. It has no implementation: `toLayer` makes one, which a process that runs activities
 * provides to its runtime; any other needs the value alone.
 *
 * Schemas must encode and decode at once, without services.
 *
 * @since 0.1.0
 * @category models
 */
export interface Activity<out Name extends string, in out Payload, in out Success, in out Error> extends Any, Pipeable {
  readonly name: Name

  /** A handler in the types of this activity, for one that is written elsewhere than in `toLayer`. */
  readonly of: <R>(handler: Handler<Payload, Success, Error, R>) => Handler<Payload, Success, Error, R>

  /**
   * Implements the activity: a layer that registers it with the runtime, until it is released. What waited for it goes on at once.
   * Fails with `ActivityRegistered` where the runtime has one of this name, and with `InvalidActivityHandler` where the handler is no function.
   */
  readonly toLayer: <R = never, EX = never, RX = never>(
    handler: Handler<Payload, Success, Error, R> | Effect.Effect<Handler<Payload, Success, Error, R>, EX, RX>
  ) => Layer.Layer<
    never,
    ActivityRegistered | InvalidActivityHandler | EX,
    ExecutionRuntime | Exclude<RX, Scope.Scope> | Exclude<R, Scope.Scope | CurrentRun>
  >

  /** How an activity of this name went, where the event is that of its end; none for any other event, and for one that does not decode. */
  readonly outcome: (event: Event) => Option.Option<Outcome<Success, Error>>
}

/**
 * What an activity is given.
 *
 * @since 0.1.0
 * @category type-level
 */
export type Payload<A> = A extends Activity<infer _Name, infer P, infer _Success, infer _Error> ? P : never

/**
 * What an activity gives.
 *
 * @since 0.1.0
 * @category type-level
 */
export type Success<A> = A extends Activity<infer _Name, infer _Payload, infer S, infer _Error> ? S : never

/**
 * What an activity fails with of its own.
 *
 * @since 0.1.0
 * @category type-level
 */
export type Error<A> = A extends Activity<infer _Name, infer _Payload, infer _Success, infer E> ? E : never

/**
 * Whether a value is an activity.
 *
 * @since 0.1.0
 * @category guards
 */
export const isActivity: (u: unknown) => u is Any = internal.isActivity

/**
 * An activity.
 *
 * @example
 * ```ts
 * import { Effect, Schedule, Schema } from "effect"
 * import { Activity } from "holdfast"
 *
 * class CardDeclined extends Schema.TaggedError<CardDeclined>()("CardDeclined", { code: Schema.String }) {}
 *
 * // What there is. Any process may import it.
 * const Charge = Activity.make("charge", {
 *   payload: Schema.Struct({ amount: Schema.Number }),
 *   success: Schema.Struct({ receipt: Schema.String }),
 *   error: CardDeclined,
 *   // A declined card is final; anything else is tried again.
 *   retry: Schedule.exponential("1 second").pipe(
 *     Schedule.intersect(Schedule.recurs(4)),
 *     Schedule.whileInput((error: Activity.AttemptError<CardDeclined>) => error._tag !== "CardDeclined")
 *   ),
 *   timeout: "30 seconds"
 * })
 *
 * // How it goes. A process that runs activities provides it to its runtime.
 * const ChargeLive = Charge.toLayer(({ amount }, { idempotencyKey }) =>
 *   Effect.as(Effect.log(`charging ${amount} under ${idempotencyKey}`), { receipt: idempotencyKey })
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export function make<
  const Name extends string,
  Payload = void,
  PayloadEncoded extends object = Record<never, never>,
  Success = void,
  SuccessEncoded = void,
  Error = never,
  ErrorEncoded = never
>(
  name: Name,
  options?: Options<Payload, PayloadEncoded, Success, SuccessEncoded, Error, ErrorEncoded>
): Activity<Name, Payload, Success, Error>
export function make(name: string, options: internal.Options = {}): Any {
  return internal.make(name, options)
}
