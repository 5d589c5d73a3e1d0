/**
 * What a call of `RqliteClient` can fail with. Three cases, distinguished by what the caller can do next: try later
 * ({@link RqliteUnavailable}), change the request or the set-up ({@link RqliteRejected}), change the statement
 * ({@link RqliteStatementError}).
 *
 * Each has an `outcome`, which for `execute` says what became of the transaction: `"not-applied"` is certain, `"unknown"` means that it may
 * have been applied or may still be. For reads it is always `"not-applied"`. No error holds a password, and none holds a value that was
 * bound.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { printable } from "./internal/util/printable.js"
import { withoutUndefined } from "./internal/util/withoutUndefined.js"

/**
 * The identifier of the errors of `RqliteClient`.
 *
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: unique symbol = Symbol.for("holdfast/RqliteError")

/**
 * The type of the identifier of the errors of `RqliteClient`.
 *
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

const at = (node: string | undefined): string => (node === undefined ? "" : ` at ${node}`)

const rqliteUnavailableFields = {
  operation: Schema.String,
  reason: Schema.Literal("no-leader", "connection", "timeout", "busy", "stale", "answer"),
  outcome: Schema.Literal("not-applied", "unknown"),
  node: Schema.optional(Schema.String),
  detail: Schema.String,
  cause: Schema.optional(Schema.Defect)
}

/**
 * The cluster cannot answer now and may later.
 *
 * - `"no-leader"`: no node that answers knows a leader, or the leader is not ready.
 * - `"connection"`: no connection could be made, or it broke.
 * - `"timeout"`: no answer came within the time of a request.
 * - `"busy"`: the database is locked, or a client left a transaction open on the connection that all writes share.
 * - `"stale"`: no node could promise the freshness that a read at level `none` asked for.
 * - `"answer"`: an answer came that is not rqlite's, or does not tell the outcome.
 *
 * @since 0.1.0
 * @category errors
 */
export class RqliteUnavailable extends Schema.TaggedError<RqliteUnavailable>("holdfast/RqliteError/RqliteUnavailable")(
  "RqliteUnavailable",
  rqliteUnavailableFields
) {
  // Decoding hands its props and options through here as they are: only keys that are undefined are left out.
  // @effect-diagnostics-next-line overriddenSchemaConstructor:off
  constructor(props: Schema.Struct.Constructor<typeof rqliteUnavailableFields>, options?: Schema.MakeOptions) {
    super(withoutUndefined(props), options)
  }

  /** @since 0.1.0 */
  readonly [TypeId]: TypeId = TypeId

  /** @since 0.1.0 */
  override get message(): string {
    const outcome = this.outcome === "unknown" ? " (whether it was applied is not known)" : ""
    return printable(`rqlite ${this.operation} is not possible now${at(this.node)}: ${this.detail}${outcome}`)
  }
}

const rqliteRejectedFields = {
  operation: Schema.String,
  reason: Schema.Literal("invalid-input", "auth", "tls", "endpoint", "too-large", "request"),
  path: Schema.optional(Schema.String),
  node: Schema.optional(Schema.String),
  detail: Schema.String,
  cause: Schema.optional(Schema.Defect)
}

/**
 * The cluster, or the client itself, does not accept this call as it is. Nothing was written.
 *
 * - `"invalid-input"`: the client refuses an option, a statement or a parameter; `path` names it. Nothing was sent.
 * - `"auth"`: the credentials are wrong, or the user lacks the permission that the call needs.
 * - `"tls"`: the certificate of a node is not trusted, or a node does not speak TLS.
 * - `"endpoint"`: something other than a node answers at the URL: a proxy that knows no such path, for example.
 * - `"too-large"`: the request is larger than a proxy before the node allows, or the answer to a query is longer than a string may be.
 * - `"request"`: a node refused the request.
 *
 * `"auth"`, `"tls"` and `"endpoint"` mean that all nodes refused the call in this way. While one of them answers, or may answer later, the
 * call succeeds or fails with {@link RqliteUnavailable}.
 *
 * @since 0.1.0
 * @category errors
 */
export class RqliteRejected extends Schema.TaggedError<RqliteRejected>("holdfast/RqliteError/RqliteRejected")(
  "RqliteRejected",
  rqliteRejectedFields
) {
  // Decoding hands its props and options through here as they are: only keys that are undefined are left out.
  // @effect-diagnostics-next-line overriddenSchemaConstructor:off
  constructor(props: Schema.Struct.Constructor<typeof rqliteRejectedFields>, options?: Schema.MakeOptions) {
    super(withoutUndefined(props), options)
  }

  /** @since 0.1.0 */
  readonly [TypeId]: TypeId = TypeId

  /** @since 0.1.0 */
  readonly outcome: "not-applied" = "not-applied"

  /** @since 0.1.0 */
  override get message(): string {
    const path = this.path === undefined ? "" : `${this.path}: `
    return printable(`rqlite ${this.operation} was refused${at(this.node)}: ${path}${this.detail}`)
  }
}

const rqliteStatementErrorFields = {
  operation: Schema.String,
  reason: Schema.Literal("constraint", "disk-full", "too-large", "read-only", "busy", "sql"),
  index: Schema.optional(Schema.Number),
  sql: Schema.optional(Schema.String),
  node: Schema.optional(Schema.String),
  detail: Schema.String
}

/**
 * A statement failed. An `execute` was rolled back as a whole.
 *
 * - `index`: the place of the statement in the request, from 0; undefined where the transaction failed as a whole, as where a deferred
 *   constraint was checked at its end.
 * - `detail`: SQLite's text.
 * - `reason`: `"constraint"`, `"disk-full"`, `"too-large"` (a value or a row above SQLite's limit), `"read-only"` (a write where only reads
 *   are allowed), `"busy"` (may succeed later), or `"sql"` for the rest.
 *
 * @since 0.1.0
 * @category errors
 */
export class RqliteStatementError extends Schema.TaggedError<RqliteStatementError>(
  "holdfast/RqliteError/RqliteStatementError"
)("RqliteStatementError", rqliteStatementErrorFields) {
  // Decoding hands its props and options through here as they are: only keys that are undefined are left out.
  // @effect-diagnostics-next-line overriddenSchemaConstructor:off
  constructor(props: Schema.Struct.Constructor<typeof rqliteStatementErrorFields>, options?: Schema.MakeOptions) {
    super(withoutUndefined(props), options)
  }

  /** @since 0.1.0 */
  readonly [TypeId]: TypeId = TypeId

  /** @since 0.1.0 */
  readonly outcome: "not-applied" = "not-applied"

  /** @since 0.1.0 */
  override get message(): string {
    const sql = this.sql === undefined ? "" : ` (${this.sql.length > 120 ? `${this.sql.slice(0, 120)}...` : this.sql})`
    const where = this.index === undefined ? "" : ` at statement ${this.index}${sql}`
    return printable(`rqlite ${this.operation} failed${where}: ${this.detail}`)
  }
}

/**
 * What a call of the client can fail with.
 *
 * @since 0.1.0
 * @category errors
 */
export type RqliteError = RqliteUnavailable | RqliteRejected | RqliteStatementError

/**
 * Whether a value is one of the errors of `RqliteClient`.
 *
 * @since 0.1.0
 * @category guards
 */
export const isRqliteError = (u: unknown): u is RqliteError => Predicate.hasProperty(u, TypeId)
