/**
 * What a command of the control plane can fail with, beside the failures of the store.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Status } from "./Execution.js"
import { printable } from "./internal/util/printable.js"

/**
 * The name of a command of the control plane.
 *
 * @since 0.1.0
 * @category models
 */
export type Command = typeof Command.Type

/**
 * The schema of a command's name.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Command = Schema.Literal("suspend", "resume", "cancel", "terminate", "redrive", "purge").annotations({
  identifier: "Command"
})

const subject = { command: Command, executionId: Schema.String }

/**
 * There is no such execution: it was never created, or was purged.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoSuchExecution extends Schema.TaggedError<NoSuchExecution>("holdfast/ControlError/NoSuchExecution")(
  "NoSuchExecution",
  subject
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`cannot ${this.command} execution ${JSON.stringify(this.executionId)}: there is none of this id`)
  }
}

/**
 * The command is for executions in another status. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class WrongStatus extends Schema.TaggedError<WrongStatus>("holdfast/ControlError/WrongStatus")("WrongStatus", {
  ...subject,
  status: Status,
  expected: Schema.Array(Status)
}) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `cannot ${this.command} execution ${JSON.stringify(this.executionId)}: it is ${this.status}, not ${this.expected.join(" or ")}`
    )
  }
}

/**
 * Executions below this one are not finished or not created yet; `live` has their ids. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class ChildrenLive extends Schema.TaggedError<ChildrenLive>("holdfast/ControlError/ChildrenLive")(
  "ChildrenLive",
  { ...subject, live: Schema.Array(Schema.String) }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const some = this.live.slice(0, 3).map((id) => JSON.stringify(id))
    const more = this.live.length > some.length ? ` and ${this.live.length - some.length} more` : ""
    return printable(
      `cannot ${this.command} execution ${JSON.stringify(this.executionId)} while its children live: cancel or terminate ${some.join(", ")}${more} first`
    )
  }
}

/**
 * The execution is a child whose parent is stored: only a whole tree can be purged. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class HasParent extends Schema.TaggedError<HasParent>("holdfast/ControlError/HasParent")("HasParent", {
  ...subject,
  parentId: Schema.String
}) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `cannot ${this.command} execution ${JSON.stringify(this.executionId)} alone: it is a child of ${JSON.stringify(this.parentId)}; ${this.command} the root of its tree`
    )
  }
}

/**
 * Other commits advanced the execution each time before the command could be committed, until the schedule of retries ended. Executions
 * that the command changed before this one stay changed; repeat the command, and it changes the rest.
 *
 * @since 0.1.0
 * @category errors
 */
export class ControlConflict extends Schema.TaggedError<ControlConflict>("holdfast/ControlError/ControlConflict")(
  "ControlConflict",
  { ...subject, attempts: Schema.Number }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `could not ${this.command} execution ${JSON.stringify(this.executionId)}: others advanced it ${this.attempts} times meanwhile; try again`
    )
  }
}
