/**
 * A client of rqlite's HTTP API: transactions and queries on a cluster of SQLite databases.
 *
 * It takes the `HttpClient` of the context; `NodeHttpClient.layerUndici` keeps connections open and is the fastest on Node. That client
 * must not retry by itself, because a write that was sent may have been applied, and must not follow redirects. The `fetch` one is told not
 * to, with the `FetchHttpClient.RequestInit` that is in the context where this client is made. For a certificate authority of your own, set
 * `NODE_EXTRA_CA_CERTS`, or give undici a dispatcher.
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as Schedule from "effect/Schedule"
import * as internal from "./internal/rqliteClient/client.js"
import * as config_ from "./internal/rqliteClient/config.js"
import type { RqliteError, RqliteRejected, RqliteStatementError } from "./RqliteError.js"

/**
 * A value that is bound to a placeholder. A safe integer is bound as an integer, any other number as a double; a `bigint` must fit 64 bits;
 * a boolean is bound as 1 or 0. A string stays text, also one that looks like a blob literal (`x'4142'`), which rqlite by itself would turn
 * into a blob.
 *
 * @since 0.1.0
 * @category models
 */
export type Param = string | number | bigint | boolean | null | Uint8Array

/**
 * One SQL statement, and as many values as it has `?` or `?1`, `?2` placeholders. It may not begin or end a transaction.
 *
 * @since 0.1.0
 * @category models
 */
export interface Statement {
  readonly sql: string
  readonly params?: ReadonlyArray<Param> | undefined
}

/**
 * A value of a row.
 *
 * - Integers that a double cannot hold come as `bigint`. So does a whole double beyond 2^53, unless its column has a type such as `REAL`,
 *   because rqlite writes it as an integer.
 * - Blobs come as bytes where the column is declared as `BLOB` or with an unknown type. Elsewhere they come as text, which is altered where
 *   they are not UTF-8: read such with `hex()`.
 * - rqlite itself turns the values of columns declared as `BOOLEAN` into booleans, and of `DATE`, `DATETIME` and `TIMESTAMP` into RFC 3339
 *   text.
 *
 * @since 0.1.0
 * @category models
 */
export type Value = string | number | bigint | boolean | null | Uint8Array

/**
 * The rows of a statement. `types` are the declared types of the columns in lower case; for an expression the type of its value in the
 * first row, or empty.
 *
 * @since 0.1.0
 * @category models
 */
export interface QueryResult {
  readonly columns: ReadonlyArray<string>
  readonly types: ReadonlyArray<string>
  readonly values: ReadonlyArray<ReadonlyArray<Value>>
}

/**
 * What a statement of a transaction did.
 *
 * - `rowsAffected`: how many rows an `INSERT`, `UPDATE` or `DELETE` affected; 0 for every other statement.
 * - `lastInsertId`: the rowid of the last row that an `INSERT` inserted, where it affected any. It means nothing where an upsert updated
 *   the row that was there, and on a `WITHOUT ROWID` table: then it is that of some earlier insert, perhaps of another client.
 * - `returned`: the rows of a `RETURNING` clause. rqlite up to 9.4.1 commits a transaction whose statement with such a clause failed.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecuteResult {
  readonly rowsAffected: number
  readonly lastInsertId: number | bigint
  readonly returned: Option.Option<QueryResult>
}

/**
 * The consistency of a read, and what it costs.
 *
 * - `"none"`: the data of the node that is asked, which may be old by any time.
 * - `"weak"`: the data of the leader. A leader that is just being replaced may answer with old data.
 * - `"linearizable"`: sees every write that was acknowledged before, because the leader asks a majority first. A server older than 8.32.5
 *   takes it as something weaker: see {@link isAtLeast}.
 * - `"strong"`: like linearizable, and each request is an entry in the Raft log.
 * - `"auto"`: `"none"` on a read-only node, `"weak"` on any other.
 *
 * @since 0.1.0
 * @category models
 */
export type Level = "none" | "weak" | "linearizable" | "strong" | "auto"

/**
 * Options of one call, in place of the client's own.
 *
 * - `timeout`: how long one request to one node may take.
 * - `retry`: when a call is tried again that no node could answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecuteOptions {
  readonly timeout?: Duration.DurationInput | undefined
  readonly retry?: Schedule.Schedule<unknown, RqliteError> | undefined
}

/**
 * - `level`: the consistency, by default `"linearizable"`.
 * - `freshness`: at level `"none"`, how long ago the node must have heard of the leader at most. A node that has not fails with
 *   `RqliteUnavailable`, `reason: "stale"`, and the next one is asked.
 * - `transaction`: whether all statements see one state of the database, by default false.
 * - `timeout`, `retry`: see {@link ExecuteOptions}.
 *
 * @since 0.1.0
 * @category models
 */
export interface QueryOptions extends ExecuteOptions {
  readonly level?: Level | undefined
  readonly freshness?: Duration.DurationInput | undefined
  readonly transaction?: boolean | undefined
}

