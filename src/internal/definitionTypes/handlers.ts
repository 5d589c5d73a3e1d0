import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Activity from "../../Activity.js"
import type { Spec, SpecOf } from "../../Definition.js"
import type { GivenUp } from "../../GivenUp.js"
import type { JsonObject } from "../../Json.js"
import type { Builder, Step } from "../../Step.js"

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
