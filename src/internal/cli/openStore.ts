import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Encoded, Rows } from "../../EncodedStore.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { SqlDriver } from "../../SqlDriver.js"
import type { StoreError } from "../../StoreError.js"
import * as sqlite from "../sqlite/driver.js"
import * as readOnly from "../sqlite/readOnly.js"
import * as sqlStore from "../sqlStore/store.js"
import { make as makeStore } from "../store/store.js"
import { type CliError, failed, usage } from "./failure.js"
import * as openErrors from "./openErrors.js"
import { note, type Screen } from "./screen.js"
import { describe, type StoreName } from "./storeName.js"

/**
 * What a command may do to a database.
 *
 * - `read`: nothing.
 * - `write`: change rows of a store that is there.
 * - `migrate`: also make the schema, or what is missing of it.
 * - `create`: and the file too.
 */
export type Access = "read" | "write" | "migrate" | "create"

/** A store that is open. `prefix` is what the names of its tables begin with, `name` what people call it. */
export interface OpenStore {
  readonly store: ExecutionStore
  readonly encoded: Encoded
  readonly driver: SqlDriver
  readonly prefix: string
  readonly name: string
}

type Opening<A> = Effect.Effect<A, CliError | StoreError, Scope.Scope>

const isMissing = (cause: unknown): boolean =>
  Predicate.hasProperty(cause, "code") && (cause.code === "ERR_MODULE_NOT_FOUND" || cause.code === "MODULE_NOT_FOUND")

/** Loads what needs a package that is installed only where it is used. */
const load = <A>(what: string, packages: string, module: () => Promise<A>): Effect.Effect<A, CliError> =>
  Effect.tryPromise({
    try: module,
    catch: (cause) =>
      failed(
        isMissing(cause)
          ? `${what} needs ${packages}: run npm install ${packages}`
          : `${what} cannot be loaded: ${String(cause)}`
      )
  })

const secret = (name: string): Effect.Effect<Redacted.Redacted | undefined> =>
  Effect.map(Effect.option(Config.redacted(name)), Option.getOrUndefined)

const openSqlite = (filename: string, access: Access): Opening<SqlDriver> =>
  access === "read"
    ? readOnly.make(filename)
    : sqlite.decode({ filename }).pipe(Effect.flatMap((options) => sqlite.make(options)))

/** The token for a libSQL server. What is wrong with it is said without it. */
const libsqlToken: Effect.Effect<Redacted.Redacted | undefined, CliError> = secret("LIBSQL_AUTH_TOKEN").pipe(
  Effect.filterOrFail(
    (token) => token === undefined || /^[\x21-\x7e]+$/.test(Redacted.value(token)),
    () => usage("LIBSQL_AUTH_TOKEN holds no token: it is empty, or has spaces or other characters that no token has")
  )
)

const openLibsql = (url: string, durability: "full" | "normal"): Opening<SqlDriver> =>
  Effect.gen(function* () {
    const libsql = yield* load("libSQL", "@libsql/client", () => import("../libsql/open.js"))
    const { driver } = yield* libsql.open({ url, authToken: yield* libsqlToken, durability })
    return driver
  })

const fileUrl = (filename: string): string => `file:${filename.split("/").map(encodeURIComponent).join("/")}`

/** Whoever waits at a terminal is told soon that nobody answers. */
const tries = Schedule.intersect(Schedule.spaced(Duration.seconds(1)), Schedule.recurs(3))

const openRqlite = (urls: ReadonlyArray<Redacted.Redacted>): Opening<SqlDriver> =>
  Effect.gen(function* () {
    const packages = "@effect/platform @effect/platform-node"
    const http = yield* load("rqlite", packages, () => import("@effect/platform-node/NodeHttpClient"))
    const { connect } = yield* load("rqlite", packages, () => import("./rqliteDriver.js"))
    const username = yield* Effect.map(Effect.option(Config.string("RQLITE_USERNAME")), Option.getOrUndefined)
    const client = { urls, username, password: yield* secret("RQLITE_PASSWORD") }
    const context = yield* Layer.build(http.layerUndici)
    return yield* Effect.provide(connect(client, tries), context)
  })

const openDriver = (name: StoreName, access: Access): Opening<SqlDriver> => {
  switch (name._tag) {
    case "Sqlite":
      return openSqlite(name.filename, access)
    case "LibsqlFile":
      // Both write the same format, and libSQL's client has no way to open a file without changing it.
      return access === "read" ? openSqlite(name.filename, access) : openLibsql(fileUrl(name.filename), "full")
    case "LibsqlServer":
      // How durable a server is to be is for those to say who run work on it. They are warned.
      return openLibsql(Redacted.value(name.url), "normal")
    case "Rqlite":
      return openRqlite(name.urls)
  }
}

/** Says that a store keeps one waiting. */
const sayThatItWaits = (name: StoreName) =>
  note(`waiting for ${describe(name)}, which does not answer yet`).pipe(
    Effect.repeat(Schedule.spaced("10 seconds")),
    Effect.delay("2 seconds")
  )

/** What the names of the tables begin with unless that is given. */
export const defaultPrefix = (name: Option.Option<StoreName>): string =>
  Option.exists(name, ({ _tag }) => _tag === "Rqlite") ? "" : "harel_"

/** Opens what a name names, and says so where that takes a while. */
const opening = <A>(
  name: StoreName,
  givenPrefix: Option.Option<string>,
  access: Access,
  use: (opened: Opened) => Opening<A>
) =>
  Effect.gen(function* () {
    const prefix = Option.getOrElse(givenPrefix, () => defaultPrefix(Option.some(name)))
    if (access !== "create") yield* openErrors.checkThere(name)
    const waiting = yield* Effect.fork(sayThatItWaits(name))
    return yield* Effect.gen(function* () {
      const driver = yield* Effect.mapError(openDriver(name, access), openErrors.named(name))
      return yield* use({ driver, prefix, explained: openErrors.schema(driver, name, prefix) })
    }).pipe(Effect.ensuring(Fiber.interrupt(waiting)))
  })

interface Opened {
  readonly driver: SqlDriver
  readonly prefix: string
  readonly explained: ReturnType<typeof openErrors.schema>
}

/** Opens a store, for as long as the scope. */
export const open = (
  name: StoreName,
  givenPrefix: Option.Option<string>,
  access: Access
): Effect.Effect<OpenStore, CliError | StoreError, Scope.Scope | Screen> =>
  opening(name, givenPrefix, access, ({ driver, explained, prefix }) =>
    Effect.gen(function* () {
      const createSchema = access === "create" || access === "migrate"
      const { encoded, options } = yield* explained(sqlStore.open(driver, { prefix, createSchema }))
      return { store: makeStore(encoded, options), encoded, driver, prefix, name: describe(name) }
    })
  )

/** The rows of a store that is open. */
export interface OpenRows {
  readonly rows: Rows
  readonly name: string
}

/** Opens the rows of a store to be read, for as long as the scope. */
export const openRows = (
  name: StoreName,
  givenPrefix: Option.Option<string>
): Effect.Effect<OpenRows, CliError | StoreError, Scope.Scope | Screen> =>
  opening(name, givenPrefix, "read", ({ driver, explained, prefix }) =>
    Effect.map(explained(sqlStore.openRows(driver, prefix)), (rows) => ({ rows, name: describe(name) }))
  )