/**
 * A node as the cluster sees it. `url` is the API address that it advertises, `raftAddress` the one that the nodes use among themselves;
 * `error` says why it cannot be reached.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeStatus {
  readonly id: string
  readonly url: Option.Option<string>
  readonly raftAddress: string
  readonly version: string
  readonly voter: boolean
  readonly reachable: boolean
  readonly leader: boolean
  readonly error: Option.Option<string>
}

/**
 * The client.
 *
 * - `execute` runs statements in order as one transaction, all or nothing, which is one entry in the Raft log. It is sent to the leader
 *   only. It goes on with another node, and later tries again, as long as every failure proves that nothing was applied; where that is not
 *   known it fails at once with `outcome: "unknown"`. An interrupted call may have been applied, too.
 * - `query` runs statements that only read, and fails with the error of the first that fails. After any failure of a node it goes on with
 *   another, and later tries again.
 * - `queryEach` is `query` for statements that have nothing to do with each other: each gives its own rows or its own error. Where one
 *   makes the whole request fail, each is sent by itself.
 * - `ready` succeeds where a node says that it is ready and knows a leader. It needs the permission `ready`.
 * - `version` is the version that a node reports. It needs no permission.
 * - `nodes` is the cluster as one node sees it. It needs the permission `status`.
 *
 * `ready`, `version` and `nodes` ask each node once and do not try again.
 *
 * @since 0.1.0
 * @category models
 */
export interface RqliteClient {
  readonly execute: (
    statements: ReadonlyArray<Statement>,
    options?: ExecuteOptions
  ) => Effect.Effect<ReadonlyArray<ExecuteResult>, RqliteError>
  readonly query: (
    statements: ReadonlyArray<Statement>,
    options?: QueryOptions
  ) => Effect.Effect<ReadonlyArray<QueryResult>, RqliteError>
  readonly queryEach: (
    statements: ReadonlyArray<Statement>,
    options?: QueryOptions
  ) => Effect.Effect<ReadonlyArray<Either.Either<QueryResult, RqliteStatementError>>, RqliteError>
  readonly ready: Effect.Effect<void, RqliteError>
  readonly version: Effect.Effect<string, RqliteError>
  readonly nodes: Effect.Effect<ReadonlyArray<NodeStatus>, RqliteError>
}

/**
 * The service of the client.
 *
 * @since 0.1.0
 * @category tags
 */
export const RqliteClient: Context.Tag<RqliteClient, RqliteClient> =
  Context.GenericTag<RqliteClient>("holdfast/RqliteClient")

/**
 * - `urls`: the nodes, such as `https://10.0.0.1:4001`, at least one. A URL may hold a user name and a password, which no error and no log
 *   shows, and a base path behind a proxy. The leader is found from any of them; a leader that is not listed is used at the address that it
 *   advertises.
 * - `username`, `password`: for the URLs that hold none. No error and no log shows the password.
 * - `timeout`: how long one request to one node may take, by default 10 seconds.
 * - `retry`: when a call is tried again that no node could answer, by default after 50 milliseconds, then twice as long each time up to a
 *   second, with jitter, for 10 seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly urls: ReadonlyArray<string | Redacted.Redacted>
  readonly username?: string | undefined
  readonly password?: string | Redacted.Redacted | undefined
  readonly timeout?: Duration.DurationInput | undefined
  readonly retry?: Schedule.Schedule<unknown, RqliteError> | undefined
}

/**
 * Makes a client. It sends nothing yet.
 *
 * Fails with `RqliteRejected` (`reason: "invalid-input"`) where an option is invalid.
 *
 * @example
 * ```ts
 * import { NodeHttpClient } from "@effect/platform-node"
 * import { Effect } from "effect"
 * import * as RqliteClient from "holdfast/RqliteClient"
 *
 * const names = Effect.gen(function* () {
 *   const rqlite = yield* RqliteClient.make({ urls: ["http://10.0.0.1:4001", "http://10.0.0.2:4001"] })
 *   yield* rqlite.execute([{ sql: "INSERT INTO customers (id, name) VALUES (?, ?)", params: ["c1", "Ada"] }])
 *   const [customers] = yield* rqlite.query([{ sql: "SELECT name FROM customers" }])
 *   return customers?.values
 * }).pipe(Effect.provide(NodeHttpClient.layerUndici))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (options: Options) => Effect.Effect<RqliteClient, RqliteRejected, HttpClient.HttpClient> =
  internal.make

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<RqliteClient, RqliteRejected, HttpClient.HttpClient> =>
  Layer.effect(RqliteClient, make(options))

/**
 * The options from the environment:
 *
 * - `RQLITE_URL`: the URLs of the nodes, separated by commas (a comma in a password is written as `%2C`).
 * - `RQLITE_USERNAME`, `RQLITE_PASSWORD`: optional.
 * - `RQLITE_TIMEOUT`: a duration such as `5 seconds`, optional.
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
): Layer.Layer<RqliteClient, RqliteRejected | ConfigError.ConfigError, HttpClient.HttpClient> =>
  Layer.effect(RqliteClient, Effect.flatMap(Config.unwrap(options), make))

/**
 * Whether a version that a node reports, such as `v8.36.3`, is that of a release and at least the given one. A version of anything else,
 * such as a commit, is not.
 *
 * @since 0.1.0
 * @category versions
 */
export const isAtLeast: (version: string, least: readonly [major: number, minor: number, patch: number]) => boolean =
  internal.isAtLeast
