import { type Client, type Config, createClient } from "@libsql/client"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Options, Replica } from "../../LibsqlStore.js"
import type { SqlDriver } from "../../SqlDriver.js"
import type { StoreError } from "../../StoreError.js"
import * as group from "../groupCommit/groupCommit.js"
import type { LazyDriver } from "../groupCommit/lazyDriver.js"
import * as tokens from "../hrana/token.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { delay, flag, oneOf, optional, secretSource, text, time, whole } from "../options/fields.js"
import { sqlFields } from "../options/store.js"
import { check as checkFile } from "../sqlite/checkFile.js"
import * as address from "./address.js"
import * as driver from "./driver.js"
import * as durability from "./durability.js"
import { type Failure, toStoreError } from "./error.js"
import * as localClient from "./localClient.js"
import * as local from "./localConnection.js"
import * as remote from "./remoteConnection.js"
import * as replicas from "./replica.js"
import * as copies from "./replicaFile.js"
import { makeRead, toResult, toStatement } from "./values.js"

const decode = decoder(
  Schema.Struct({
    ...sqlFields,
    url: text,
    authToken: optional(secretSource),
    syncUrl: optional(text),
    syncInterval: optional(time),
    readFrom: optional(oneOf("primary", "replica")),
    durability: optional(oneOf("full", "normal")),
    busyTimeout: optional(delay),
    timeout: optional(time),
    concurrency: optional(whole(1, 1000)),
    groupCommit: optional(flag)
  } satisfies Fields<Options>),
  refused("open", "LibsqlStore")
)

type Decoded = Either.Either.Right<ReturnType<typeof decode>>

/** - `place`: where the database is, to be shown. */
interface Database<Driver> {
  readonly driver: Driver
  readonly client: Client
  readonly replica: Replica
  readonly place: string
}

const failedToOpen = (failure: Failure): StoreError => toStoreError({ operation: "open" }, failure, false)

type Opening = Effect.Effect<Database<LazyDriver>, StoreError, Scope.Scope>

const defaultBusyTimeout = Duration.seconds(5)

const noReplica: Replica = { status: Effect.succeed(Option.none()), sync: Effect.void }

const localDatabase = ({ use }: local.Connection): driver.Database => {
  const read = makeRead()
  return {
    write: (list) => {
      const statements = driver.askedOnce(() => list().map(toStatement))
      return use("write", async (client) => (await client.batch([...statements()], "write")).map(toResult))
    },
    read: (statement) => use("read", (client) => read(client, statement))
  }
}

const openLocal = (options: Decoded, { filename }: address.Local): Opening =>
  Effect.gen(function* () {
    if (filename !== undefined) yield* checkFile(filename)
    const { busyTimeout = defaultBusyTimeout, durability = "full" } = options
    const connection = { filename, durability, busyTimeout }
    const own = yield* local.make(connection)
    const transactions = filename === undefined ? own : yield* local.make(connection)
    return {
      driver: {
        embedded: true,
        exclusive: filename === undefined,
        inTurn: own.inTurn,
        ...driver.make(localDatabase(own))
      },
      client: yield* localClient.make(yield* Effect.runtime<never>(), own, transactions),
      replica: noReplica,
      place: filename ?? ":memory:"
    }
  })

const remoteDatabase = ({ read, transaction }: remote.Remote): driver.Database => ({
  write: (statements) => Effect.map(transaction(statements), ({ value }) => value),
  read
})

const connect = (options: Decoded, { token: given, url }: address.Remote) =>
  Effect.gen(function* () {
    const { busyTimeout = defaultBusyTimeout, concurrency = 20, timeout = Duration.seconds(10) } = options
    const token = tokens.make(options.authToken ?? given)
    const server = yield* remote.make({
      url,
      token,
      timeout,
      busyTimeout,
      concurrency,
      durable: options.durability === "full"
    })
    yield* Effect.mapError(durability.check(server, options.durability), failedToOpen)
    return { busyTimeout, url, token, server }
  })

const openRemote = (options: Decoded, at: address.Remote): Opening =>
  Effect.map(connect(options, at), ({ server }) => ({
    driver: driver.make(remoteDatabase(server)),
    client: server.client,
    replica: noReplica,
    place: at.url
  }))

const aFile = "a replica is a file: expected file: and a path"

const openReplica = (
  options: Decoded,
  { filename }: address.Local,
  primary: address.Remote,
  open: (config: Config) => Client
): Opening =>
  Effect.gen(function* () {
    if (filename === undefined) return yield* address.refuse("url", aFile)
    yield* checkFile(filename)
    const { readFrom = "replica", syncInterval = Duration.minutes(1) } = options
    const { busyTimeout, server, token, url: syncUrl } = yield* connect(options, primary)
    const copy = yield* copies.make({ filename, syncUrl, token, open })
    const { database, replica } = yield* replicas
      .make({ syncUrl, copy, primary: server, syncInterval, busyTimeout, readFrom })
      .pipe(Effect.mapError(failedToOpen))
    return { driver: driver.make(database), client: server.client, replica, place: syncUrl }
  })

const openAt = (options: Decoded, open: (config: Config) => Client): Opening =>
  Effect.gen(function* () {
    const at = yield* address.parse(options.url, "url")
    if (options.syncUrl === undefined) {
      return yield* at._tag === "Local" ? openLocal(options, at) : openRemote(options, at)
    }
    const primary = yield* address.parse(options.syncUrl, "syncUrl")
    if (at._tag === "Remote") return yield* address.refuse("url", aFile)
    if (primary._tag === "Local") return yield* address.refuse("syncUrl", "expected the URL of a server")
    return yield* openReplica(options, at, primary, open)
  })

const groupLimits = { maxCommits: 64, maxBytes: 4_000_000 }

/** Opens the database that the options name. `openCopy` is what opens a replica's file. */
export const open = (
  given: Options,
  openCopy: (config: Config) => Client = createClient
): Effect.Effect<Database<SqlDriver> & { readonly options: Decoded }, StoreError, Scope.Scope> =>
  Effect.gen(function* () {
    const options = yield* decode(given)
    const { driver, ...rest } = yield* openAt(options, openCopy)
    const alone: SqlDriver = {
      ...driver,
      transaction: (call, statements) => driver.transaction(call, () => statements)
    }
    return { ...rest, options, driver: options.groupCommit === false ? alone : yield* group.make(driver, groupLimits) }
  })
