/**
 * What the functions of `Transfer` can fail with, beside the failures of the store.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { printable } from "./internal/util/printable.js"

/**
 * The text is not a whole export that this version reads. What was imported of it so far stays, and an import of the right one goes on
 * behind it.
 *
 * - `line`: the line that is wrong, counted from 1; of one that ends too early, the last that is there.
 * - `reason`: `"line"` where it is no line of an export, `"version"` where it is one of a later format or schema, `"truncated"` where the
 *   end is missing, `"hash"` where rows were changed, or left out, and `"text"` where a text is no UTF-8 and the store that it is for could
 *   not read it again, as one of libSQL's.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidExport extends Schema.TaggedError<InvalidExport>("holdfast/TransferError/InvalidExport")(
  "InvalidExport",
  {
    line: Schema.Number,
    reason: Schema.Literal("line", "version", "truncated", "hash", "text"),
    problem: Schema.String
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(`the export cannot be read at line ${this.line}: ${this.problem}`)
  }
}

const refusals = {
  "not-empty":
    "the store has rows already, which are not those of this export: import into an empty store, or replace what is there",
  "other-import":
    "an import of another export into this store was begun and has not ended: go on with that one, or replace what is there",
  "under-way":
    "another import into this store went on meanwhile, and this one has stopped: let that one end, or import again with replace"
}

/**
 * The store has rows already, of which nothing was changed.
 *
 * - `"not-empty"`: they are not those of an import.
 * - `"other-import"`: they are those of an import of another export that was begun and has not ended.
 * - `"under-way"`: another import wrote to the store while this one did. What this one had written the other one has taken over, or removed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ImportRefused extends Schema.TaggedError<ImportRefused>("holdfast/TransferError/ImportRefused")(
  "ImportRefused",
  { reason: Schema.Literal("not-empty", "other-import", "under-way") }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return refusals[this.reason]
  }
}

/**
 * Rows were written while they were exported, so that what was read is not the state of one moment. The export has no end, and no import
 * takes it for whole. Let nothing write meanwhile, or export a backup of the database.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoreChanged extends Schema.TaggedError<StoreChanged>("holdfast/TransferError/StoreChanged")(
  "StoreChanged",
  { tables: Schema.Array(Schema.String) }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `the store was written to while it was exported (${this.tables.join(", ")}): stop what writes to it, or export a backup of it`
    )
  }
}

/**
 * After an import the rows of a table are not those of the export: something else has written to the store.
 *
 * @since 0.1.0
 * @category errors
 */
export class ImportDiffers extends Schema.TaggedError<ImportDiffers>("holdfast/TransferError/ImportDiffers")(
  "ImportDiffers",
  { table: Schema.String, expected: Schema.Number, found: Schema.Number }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const found =
      this.expected === this.found
        ? `the ${this.found} rows of ${this.table} are not those of the export`
        : `${this.table} has ${this.found} rows, and the export ${this.expected}`
    return printable(
      `the import has not ended well: ${found}; stop what writes to the store, and import again with replace`
    )
  }
}

/**
 * The store has no rows that can be exported or imported, as one in memory.
 *
 * @since 0.1.0
 * @category errors
 */
export class TransferUnsupported extends Schema.TaggedError<TransferUnsupported>(
  "holdfast/TransferError/TransferUnsupported"
)("TransferUnsupported", {}) {
  /** @since 0.1.0 */
  override get message(): string {
    return "this store has no rows that could be exported or imported: it is in memory, or its backend gives none"
  }
}
