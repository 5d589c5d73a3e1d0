import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"
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

interface Failure {
  readonly problem: string
  /** Whether the library is there, and only this process lacks what it takes to load it now. */
  readonly passing: boolean
  readonly cause: unknown
}

// What is wrong with a native part is in the words of the system's loader alone.
const lacking =
  /\b(EMFILE|ENFILE|ENOMEM|EAGAIN)\b|too many open files|cannot allocate memory|resource temporarily unavailable/i

const problemOf = (cause: unknown): string => {
  if (Predicate.hasProperty(cause, "code") && cause.code === "MODULE_NOT_FOUND") return "is not installed"
  // The first line says it; others show where a module was looked for.
  return cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause)
}

type Load = () => Promise<Library>

const attempt = (name: string, load: Load): Effect.Effect<Library, Failure> =>
  Effect.tryPromise({
    try: load,
    catch: (cause) => {
      const problem = problemOf(cause)
      return { problem: `${name}: ${problem}`, passing: lacking.test(problem), cause }
    }
  })

const toError = ({ cause, passing, problem }: Failure, detail: (problem: string) => string) =>
  passing
    ? new StoreUnavailable({
        operation: "open",
        reason: "connection",
        outcome: "not-applied",
        detail: `SQLite cannot be loaded now: ${problem}`,
        cause
      })
    : refused(detail(problem))

/**
 * The first library that can be loaded. Where one is there and cannot be loaded for the moment, none after it is taken: this process would
 * have two of them on one file when it opens the next store.
 */
export const firstOf = (
  candidates: ReadonlyArray<readonly [name: string, load: Load]>
): Effect.Effect<Library, StoreRejected | StoreUnavailable> =>
  Effect.gen(function* () {
    const problems: Array<string> = []
    const without = (all: string) =>
      `no SQLite is there: install better-sqlite3, or run on Node 22.13 or later or on Bun, which have one (${all})`
    for (const [name, load] of candidates) {
      const tried = yield* Effect.either(attempt(name, load))
      if (Either.isRight(tried)) return tried.right
      yield* log.debug(tried.left.problem)
      problems.push(tried.left.problem)
      if (tried.left.passing) return yield* toError(tried.left, without)
    }
    return yield* refused(without(problems.join("; ")))
  })

/** The library of that name, or the first that can be loaded. */
export const load = (name?: Name): Effect.Effect<Library, StoreRejected | StoreUnavailable> =>
  name === undefined
    ? firstOf(names.map((name) => [name, loads[name]]))
    : Effect.mapError(attempt(name, loads[name]), (failure) =>
        toError(failure, (problem) => `cannot be loaded: ${problem}`)
      )
