import * as Option from "effect/Option"
import type { OutboxEntry } from "../../Commit.js"
import type { Event } from "../../Event.js"
import { fromTraceparent } from "../../TraceContext.js"
import { isDateTime } from "./dateTime.js"
import * as reader from "./reader.js"
import * as writer from "./writer.js"

const eventKeys = ["id", "kind", "created_time", "received_time", "data"]

const time: reader.Reader<string> = (u, path) => {
  if (typeof u === "string" && isDateTime(u)) return u
  throw new reader.Invalid(
    path,
    "expected an ISO 8601 date and time, of a day that there is and a zone of less than 24 hours"
  )
}

const text = reader.string

/** Events in rows that have other keys of their own. */
const eventBeside = (others: ReadonlyArray<string>): reader.Codec<Event> => {
  const keys = new Set([...eventKeys, ...others])
  return {
    decode: (u, path) => {
      const row = reader.object(u, path)
      return {
        id: reader.required(row, path, "id", text),
        kind: reader.required(row, path, "kind", text),
        createdTime: reader.orNull(row, path, "created_time", time),
        receivedTime: reader.orNull(row, path, "received_time", time),
        data: reader.optional(row, path, "data", reader.object, {}),
        extra: reader.rest(row, keys)
      }
    },
    encode: (event, path) => ({
      id: writer.required(event.id, path, "id", text),
      kind: writer.required(event.kind, path, "kind", text),
      created_time: writer.orNull(event.createdTime, path, "created_time", time),
      received_time: writer.orNull(event.receivedTime, path, "received_time", time),
      data: writer.optional(event.data, path, "data", reader.object),
      ...reader.extra(event.extra, keys, path)
    })
  }
}

export const event: reader.Codec<Event> = eventBeside([])

const isTraceparent = (u: unknown): u is string => typeof u === "string" && Option.isSome(fromTraceparent(u))

const outboxKeys = ["emitted_at", "traceparent"]
const inOutbox = eventBeside(outboxKeys)
const allKeys = new Set([...eventKeys, ...outboxKeys])

/** An event as the outbox keeps it: with when and in which span it was emitted. What is wrong with these two stops no event. */
export const emitted: reader.Codec<Pick<OutboxEntry, "event" | "emittedAt" | "traceparent">> = {
  decode: (u, path) => {
    const { emitted_at: emittedAt, traceparent } = reader.object(u, path)
    return {
      event: inOutbox.decode(u, path),
      emittedAt: typeof emittedAt === "number" && Number.isFinite(emittedAt) ? emittedAt : null,
      traceparent: isTraceparent(traceparent) ? traceparent : null
    }
  },
  // Written out: a copy of the event's row would take longer than the row.
  encode: ({ emittedAt, event, traceparent }, path) => ({
    id: writer.required(event.id, path, "id", text),
    kind: writer.required(event.kind, path, "kind", text),
    created_time: writer.orNull(event.createdTime, path, "created_time", time),
    received_time: writer.orNull(event.receivedTime, path, "received_time", time),
    data: writer.optional(event.data, path, "data", reader.object),
    ...(emittedAt === null ? undefined : { emitted_at: emittedAt }),
    ...(traceparent === null ? undefined : { traceparent }),
    ...reader.extra(event.extra, allKeys, path)
  })
}
