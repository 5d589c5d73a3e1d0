/**
 * A store on a cluster of rqlite nodes: SQLite that survives the loss of machines. A commit is one request and one entry in the Raft log.
 * It is acknowledged when a majority of the nodes has it.
 *
 * The layers take the `HttpClient` of the context, see `RqliteClient`. On Node, give them `NodeHttpClient.layerUndici` of
 * `@effect/platform-node`.
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as ExecutionStore from "./ExecutionStore.js"
import * as config_ from "./internal/rqlite/config.js"
import * as driver from "./internal/rqlite/driver.js"
import * as open from "./internal/rqlite/open.js"
import { toStoreError } from "./internal/rqlite/storeError.js"
import * as RqliteClient from "./RqliteClient.js"
import * as SqlDriver from "./SqlDriver.js"
import type { StoreError } from "./StoreError.js"

/**
 * The options of the store, without those of its client. `prefix` is empty by default, as in harel's reference documents. Give `"harel_"`
 * for a database that harel 0.9 uses.
 *
 * - `level`: the consistency of reads, by default `"linearizable"`. A read at `"weak"` may miss the latest commits while the leader
 *   changes, one at `"none"` at any time. Commits are as safe with them, but meet more conflicts. Reads that a write depends on are always
 *   at `"linearizable"`, or at `"strong"` on servers older than 8.32.5.
 * - `connectRetries`, `retryDelay`: how often, and after what delay, opening is tried again while the cluster does not answer or has no
 *   leader; by default 30 times, a second after each other. A wrong password fails at once.
 * - `groupCommit`: whether writes that wait at the same time share one request and one entry in the Raft log; by default true. Each still
 *   succeeds or fails by itself, and a single write does not wait for others.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoreOptions extends SqlDriver.Options {
  readonly level?: "linearizable" | "strong" | "weak" | "none" | undefined
  readonly connectRetries?: number | undefined
  readonly retryDelay?: Duration.DurationInput | undefined
  readonly groupCommit?: boolean | undefined
}

/**
 * The options of the store and of its client.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends StoreOptions, RqliteClient.Options {}

/**
 * A store on the client in context. It waits for a cluster that does not answer yet: see `connectRetries`.
 *
 * Fails with `StoreRejected` where the credentials are wrong, a certificate is not trusted, an option is invalid or the schema cannot be
 * made, and with `StoreUnavailable` where the cluster does not answer or has no leader in all that time.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: StoreOptions = {}
): Effect.Effect<ExecutionStore.ExecutionStore, StoreError, RqliteClient.RqliteClient | Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* RqliteClient.RqliteClient
    const decoded = yield* open.decode(options)
    const {
      connectRetries = 30,
      groupCommit = true,
      level = "linearizable",
      prefix = "",
      retryDelay = "1 second"
    } = decoded
    const schedule = Schedule.intersect(Schedule.spaced(retryDelay), Schedule.recurs(connectRetries))
    const { cutsAtNull, decisive } = yield* open.connect(client).pipe(
      Effect.mapError((error) => toStoreError({ operation: "open" }, error)),
      open.persist(schedule)
    )
    const reads = level === "linearizable" ? decisive : level
    const cluster = yield* driver.make(client, { level: reads, decisive, cutsAtNull, groupCommit })
    return yield* open.persist(schedule)(SqlDriver.make(cluster, { ...decoded, prefix }))
  })

const clientLayer = (options: RqliteClient.Options) =>
  Layer.mapError(RqliteClient.layer(options), (error) => toStoreError({ operation: "open" }, error))

/**
 * A store on the client in context, as a layer; see {@link make}.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerFromClient = (
  options?: StoreOptions
): Layer.Layer<ExecutionStore.ExecutionStore, StoreError, RqliteClient.RqliteClient> =>
  Layer.scoped(ExecutionStore.ExecutionStore, make(options))

/**
 * A store, and the client that it uses, for the application's own tables.
 *
 * @example
 * ```ts
 * import { NodeHttpClient } from "@effect/platform-node"
 * import { Layer } from "effect"
 * import * as RqliteStore from "holdfast/RqliteStore"
 *
 * const Store = RqliteStore.layer({ urls: ["http://10.0.0.1:4001", "http://10.0.0.2:4001"] }).pipe(
 *   Layer.provide(NodeHttpClient.layerUndici)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<ExecutionStore.ExecutionStore | RqliteClient.RqliteClient, StoreError, HttpClient.HttpClient> =>
  Layer.provideMerge(layerFromClient(options), clientLayer(options))

/**
 * The options from the environment: those of `RqliteClient.config`, and these, which are optional:
 *
 * - `RQLITE_LEVEL`: `linearizable`, `strong`, `weak` or `none`.
 * - `RQLITE_TABLE_PREFIX`: what the names of the tables begin with.
 * - `RQLITE_CONNECT_RETRIES`: a number.
 * - `RQLITE_RETRY_DELAY`: a duration such as `1 second`.
 *
 * @since 0.1.0
 * @category config
 */
export const config: Config.Config<Options> = config_.options

/**
 * {@link layer}, with options from the configuration, by default from {@link config}.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  options: Config.Config.Wrap<Options> = config
): Layer.Layer<
  ExecutionStore.ExecutionStore | RqliteClient.RqliteClient,
  StoreError | ConfigError,
  HttpClient.HttpClient
> => Layer.unwrapEffect(Effect.map(Config.unwrap(options), layer))
