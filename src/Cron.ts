/**
 * Recurring work: what is to be started, or sent, again and again at the times of a cron expression.
 *
 * Effect has a module of this name for the expressions themselves: `import { Cron as EffectCron } from "effect"` where both are needed.
 *
 * @since 0.1.0
 */
import type * as EffectCron from "effect/Cron"
import type * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { CronMissing, InvalidCron } from "./CronError.js"
import type { Definition, GetError, Spec } from "./Definition.js"
import type { AlreadyRegistered, ExecutionMissing, InvalidInput, StoredInvalid } from "./DefinitionError.js"
import type { Status } from "./Execution.js"
import { ExecutionRuntime } from "./ExecutionRuntime.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import * as action from "./internal/cron/action.js"
import { definitionOf, firingId as firingId_, idOf } from "./internal/cron/contract.js"
import * as handlers from "./internal/cron/handlers.js"
import * as operations from "./internal/cron/operations.js"
import * as registration from "./internal/cron/registration.js"
import type { StoreConflict, StoreCorrupt, StoreError } from "./StoreError.js"
import * as Time from "./Time.js"

/**
 * What becomes of times that passed while no process was there, or none had a moment for them.
 *
 * - `skip`: nothing. The last of the times that have passed counts where it is late by no more than the option `grace`.
 * - `once`: it is done once, for the last of them.
 * - `all`: it is done for each of them, the earliest first, as far as the option `limit` goes.
 *
 * @since 0.1.0
 * @category models
 */
export type CatchUp = "skip" | "once" | "all"

/**
 * One time at which recurring work is done.
 *
 * - `name`: the name of the work.
 * - `id`: the id of the execution that is started, or of the event that is sent. It is made of name and time, so a firing that is delivered
 *   again has no second effect.
 * - `at`: the time of the schedule, in the time zone of the schedule; of a trigger, when it was asked for.
 * - `triggered`: whether somebody asked for it, by {@link trigger}.
 *
 * @since 0.1.0
 * @category models
 */
export interface Firing {
  readonly name: string
  readonly id: string
  readonly at: DateTime.Zoned
  readonly triggered: boolean
}

/**
 * What recurring work does: see {@link start} and {@link send}.
 *
 * @since 0.1.0
 * @category models
 */
export interface Action {
  readonly act: handlers.Act
}

/**
 * - `schedule`: a cron expression of five fields (minute, hour, day of the month, month, day of the week), or six with the second before
 *   them; or a value of `effect/Cron`.
 * - `timeZone`: the zone whose wall clock counts, as `"Europe/Berlin"` or `"UTC"`. It must be there, unless the value of `effect/Cron` has
 *   one.
 * - `action`: what to do: {@link start} or {@link send}.
 * - `catchUp`: see {@link CatchUp}, by default `"once"`.
 * - `grace`: with `skip`, how late a time may be and still count, by default 1 minute.
 * - `limit`: with `all`, how many times are caught up after one downtime, by default 1,000; the later ones are passed over, which is logged.
 *   They are written in pages, a commit each.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly schedule: string | EffectCron.Cron
  readonly timeZone?: string | DateTime.TimeZone | undefined
  readonly action: Action
  readonly catchUp?: CatchUp | undefined
  readonly grace?: Duration.DurationInput | undefined
  readonly limit?: number | undefined
}

/**
 * Recurring work: a name, and what a deployment says of it. {@link toLayer} registers it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cron extends Options {
  readonly name: string
}

/**
 * Recurring work as it is stored.
 *
 * - `executionId`, `status`: of the execution that it is.
 * - `expression`, `timeZone`, `catchUp`: as they were registered.
 * - `paused`: whether it is paused, or its execution suspended.
 * - `last`: for which time, and under which id, it was done last; none where it was not yet.
 * - `next`: when it is done next; none while it is paused.
 *
 * @since 0.1.0
 * @category models
 */
export interface Info {
  readonly name: string
  readonly executionId: string
  readonly status: Status
  readonly expression: string
  readonly timeZone: string
  readonly catchUp: CatchUp
  readonly paused: boolean
  readonly last: Option.Option<{ readonly at: DateTime.Utc; readonly id: string }>
  readonly next: Option.Option<DateTime.Utc>
}

/**
 * All recurring work of a store, by name.
 *
 * - `invalid`: executions of recurring work that do not decode as such.
 * - `corrupt`: rows that are no executions.
 *
 * @since 0.1.0
 * @category models
 */
export interface Listing {
  readonly items: ReadonlyArray<Info>
  readonly invalid: ReadonlyArray<StoredInvalid>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
}

/**
 * How reading recurring work can fail.
 *
 * @since 0.1.0
 * @category errors
 */
export type ReadError = CronMissing | Exclude<GetError, ExecutionMissing>

/**
 * Recurring work of a name. The name stays the same for as long as the work is the same: everything else may change with a deployment.
 *
 * What is wrong with the options is found by {@link toLayer}.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { DateTime, Effect, Layer, Option, Schema } from "effect"
 * import { Cron, Definition, ExecutionRuntime, MemoryStore } from "holdfast"
 *
 * const Report = Definition.make("report", { context: Schema.Struct({ day: Schema.String }) })
 *
 * const Nightly = Cron.make("nightly-report", {
 *   schedule: "0 2 * * *",
 *   timeZone: "Europe/Berlin",
 *   action: Cron.start(Report, ({ at }) => ({ day: DateTime.formatIsoDate(at) }))
 * })
 *
 * const Live = Layer.mergeAll(
 *   Report.toLayer({ Start: (step) => Report.finish(step, undefined) }),
 *   Cron.toLayer(Nightly)
 * ).pipe(Layer.provideMerge(ExecutionRuntime.layer()), Layer.provideMerge(MemoryStore.layer))
 *
 * const program = Effect.gen(function* () {
 *   const { next, paused } = yield* Cron.get("nightly-report")
 *   assert.ok(Option.isSome(next) && !paused)
 *
 *   const id = yield* Cron.trigger("nightly-report") // not only at two o'clock
 *   const runtime = yield* ExecutionRuntime.ExecutionRuntime
 *   yield* runtime.awaitIdle
 *   yield* Report.await(id)
 * }).pipe(Effect.provide(Live))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (name: string, options: Options): Cron => ({ ...options, name })

/**
 * Starts an execution at each time, under the id of the firing, with the input that the function makes of it.
 *
 * @since 0.1.0
 * @category actions
 */
