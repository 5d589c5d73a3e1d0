/**
 * A store on libSQL. The database is in a file, in memory, on a server, or on a server with a copy in a local file; the options say which.
 * It needs `@libsql/client`, an optional peer. `LibsqlSqlClient` gives the application an `SqlClient` beside the store.
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
 * - `authToken`: the token for the server, which no error and no log shows, or an effect that gives one: it is run at first, and again when
 *   the server refuses the token it gave.
 * - `syncUrl`: the URL of a server. The file at `url` is then a copy, or *replica*, of its database. Writes, and the reads that they depend
 *   on, go to the server.
 * - `syncInterval`: how often the replica is brought up to date, by default every minute; it is so after each write of this store, too.
 * - `readFrom`: with `"replica"`, the default where there is one, `listExecutions`, `readTrace` and `idsWithPrefix` read from it, and may
 *   miss what others wrote since the last sync; with `"primary"` they ask the server.
 * - `durability`: of a file: with `"full"`, the default, an acknowledged commit survives a loss of power; with `"normal"` the last commits
 *   may be lost then. A server decides by itself: where it does not wait for its disk, `"full"` refuses it, also later on, `"normal"`
 *   accepts it, and without either a warning is logged when the store opens.
 * - `busyTimeout`: for how long an operation is tried again while the database is locked, the server is overloaded or starts, or compacts
 *   its log as a replica opens; by default 5 seconds. Then it fails with `StoreUnavailable`. The process is not blocked meanwhile.
 * - `timeout`: how long one request to a server may take, by default 10 seconds.
 * - `concurrency`: how many requests to a server there are at the same time, by default 20.
 * - `groupCommit`: whether writes that wait at the same time share one transaction; by default true. Each still succeeds or fails by
 *   itself, and a single write does not wait for others.
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
 * How old the data of a replica is.
 *
 * - `lastSync`: when the last successful sync began, in seconds since the epoch. What the server had acknowledged by then is in the
 *   replica.
 * - `lag`: how long ago that was.
 * - `frame`: the number of the last frame of the server's log that is in the replica.
 * - `lastError`: why the last sync failed; none where it succeeded.
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
 * The replica of a store: the copy of a server's database in a local file.
 *
 * - `status`: none where the store has no replica.
 * - `sync`: brings it up to date now; without a replica, does nothing. The process is blocked while the copy is written.
 *
 * @since 0.1.0
 * @category models
 */
export interface Replica {
  readonly status: Effect.Effect<Option.Option<ReplicaStatus>>
  readonly sync: Effect.Effect<void, StoreError>
}

/**
 * The service of the replica.
 *
 * @since 0.1.0
 * @category tags
 */
export const Replica: Context.Tag<Replica, Replica> = Context.GenericTag<Replica>("holdfast/LibsqlStore/Replica")

/**
 * A store, its replica, and the client that both use.
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
 * `client` is for the application's own statements. For a file or a memory database it is a client of its own, which waits for locks as the
 * store does; otherwise it is one to the server, also where there is a replica. It is closed with the store.
 *
 * Fails with `StoreRejected` where an option is invalid, the file cannot be opened for writing or is no database, the server does not
 * accept the token or has no such database, or the schema cannot be made; and with `StoreUnavailable` where the database stays locked or
 * the server does not answer.
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
 * A store on libSQL, and its replica.
 *
 * @example
 * ```ts
 * import { Duration, Effect, Layer, Option, Redacted } from "effect"
 * import * as LibsqlStore from "holdfast/LibsqlStore"
 *
 * // In a file, on a server, and on a server with a replica in a file.
 * const File = LibsqlStore.layer({ url: "file:orders.db" })
 * const Server = LibsqlStore.layer({ url: "libsql://orders.example.com", authToken: Redacted.make("token") })
 * const Replicated = LibsqlStore.layer({ url: "file:copy.db", syncUrl: "https://orders.example.com", syncInterval: "10 seconds" })
 *
 * // For how many seconds the replica may lack what others wrote.
 * const lag = Effect.gen(function* () {
 *   const { status } = yield* LibsqlStore.Replica
 *   return Option.map(Option.flatMap(yield* status, ({ lag }) => lag), Duration.toSeconds)
 * }).pipe(Effect.provide(Replicated))
 * ```
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
 * {@link layer}, with options from the configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ExecutionStore.ExecutionStore | Replica, StoreError | ConfigError> =>
  Layer.unwrapEffect(Effect.map(Config.unwrap(config), layer))
