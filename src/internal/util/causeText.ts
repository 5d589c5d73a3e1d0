import * as Cause from "effect/Cause"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import { printable } from "./printable.js"

const messageOf = (error: unknown): string =>
  error instanceof Error && error.message !== "" ? error.message : Inspectable.toStringUnknown(error, 0)

/** What went wrong, on one line. */
export const describe = (cause: Cause.Cause<unknown>): string =>
  printable(
    Option.match(Cause.failureOption(cause), {
      onNone: () =>
        Cause.isInterruptedOnly(cause) ? "it was interrupted" : `defect: ${messageOf(Cause.squash(cause))}`,
      onSome: messageOf
    })
  )
