import type { Event } from "../Event.js"
import * as codec from "./codec.js"

const keys = new Set(["id", "kind", "created_time", "received_time", "data"])

const dateTime = /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?$/

const time: codec.Reader<string> = (u, path) => {
  if (typeof u === "string" && dateTime.test(u)) return u
  throw new codec.Invalid(path, "expected an ISO 8601 date and time")
}

const text = codec.string

export const event: codec.Codec<Event> = {
  decode: (u, path) => {
    const row = codec.object(u, path)
    return {
      id: codec.required(row, path, "id", text),
      kind: codec.required(row, path, "kind", text),
      createdTime: codec.orNull(row, path, "created_time", time),
      receivedTime: codec.orNull(row, path, "received_time", time),
      data: codec.optional(row, path, "data", codec.object, {}),
      extra: codec.rest(row, keys)
    }
  },
  encode: (event, path) => ({
    id: event.id,
    kind: event.kind,
    created_time: event.createdTime,
    received_time: event.receivedTime,
    data: event.data,
    ...codec.extra(event.extra, keys, path)
  })
}

/** A double as Python's `repr` prints it: the same shortest digits as JavaScript's, an exponent from 1e16 on and below 1e-4. */
export const pythonFloat = (n: number): string => {
  if (n === Number.POSITIVE_INFINITY) return "inf"
  if (n === Number.NEGATIVE_INFINITY) return "-inf"
  if (Number.isNaN(n)) return "nan"
  if (n === 0) return Object.is(n, -0) ? "-0.0" : "0.0"
  const [mantissa = "", exponent = ""] = n.toExponential().split("e")
  const power = Number(exponent)
  if (power < -4 || power >= 16) {
    return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`
  }
  // within these bounds JavaScript prints no exponent
  const plain = String(n)
  return plain.includes(".") ? plain : `${plain}.0`
}