export const start = <Name extends string, S extends Spec>(
  definition: Definition<Name, S>,
  input: (firing: Firing) => S["input"]
): Action => ({ act: action.start(definition, input) })

/**
 * Sends an event to an execution at each time, under the id of the firing, with the payload that the function makes of it. What becomes of
 * it where there is no such execution says the option `unknownTarget` of the runtime.
 *
 * @example
 * ```ts
 * import { DateTime, Schema } from "effect"
 * import { Cron, Definition } from "holdfast"
 *
 * const Account = Definition.make("account", {
 *   context: Schema.Struct({ balance: Schema.Number }),
 *   events: { MonthEnded: Schema.Struct({ month: Schema.Number }) }
 * })
 *
 * const Monthly = Cron.make("close-books", {
 *   schedule: "0 0 1 * *",
 *   timeZone: "America/New_York",
 *   catchUp: "all",
 *   action: Cron.send(Account, "account-1", "MonthEnded", ({ at }) => ({ month: DateTime.getPart(at, "month") }))
 * })
 * ```
 *
 * @since 0.1.0
 * @category actions
 */
export const send = <Name extends string, S extends Spec, K extends keyof S["events"] & string>(
  definition: Definition<Name, S>,
  executionId: string | ((firing: Firing) => string),
  kind: K,
  payload: (firing: Firing) => S["events"][K]
): Action => ({ act: action.send(definition, executionId, kind, payload) })

/**
 * Registers recurring work: a layer that stores it, and does it for as long as the layer is in use.
 *
 * Where the store has work of this name, its schedule and options become those of the layer, at once: a time that was due already is kept,
 * and from then on the new schedule counts. Where nothing has changed nothing is written. So it may be registered by any number of
 * processes at the same time, and is there once.
 *
 * Fails with `InvalidCron` where it cannot be registered so, and with `AlreadyRegistered` where the runtime has work of this name.
 *
 * @since 0.1.0
 * @category layers
 */
export const toLayer = (
  cron: Cron
): Layer.Layer<
  never,
  InvalidCron | AlreadyRegistered | Exclude<ReadError, CronMissing> | StoreConflict,
  ExecutionRuntime | ExecutionStore
> =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const { name } = cron
      const runtime = yield* ExecutionRuntime
      yield* registration.register(name, cron)
      const definition = definitionOf(name)
      const transition = definition.toTransition(handlers.make(name, definition, cron.action.act), {
        onFailure: "retry"
      })
      yield* runtime.register(idOf(name), transition)
    })
  )

/**
 * All recurring work of the store, by name, whichever process does it.
 *
 * @since 0.1.0
 * @category operations
 */
export const list: Effect.Effect<Listing, StoreError, ExecutionStore> = operations.list

/**
 * The recurring work of a name.
 *
 * @since 0.1.0
 * @category operations
 */
export const get: (name: string) => Effect.Effect<Info, ReadError, ExecutionStore> = operations.get

/**
 * Pauses recurring work until {@link resume}. Times that pass meanwhile are not caught up. A firing that was due before is still done, and
 * {@link trigger} works all the same. Work that is paused already is no error.
 *
 * @since 0.1.0
 * @category operations
 */
export const pause: (name: string) => Effect.Effect<void, ReadError | InvalidCron | StoreConflict, ExecutionStore> =
  operations.pause

/**
 * Lets paused recurring work go on, with the first time from now on. Work that is not paused is no error.
 *
 * @since 0.1.0
 * @category operations
 */
export const resume: (name: string) => Effect.Effect<void, ReadError | InvalidCron | StoreConflict, ExecutionStore> =
  operations.resume

/**
 * Has recurring work done now, beside its times; gives the id of the execution that is started, or of the event that is sent. It is durable
 * when this succeeds, and each call is a firing of its own. A process that has registered the work starts the execution a moment later.
 *
 * @since 0.1.0
 * @category operations
 */
export const trigger: (name: string) => Effect.Effect<string, ReadError | InvalidInput, ExecutionStore> =
  operations.trigger

/**
 * Removes recurring work, with everything that the store keeps of it, also of firings that are due and not done yet. What it has started
 * stays. A process that still has its layer registers it again when it starts.
 *
 * @since 0.1.0
 * @category operations
 */
export const remove: (name: string) => Effect.Effect<void, ReadError | StoreConflict, ExecutionStore> =
  operations.remove

/**
 * The id of what recurring work starts, or sends, for a time of its schedule.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Cron } from "holdfast"
 *
 * assert.strictEqual(Cron.firingId("nightly-report", new Date("2026-03-29T00:00:00Z")), "cron:nightly-report:2026-03-29T00:00:00Z")
 * ```
 *
 * @since 0.1.0
 * @category accessors
 */
export const firingId = (name: string, at: Time.Input): string => firingId_(name, Time.toSeconds(at))
