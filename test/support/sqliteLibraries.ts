import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { load, type Name, names } from "holdfast/internal/sqliteDriver/load"

/** The SQLite libraries that this process has. */
export const available: ReadonlyArray<Name> = await Effect.runPromise(
  Effect.filter(names, (name) => Effect.map(Effect.either(load(name)), Either.isRight))
)
