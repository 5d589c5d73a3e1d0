/**
 * A store on the SQLite database of an application that uses it through an `SqlClient` of `@effect/sql` already.
 *
 * A commit inside the application's own `sql.withTransaction` is part of that transaction: the application's rows and those of the commit
 * are stored together or not at all. Outside of one the store runs transactions of its own.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as ExecutionStore from "./ExecutionStore.js"
import { decoder, type Fields, refused } from "./internal/options/decode.js"
import { flag, optional, patience } from "./internal/options/fields.js"
import { sqlFields } from "./internal/options/store.js"
import { outsideTransaction } from "./internal/sqlClient/client.js"
import * as driver from "./internal/sqlClient/driver.js"
import * as SqlDriver from "./SqlDriver.js"
import type { StoreError } from "./StoreError.js"

/**
 * - `busyTimeout`: for how long an operation is tried again while another connection has locked the database, by default 5 seconds. Then it
 *   fails with `StoreUnavailable`. SQLite's own busy timeout is an option of the client: while that lasts the whole process is blocked.
 * - `groupCommit`: whether writes that wait at the same time share one transaction, and so one sync of the disk; by default true. Each
 *   still succeeds or fails by itself, and a single write does not wait for others.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends SqlDriver.Options {
  readonly busyTimeout?: Duration.DurationInput | undefined
  readonly groupCommit?: boolean | undefined
}

/**
 * A store on the `SqlClient` in context. It must be one of SQLite with a connection that can be reserved, such as that of
 * `@effect/sql-sqlite-node`; that of `@effect/sql-libsql` is not. Names that the client transforms are not transformed here.
 *
 * - Inside `sql.withTransaction` of this client every operation takes part in that transaction. One that fails leaves nothing in it, and
 *   the transaction goes on. A locked database is not waited for there: run the transaction again as a whole.
 * - Fibers of one transaction may use the store at the same time: its operations run one after another. Nested transactions must not run at
 *   the same time, because the client gives savepoints of one depth one name: rolling back one would take the work of the other with it.
 * - A fiber that was forked inside the transaction must not outlive it: what it writes later fails with `StoreUnavailable`.
 * - Where the COMMIT of the transaction fails, nothing of it is visible. While the connection is stuck in it, every operation fails with
 *   `StoreUnavailable`.
 * - A caller that holds the connection by `sql.reserve` must give it back first: the store waits for it.
 *
 * Fails with `StoreRejected` for another client, inside a transaction, and where an option is invalid or the schema cannot be made; and
 * with `StoreUnavailable` where the database stays locked.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options = {}
): Effect.Effect<ExecutionStore.ExecutionStore, StoreError, SqlClient.SqlClient | Scope.Scope> =>
  Effect.gen(function* () {
    const decoded = yield* decode(options)
    const { busyTimeout = Duration.seconds(5), groupCommit = true } = decoded
    yield* outsideTransaction
    const client = yield* SqlClient.SqlClient
    return yield* SqlDriver.make(yield* driver.make({ client, busyTimeout, groupCommit }), decoded)
  })

const decode = decoder(
  Schema.Struct({
    ...sqlFields,
    busyTimeout: optional(patience),
    groupCommit: optional(flag)
  } satisfies Fields<Options>),
  refused("open", "SqlStore")
)

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { SqlClient } from "@effect/sql"
 * import { SqliteClient } from "@effect/sql-sqlite-node"
 * import { Effect, Layer } from "effect"
 * import { Execution, ExecutionStore } from "holdfast"
 * import * as SqlStore from "holdfast/SqlStore"
 *
 * const Live = SqlStore.layer().pipe(Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" })))
 *
 * // The customer and the execution are stored together or not at all.
 * const program = Effect.gen(function* () {
 *   const sql = yield* SqlClient.SqlClient
 *   const store = yield* ExecutionStore.ExecutionStore
 *   yield* sql`CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT NOT NULL)`
 *   yield* sql.withTransaction(
 *     Effect.zipRight(
 *       sql`INSERT INTO customers ${sql.insert({ id: "c1", name: "Ada" })}`,
 *       store.save(Execution.make({ id: "welcome-c1", definitionId: "welcome" }))
 *     )
 *   )
 * }).pipe(Effect.provide(Live))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<ExecutionStore.ExecutionStore, StoreError, SqlClient.SqlClient> =>
  Layer.scoped(ExecutionStore.ExecutionStore, make(options))

/**
 * {@link layer}, with options from the configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ExecutionStore.ExecutionStore, StoreError | ConfigError, SqlClient.SqlClient> =>
  Layer.scoped(ExecutionStore.ExecutionStore, Effect.flatMap(Config.unwrap(config), make))
