import * as HttpClient from "@effect/platform/HttpClient"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as LibsqlSqlClient from "holdfast/LibsqlSqlClient"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as RqliteClient from "holdfast/RqliteClient"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqlDriver from "holdfast/SqlDriver"
import * as SqliteStore from "holdfast/SqliteStore"
import * as SqlStore from "holdfast/SqlStore"
import { madeUp } from "../support/rqlite/client.js"
import * as InProcessNode from "../support/rqlite/inProcessNode.js"
import * as Client from "../support/sqlClient.js"
import { describeLayer, type Kind, mark } from "../support/wrongOptions.js"

type Kinds = ReadonlyArray<Kind>

const flag: Kinds = ["boolean"]
const count: Kinds = ["number"]
const time: Kinds = ["number", "fraction", "bigint"]
const patience: Kinds = [...time, "infinity"]
const text: Kinds = ["string", "duration"]
const secret: Kinds = [...text, "secret"]
const none: Kinds = []
const anything: Kinds = ["object", "empty", "bare"]

const storeOptions = {
  maxIdBytes: count,
  maxEventBytes: count,
  maxContextBytes: count,
  maxResultBytes: count,
  maxCommitBytes: count,
  maxCommitItems: count,
  traceMax: count,
  executionCache: anything
}

const sqlOptions = { ...storeOptions, prefix: none, createSchema: flag, resolveTimeout: time }

const wrongPrefixes = ["k33p-me", `${mark}; DROP TABLE t`, `_${mark.repeat(10)}`]

describeLayer<MemoryStore.Options>({
  name: "MemoryStore",
  right: { traceMax: 0, maxIdBytes: 1 },
  takes: storeOptions,
  refuses: { maxIdBytes: [0, -3373] },
  build: (options) => Layer.build(MemoryStore.layerWith(options))
})

describeLayer<SqliteStore.Options>({
  name: "SqliteStore",
  right: { filename: ":memory:", busyTimeout: 0, durability: "normal", prefix: "" },
  takes: {
    ...sqlOptions,
    filename: ["duration"],
    durability: none,
    busyTimeout: patience,
    groupCommit: flag,
    driver: none
  },
  refuses: { filename: ["", `file:${mark}`, `${mark}\0`, `${mark}\ud800`], prefix: wrongPrefixes },
  build: (options) => Layer.build(SqliteStore.layer(options))
})

describeLayer<SqlStore.Options>({
  name: "SqlStore",
  right: { busyTimeout: "1 second", groupCommit: false },
  takes: { ...sqlOptions, busyTimeout: patience, groupCommit: flag },
  refuses: { prefix: wrongPrefixes },
  build: (options) =>
    Effect.flatMap(Client.make(), (client) =>
      Effect.provideService(Layer.build(SqlStore.layer(options)), SqlClient.SqlClient, client)
    )
})

describeLayer<SqlDriver.Options>({
  name: "SqlDriver",
  right: { resolveTimeout: 0 },
  takes: sqlOptions,
  refuses: { prefix: wrongPrefixes },
  build: (options) =>
    Effect.flatMap(sqliteDriver.make({ filename: ":memory:" }), (driver) => SqlDriver.make(driver, options))
})

const libsqlOptions = {
  ...sqlOptions,
  url: none,
  authToken: [...secret, "effect"],
  syncUrl: none,
  syncInterval: time,
  readFrom: none,
  durability: none,
  busyTimeout: time,
  timeout: time,
  concurrency: none,
  groupCommit: flag
} satisfies { readonly [K in keyof LibsqlStore.Options]-?: Kinds }

const wrongUrls = [
  "",
  `https://${mark}@db.example.com`,
  `https://db.example.com?token=${mark}`,
  `wss://${mark}.example.com`,
  `file:///%${mark}`,
  `file:${mark}?mode=ro`,
  `file:${mark} `,
  `${mark}:${mark}`
]

for (const [build, what] of [
  [LibsqlStore.layer, "LibsqlStore.layer"],
  [LibsqlSqlClient.layer, "LibsqlSqlClient.layer"]
] as const) {
  describeLayer<LibsqlStore.Options>({
    name: "LibsqlStore",
    what,
    right: { url: ":memory:", authToken: "a-token", concurrency: 1000 },
    takes: libsqlOptions,
    refuses: {
      url: wrongUrls,
      syncUrl: wrongUrls,
      concurrency: [0, 1001],
      timeout: [0],
      syncInterval: [0],
      prefix: wrongPrefixes
    },
    build: (options) => Layer.build(build(options))
  })
}

const rqliteStoreOptions = {
  ...sqlOptions,
  level: none,
  connectRetries: count,
  retryDelay: time,
  groupCommit: flag
} satisfies { readonly [K in keyof RqliteStore.StoreOptions]-?: Kinds }

const rqliteClientOptions = {
  urls: none,
  username: text,
  password: secret,
  timeout: time,
  retry: none
} satisfies { readonly [K in keyof RqliteClient.Options]-?: Kinds }

const onNode = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(InProcessNode.make(), (node) => Effect.provideService(effect, HttpClient.HttpClient, node.http))

describeLayer<RqliteStore.StoreOptions>({
  name: "RqliteStore",
  right: { level: "weak", connectRetries: 0, retryDelay: 0 },
  takes: rqliteStoreOptions,
  refuses: { level: ["auto"], prefix: wrongPrefixes },
  build: (options) =>
    onNode(
      Layer.build(Layer.provide(RqliteStore.layerFromClient(options), RqliteClient.layer({ urls: InProcessNode.urls })))
    )
})

const wrongNodes = [[], [`http://user:${mark}/@host`], [`ftp://${mark}`], ["http://host", { value: mark }], [33_733]]

describeLayer<RqliteClient.Options>({
  name: "RqliteClient",
  what: "RqliteStore.layer that are its client's",
  right: { urls: InProcessNode.urls, username: "user", password: "pass", retry: Schedule.recurs(0) },
  takes: rqliteClientOptions,
  refuses: { urls: wrongNodes, username: [`${mark}:`], timeout: [0] },
  build: (options) => onNode(Layer.build(RqliteStore.layer(options)))
})

const one = { status: 200, body: '{"results":[{"columns":["1"],"types":["integer"],"values":[[1]]}]}' }

describeLayer<RqliteClient.Options>({
  name: "RqliteClient",
  right: { urls: ["http://host:4001"], timeout: "1 second" },
  takes: rqliteClientOptions,
  refuses: { urls: wrongNodes, timeout: [0] },
  build: (options) => madeUp(options, () => one)
})

describeLayer<RqliteClient.QueryOptions>({
  name: "RqliteClient.query",
  right: { level: "none", freshness: "1 second", transaction: true, timeout: "1 second" },
  takes: { level: none, freshness: time, transaction: flag, timeout: time, retry: none },
  refuses: { level: ["full"], timeout: [0] },
  build: (options) =>
    Effect.flatMap(
      madeUp({ urls: ["http://host:4001"] }, () => one),
      ({ client }) => client.query([{ sql: "SELECT 1" }], options)
    )
})

describeLayer<RqliteClient.ExecuteOptions>({
  name: "RqliteClient.execute",
  right: { timeout: "1 second", retry: Schedule.recurs(0) },
  takes: { timeout: time, retry: none },
  refuses: { timeout: [0] },
  build: (options) =>
    Effect.flatMap(
      madeUp({ urls: ["http://host:4001"] }, () => ({ status: 200, body: '{"results":[{}]}' })),
      ({ client }) => client.execute([{ sql: "CREATE TABLE t(a)" }], options)
    )
})
