import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import { StoreRejected } from "../../StoreError.js"

/** The option's value, by default 5 seconds. */
export const decode = (input: Duration.DurationInput | undefined): Either.Either<Duration.Duration, StoreRejected> =>
  Either.fromOption(
    Duration.decodeUnknown(input ?? "5 seconds"),
    () =>
      new StoreRejected({
        operation: "open",
        reason: "invalid-input",
        path: "busyTimeout",
        detail: `expected a duration, found ${String(input)}`
      })
  )
