/**
 * What the typed side of executions, `Definition`, can fail with.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { printable } from "./internal/util/printable.js"

const at = (path: string): string => (path === "" ? "" : ` at ${path}`)

/**
 * An execution of this id is stored already. Nothing was written.
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
 * What was to be started or sent is not what the definition's schema says. Nothing was written.
 *
 * - `operation`: `start` or `send`; `subject`: what it is that does not encode, such as `event Paid`.
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
 * The execution of this id follows another definition than the one it was asked for by.
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
 * What is stored of an execution does not decode by its definition's schema: another version or another program wrote it. `path` is the
 * place in the `part`, empty for the whole of it.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoredInvalid extends Schema.TaggedError<StoredInvalid>("holdfast/DefinitionError/StoredInvalid")(
  "StoredInvalid",
  {
    executionId: Schema.String,
    definition: Schema.String,
    part: Schema.Literal("context", "result", "error"),
    path: Schema.String,
    problem: Schema.String
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const { definition, executionId, part, path, problem } = this
    return printable(
      `the ${part} of execution ${JSON.stringify(executionId)} does not decode by definition ${JSON.stringify(definition)}${at(path)}: ${problem}`
    )
  }
}

/**
 * The execution failed, with an error that is none of its definition's own: a defect of its code, or a text. It may be redriven.
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
 * The execution was cancelled or terminated, or it cancelled itself. `outcome` is its own word for that, null where it has none.
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
 * The runtime has a definition of this name already.
 *
 * @since 0.1.0
 * @category errors
 */
export class AlreadyRegistered extends Schema.TaggedError<AlreadyRegistered>(
  "holdfast/DefinitionError/AlreadyRegistered"
)("AlreadyRegistered", { definition: Schema.String }) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `the runtime has a definition ${JSON.stringify(this.definition)} already: provide one layer for each definition`
    )
  }
}
