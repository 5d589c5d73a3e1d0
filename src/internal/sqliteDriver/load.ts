import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { StoreRejected } from "../../StoreError.js"
import * as log from "../telemetry/log.js"
import * as betterSqlite3 from "./betterSqlite3.js"
import * as bunSqlite from "./bunSqlite.js"
import type { Library } from "./database.js"
import * as nodeSqlite from "./nodeSqlite.js"

// In the order in which they are looked for. Bun has node:sqlite too, but bun:sqlite is the one that it is made for.
const loads = {
  "better-sqlite3": betterSqlite3.load,
  "bun:sqlite": bunSqlite.load,
  "node:sqlite": nodeSqlite.load
}

/** The libraries that there are drivers for. */
export type Name = keyof typeof loads

const isName = (name: string): name is Name => Object.hasOwn(loads, name)

/** The names, in that order. */
export const names: ReadonlyArray<Name> = Object.keys(loads).filter(isName)

const refused = (detail: string): StoreRejected =>
  new StoreRejected({ operation: "open", reason: "open", path: "driver", detail })

const problemOf = (cause: unknown): string => {
  if (Predicate.hasProperty(cause, "code") && cause.code === "MODULE_NOT_FOUND") return "is not installed"
  // The first line says it; others show where a module was looked for.
  return cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause)
}

const attempt = (name: Name): Effect.Effect<Library, string> =>
  Effect.tryPromise({ try: loads[name], catch: (cause) => `${name}: ${problemOf(cause)}` })

const first: Effect.Effect<Library, StoreRejected> = Effect.mapError(
  Effect.validateFirst(names, (name) => Effect.tapError(attempt(name), (problem) => log.debug(problem))),
  (problems) =>
    refused(
      `no SQLite is there: install better-sqlite3, or run on Node 22.13 or later or on Bun, which have one (${problems.join("; ")})`
    )
)

/** The library of that name, or the first that can be loaded. */
export const load = (name?: Name): Effect.Effect<Library, StoreRejected> =>
  name === undefined ? first : Effect.mapError(attempt(name), (problem) => refused(`cannot be loaded: ${problem}`))
