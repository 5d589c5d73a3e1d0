import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ExecuteResult, NodeStatus, QueryResult, Value } from "../../RqliteClient.js"
import { RqliteStatementError } from "../../RqliteError.js"
import * as json from "../codec/json.js"

const Count = Schema.Union(Schema.NonNegativeInt, Schema.NonNegativeBigIntFromSelf)
const Rowid = Schema.Union(Schema.Int, Schema.BigIntFromSelf)
const Cell = Schema.Union(
  Schema.String,
  Schema.Number,
  Schema.Null,
  Schema.BigIntFromSelf,
  Schema.Boolean,
  Schema.Array(Schema.Uint8)
)
type Cell = typeof Cell.Type

// rqlite leaves out a key whose value is 0 or empty.
const Result = Schema.Struct({
  last_insert_id: Schema.optionalWith(Rowid, { default: () => 0 }),
  rows_affected: Schema.optionalWith(Count, { default: () => 0 }),
  columns: Schema.optional(Schema.Array(Schema.String)),
  types: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] }),
  values: Schema.optionalWith(Schema.Array(Schema.Array(Cell)), { default: () => [] }),
  error: Schema.optional(Schema.String)
})
/** What a node says to one statement. */
export type Result = typeof Result.Type

const Answer = Schema.Struct({
  results: Schema.optionalWith(Schema.NullishOr(Schema.Array(Result)), { default: () => [] }),
  error: Schema.optional(Schema.String)
})

/** What a node answered to a list of statements: `error` is about all of them. */
export interface Answer {
  readonly results: ReadonlyArray<Result>
  readonly error: string | undefined
}

const parseJson = (text: string): Either.Either<unknown, string> =>
  Either.try({ try: () => json.parse(text), catch: () => "is not JSON" })

const decodeAnswer = Schema.decodeUnknownEither(Answer)

/** Reads the body of an answer; what is wrong with it is said without quoting it, for it may hold data. */
export const answer = (text: string): Either.Either<Answer, string> =>
  Either.flatMap(parseJson(text), (value) =>
    Either.mapBoth(decodeAnswer(value), {
      onLeft: () => "is not an answer of rqlite's",
      onRight: ({ error, results }) => ({ results: results ?? [], error })
    })
  )

const int64 = 2n ** 63n
const isReal = (type: string | undefined): boolean => type !== undefined && /^(real|double|float)/.test(type)

/**
 * Go writes a whole double as an integer. What no 64 bits hold was a double; so was what a REAL column holds, provided that the double
 * says the same.
 */
const wholeNumber = (value: bigint, type: string | undefined): number | bigint => {
  const number = Number(value)
  return value >= int64 || value < -int64 || (isReal(type) && String(number) === String(value)) ? number : value
}

const cell = (value: Cell, type: string | undefined): Value =>
  typeof value === "bigint"
    ? wholeNumber(value, type)
    : typeof value === "object" && value !== null
      ? Uint8Array.from(value)
      : value

const rows = (columns: ReadonlyArray<string>, { types, values }: Result): QueryResult => ({
  columns,
  types,
  values: values.map((row) => row.map((value, i) => cell(value, types[i])))
})

/** The rows of a query. */
export const queryResult = (result: Result): QueryResult => rows(result.columns ?? [], result)

const writes = new Set(["INSERT", "REPLACE", "UPDATE", "DELETE"])
const none: Omit<ExecuteResult, "returned"> = { rowsAffected: 0, lastInsertId: 0 }

/** What a statement of a transaction did, without what rqlite repeats from the statement before it. */
export const executeResult = (result: Result, verb: string): ExecuteResult => {
  if (result.columns !== undefined) {
    const returned = rows(result.columns, result)
    return { ...none, rowsAffected: writes.has(verb) ? returned.values.length : 0, returned: Option.some(returned) }
  }
  const rowsAffected = writes.has(verb) ? Number(result.rows_affected) : 0
  const inserted = rowsAffected > 0 && (verb === "INSERT" || verb === "REPLACE")
  return { rowsAffected, lastInsertId: inserted ? result.last_insert_id : 0, returned: Option.none() }
}

const sorts: ReadonlyArray<readonly [RegExp, RqliteStatementError["reason"]]> = [
  [/constraint failed/, "constraint"],
  [/database or disk is full/, "disk-full"],
  [/string or blob too big/, "too-large"],
  [/attempt to change database via query operation|attempt to write a readonly database/, "read-only"],
  [/database (table |schema )?is locked|cannot start a transaction within a transaction/, "busy"]
]

/** The error of a statement, sorted by SQLite's text. */
export const statementError = (
  detail: string,
  at: { readonly operation: string; readonly node: string; readonly index?: number; readonly sql?: string | undefined }
): RqliteStatementError => {
  const { index, node, operation, sql } = at
  return new RqliteStatementError({
    operation,
    node,
    index,
    sql,
    reason: sorts.find(([pattern]) => pattern.test(detail))?.[1] ?? "sql",
    detail
  })
}

const ServerNode = Schema.Struct({
  api_addr: Schema.optional(Schema.String),
  addr: Schema.optionalWith(Schema.String, { default: () => "" }),
  version: Schema.optionalWith(Schema.String, { default: () => "" }),
  voter: Schema.optionalWith(Schema.Boolean, { default: () => true }),
  reachable: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  leader: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  error: Schema.optional(Schema.String)
})

const ListedNode = Schema.Struct({ ...ServerNode.fields, id: Schema.String })
// Before version 8 the nodes were the fields of an object, by their ids.
const Nodes = Schema.Union(
  Schema.Struct({ nodes: Schema.Array(ListedNode) }),
  Schema.Record({ key: Schema.String, value: ServerNode })
)

const decodeNodes = Schema.decodeUnknownEither(Nodes)

const isList = (nodes: typeof Nodes.Type): nodes is { readonly nodes: ReadonlyArray<typeof ListedNode.Type> } =>
  Array.isArray(nodes.nodes)

const listed = (nodes: typeof Nodes.Type): ReadonlyArray<typeof ListedNode.Type> =>
  isList(nodes) ? nodes.nodes : Object.entries(nodes).map(([id, node]) => ({ ...node, id }))

/** The answer of `/nodes?ver=2`. */
export const nodes = (text: string): Either.Either<ReadonlyArray<NodeStatus>, string> =>
  Either.flatMap(parseJson(text), (value) =>
    Either.mapBoth(decodeNodes(value), {
      onLeft: () => "is no list of nodes",
      onRight: (nodes) =>
        listed(nodes).map((node) => ({
          id: node.id,
          url: Option.filter(Option.fromNullable(node.api_addr), (url) => url !== ""),
          raftAddress: node.addr,
          version: node.version,
          voter: node.voter,
          reachable: node.reachable,
          leader: node.leader,
          error: Option.fromNullable(node.error)
        }))
    })
  )
