import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { StoreRejected } from "../../StoreError.js"

/** The value of an option that is a finite duration. */
export const decode = (input: Duration.DurationInput, path: string): Either.Either<Duration.Duration, StoreRejected> =>
  Either.fromOption(
    Option.filter(Duration.decodeUnknown(input), Duration.isFinite),
    () =>
      new StoreRejected({
        operation: "open",
        reason: "invalid-input",
        path,
        detail: `expected a duration, found ${String(input)}`
      })
  )
