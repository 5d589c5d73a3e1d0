import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { StoreRejected } from "../../StoreError.js"

/** The name of a database that lives in memory, as long as its connection. */
export const memory = ":memory:"

const refused = (reason: "open" | "read-only", path: string, detail: string, cause?: unknown): StoreRejected =>
  new StoreRejected({ operation: "open", reason, path, detail, cause })

/** What the file system answers, or nothing where there is no such file. */
const ask = <A>(
  filename: string,
  denied: string,
  question: () => Promise<A>
): Effect.Effect<A | undefined, StoreRejected> =>
  Effect.catchAll(
    Effect.tryPromise({ try: question, catch: (cause) => cause }),
    (cause): Effect.Effect<undefined, StoreRejected> => {
      switch (Predicate.hasProperty(cause, "code") ? cause.code : "") {
        case "ENOENT":
          return Effect.succeed(undefined)
        case "EACCES":
        case "EPERM":
        case "EROFS":
          return refused("read-only", filename, denied, cause)
        case "ENOTDIR":
          return refused("open", filename, "a part of its path is not a directory", cause)
        default:
          return refused("open", filename, cause instanceof Error ? cause.message : String(cause), cause)
      }
    }
  )

/** Whether SQLite takes this as the path of a file, or as {@link memory}, and as nothing else. */
export const isFilename = (name: string): boolean =>
  name !== "" && name.trim() === name && !name.includes("\0") && name.isWellFormed() && !name.startsWith("file:")

const isDatabase = (filename: string, denied: string) =>
  Effect.gen(function* () {
    const file = yield* ask(filename, denied, () => fs.stat(filename))
    if (file?.isDirectory()) return yield* refused("open", filename, "is a directory, not a database file")
    if (file?.isFile() === false) return yield* refused("open", filename, "is not a file")
    return file !== undefined
  })

/** Says what is wrong with a file that is only to be read. */
export const checkReadable = (filename: string): Effect.Effect<void, StoreRejected> =>
  Effect.gen(function* () {
    const denied = "may not be read by this process"
    if (!(yield* isDatabase(filename, denied))) return yield* refused("open", filename, "there is no such file")
    yield* ask(filename, denied, () => fs.access(filename, constants.R_OK))
  })

/**
 * Says what is wrong with a database file where SQLite would say no more than that it cannot open it, and refuses what it would open
 * under another name than was given, or for reading alone.
 */
export const check = (filename: string): Effect.Effect<void, StoreRejected> =>
  Effect.gen(function* () {
    if (filename === memory) return
    const denied = "may not be read and written by this process"
    yield* isDatabase(filename, denied)
    // Asking is all that may be done: to open a file and close it would drop the locks of this process's other connections to it.
    yield* ask(filename, denied, () => fs.access(filename, constants.R_OK | constants.W_OK))
    const directory = path.dirname(filename)
    if ((yield* ask(filename, denied, () => fs.stat(directory))) === undefined) {
      return yield* refused("open", filename, "its directory does not exist")
    }
    yield* ask(filename, "SQLite keeps files beside it, and its directory may not be written by this process", () =>
      fs.access(directory, constants.W_OK)
    )
  })
