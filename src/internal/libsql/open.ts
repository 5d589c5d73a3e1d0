import { type Client, type Config, createClient } from "@libsql/client"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Options, Replica } from "../../LibsqlStore.js"
import type { SqlDriver } from "../../SqlDriver.js"
import type { StoreError } from "../../StoreError.js"
import { wholeNumber } from "../codec/validate.js"
import * as group from "../groupCommit/groupCommit.js"
import type { LazyDriver } from "../groupCommit/lazyDriver.js"
import * as tokens from "../hrana/token.js"
import { check as checkFile } from "../sqlite/checkFile.js"
import * as duration from "../util/duration.js"
import { invalidOption } from "../util/invalidOption.js"
import * as address from "./address.js"
import * as copies from "./copy.js"
import * as driver from "./driver.js"
import * as durability from "./durability.js"
import { type Failure, toStoreError } from "./error.js"
import * as localClient from "./localClient.js"
import * as local from "./localConnection.js"
import * as remote from "./remoteConnection.js"
import * as replicas from "./replica.js"
import { makeRead, toResult, toStatement } from "./values.js"

/** - `place`: where the database is, to be shown. */
interface Database<Driver> {
  readonly driver: Driver
  readonly client: Client
  readonly replica: Replica
  readonly place: string
}

const failedToOpen = (failure: Failure): StoreError => toStoreError({ operation: "open" }, failure, false)

type Opening = Effect.Effect<Database<LazyDriver>, StoreError, Scope.Scope>

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

const openLocal = (options: Options, { filename }: address.Local): Opening =>
  Effect.gen(function* () {
    if (filename !== undefined) yield* checkFile(filename)
    const busyTimeout = yield* duration.decode(options.busyTimeout ?? "5 seconds", "busyTimeout")
    const connection = { filename, durability: options.durability ?? "full", busyTimeout }
    const own = yield* local.make(connection)
    const transactions = filename === undefined ? own : yield* local.make(connection)
    return {
      driver: { embedded: true, exclusive: filename === undefined, ...driver.make(localDatabase(own)) },
      client: yield* localClient.make(yield* Effect.runtime<never>(), own, transactions),
      replica: noReplica,
      place: filename ?? ":memory:"
    }
  })

const remoteDatabase = ({ query, transaction }: remote.Remote): driver.Database => ({
  write: (statements) => Effect.map(transaction(statements), ({ value }) => value),
  read: (statement) => Effect.map(query(statement), ({ value }) => value)
})

const connect = (options: Options, { token: given, url }: address.Remote) =>
  Effect.gen(function* () {
    const concurrency = options.concurrency ?? 20
    const problem = wholeNumber(concurrency, 1, 1000)
    if (problem !== undefined) return yield* invalidOption("concurrency", problem)
    const busyTimeout = yield* duration.decode(options.busyTimeout ?? "5 seconds", "busyTimeout")
    const timeout = yield* duration.decode(options.timeout ?? "10 seconds", "timeout")
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

const openRemote = (options: Options, at: address.Remote): Opening =>
  Effect.map(connect(options, at), ({ server }) => ({
    driver: driver.make(remoteDatabase(server)),
    client: server.client,
    replica: noReplica,
    place: at.url
  }))

const openReplica = (
  options: Options,
  { filename }: address.Local,
  primary: address.Remote,
  open: (config: Config) => Client
): Opening =>
  Effect.gen(function* () {
    if (filename === undefined) return yield* invalidOption("url", "a replica is a file: expected file: and a path")
    yield* checkFile(filename)
    const syncInterval = yield* duration.decode(options.syncInterval ?? "1 minute", "syncInterval")
    const { busyTimeout, server, token, url: syncUrl } = yield* connect(options, primary)
    const copy = yield* copies.make({ filename, syncUrl, token, open })
    const readFrom = options.readFrom ?? "replica"
    const { database, replica } = yield* replicas
      .make({ syncUrl, copy, primary: server, syncInterval, patience: busyTimeout, readFrom })
      .pipe(Effect.mapError(failedToOpen))
    return { driver: driver.make(database), client: server.client, replica, place: syncUrl }
  })

const openAt = (options: Options, open: (config: Config) => Client): Opening =>
  Effect.gen(function* () {
    const at = yield* address.parse(options.url, "url")
    if (options.syncUrl === undefined) {
      return yield* at._tag === "Local" ? openLocal(options, at) : openRemote(options, at)
    }
    const primary = yield* address.parse(options.syncUrl, "syncUrl")
    if (at._tag === "Remote") return yield* invalidOption("url", "a replica is a file: expected file: and a path")
    if (primary._tag === "Local") return yield* invalidOption("syncUrl", "expected the URL of a server")
    return yield* openReplica(options, at, primary, open)
  })

const groupLimits = { maxCommits: 64, maxBytes: 4_000_000 }

/** Opens the database that the options name. `openCopy` is what opens a replica's file. */
export const open = (
  options: Options,
  openCopy: (config: Config) => Client = createClient
): Effect.Effect<Database<SqlDriver>, StoreError, Scope.Scope> =>
  Effect.gen(function* () {
    const { driver, ...rest } = yield* openAt(options, openCopy)
    const alone: SqlDriver = {
      ...driver,
      transaction: (call, statements) => driver.transaction(call, () => statements)
    }
    return { ...rest, driver: options.groupCommit === false ? alone : yield* group.make(driver, groupLimits) }
  })
