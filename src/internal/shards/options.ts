import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Ids from "../../Ids.js"
import type { Options } from "../../Shards.js"
import type { StoreRejected } from "../../StoreError.js"
import { leaseName } from "../codec/validate.js"
import * as options_ from "../options/decode.js"
import { checkedText, delay, optional, time, whole } from "../options/fields.js"

/** How lanes are shared: into `count` shards, whose leases have these `names` in this `pool`. */
export interface Settings {
  readonly count: number
  readonly holder: string
  readonly ttl: Duration.Duration
  readonly handover: Duration.Duration
  readonly interval: Duration.Duration
  readonly pool: string
  readonly names: ReadonlyArray<string>
}

const isName = (text: string): boolean => leaseName(text) === undefined

const fields = {
  count: optional(whole(1, 1024)),
  ttl: optional(time),
  handover: optional(delay),
  holder: optional(checkedText(isName, "a name of 1 to 1,024 bytes")),
  service: optional(checkedText((text) => isName(text) && text.length <= 200, "a name of 1 to 200 characters"))
} satisfies options_.Fields<Options>

const refused = options_.refused("start", "Shards")

const decodeFields = options_.decoder(Schema.Struct(fields), refused)

/** The options, with their defaults, or the error that refuses one. */
export const decode = (options: Options): Effect.Effect<Settings, StoreRejected> =>
  Effect.gen(function* () {
    const given = yield* decodeFields(options)
    const { count = 32, handover = Duration.millis(500), service, ttl = Duration.seconds(10) } = given
    if (Duration.lessThan(ttl, "1 second")) {
      return yield* refused({ path: "ttl", detail: "expected a duration of at least 1 second" })
    }
    if (!Duration.lessThan(handover, ttl)) {
      return yield* refused({ path: "handover", detail: "expected a duration of less than ttl" })
    }
    return {
      count,
      holder: given.holder ?? (yield* Ids.next),
      ttl,
      handover,
      interval: Duration.times(ttl, 1 / 3),
      pool: service === undefined ? `shards/${count}` : `shards/${count}/${service}`,
      names: Array.from({ length: count }, (_, i) => String(i))
    }
  })
