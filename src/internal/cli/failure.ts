import * as Schema from "effect/Schema"
import type * as ControlError from "../../ControlError.js"
import type { CronMissing, InvalidCron } from "../../CronError.js"
import type { InvalidInput, OtherDefinition, StoredInvalid } from "../../DefinitionError.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import type { InvalidExport } from "../../TransferError.js"
import { withoutAddressSecrets } from "../http/redactSecrets.js"
import { printable } from "../util/printable.js"

/**
 * What a command came to that did not do what it was asked.
 *
 * - `usage`: the command line is wrong.
 * - `missing`: what it names is not there.
 * - `refused`: what it names is not in a state for it, a part of many was not changed, or the question was answered with no.
 * - `failed`: the store, a file or the network failed.
 * - `unsound`: what was checked is not in order.
 */
export class CliError extends Schema.TaggedError<CliError>("holdfast/CliError")("CliError", {
  problem: Schema.Literal("usage", "missing", "refused", "failed", "unsound"),
  detail: Schema.String
}) {
  override get message(): string {
    return printable(withoutAddressSecrets(this.detail))
  }
}

export const usage = (detail: string): CliError => new CliError({ problem: "usage", detail })
export const missing = (detail: string): CliError => new CliError({ problem: "missing", detail })
export const refused = (detail: string): CliError => new CliError({ problem: "refused", detail })
export const failed = (detail: string): CliError => new CliError({ problem: "failed", detail })
export const unsound = (detail: string): CliError => new CliError({ problem: "unsound", detail })

/** What a command can fail with. */
export type Failure =
  | CliError
  | StoreConflict
  | StoreError
  | ControlError.ChildrenLive
  | ControlError.ControlConflict
  | ControlError.HasParent
  | ControlError.NoSuchExecution
  | ControlError.WrongStatus
  | CronMissing
  | InvalidCron
  | InvalidInput
  | OtherDefinition
  | StoredInvalid
  | InvalidExport

const codes = { failed: 1, usage: 2, missing: 3, refused: 4, unsound: 5 }

/** What the process ends with; 0 is for what was done. */
export const exitCode = (failure: Failure): number => {
  switch (failure._tag) {
    case "CliError":
      return codes[failure.problem]
    case "StoreRejected":
      return failure.reason === "invalid-input" ? codes.usage : codes.failed
    case "InvalidInput":
      return codes.usage
    case "CronMissing":
    case "NoSuchExecution":
      return codes.missing
    case "ChildrenLive":
    case "ControlConflict":
    case "HasParent":
    case "InvalidCron":
    case "OtherDefinition":
    case "StoreConflict":
    case "WrongStatus":
      return codes.refused
    case "InvalidExport":
      return codes.unsound
    case "StoreCorrupt":
    case "StoredInvalid":
    case "StoreUnavailable":
      return codes.failed
  }
}
