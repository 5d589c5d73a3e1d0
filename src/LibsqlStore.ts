/**
 * A store on libSQL: where the database lives, in a file, in memory, on a server, or on a server with a copy in a local file, is a matter
 * of configuration. Needs @libsql/client, an optional peer. `LibsqlSqlClient` gives the application an `SqlClient` beside the store.
 *
 * @since 0.1.0
 */
import type { Client } from "@libsql/client"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as ExecutionStore from "./ExecutionStore.js"
import * as internal from "./internal/libsql/open.js"
import * as SqlDriver from "./SqlDriver.js"
import { type StoreError, StoreRejected } from "./StoreError.js"

/**
 * - `url`: where the database is: `file:` and a path, `:memory:`, or the `libsql:`, `https:` or `http:` URL of a server.
 * - `authToken`: the token for the server, which no error and no log shows, or what gives one: it is run at first, and again when the server
 *   refuses the token it gave.
 * - `syncUrl`: the URL of a server of whose database `url`, a file, is a copy. Writes, and the reads that decide them, go to the server.
 * - `syncInterval`: how often the copy is brought up to date, by default every minute; it also is after each write of this store.
 * - `readFrom`: with `"replica"`, the default where there is a copy, `listExecutions`, `readTrace` and `idsWithPrefix` read from it, and may
 *   miss what others wrote since the last sync; with `"primary"` they ask the server too.
 * - `durability`: of a file: with `"full"`, the default, a commit that was acknowledged survives a loss of power; with `"normal"` the last
 *   ones may be lost then. A server decides by itself: where it does not wait for its disk, `"full"` refuses it, also later on, `"normal"`
 *   accepts it, and without either a warning is logged when the store opens.
 * - `busyTimeout`: for how long a database that is locked, or a server that is overloaded, starts again or, when a replica opens, compacts
 *   its log, is tried again, by default 5 seconds, before the operation fails with `StoreUnavailable`. The process goes on meanwhile.
 * - `timeout`: how long one request to a server may take, by default 10 seconds.
 * - `concurrency`: how many requests to a server there are at the same time, by default 20.
 * - `groupCommit`: whether writes that wait at the same time share one transaction; by default true. Each still succeeds or fails by
 *   itself, and a lone one waits for nobody.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends SqlDriver.Options {
  readonly url: string
  readonly authToken?: string | Redacted.Redacted | Effect.Effect<string | Redacted.Redacted, unknown> | undefined
  readonly syncUrl?: string | undefined
  readonly syncInterval?: Duration.DurationInput | undefined
  readonly readFrom?: "primary" | "replica" | undefined
  readonly durability?: "full" | "normal" | undefined
  readonly busyTimeout?: Duration.DurationInput | undefined
  readonly timeout?: Duration.DurationInput | undefined
  readonly concurrency?: number | undefined
  readonly groupCommit?: boolean | undefined
}

/**
 * How old a replica is.
 *
 * - `lastSync`: when the last sync that succeeded began, in seconds since the epoch. What the server had acknowledged by then is in the
 *   replica.
 * - `lag`: how long ago that was.
 * - `frame`: the number of the last frame of the server's log that is in the replica.
 * - `lastError`: why the last sync failed, if it did.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReplicaStatus {
  readonly lastSync: Option.Option<number>
  readonly lag: Option.Option<Duration.Duration>
  readonly frame: Option.Option<number>
  readonly lastError: Option.Option<StoreError>
}

/**
 * The copy of a server's database in a local file.
 *
 * - `status`: none where the store has no such copy.
 * - `sync`: brings it up to date now; does nothing where there is none. The process stands still while the copy is written.
 *
 * @since 0.1.0
 * @category models
 */
export interface Replica {
  readonly status: Effect.Effect<Option.Option<ReplicaStatus>>
  readonly sync: Effect.Effect<void, StoreError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export const Replica: Context.Tag<Replica, Replica> = Context.GenericTag<Replica>("holdfast/LibsqlStore/Replica")

/**
 * A store, the state of its replica, and the client it is on.
 *
 * @since 0.1.0
 * @category models
 */
export interface LibsqlStore {
  readonly store: ExecutionStore.ExecutionStore
  readonly replica: Replica
  readonly client: Client
}

// What is wrong with a database is told with where it is.
const named =
  (path: string) =>
  (error: StoreError): StoreError => {
    if (error._tag !== "StoreRejected" || error.path !== undefined) return error
    const { cause, detail, operation, reason } = error
    return new StoreRejected({ operation, reason, path, detail, cause })
  }

/**
 * A store on libSQL, closed with the scope.
 *
 * `client` is for the application's own statements. It is a file's or a memory database's own, where a lock is waited for as the store
 * does; or it is one to the server, also where there is a replica. It is closed with the store.
 *
 * Fails with `StoreRejected` where an option is wrong, the file cannot be opened for writing or is no database, the server does not accept
 * the token or has no such database, or the schema cannot be made; and with `StoreUnavailable` where the database stays locked or the server
 * does not answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<LibsqlStore, StoreError, Scope.Scope> =>
  Effect.gen(function* () {
    const { client, driver, options: decoded, place, replica } = yield* internal.open(options)
    return { store: yield* Effect.mapError(SqlDriver.make(driver, decoded), named(place)), replica, client }
  })

/**
 * A store on libSQL, and the state of its replica.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<ExecutionStore.ExecutionStore | Replica, StoreError> =>
  Layer.scopedContext(
    Effect.map(make(options), ({ replica, store }) =>
      Context.make(ExecutionStore.ExecutionStore, store).pipe(Context.add(Replica, replica))
    )
  )

/**
 * {@link layer}, its options read from the configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ExecutionStore.ExecutionStore | Replica, StoreError | ConfigError> =>
  Layer.unwrapEffect(Effect.map(Config.unwrap(config), layer))
