import * as Data from "effect/Data"
import * as Schema from "effect/Schema"

const expected = (what: string) => ({ message: () => `expected ${what}` })

const Text = Schema.String.pipe(Schema.filter((text) => text.isWellFormed(), expected("text")))

const isInt64 = (digits: string): boolean =>
  /^-?\d+$/.test(digits) && BigInt.asIntN(64, BigInt(digits)) === BigInt(digits)
const Integer = Schema.String.pipe(Schema.filter(isInt64, expected("decimal integer as a string")))

// With or without padding, and with nothing in the bits that no byte needs.
const isBase64 = (text: string): boolean => {
  const bare = text.replace(/=+$/, "")
  return Buffer.from(text, "base64").toString("base64").replace(/=+$/, "") === bare
}
const Base64 = Schema.String.pipe(Schema.filter(isBase64, expected("binary data encoded as base64")))

const Value = Schema.Union(
  Schema.Struct({ type: Schema.Literal("null") }),
  Schema.Struct({ type: Schema.Literal("integer"), value: Integer }),
  Schema.Struct({ type: Schema.Literal("float"), value: Schema.Number }),
  Schema.Struct({ type: Schema.Literal("text"), value: Text }),
  Schema.Struct({ type: Schema.Literal("blob"), base64: Base64 })
)
export type Value = typeof Value.Type

/** A value as it is answered: an infinite double is null in JSON. */
export type Answer = Value | { readonly type: "float"; readonly value: number | null }

const Stmt = Schema.Struct({
  sql: Schema.optional(Text),
  sql_id: Schema.optional(Schema.Number),
  args: Schema.optionalWith(Schema.Array(Value), { default: () => [] }),
  named_args: Schema.optionalWith(Schema.Array(Schema.Struct({ name: Schema.String, value: Value })), {
    default: () => []
  })
})
export type Stmt = typeof Stmt.Type

export type Cond =
  | { readonly type: "ok" | "error"; readonly step: number }
  | { readonly type: "not"; readonly cond: Cond }
  | { readonly type: "and" | "or"; readonly conds: ReadonlyArray<Cond> }

const Cond: Schema.Schema<Cond> = Schema.Union(
  Schema.Struct({ type: Schema.Literal("ok", "error"), step: Schema.Number }),
  Schema.Struct({ type: Schema.Literal("not"), cond: Schema.suspend(() => Cond) }),
  Schema.Struct({ type: Schema.Literal("and", "or"), conds: Schema.Array(Schema.suspend(() => Cond)) })
)

const Step = Schema.Struct({ stmt: Stmt, condition: Schema.optional(Cond) })
export type Step = typeof Step.Type

const text = { sql: Schema.optional(Text), sql_id: Schema.optional(Schema.Number) }

const Request = Schema.Union(
  Schema.Struct({ type: Schema.Literal("close") }),
  Schema.Struct({ type: Schema.Literal("execute"), stmt: Stmt }),
  Schema.Struct({ type: Schema.Literal("batch"), batch: Schema.Struct({ steps: Schema.Array(Step) }) }),
  Schema.Struct({ type: Schema.Literal("sequence"), ...text }),
  Schema.Struct({ type: Schema.Literal("store_sql"), sql_id: Schema.Number, sql: Text }),
  Schema.Struct({ type: Schema.Literal("close_sql"), sql_id: Schema.Number })
)
export type Request = typeof Request.Type

const Pipeline = Schema.Struct({
  baton: Schema.optional(Schema.NullOr(Schema.String)),
  requests: Schema.Array(Request)
})

export const decodePipeline = Schema.decodeUnknownSync(Pipeline)

/** What a statement gives: as sqld's, less how much it read and how long it took. */
export interface StmtResult {
  readonly cols: ReadonlyArray<{ readonly name: string; readonly decltype: string | null }>
  readonly rows: ReadonlyArray<ReadonlyArray<Answer>>
  readonly affected_row_count: number
  readonly last_insert_rowid: string | null
}

/** An error that a statement is answered with. */
export class StatementError extends Data.TaggedError("StatementError")<{
  readonly message: string
  readonly code: string
}> {}

/** An error that the whole request is answered with, with status 400. */
export class ProtocolError extends Data.TaggedError("ProtocolError")<{ readonly message: string }> {}

export const parseError = (error: unknown): ProtocolError =>
  new ProtocolError({ message: `Cannot deserialize client message from JSON: ${String(error)}` })

/** That a token does not allow a statement, which the whole request is answered with, with status 403. */
export class Forbidden extends Data.TaggedError("Forbidden") {}

/** That another connection holds a lock: sqld lets a statement wait. */
export class Locked extends Data.TaggedError("Locked") {}
