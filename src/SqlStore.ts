/**
 * A store on the SQLite database of an application that uses it through an `SqlClient` of @effect/sql already.
 *
 * A commit inside the application's own `sql.withTransaction` is a part of that transaction: the application's rows and what the commit
 * writes are stored together or not at all. Outside it the store takes transactions of its own.
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
 * - `busyTimeout`: for how long a database that another connection has locked is tried again, by default 5 seconds, before the operation
 *   fails with `StoreUnavailable`. SQLite's own busy timeout is the client's affair: while it lasts the whole process waits.
 * - `groupCommit`: whether writes that wait at the same time share one transaction, and so one sync of the disk; by default true. Each
 *   still succeeds or fails by itself, and a lone one waits for nobody.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends SqlDriver.Options {
  readonly busyTimeout?: Duration.DurationInput | undefined
  readonly groupCommit?: boolean | undefined
}

/**
 * A store on the `SqlClient` in context, which must be one of SQLite with a connection of its own that can be reserved: that of
 * @effect/sql-sqlite-node, for example, and not that of @effect/sql-libsql. Names that the client transforms are not transformed here.
 *
 * - Inside `sql.withTransaction` of this client every operation takes part in that transaction. Where one fails, nothing of it is left and
 *   the transaction goes on. A locked database is not waited for there: the transaction must be run again as a whole.
 * - Fibers of one transaction may use the store at once: the store's operations take turns. Transactions within it must not run at once, since
 *   the client gives savepoints of one depth one name: rolling one back takes the work of the other with it.
 * - A fiber that was forked inside the transaction must not outlive it: what it writes later fails with `StoreUnavailable`.
 * - Where the transaction's COMMIT fails, nobody sees what it wrote. While the connection cannot be brought out of it, every operation fails with
 *   `StoreUnavailable`.
 * - A caller that holds the connection by `sql.reserve` must give it back first: the store waits for it.
 *
 * Fails with `StoreRejected` for another client, inside a transaction, where an option is wrong or the schema cannot be made, and with
 * `StoreUnavailable` where the database stays locked.
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
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<ExecutionStore.ExecutionStore, StoreError, SqlClient.SqlClient> =>
  Layer.scoped(ExecutionStore.ExecutionStore, make(options))

/**
 * {@link layer}, its options read from the configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ExecutionStore.ExecutionStore, StoreError | ConfigError, SqlClient.SqlClient> =>
  Layer.scoped(ExecutionStore.ExecutionStore, Effect.flatMap(Config.unwrap(config), make))
