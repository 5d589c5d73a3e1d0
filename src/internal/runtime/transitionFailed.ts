import * as Schema from "effect/Schema"
import { printable } from "../util/printable.js"

/**
 * A transition failed with its own error, which is the `cause`. Nothing was written, and the event is delivered again later.
 *
 * @since 0.1.0
 * @category errors
 */
export class TransitionFailed extends Schema.TaggedError<TransitionFailed>(
  "holdfast/ExecutionRuntime/TransitionFailed"
)("TransitionFailed", {
  executionId: Schema.String,
  eventId: Schema.String,
  definitionId: Schema.String,
  cause: Schema.Defect
}) {
  /** @since 0.1.0 */
  override get message(): string {
    const why = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return printable(
      `definition ${JSON.stringify(this.definitionId)} failed for execution ${JSON.stringify(this.executionId)} at event ${JSON.stringify(this.eventId)}: ${why}`
    )
  }
}
