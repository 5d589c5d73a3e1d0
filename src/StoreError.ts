/**
 * What an execution store can fail with. Four cases, distinguished by what the caller can do next: load again and decide again
 * ({@link StoreConflict}), try later ({@link StoreUnavailable}), change the request or the set-up ({@link StoreRejected}), repair the data
 * ({@link StoreCorrupt}).
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Work } from "./Commit.js"
import { printable } from "./internal/util/printable.js"
import { withoutUndefined } from "./internal/util/withoutUndefined.js"

/**
 * The identifier of the errors of a store.
 *
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: unique symbol = Symbol.for("holdfast/StoreError")

/**
 * The type of the identifier of the errors of a store.
 *
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

const on = (executionId: string | undefined): string =>
  executionId === undefined ? "" : ` of execution ${JSON.stringify(executionId)}`

/**
 * Another commit advanced the execution first: the stored version is not the one from which this commit started. Nothing was written. Load
 * the execution and run the step again.
 *
 * `found` is the stored version, none where no such execution is stored: it was never created, or was purged.
 *
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { ExecutionStore } from "holdfast"
 *
 * // Loads and decides again for as long as others come first.
 * const setPriority = (id: string, priority: number) =>
 *   Effect.gen(function* () {
 *     const store = yield* ExecutionStore.ExecutionStore
 *     const execution = yield* store.load(id)
 *     if (Option.isSome(execution)) yield* store.save({ ...execution.value, priority })
 *   }).pipe(Effect.retry({ times: 9, while: ({ _tag }) => _tag === "StoreConflict" }))
 * ```
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
 * The store cannot answer now and may later: the database is locked, the cluster has no leader, a connection broke, a time-out passed, the
 * store is shutting down. Retry under a `Schedule`.
 *
 * `outcome` says what became of a write: `"not-applied"` is certain, `"unknown"` means that it may have been applied or may still be. For
 * reads it is always `"not-applied"`.
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
 * The store does not accept this. Nothing was written. `reason` says why:
 *
 * - `"invalid-input"`: an option or a value is invalid; `path` names it.
 * - `"sql"`, `"constraint"`: an error of the database's, which the `cause` has.
 * - `"too-large"`: a value, row or answer is above a limit; `detail` names it.
 * - `"exhausted"`: a numbered table has no numbers left; `detail` says which.
 * - `"disk-full"`, `"read-only"`: the database cannot be written to.
 * - `"auth"`: the credentials are wrong, or lack a right.
 * - `"open"`, `"schema"`: the database cannot be opened, or its tables cannot be made or are of an unknown version.
 * - `"lease-lost"`: the work belongs to another process by now; see `Lease.fencedBy`.
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
  work: Schema.optional(Work),
  cause: Schema.optional(Schema.Defect)
}

/**
 * A stored row does not decode. Other rows are not affected: listings and relays report the row and go on.
 *
 * - `table`: the name of the table, without its prefix; `key`: the key of the row in it; `problem`: what is wrong.
 * - `work`: where the row is an outbox entry, a spawn, a timer or an activity, what `ExecutionStore.deadLetters.bury` needs to move it to
 *   the dead letters.
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
 * What every operation of a store can fail with. A commit can fail with {@link StoreConflict}, too.
 *
 * @since 0.1.0
 * @category errors
 */
export type StoreError = StoreUnavailable | StoreRejected | StoreCorrupt

/**
 * Whether a value is one of the errors of a store, {@link StoreConflict} included.
 *
 * @since 0.1.0
 * @category guards
 */
export const isStoreError = (u: unknown): u is StoreConflict | StoreError => Predicate.hasProperty(u, TypeId)
