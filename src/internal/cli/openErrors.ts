import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type { SqlDriver } from "../../SqlDriver.js"
import { type StoreError, StoreRejected } from "../../StoreError.js"
import { type CliError, missing, usage } from "./failure.js"
import { describe, type StoreName } from "./storeName.js"
import { didYouMean } from "./suggestion.js"

const filenameOf = (name: StoreName): string | undefined => ("filename" in name ? name.filename : undefined)

/** What SQLite keeps beside a file is no store. */
const isBesideOne = (name: string): boolean => /-(wal|shm|journal)$/.test(name)

const filesBeside = (filename: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(() => fs.readdir(path.dirname(filename)).catch(() => [])).pipe(
    Effect.map((names) =>
      names.filter((name) => !isBesideOne(name)).map((name) => path.join(path.dirname(filename), name))
    )
  )

/** A file that is not there is not made by a command that only uses a store. */
export const checkThere = (name: StoreName): Effect.Effect<void, CliError> =>
  Effect.gen(function* () {
    const filename = filenameOf(name)
    if (filename === undefined) return
    const found = yield* Effect.promise(() =>
      fs.stat(filename).then(
        () => true,
        (error) => error?.code !== "ENOENT"
      )
    )
    if (found) return
    const near = didYouMean(path.normalize(filename), yield* filesBeside(filename))
    return yield* missing(`there is no file ${JSON.stringify(filename)}${near}`)
  })

/** What is wrong with a file is told with its name. */
export const named =
  (name: StoreName) =>
  <E>(error: E): E | StoreRejected => {
    if (!(error instanceof StoreRejected) || error.path !== undefined) return error
    const { cause, detail, operation, reason } = error
    return new StoreRejected({ operation, reason, path: describe(name), detail, cause })
  }

const suffix = "executions"

/** The prefixes with which there are stores in a database. */
const prefixesIn = (driver: SqlDriver): Effect.Effect<ReadonlyArray<string>, StoreError> =>
  driver
    .query(
      { operation: "open" },
      { sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", params: [] }
    )
    .pipe(
      Effect.map((rows) => {
        const names = rows.map(([name]) => String(name))
        return names.flatMap((name) => (name.endsWith(suffix) ? [name.slice(0, -suffix.length)] : []))
      })
    )

const quoted = (prefix: string): string => (prefix === "" ? "the empty prefix" : `the prefix ${JSON.stringify(prefix)}`)

const others = (prefix: string, found: ReadonlyArray<string>): string => {
  const [only] = found
  if (found.length === 1 && only !== undefined)
    return `there is one with ${quoted(only)}: give --prefix ${only === "" ? "''" : only}`
  return `there are some with ${found.map((each) => JSON.stringify(each)).join(", ")}${didYouMean(prefix, found)}`
}

/** Says what is in a database that is no store as it should be, and what to do. */
export const schema =
  (driver: SqlDriver, name: StoreName, prefix: string) =>
  <A>(open: Effect.Effect<A, StoreError>): Effect.Effect<A, CliError | StoreError> =>
    Effect.catchIf(
      open,
      (error) => error._tag === "StoreRejected" && error.reason === "schema",
      (error): Effect.Effect<never, CliError | StoreError> =>
        Effect.gen(function* () {
          const place = describe(name)
          // The schema is of a later version: there is nothing to migrate to.
          if (error._tag === "StoreRejected" && error.path !== "createSchema") return yield* named(name)(error)
          const found = yield* prefixesIn(driver)
          if (found.includes(prefix)) {
            return yield* usage(
              `the store in ${place} has the schema of an earlier version, or of harel alone: run holdfast migrate, which adds what is missing`
            )
          }
          if (found.length > 0)
            return yield* missing(`there is no store with ${quoted(prefix)} in ${place}: ${others(prefix, found)}`)
          return yield* missing(`there is no store in ${place}: holdfast migrate makes one`)
        })
    )
