/**
 * A store on an SQLite file, or in memory, with a connection of its own. Several processes can share a file.
 *
 * SQLite comes from `better-sqlite3`, an optional peer. Where that is not installed it comes from Bun, or from Node 22.13 or later.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as ExecutionStore from "./ExecutionStore.js"
import * as sqliteClient from "./internal/sqlite/driver.js"
import * as SqlDriver from "./SqlDriver.js"
import { type StoreError, StoreRejected } from "./StoreError.js"

/**
 * - `filename`: the path of the file, which is made where it does not exist, or `:memory:` for a database that lives as long as the store.
 * - `durability`: with `"full"`, the default, an acknowledged commit survives a loss of power. With `"normal"` the last commits may be lost
 *   then, but the database stays whole, and a crash of the process alone loses nothing.
 * - `busyTimeout`: for how long an operation is tried again while another connection has locked the database, by default 5 seconds. Then it
 *   fails with `StoreUnavailable`. The process is not blocked meanwhile.
 * - `groupCommit`: whether writes that wait at the same time share one transaction, and so one sync of the disk; by default true. Each
 *   still succeeds or fails by itself, and a single write does not wait for others.
 * - `driver`: the library that SQLite comes from; by default the first that can be loaded, in the order `better-sqlite3`, `bun:sqlite`,
 *   `node:sqlite`. All of them write the same files. But one process must not open a file with two of them: SQLite's locks hold between
 *   processes, and within one copy of SQLite.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends SqlDriver.Options {
  readonly filename: string
  readonly durability?: "full" | "normal" | undefined
  readonly busyTimeout?: Duration.DurationInput | undefined
  readonly groupCommit?: boolean | undefined
  readonly driver?: "better-sqlite3" | "node:sqlite" | "bun:sqlite" | undefined
}

// What is wrong with a file is told with its name.
const named =
  (path: string) =>
  (error: StoreError): StoreError => {
    if (error._tag !== "StoreRejected" || error.path !== undefined) return error
    const { cause, detail, operation, reason } = error
    return new StoreRejected({ operation, reason, path, detail, cause })
  }

/**
 * A store on an SQLite file, whose connection closes with the scope. The file is in write-ahead logging mode, which keeps two more files
 * beside it while it is open.
 *
 * Fails with `StoreRejected` where the file cannot be opened for writing or is no database, the disk is full, an option is invalid, no
 * SQLite is installed or the schema cannot be made; and with `StoreUnavailable` where the database stays locked.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<ExecutionStore.ExecutionStore, StoreError, Scope.Scope> =>
  Effect.flatMap(sqliteClient.decode(options), (options) =>
    sqliteClient.make(options).pipe(
      Effect.flatMap((driver) => SqlDriver.make(driver, options)),
      Effect.mapError(named(options.filename))
    )
  )

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Execution, ExecutionStore } from "holdfast"
 * import * as SqliteStore from "holdfast/SqliteStore"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* ExecutionStore.ExecutionStore
 *   yield* store.save(Execution.make({ id: "order-17", definitionId: "order" }))
 * }).pipe(Effect.provide(SqliteStore.layer({ filename: ":memory:" }))) // or the path of a file
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<ExecutionStore.ExecutionStore, StoreError> =>
  Layer.scoped(ExecutionStore.ExecutionStore, make(options))

/**
 * {@link layer}, with options from the configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ExecutionStore.ExecutionStore, StoreError | ConfigError> =>
  Layer.scoped(ExecutionStore.ExecutionStore, Effect.flatMap(Config.unwrap(config), make))
