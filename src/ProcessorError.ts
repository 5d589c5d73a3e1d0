/**
 * What processing an event can fail with, beside the failures of the store.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { describe } from "./internal/util/errorText.js"
import { printable } from "./internal/util/printable.js"

/**
 * The execution does not exist: it was not created yet, or was purged.
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
 * This process does not have the definition that the execution follows.
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
 * The execution is of a version of its definition that this process does not have, nor migrations from it: another process has it already,
 * or the handlers of an old version are gone. `known` are the versions that this process has. The event waits.
 *
 * @since 0.1.0
 * @category errors
 */
export class DefinitionVersionNotFound extends Schema.TaggedError<DefinitionVersionNotFound>(
  "holdfast/ProcessorError/DefinitionVersionNotFound"
)("DefinitionVersionNotFound", {
  executionId: Schema.String,
  eventId: Schema.String,
  definitionId: Schema.String,
  version: Schema.Number,
  known: Schema.Array(Schema.Number)
}) {
  /** @since 0.1.0 */
  override get message(): string {
    const { definitionId, executionId, known, version } = this
    const newest = Math.max(0, ...known)
    const remedy =
      version > newest ? "deploy that version here, too" : "keep the layer of that version, or give migrations from it"
    return printable(
      `execution ${JSON.stringify(executionId)} is of version ${version} of definition ${JSON.stringify(definitionId)}, and this process has ${known.join(", ")}: ${remedy}`
    )
  }
}

/**
 * A migration from one version of a definition to another failed: it threw, or what it made does not decode by the new version. Nothing was
 * written, and the event is kept: a policy `"fail"` counts as `"retry"` here.
 *
 * `from` and `to` are the versions, `path` the place in the context (empty for the whole), `problem` what is wrong there, and `cause` what
 * the migration threw.
 *
 * @since 0.1.0
 * @category errors
 */
export class MigrationFailed extends Schema.TaggedError<MigrationFailed>("holdfast/ProcessorError/MigrationFailed")(
  "MigrationFailed",
  {
    executionId: Schema.String,
    eventId: Schema.String,
    definitionId: Schema.String,
    from: Schema.Number,
    to: Schema.Number,
    path: Schema.String,
    problem: Schema.String,
    cause: Schema.optional(Schema.Defect)
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const { definitionId, eventId, executionId, from, path, problem, to } = this
    const where = path === "" ? "" : ` at ${path}`
    return printable(
      `execution ${JSON.stringify(executionId)} cannot be taken from version ${from} to ${to} of definition ${JSON.stringify(definitionId)} for event ${JSON.stringify(eventId)}${where}: ${problem}`
    )
  }
}

/**
 * The execution is suspended: the event waits until it is resumed.
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
 * Other commits advanced the execution each time before the step could be committed, until the schedule of retries ended. Nothing was
 * written.
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
 * A transition, or the policy for its failures, took longer than `after` seconds, the `transitionTimeout` of the processor. It was
 * interrupted, and nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class TransitionTimedOut extends Schema.TaggedError<TransitionTimedOut>(
  "holdfast/ProcessorError/TransitionTimedOut"
)("TransitionTimedOut", {
  executionId: Schema.String,
  eventId: Schema.String,
  definitionId: Schema.String,
  after: Schema.Number
}) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `definition ${JSON.stringify(this.definitionId)} took more than ${this.after} seconds for execution ${JSON.stringify(this.executionId)} at event ${JSON.stringify(this.eventId)} and was interrupted: let steps end soon and timers wait, or give a longer transitionTimeout`
    )
  }
}

/**
 * Something stored does not decode by the definition: the payload of an event, the context of the execution, or the result of a child that
 * ended. Another version or another program wrote it. Trying again does not help, so a relay makes the event a dead letter at once.
 *
 * `subject` is what does not decode, `path` the place in it (empty for the whole), `problem` what is wrong there.
 *
 * @since 0.1.0
 * @category errors
 */
export class EventInvalid extends Schema.TaggedError<EventInvalid>("holdfast/ProcessorError/EventInvalid")(
  "EventInvalid",
  {
    executionId: Schema.String,
    eventId: Schema.String,
    definitionId: Schema.String,
    subject: Schema.String,
    path: Schema.String,
    problem: Schema.String
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const where = this.path === "" ? "" : ` at ${this.path}`
    return printable(
      `event ${JSON.stringify(this.eventId)} cannot take execution ${JSON.stringify(this.executionId)} on: the ${this.subject} does not decode by definition ${JSON.stringify(this.definitionId)}${where}: ${this.problem}`
    )
  }
}

/**
 * Something that a step is to write does not encode by the definition: its result or error, the input of a child, or the payload of an
 * event that it emits. Nothing was written.
 *
 * `subject` is what does not encode, `path` the place in it (empty for the whole), `problem` what is wrong there.
 *
 * @since 0.1.0
 * @category errors
 */
export class StepInvalid extends Schema.TaggedError<StepInvalid>("holdfast/ProcessorError/StepInvalid")("StepInvalid", {
  executionId: Schema.String,
  eventId: Schema.String,
  definitionId: Schema.String,
  subject: Schema.String,
  path: Schema.String,
  problem: Schema.String
}) {
  /** @since 0.1.0 */
  override get message(): string {
    const where = this.path === "" ? "" : ` at ${this.path}`
    return printable(
      `definition ${JSON.stringify(this.definitionId)} took execution ${JSON.stringify(this.executionId)} at event ${JSON.stringify(this.eventId)} to a step whose ${this.subject} does not encode${where}: ${this.problem}`
    )
  }
}

/**
 * The context of an execution does not agree with the schema of its definition: the stored one does not decode, or the one that a step left
 * does not encode. `path` is the place in the context (empty for the whole), `problem` what is wrong there. Nothing was written.
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
