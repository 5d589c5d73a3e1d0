/**
 * What the functions of `Definition` can fail with, beside the failures of the store.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { printable } from "./internal/util/printable.js"

const at = (path: string): string => (path === "" ? "" : ` at ${path}`)

/**
 * An execution of this id exists already. Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class AlreadyExists extends Schema.TaggedError<AlreadyExists>("holdfast/DefinitionError/AlreadyExists")(
  "AlreadyExists",
  { executionId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `execution ${JSON.stringify(this.executionId)} exists already: choose another id, or send it an event`
    )
  }
}

/**
 * The input of an execution, or the payload of an event, does not encode by the schema of the definition. Nothing was written.
 *
 * - `operation`: `start` or `send`.
 * - `subject`: what does not encode, such as `event Paid`.
 * - `path`: the place in it, empty for the whole; `problem`: what is wrong there.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidInput extends Schema.TaggedError<InvalidInput>("holdfast/DefinitionError/InvalidInput")(
  "InvalidInput",
  {
    definition: Schema.String,
    executionId: Schema.String,
    operation: Schema.Literal("start", "send"),
    subject: Schema.String,
    path: Schema.String,
    problem: Schema.String
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const { definition, executionId, operation, path, problem, subject } = this
    return printable(
      `${operation} of execution ${JSON.stringify(executionId)} (${definition}) is refused: the ${subject} is wrong${at(path)}: ${problem}`
    )
  }
}

/**
 * There is no execution of this id: it was never started, or it was purged.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExecutionMissing extends Schema.TaggedError<ExecutionMissing>("holdfast/DefinitionError/ExecutionMissing")(
  "ExecutionMissing",
  { executionId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `there is no execution ${JSON.stringify(this.executionId)}: it was never started, or it was purged`
    )
  }
}

/**
 * The execution of this id follows another definition than the one by which it was asked for.
 *
 * @since 0.1.0
 * @category errors
 */
export class OtherDefinition extends Schema.TaggedError<OtherDefinition>("holdfast/DefinitionError/OtherDefinition")(
  "OtherDefinition",
  { executionId: Schema.String, expected: Schema.String, found: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `execution ${JSON.stringify(this.executionId)} follows definition ${JSON.stringify(this.found)}, not ${JSON.stringify(this.expected)}`
    )
  }
}

/**
 * The stored context, result or error of an execution does not decode by the schema of its definition: another version, or another program,
 * wrote it. Or one of the attributes cannot be made of the context. `path` is the place in the `part`, empty for the whole of it, or the
 * name of the attribute; `problem` says what is wrong there.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoredInvalid extends Schema.TaggedError<StoredInvalid>("holdfast/DefinitionError/StoredInvalid")(
  "StoredInvalid",
  {
    executionId: Schema.String,
    definition: Schema.String,
    part: Schema.Literal("context", "result", "error", "attribute"),
    path: Schema.String,
    problem: Schema.String
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const { definition, executionId, part, path, problem } = this
    const does = part === "attribute" ? "cannot be made" : "does not decode"
    return printable(
      `the ${part} of execution ${JSON.stringify(executionId)} ${does} by definition ${JSON.stringify(definition)}${at(path)}: ${problem}`
    )
  }
}

/**
 * The execution failed, and not with its definition's own error: with a defect of its code, or with a text. It may be redriven.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExecutionFailed extends Schema.TaggedError<ExecutionFailed>("holdfast/DefinitionError/ExecutionFailed")(
  "ExecutionFailed",
  { executionId: Schema.String, error: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`execution ${JSON.stringify(this.executionId)} failed: ${this.error}`)
  }
}

/**
 * The execution was cancelled or terminated, or cancelled itself. `outcome` is the word that it ended with, null where it has none.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExecutionCancelled extends Schema.TaggedError<ExecutionCancelled>(
  "holdfast/DefinitionError/ExecutionCancelled"
)("ExecutionCancelled", { executionId: Schema.String, outcome: Schema.NullOr(Schema.String) }) {
  /** @since 0.1.0 */
  override get message(): string {
    const outcome = this.outcome === null ? "" : ` (${this.outcome})`
    return printable(`execution ${JSON.stringify(this.executionId)} was cancelled${outcome}`)
  }
}

/**
 * What was to implement a definition does not: a handler is missing, or an option is not one. `problem` says which.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidImplementation extends Schema.TaggedError<InvalidImplementation>(
  "holdfast/DefinitionError/InvalidImplementation"
)("InvalidImplementation", { definition: Schema.String, problem: Schema.String }) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`definition ${JSON.stringify(this.definition)} cannot be implemented so: ${this.problem}`)
  }
}

/**
 * The runtime has a definition of this name already, in the same `version`, or one for executions of any version.
 *
 * @since 0.1.0
 * @category errors
 */
export class AlreadyRegistered extends Schema.TaggedError<AlreadyRegistered>(
  "holdfast/DefinitionError/AlreadyRegistered"
)("AlreadyRegistered", { definition: Schema.String, version: Schema.optional(Schema.Number) }) {
  /** @since 0.1.0 */
  override get message(): string {
    const version = this.version === undefined ? "" : `version ${this.version} of `
    return printable(
      `the runtime has ${version}a definition ${JSON.stringify(this.definition)} already: provide one layer for each version of a definition`
    )
  }
}
