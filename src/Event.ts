/**
 * Events: what executions consume and emit.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as codec from "./internal/codec/event.js"
import { pythonFloat } from "./internal/codec/number.js"
import { schemaFromCodec } from "./internal/codec/reader.js"
import * as eventIds from "./internal/util/eventIds.js"
import { JsonObject } from "./Json.js"

/**
 * An event. A receiver recognises a repeated delivery by its `id`.
 *
 * - `id`: unique per receiver, not empty. An event that is sent again must carry the same id. Ids from outside need a namespace, see
 *   {@link externalId}.
 * - `kind`: what happened. {@link WellKnownKind} lists the kinds that have a meaning of their own.
 * - `createdTime`, `receivedTime`: ISO 8601 texts as stored (`2026-09-21T10:00:00.123456Z`), or null. They stay texts because a `Date`
 *   would lose their microseconds. As other readers of the format do, the store refuses dates that no calendar has, the year 0, the hour
 *   24, leap seconds and zones of 24 hours or more.
 * - `data`: the payload, free JSON.
 * - `extra`: keys of the stored event that this version does not know. They are kept when the event is written again.
 *
 * @since 0.1.0
 * @category models
 */
export interface Event extends Schema.Schema.Type<typeof Event> {}

/**
 * The schema of an event.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Event = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  createdTime: Schema.NullOr(Schema.String),
  receivedTime: Schema.NullOr(Schema.String),
  data: JsonObject,
  extra: JsonObject
}).annotations({ identifier: "Event" })

/**
 * The stored form of an event: compact JSON text with the keys `id`, `kind`, `created_time`, `received_time`, `data`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const EventFromText: Schema.Schema<Event, string> = schemaFromCodec(Event, codec.event, "EventFromText")

/**
 * Kinds with a meaning that is fixed by the stored format, which other engines share: `Start` begins an execution, `Finished` tells a
 * parent that a child ended, `Timeout` comes from a timer, `ActivityEnded` from an activity,
 * `Cancel` asks an execution to end; the others are for the engines themselves.
 *
 * @since 0.1.0
 * @category models
 */
export const WellKnownKind = {
  Start: "Start",
  Finished: "Finished",
  Cancel: "Cancel",
  Timeout: "Timeout",
  ActivityEnded: "ActivityEnded",
  GivenUp: "GivenUp",
  Returned: "Returned",
  Expired: "Expired",
  Error: "error",
  Reset: "Reset",
  SetState: "SetState"
} as const

/**
 * An event, with defaults for what is left out: no times, no data.
 *
 * @example
 * ```ts
 * import { Event } from "holdfast"
 *
 * const paid = Event.make({ id: "payment-17", kind: "Paid", data: { amount: 39.98 } })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly id: string
  readonly kind: string
  readonly data?: JsonObject | undefined
  readonly createdTime?: string | null | undefined
  readonly receivedTime?: string | null | undefined
  readonly extra?: JsonObject | undefined
}): Event => ({
  id: options.id,
  kind: options.kind,
  createdTime: options.createdTime ?? null,
  receivedTime: options.receivedTime ?? null,
  data: options.data ?? {},
  extra: options.extra ?? {}
})

/**
 * An id for an event from outside, such as a webhook's. It is different from every id that an engine makes, and from those of other
 * namespaces.
 *
 * A receiver skips an event whose id it has consumed. So a sender that may choose any id could take the id of a timer, or of another
 * sender's event, and make that one be skipped. Name in the namespace the system that gave the id and vouches that it is unique there.
 *
 * @example
 * ```ts
 * import { Event } from "holdfast"
 *
 * const paid = (delivery: { readonly id: string; readonly amount: number }) =>
 *   Event.make({ id: Event.externalId("stripe", delivery.id), kind: "Paid", data: { amount: delivery.amount } })
 * ```
 *
 * @since 0.1.0
 * @category ids
 */
export const externalId: (namespace: string, id: string) => string = eventIds.external

/**
 * Whether an id begins as the ids do that an engine makes for its own events: with `start:`, `timeout:`, `emit:`, `finished:`, `cancel:`,
 * `activity:` or `given-up:`. Events from outside with such an id are refused.
 *
 * @since 0.1.0
 * @category ids
 */
export const isReservedId = (id: string): boolean => eventIds.purposeOf(id) !== undefined

/**
 * The event that begins an execution, with the stable id `start:<execution>`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const start = (executionId: string, data?: JsonObject): Event =>
  make({ id: eventIds.derived("start", executionId), kind: WellKnownKind.Start, data })

/**
 * The id of the event that a timer fires: `timeout:<execution>:<path>:<fire_at>`. The number is written as Python prints a float, so that
 * two sweepers, in whichever language, make the same id for the same timer.
 *
 * `fireAt` is in seconds since the epoch.
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeoutId = (executionId: string, path: string, fireAt: number): string =>
  eventIds.derived("timeout", executionId, path, pythonFloat(fireAt))

/**
 * The event that a timer fires when it is due, with the id of {@link timeoutId} and the data `{ path, fire_at }`. `fireAt` is in seconds
 * since the epoch.
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeout = (executionId: string, path: string, fireAt: number): Event =>
  make({
    id: timeoutId(executionId, path, fireAt),
    kind: WellKnownKind.Timeout,
    data: { path, fire_at: fireAt }
  })

/**
 * The id of the event that an activity ends with: `activity:<execution>:<key>:<version>`, with the execution's version at which the
 * activity was
 * asked for. There is one such event for each time that it is.
 *
 * @since 0.1.0
 * @category constructors
 */
export const activityId = (executionId: string, key: string, version: number): string =>
  eventIds.derived("activity", executionId, key, version)
