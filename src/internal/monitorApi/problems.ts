import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"

/** What every problem says: what it is, in a few words, and what was wrong this time and what to do. */
const fields = { title: Schema.String, detail: Schema.String }

const answered = (status: number) => ({
  [HttpApiSchema.AnnotationStatus]: status,
  [HttpApiSchema.AnnotationEncoding]: { kind: "Json", contentType: "application/problem+json" }
})

/** The request is not as it should be. */
export class Invalid extends Schema.TaggedError<Invalid>("holdfast/Monitor/Invalid")(
  "Invalid",
  fields,
  answered(400)
) {}

/** The access that this caller has does not do for it. */
export class Refused extends Schema.TaggedError<Refused>("holdfast/Monitor/Refused")(
  "Refused",
  fields,
  answered(403)
) {}

/** What the request names is not there. */
export class Missing extends Schema.TaggedError<Missing>("holdfast/Monitor/Missing")(
  "Missing",
  fields,
  answered(404)
) {}

/** What the request names is not in a state for it. */
export class Conflict extends Schema.TaggedError<Conflict>("holdfast/Monitor/Conflict")(
  "Conflict",
  fields,
  answered(409)
) {}

/** The body of the request is larger than is taken. */
export class TooLarge extends Schema.TaggedError<TooLarge>("holdfast/Monitor/TooLarge")(
  "TooLarge",
  fields,
  answered(413)
) {}

/** The store, or the monitor itself, failed. */
export class Failed extends Schema.TaggedError<Failed>("holdfast/Monitor/Failed")("Failed", fields, answered(500)) {}

/** The store does not answer now, or there are too many who ask. */
export class Unavailable extends Schema.TaggedError<Unavailable>("holdfast/Monitor/Unavailable")(
  "Unavailable",
  fields,
  answered(503)
) {}

export const all = [Invalid, Refused, Missing, Conflict, TooLarge, Failed, Unavailable] as const

export type Problem = InstanceType<(typeof all)[number]>
