import * as Data from "effect/Data"
import type * as transportError from "../http/transportError.js"

/** There is no token to send, or none that could be one; `problem` says which. */
export class NoToken extends Data.TaggedError("NoToken")<{
  readonly problem: "missing" | "invalid"
  readonly detail: string
  readonly cause?: unknown
}> {}

/** No answer came, or only a part of one. */
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

/** An answer with a status of success that is not a libSQL server's. */
export class Unreadable extends Data.TaggedError("Unreadable")<{ readonly detail: string }> {}

/** The server ran a statement, or the list that it is in, and it failed. */
export class StatementFailed extends Data.TaggedError("StatementFailed")<{
  readonly code: string
  readonly detail: string
}> {}

/** The guard of a transaction failed, so the transaction was not run. */
export class GuardFailed extends Data.TaggedError("GuardFailed") {}

export type HranaError = NoToken | NoAnswer | Refused | Unreadable | StatementFailed | GuardFailed
