import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Options } from "../../ActivityWorker.js"
import type { StoreRejected } from "../../StoreError.js"
import { leaseName } from "../codec/validate.js"
import * as options_ from "../options/decode.js"
import { checkedText, optional, patience, time, timeOrInfinity } from "../options/fields.js"

/** How a worker runs activities. */
export interface Settings {
  readonly ttl: Duration.Duration
  readonly pollInterval: Duration.Duration
  readonly shutdownTimeout: Duration.Duration
  readonly name: string | undefined
}

const isName = (text: string): boolean => leaseName(text) === undefined && text.length <= 200

const fields = {
  ttl: optional(time),
  pollInterval: optional(timeOrInfinity),
  shutdownTimeout: optional(patience),
  name: optional(checkedText(isName, "a name of 1 to 200 characters"))
} satisfies options_.Fields<Options>

const refused = options_.refused("start", "ActivityWorker")

const decodeFields = options_.decoder(Schema.Struct(fields), refused)

/** The options, with their defaults, or the error that refuses one. */
export const decode = (options: Options): Effect.Effect<Settings, StoreRejected> =>
  Effect.flatMap(decodeFields(options), (given) => {
    const {
      name,
      pollInterval = Duration.seconds(1),
      shutdownTimeout = Duration.seconds(10),
      ttl = Duration.seconds(10)
    } = given
    return Duration.lessThan(ttl, "1 second")
      ? Effect.fail(refused({ path: "ttl", detail: "expected a duration of at least 1 second" }))
      : Effect.succeed({ ttl, pollInterval, shutdownTimeout, name })
  })
