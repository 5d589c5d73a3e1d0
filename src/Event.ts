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
 * An event. Receivers tell a repeated delivery by its `id`.
 *
 * - `id`: unique per receiver, not empty; an event that is sent again must carry the same id. Ids from outside need a namespace, see
 *   {@link externalId}.
 * - `kind`: what happened; see {@link WellKnownKind} for those with a meaning of their own.
 * - `createdTime`, `receivedTime`: ISO 8601 texts as stored (`2026-09-21T10:00:00.123456Z`), or null. They stay texts because a
 *   `Date` would lose their microseconds. A day that is in no calendar, the year 0, the hour 24, a leap second and a zone of 24 hours or more
 *   are refused, as the format's other readers do.
 * - `extra`: keys of the stored row that this version does not know; they are kept when the row is written again.
 *
 * @since 0.1.0
 * @category models
 */
export interface Event extends Schema.Schema.Type<typeof Event> {}

/**
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
 * The kinds that the engines sharing the stored format give a meaning: `Start` begins an execution, `Finished` tells a parent that a
 * child ended, `Timeout` is made by the timer sweep, the others are control and engine events.
 *
 * @since 0.1.0
 * @category models
 */
export const WellKnownKind = {
  Start: "Start",
  Finished: "Finished",
  Cancel: "Cancel",
  Timeout: "Timeout",
  Returned: "Returned",
  Expired: "Expired",
  Error: "error",
  Reset: "Reset",
  SetState: "SetState"
} as const

/**
 * An event with defaults for what is left out: no times, no data.
 *
 * @example
 * import { Event } from "holdfast"
 *
 * const paid = Event.make({ id: "payment-17", kind: "Paid", data: { amount: 39.98 } })
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
 * An id for an event from outside, such as a webhook's: one that an engine never makes, and that no other namespace has. A receiver skips an id that
 * it has consumed, so whoever may choose an id freely could take that of another's event, or of a timer.
 *
 * The namespace names whoever gave the id, as far as it vouches for its ids; what two of them call alike stays apart.
 *
 * @example
 * import { Event } from "holdfast"
 *
 * const paid = (delivery: { readonly id: string; readonly amount: number }) =>
 *   Event.make({ id: Event.externalId("stripe", delivery.id), kind: "Paid", data: { amount: delivery.amount } })
 *
 * @since 0.1.0
 * @category ids
 */
export const externalId: (namespace: string, id: string) => string = eventIds.external

/**
 * Whether an id begins as those do that an engine makes for its own events: `start:`, `timeout:`, `emit:`, `finished:` and `cancel:`. An event
 * from outside may not have one.
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
 * The id of the event that a timer fires: `timeout:<execution>:<path>:<fire_at>`, the number as Python prints a float, so that two
 * sweepers, in whatever language, make the same id for the same timer.
 *
 * `fireAt` is in seconds since the epoch.
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeoutId = (executionId: string, path: string, fireAt: number): string =>
  eventIds.derived("timeout", executionId, path, pythonFloat(fireAt))

/**
 * The event that a due timer fires, with the stable id of {@link timeoutId} and the data `{ path, fire_at }`.
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
