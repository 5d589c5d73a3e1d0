import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { TypeId } from "../../Definition.js"
import type * as Monitor from "../../Monitor.js"
import type { StoreRejected } from "../../StoreError.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { callable, checkedText, optional, time, value } from "../options/fields.js"

const isPath = (text: string): boolean => /^\/[^?#]*$/.test(text) && !text.startsWith("//")

const isDefinitions = (u: unknown): u is ReadonlyArray<unknown> =>
  Array.isArray(u) && u.every((each) => Predicate.hasProperty(each, TypeId))

const fields = {
  basePath: optional(checkedText(isPath, 'a path such as "/admin/holdfast"')),
  access: optional(callable),
  redact: optional(callable),
  definitions: optional(value(isDefinitions, "an array of definitions")),
  interval: optional(time)
} satisfies Fields<Monitor.Options>

const decode = decoder(Schema.Struct(fields), refused("start", "Monitor"))

/** What looks for changes more often than this would look all the time. */
const least = 100

/** Checks the options; gives the time between two ticks in milliseconds. */
export const check = (options: unknown): Either.Either<number, StoreRejected> =>
  Either.flatMap(decode(options), ({ interval = Duration.seconds(1) }) =>
    Duration.toMillis(interval) < least
      ? Either.left(
          refused(
            "start",
            "Monitor"
          )({ path: "interval", detail: `expected a duration of ${least} milliseconds or more` })
        )
      : Either.right(Duration.toMillis(interval))
  )
