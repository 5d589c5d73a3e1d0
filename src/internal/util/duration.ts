import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import type { StoreRejected } from "../../StoreError.js"
import { invalidOption } from "./invalidOption.js"

const refused = (input: unknown, path: string): StoreRejected =>
  invalidOption(path, `expected a duration, found ${String(input)}`)

const decodeAny = (input: Duration.DurationInput, path: string): Either.Either<Duration.Duration, StoreRejected> =>
  Either.fromOption(Duration.decodeUnknown(input), () => refused(input, path))

/** The value of an option that is a finite duration. */
export const decode = (input: Duration.DurationInput, path: string): Either.Either<Duration.Duration, StoreRejected> =>
  Either.filterOrLeft(decodeAny(input, path), Duration.isFinite, () => refused(input, path))

/** For how long a locked database is tried again: by default 5 seconds, and at most for ever. */
export const decodeBusyTimeout = (
  input: Duration.DurationInput | undefined
): Either.Either<Duration.Duration, StoreRejected> => decodeAny(input ?? "5 seconds", "busyTimeout")
