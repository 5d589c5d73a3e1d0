import type { CommandExecutor } from "@effect/platform/CommandExecutor"
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Figure } from "./figure.js"

/**
 * - `rounds`: how often each figure is taken; the median counts.
 * - `seconds`: how long a form is run in each round, where it is run for a time.
 * - `warmUp`: for how many seconds a store runs before it is measured. The compiler needs that long to be done with it.
 * - `quick`: small sizes, to see that all is well; the figures mean little.
 * - `directory`: where database files are put. It must be on a disk: in memory, a sync costs nothing.
 */
export interface Settings {
  readonly rounds: number
  readonly seconds: number
  readonly warmUp: number
  readonly quick: boolean
  readonly directory: string
}

/** What one topic measures. */
export type Topic = (
  settings: Settings
) => Effect.Effect<ReadonlyArray<Figure>, unknown, FileSystem.FileSystem | CommandExecutor>

/** The path of a database file in a directory of its own, which is removed with the scope. */
export const databaseFile = (
  settings: Settings
): Effect.Effect<string, PlatformError, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    yield* fs.makeDirectory(settings.directory, { recursive: true })
    const directory = yield* fs.makeTempDirectoryScoped({ directory: settings.directory, prefix: "bench-" })
    return `${directory}/bench.db`
  })
