/**
 * What processing an event can fail with.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { describe } from "./internal/util/errorText.js"
import { printable } from "./internal/util/printable.js"

/**
 * There is no such execution: it was never created, is not created yet, or was purged.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExecutionNotFound extends Schema.TaggedError<ExecutionNotFound>(
  "holdfast/ProcessorError/ExecutionNotFound"
)("ExecutionNotFound", { executionId: Schema.String, eventId: Schema.String }) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `there is no execution ${JSON.stringify(this.executionId)} for event ${JSON.stringify(this.eventId)}: create it first`
    )
  }
}

/**
 * The execution's definition is not among those of this processor.
 *
 * @since 0.1.0
 * @category errors
 */
export class DefinitionNotFound extends Schema.TaggedError<DefinitionNotFound>(
  "holdfast/ProcessorError/DefinitionNotFound"
)("DefinitionNotFound", { executionId: Schema.String, eventId: Schema.String, definitionId: Schema.String }) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `execution ${JSON.stringify(this.executionId)} follows definition ${JSON.stringify(this.definitionId)}, which this process does not have: add it to the definitions`
    )
  }
}

/**
 * The execution is suspended: the event must wait until it is resumed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExecutionSuspended extends Schema.TaggedError<ExecutionSuspended>(
  "holdfast/ProcessorError/ExecutionSuspended"
)("ExecutionSuspended", { executionId: Schema.String, eventId: Schema.String }) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `execution ${JSON.stringify(this.executionId)} is suspended: event ${JSON.stringify(this.eventId)} waits until it is resumed`
    )
  }
}

/**
 * Others advanced the execution each time before the step could be committed, until the schedule of retries ended. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class ProcessConflict extends Schema.TaggedError<ProcessConflict>("holdfast/ProcessorError/ProcessConflict")(
  "ProcessConflict",
  { executionId: Schema.String, eventId: Schema.String, attempts: Schema.Number }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `event ${JSON.stringify(this.eventId)} lost execution ${JSON.stringify(this.executionId)} to other commits ${this.attempts} times: process it again later, or give a longer schedule of retries`
    )
  }
}

/**
 * A transition returned another execution than the one it was given: another id or another version. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class StepRejected extends Schema.TaggedError<StepRejected>("holdfast/ProcessorError/StepRejected")(
  "StepRejected",
  {
    executionId: Schema.String,
    eventId: Schema.String,
    definitionId: Schema.String,
    detail: Schema.String
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `definition ${JSON.stringify(this.definitionId)} took execution ${JSON.stringify(this.executionId)} at event ${JSON.stringify(this.eventId)} and returned ${this.detail}: it must return the same execution, changed, at the same version`
    )
  }
}

/**
 * A transition, or the policy for its failures, threw or died: the `cause` is what it died of. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class TransitionDied extends Schema.TaggedError<TransitionDied>("holdfast/ProcessorError/TransitionDied")(
  "TransitionDied",
  { executionId: Schema.String, eventId: Schema.String, definitionId: Schema.String, cause: Schema.Defect }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `definition ${JSON.stringify(this.definitionId)} broke for execution ${JSON.stringify(this.executionId)} at event ${JSON.stringify(this.eventId)}: ${describe(this.cause)}`
    )
  }
}

/**
 * The context of an execution is not what its definition's schema says: the stored one does not decode, or the one that a step left does
 * not encode. `path` is the place in the context (empty: the whole of it), `problem` what is wrong there. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class ContextInvalid extends Schema.TaggedError<ContextInvalid>("holdfast/ProcessorError/ContextInvalid")(
  "ContextInvalid",
  {
    executionId: Schema.String,
    eventId: Schema.String,
    definitionId: Schema.String,
    operation: Schema.Literal("decode", "encode"),
    path: Schema.String,
    problem: Schema.String
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const where = this.path === "" ? "" : ` at ${this.path}`
    return printable(
      `the context of execution ${JSON.stringify(this.executionId)} does not ${this.operation} by definition ${JSON.stringify(this.definitionId)}${where}, event ${JSON.stringify(this.eventId)}: ${this.problem}`
    )
  }
}
