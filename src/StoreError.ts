/**
 * What an execution store can fail with. Four cases, told apart by what the caller can do next: reload and decide again
 * ({@link StoreConflict}), try later ({@link StoreUnavailable}), change the request or the set-up ({@link StoreRejected}), repair the
 * data ({@link StoreCorrupt}).
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { WorkItem } from "./Commit.js"
import { printable } from "./internal/util/printable.js"
import { withoutUndefined } from "./internal/util/withoutUndefined.js"

/**
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: unique symbol = Symbol.for("holdfast/StoreError")

/**
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

const on = (executionId: string | undefined): string =>
  executionId === undefined ? "" : ` of execution ${JSON.stringify(executionId)}`

/**
 * Somebody else advanced the execution first: the stored version is not the one the commit started from. Nothing was written.
 * Reload the execution and run the step again.
 *
 * `found` is the stored version, or none where no such execution is stored (a purged one, or one that was never created).
 *
 * @since 0.1.0
 * @category errors
 */
export class StoreConflict extends Schema.TaggedError<StoreConflict>("holdfast/StoreError/StoreConflict")(
  "StoreConflict",
  {
    executionId: Schema.String,
    expected: Schema.Number,
    found: Schema.Option(Schema.Number)
  }
) {
  /** @since 0.1.0 */
  readonly [TypeId]: TypeId = TypeId

  /** @since 0.1.0 */
  override get message(): string {
    const found = Option.match(this.found, {
      onNone: () => "none is stored",
      onSome: (version) => `version ${version} is stored`
    })
    return printable(
      `commit${on(this.executionId)} expected version ${this.expected}, but ${found}: reload it and run the step again`
    )
  }
}

const storeUnavailableFields = {
  operation: Schema.String,
  executionId: Schema.optional(Schema.String),
  reason: Schema.Literal("busy", "no-leader", "timeout", "connection", "shutdown"),
  outcome: Schema.Literal("not-applied", "unknown"),
  detail: Schema.String,
  cause: Schema.optional(Schema.Defect)
}

/**
 * The store cannot answer now and may later: the database is locked, the cluster has no leader, a connection broke, a time-out
 * passed, the store is shutting down. Retry under a `Schedule`.
 *
 * `outcome` says what became of a write: `"not-applied"` is certain, `"unknown"` means that it may have been applied or may still be.
 * A read always says `"not-applied"`.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>("holdfast/StoreError/StoreUnavailable")(
  "StoreUnavailable",
  storeUnavailableFields
) {
  // Decoding hands its props and options through here as they are: only keys that are undefined are left out.
  // @effect-diagnostics-next-line overriddenSchemaConstructor:off
  constructor(props: Schema.Struct.Constructor<typeof storeUnavailableFields>, options?: Schema.MakeOptions) {
    super(withoutUndefined(props), options)
  }

  /** @since 0.1.0 */
  readonly [TypeId]: TypeId = TypeId

  /** @since 0.1.0 */
  override get message(): string {
    const outcome = this.outcome === "unknown" ? " (whether it was applied is not known)" : ""
    return printable(
      `${this.operation}${on(this.executionId)} is not possible now: ${this.detail}${outcome}; try again later`
    )
  }
}

const storeRejectedFields = {
  operation: Schema.String,
  executionId: Schema.optional(Schema.String),
  reason: Schema.Literal(
    "invalid-input",
    "sql",
    "constraint",
    "too-large",
    "exhausted",
    "lease-lost",
    "disk-full",
    "auth",
    "read-only",
    "open",
    "schema"
  ),
  path: Schema.optional(Schema.String),
  detail: Schema.String,
  cause: Schema.optional(Schema.Defect)
}

/**
 * The store will never accept this: invalid input (`path` names the part), an SQL error, a constraint, a full disk, missing rights, a
 * file that is no database, a value, row or answer above a limit of the database (`"too-large"`; `detail` names the limit), a numbered table
 * that has no numbers left (`"exhausted"`; `detail` says which), work that is another process's by now (`"lease-lost"`; see `Lease.fencedBy`).
 * Nothing was written.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoreRejected extends Schema.TaggedError<StoreRejected>("holdfast/StoreError/StoreRejected")(
  "StoreRejected",
  storeRejectedFields
) {
  // Decoding hands its props and options through here as they are: only keys that are undefined are left out.
  // @effect-diagnostics-next-line overriddenSchemaConstructor:off
  constructor(props: Schema.Struct.Constructor<typeof storeRejectedFields>, options?: Schema.MakeOptions) {
    super(withoutUndefined(props), options)
  }

  /** @since 0.1.0 */
  readonly [TypeId]: TypeId = TypeId

  /** @since 0.1.0 */
  override get message(): string {
    const path = this.path === undefined ? "" : `${this.path}: `
    return printable(`${this.operation}${on(this.executionId)} was refused: ${path}${this.detail}`)
  }
}

const storeCorruptFields = {
  operation: Schema.String,
  table: Schema.String,
  key: Schema.String,
  problem: Schema.String,
  work: Schema.optional(WorkItem),
  cause: Schema.optional(Schema.Defect)
}

/**
 * A stored row does not decode. `table` is the table's name without its prefix, `key` the row's key in it, `problem` what is wrong.
 * Other rows are not affected: listings and relays report the row and go on.
 *
 * `work` is there where the row is an outbox entry, a spawn or a timer: what `ExecutionStore.deadLetters.bury` takes to move it to the dead letters.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoreCorrupt extends Schema.TaggedError<StoreCorrupt>("holdfast/StoreError/StoreCorrupt")(
  "StoreCorrupt",
  storeCorruptFields
) {
  // Decoding hands its props and options through here as they are: only keys that are undefined are left out.
  // @effect-diagnostics-next-line overriddenSchemaConstructor:off
  constructor(props: Schema.Struct.Constructor<typeof storeCorruptFields>, options?: Schema.MakeOptions) {
    super(withoutUndefined(props), options)
  }

  /** @since 0.1.0 */
  readonly [TypeId]: TypeId = TypeId

  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `${this.operation} met a row that does not decode: ${this.table} ${JSON.stringify(this.key)}: ${this.problem}`
    )
  }
}

/**
 * What every operation of a store can fail with. A commit can fail with {@link StoreConflict} too.
 *
 * @since 0.1.0
 * @category errors
 */
export type StoreError = StoreUnavailable | StoreRejected | StoreCorrupt

/**
 * @since 0.1.0
 * @category guards
 */
export const isStoreError = (u: unknown): u is StoreConflict | StoreError => Predicate.hasProperty(u, TypeId)
