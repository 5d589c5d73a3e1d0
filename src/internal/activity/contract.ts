import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { Class as PipeableClass } from "effect/Pipeable"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type { Any, Limit, Schemas } from "../../Activity.js"
import type { JsonObject } from "../../Json.js"
import * as validate from "../codec/validate.js"
import { type Codec, endCodec, never, nothing, objectCodec } from "../processor/schemaCodec.js"
import { activityPolicy } from "../worker/retrySchedule.js"

export const TypeId: unique symbol = Symbol.for("holdfast/Activity")

/** What limits an activity across processes; the window is in seconds. */
export interface Limits {
  readonly concurrency: number | undefined
  readonly rate: { readonly limit: number; readonly window: number } | undefined
}

/** An activity as the code behind it has it. What it is made of is of types that only its users know. */
export interface Contract {
  readonly name: string
  readonly schemas: Schemas
  readonly payload: Codec<JsonObject>
  readonly success: Codec<unknown>
  readonly error: Codec<unknown>
  readonly retry: Schedule.Schedule<unknown, unknown>
  readonly timeout: Duration.Duration
  readonly concurrency: number
  readonly limits: Limits | undefined
  /** What limits of the activity go by. */
  readonly limitKey: (payload: unknown) => string
}

export interface Options {
  readonly payload?: Schema.Schema.AnyNoContext | undefined
  readonly success?: Schema.Schema.AnyNoContext | undefined
  readonly error?: Schema.Schema.AnyNoContext | undefined
  readonly retry?: Schedule.Schedule<unknown, never> | undefined
  readonly timeout?: Duration.DurationInput | undefined
  readonly concurrency?: number | undefined
  readonly limit?: Limit<never> | undefined
}

/** What every activity is. */
export class Base extends PipeableClass() implements Any {
  readonly [TypeId]: typeof TypeId = TypeId
  readonly name: string
  readonly schemas: Schemas
  constructor(readonly contract: Contract) {
    super()
    this.name = contract.name
    this.schemas = contract.schemas
  }
}

export const contractOf = (activity: Any): Contract => {
  if (activity instanceof Base) return activity.contract
  throw new Error(`${String(activity.name)} was not made by Activity.make`)
}

const demand = (name: string, path: string, problem: string | undefined): void => {
  if (problem !== undefined) throw new Error(`activity ${name}: ${path}: ${problem}`)
}

const count = (name: string, path: string, value: number): number => {
  demand(name, path, validate.wholeNumber(value, 1, Number.MAX_SAFE_INTEGER))
  return value
}

const durationOf = (name: string, path: string, input: Duration.DurationInput): Duration.Duration => {
  const duration = Option.getOrUndefined(Duration.decodeUnknown(input))
  const isOne = duration !== undefined && Duration.greaterThan(duration, Duration.zero)
  demand(name, path, isOne ? undefined : `expected a duration above 0, found ${String(input)}`)
  return duration ?? Duration.infinity
}

const windowOf = (name: string, input: Duration.DurationInput): number => {
  const window = durationOf(name, "limit.rate.window", input)
  demand(name, "limit.rate.window", Duration.isFinite(window) ? undefined : "expected a finite duration")
  return Duration.toSeconds(window)
}

const limitsOf = (name: string, limit: Options["limit"]): Limits | undefined => {
  if (limit === undefined) return undefined
  const { concurrency, rate } = limit
  const limits = {
    concurrency: concurrency === undefined ? undefined : count(name, "limit.concurrency", concurrency),
    rate: rate && { limit: count(name, "limit.rate.limit", rate.limit), window: windowOf(name, rate.window) }
  }
  const isNone = limits.concurrency === undefined && limits.rate === undefined
  demand(name, "limit", isNone ? "expected a concurrency, a rate, or both" : undefined)
  return limits
}

const isKey = (u: unknown): u is (payload: unknown) => unknown => typeof u === "function"

const isSchedule = (u: unknown): u is Schedule.Schedule<unknown, unknown> => Schedule.isSchedule(u)

/** A payload that is nothing: it is stored as an empty object. */
const noPayload: Codec<JsonObject> = { encode: () => Either.right({}), decode: () => Either.right(undefined) }

const noError: Codec<unknown> = never("the activity has no error of its own")

export const make = (name: string, options: Options): Contract => {
  demand(name, "name", validate.wellFormed(name) ?? (name === "" ? "must not be empty" : undefined))
  const { concurrency = 16, error, limit, payload, retry, success, timeout = "10 minutes" } = options
  const key: unknown = limit?.key
  return {
    name,
    schemas: { payload, success, error },
    payload: payload === undefined ? noPayload : objectCodec(payload, "ignore"),
    success: success === undefined ? nothing : endCodec(success),
    error: error === undefined ? noError : endCodec(error),
    retry: isSchedule(retry) ? retry : activityPolicy,
    timeout: durationOf(name, "timeout", timeout),
    concurrency: count(name, "concurrency", concurrency),
    limits: limitsOf(name, limit),
    limitKey: (payload) => (isKey(key) ? String(key(payload)) : "")
  }
}
