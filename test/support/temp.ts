import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"

/** A directory of its own, removed with the scope. */
export const directory = Effect.flatMap(FileSystem.FileSystem, (fs) =>
  fs.makeTempDirectoryScoped({ prefix: "holdfast-" })
).pipe(Effect.provide(NodeFileSystem.layer), Effect.orDie)

/** The path of a database file that does not exist yet, in a directory of its own. */
export const database = Effect.map(directory, (directory) => `${directory}/store.db`)
