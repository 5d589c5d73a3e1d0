import * as Data from "effect/Data"
import type * as transportError from "../http/transportError.js"

/** There is no token to send, or none that could be one; `problem` says which. */
export class NoToken extends Data.TaggedError("NoToken")<{
  readonly problem: "missing" | "invalid"
  readonly detail: string
  readonly cause?: unknown
}> {}

/** No whole answer came. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{
  readonly problem: transportError.Transport["problem"] | "timeout"
  readonly detail: string
  readonly cause?: unknown
}> {}

/** An answer without success: of the server, or of whatever is in front of it. `location` is where a redirect leads. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly status: number
  readonly body: string
  readonly location: string | undefined
}> {}

/** An answer of success that is none of a libSQL server's. */
export class Unreadable extends Data.TaggedError("Unreadable")<{ readonly detail: string }> {}

/** The server ran a statement, or the list that it is in, and it failed. */
export class StatementFailed extends Data.TaggedError("StatementFailed")<{
  readonly code: string
  readonly detail: string
}> {}

/** A transaction was not to be, by the word of its guard. */
export class GuardFailed extends Data.TaggedError("GuardFailed") {}

export type HranaError = NoToken | NoAnswer | Refused | Unreadable | StatementFailed | GuardFailed
