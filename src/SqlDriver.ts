/**
 * What a database must do to hold an execution store: run a list of statements in one transaction, and run a query. The rest (schema, plan
 * of a commit, queries) is the same for SQLite, libSQL and rqlite.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type * as ExecutionStore from "./ExecutionStore.js"
import * as schema_ from "./internal/schema/schema.js"
import * as internal from "./internal/sqlStore/store.js"
import type { StoreError, StoreRejected, StoreUnavailable } from "./StoreError.js"

/**
 * A value that is bound to a placeholder. Integers are below 2^53.
 *
 * @since 0.1.0
 * @category models
 */
export type Param = string | number | null

/**
 * An SQL text, which is constant, and the values for its `?` placeholders, in order.
 *
 * @since 0.1.0
 * @category models
 */
export interface Statement {
  readonly sql: string
  readonly params: ReadonlyArray<Param>
}

/**
 * What a statement of a transaction did. `changes` counts the rows that an INSERT, UPDATE or DELETE affected. `lastRowid` is the rowid of
 * the last row inserted; it means nothing where `changes` is 0.
 *
 * @since 0.1.0
 * @category models
 */
export interface StatementResult {
  readonly changes: number
  readonly lastRowid: number
}

/**
 * The operation of the store that calls the driver, and the execution that it is about: what an error of the driver must name.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly operation: string
  readonly executionId?: string | undefined
}

/**
 * A transaction of one of several callers, and on whose behalf it runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Transaction {
  readonly call: Call
  readonly statements: ReadonlyArray<Statement>
}

/**
 * A database.
 *
 * - `transaction` runs the statements in order, all or nothing, and gives the result of each. Statements only write, and none depends on
 *   the result of another. Where the outcome is not known it fails with `StoreUnavailable` and `outcome: "unknown"`.
 * - `transactions` runs several, each of which is applied or fails by itself, as by `transaction`, and gives what became of each. A driver
 *   that lets transactions share one does so here for all of them at once. Without it each is run by `transaction`.
 * - `query` gives the rows as arrays of columns. It sees every transaction that was acknowledged before it began.
 * - `embedded`: whether the database runs in this process, by default false. Then no answer can be lost, and the store leaves out the marks
 *   by which it recognises its writes after a lost answer.
 * - `otherWrites` tells a listener, until the scope closes, soon after somebody else has written to the database: see
 *   `ExecutionStore.listenToOthers`.
 * - `snapshot` gives a `query` that sees the database as it is at one moment, until the scope closes. Without it an export reads everything
 *   twice, to know that nobody has written meanwhile.
 * - `readsAnyText`: whether `query` reads a text that is no UTF-8, whatever it gives for it, by default false: then an export reads all texts
 *   as bytes, and an import refuses such a text.
 * - `exclusive`: whether nobody else can write to the database, as to one in memory: see `ExecutionStore.exclusive`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SqlDriver {
  readonly embedded?: boolean | undefined
  readonly exclusive?: boolean | undefined
  readonly readsAnyText?: boolean | undefined
  readonly otherWrites?: ((listener: () => void) => Effect.Effect<void, never, Scope.Scope>) | undefined
  readonly transaction: (
    call: Call,
    statements: ReadonlyArray<Statement>
  ) => Effect.Effect<ReadonlyArray<StatementResult>, StoreUnavailable | StoreRejected>
  readonly transactions?:
    | ((
        transactions: ReadonlyArray<Transaction>
      ) => Effect.Effect<ReadonlyArray<Exit.Exit<ReadonlyArray<StatementResult>, StoreUnavailable | StoreRejected>>>)
    | undefined
  readonly query: (
    call: Call,
    statement: Statement
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, StoreUnavailable | StoreRejected>
  readonly snapshot?: Effect.Effect<SqlDriver["query"], StoreUnavailable | StoreRejected, Scope.Scope> | undefined
}

/**
 * - `prefix`: what the names of all tables begin with: at most 30 letters, digits and underscores, not beginning with a digit; may be
 *   empty. By default `harel_`.
 * - `traceMax`: how many steps the trace of an execution keeps, by default 200; 0 keeps all.
 * - `createSchema`: whether missing tables, indexes and triggers are made when the store opens, by default true. With false they must
 *   exist: an operator makes them from the texts of {@link schema}.
 * - `resolveTimeout`: for how long the store tries to find out what became of a write whose answer was lost, by default 30 seconds. Then it
 *   fails with `StoreUnavailable` and `outcome: "unknown"`.
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
 * Fails with `StoreRejected` where the prefix is invalid.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { SqlDriver } from "holdfast"
 *
 * // For a migration that an operator runs.
 * const program = Effect.gen(function* () {
 *   const statements = yield* SqlDriver.schema("harel_")
 *   return statements.map((statement) => `${statement};`).join("\n")
 * })
 * ```
 *
 * @since 0.1.0
 * @category schema
 */
export const schema: (prefix: string) => Effect.Effect<ReadonlyArray<string>, StoreRejected> = schema_.texts

/**
 * A store on a database. It makes the schema unless `createSchema` is false, and refuses a schema of a version that it does not know.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (driver: SqlDriver, options?: Options) => Effect.Effect<ExecutionStore.ExecutionStore, StoreError> =
  internal.make
