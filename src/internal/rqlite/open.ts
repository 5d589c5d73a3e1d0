import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as RqliteClient from "../../RqliteClient.js"
import type { RqliteError } from "../../RqliteError.js"
import type { StoreOptions } from "../../RqliteStore.js"
import type { StoreError } from "../../StoreError.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { delay, flag, oneOf, optional, whole } from "../options/fields.js"
import { sqlFields } from "../options/store.js"

/** The options of the store, whatever its client. */
export const decode = decoder(
  Schema.Struct({
    ...sqlFields,
    level: optional(oneOf("linearizable", "strong", "weak", "none")),
    connectRetries: optional(whole(0)),
    retryDelay: optional(delay),
    groupCommit: optional(flag)
  } satisfies Fields<StoreOptions>),
  refused("open", "RqliteStore")
)

/** What the cluster is: the level that sees every acknowledged write, and whether its SQLite cuts texts in JSON at U+0000. */
export interface Cluster {
  readonly decisive: "linearizable" | "strong"
  readonly cutsAtNull: boolean
}

/** The version of SQLite, which succeeds where the cluster answers and has a leader: that is what it takes to read. */
const sqliteVersion = (client: RqliteClient.RqliteClient): Effect.Effect<string, RqliteError> =>
  Effect.map(client.query([{ sql: "SELECT sqlite_version()" }], { retry: Schedule.recurs(0) }), ([result]) =>
    String(result?.values[0]?.[0])
  )

/**
 * The versions of all nodes that are there, for a cluster that is being upgraded has to be taken for the oldest of them; that of one node
 * where none tells this client of the others.
 */
const versions = (client: RqliteClient.RqliteClient): Effect.Effect<ReadonlyArray<string>, RqliteError> =>
  client.nodes.pipe(
    Effect.map((nodes) => nodes.filter(({ reachable }) => reachable).map(({ version }) => version)),
    Effect.filterOrFail((versions) => versions.length > 0),
    Effect.orElse(() => Effect.map(client.version, (version) => [version]))
  )

/** Waits for nothing: fails where the cluster does not answer now. */
export const connect = (client: RqliteClient.RqliteClient): Effect.Effect<Cluster, RqliteError> =>
  Effect.gen(function* () {
    const sqlite = yield* sqliteVersion(client)
    // Before 8.32.5 the level that is made for it was missing, and taken as a weaker one, or was not kept in full.
    const kept = (yield* versions(client)).every((version) => RqliteClient.isAtLeast(version, [8, 32, 5]))
    return { decisive: kept ? "linearizable" : "strong", cutsAtNull: !RqliteClient.isAtLeast(sqlite, [3, 45, 0]) }
  })

/** Tries to open again while the cluster is not there yet. */
export const persist =
  (schedule: Schedule.Schedule<unknown>) =>
  <A, R>(open: Effect.Effect<A, StoreError, R>): Effect.Effect<A, StoreError, R> =>
    Effect.retry(open, { schedule, while: (error) => error._tag === "StoreUnavailable" })
