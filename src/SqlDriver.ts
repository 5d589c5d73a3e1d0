/**
 * What a database must offer to carry an execution store: run a list of statements in one transaction, run a query. Everything else, the
 * schema, the plan of a commit and the queries, is the same for SQLite, libSQL and rqlite and lives here.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as ExecutionStore from "./ExecutionStore.js"
import * as schema_ from "./internal/schema/schema.js"
import * as internal from "./internal/sqlStore/store.js"
import type { StoreError, StoreRejected, StoreUnavailable } from "./StoreError.js"

/**
 * What is bound to a statement's placeholders. Integers are below 2^53.
 *
 * @since 0.1.0
 * @category models
 */
export type Param = string | number | null

/**
 * An SQL text, which is constant, and what is bound to its `?` placeholders, in order.
 *
 * @since 0.1.0
 * @category models
 */
export interface Statement {
  readonly sql: string
  readonly params: ReadonlyArray<Param>
}

/**
 * What a statement of a transaction did. `changes` counts the rows that an INSERT, UPDATE or DELETE affected; `lastRowid` is the rowid of
 * the last row inserted, and means something only where `changes` is above 0.
 *
 * @since 0.1.0
 * @category models
 */
export interface StatementResult {
  readonly changes: number
  readonly lastRowid: number
}

/**
 * On whose behalf the driver is called: what its errors must name.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly operation: string
  readonly executionId?: string | undefined
}

/**
 * A database.
 *
 * - `transaction` runs the statements in order, all or nothing, and gives each one's result. Statements are writes only and none
 *   depends on another's result. Where the outcome is not known it fails with `StoreUnavailable` and `outcome: "unknown"`.
 * - `query` gives the rows as arrays of columns. It sees every transaction acknowledged before it began.
 * - `embedded` says that the database runs in this process: no answer is lost on its way, and writes that have no guard of their own need
 *   not leave a mark by which to recognise them.
 * - `exclusive` says that nobody else can write to the database, as to one in memory: see `ExecutionStore.exclusive`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SqlDriver {
  readonly embedded?: boolean | undefined
  readonly exclusive?: boolean | undefined
  readonly transaction: (
    call: Call,
    statements: ReadonlyArray<Statement>
  ) => Effect.Effect<ReadonlyArray<StatementResult>, StoreUnavailable | StoreRejected>
  readonly query: (
    call: Call,
    statement: Statement
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, StoreUnavailable | StoreRejected>
}

/**
 * - `prefix`: what the names of all tables begin with: at most 30 letters, digits and underscores, not beginning with a digit; may be
 *   empty. By default `harel_`.
 * - `traceMax`: how many steps the trace of an execution keeps, by default 200; 0 keeps all.
 * - `createSchema`: whether tables, indexes and triggers that are missing are made when the store opens, by default true. Where an operator
 *   makes them, from the texts of {@link schema}, they must be there.
 * - `resolveTimeout`: for how long the store finds out what became of a write whose answer was lost, by default 30 seconds, before it fails
 *   with `StoreUnavailable` and `outcome: "unknown"`.
 * - `maxIdBytes` and the other limits: see `ExecutionStore.Options`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends ExecutionStore.Options {
  readonly prefix?: string | undefined
  readonly traceMax?: number | undefined
  readonly createSchema?: boolean | undefined
  readonly resolveTimeout?: Duration.DurationInput | undefined
}

/**
 * The statements that make the schema, to be run in order in one transaction. Running them again changes nothing.
 *
 * Fails with `StoreRejected` where the prefix is not one.
 *
 * @since 0.1.0
 * @category schema
 */
export const schema: (prefix: string) => Effect.Effect<ReadonlyArray<string>, StoreRejected> = schema_.texts

/**
 * A store on a database: makes the schema unless told not to, and refuses one of a version that it does not know.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (driver: SqlDriver, options?: Options) => Effect.Effect<ExecutionStore.ExecutionStore, StoreError> =
  internal.make
