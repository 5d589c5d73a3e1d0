import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import { tmpdir } from "node:os"
import * as path from "node:path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { SqlDriver } from "../../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import type { Access, Library } from "../sqliteDriver/database.js"
import { load } from "../sqliteDriver/load.js"
import * as busyRetry from "./busyRetry.js"
import { checkReadable } from "./checkFile.js"
import * as connections from "./connection.js"
import { make as makeTurn } from "./eventLoop.js"
import * as snapshot from "./snapshot.js"

const call = { operation: "open" }

type Opening<A> = Effect.Effect<A, StoreUnavailable | StoreRejected, Scope.Scope>

const succeeds = (question: () => Promise<unknown>): Effect.Effect<boolean> =>
  Effect.isSuccess(Effect.tryPromise(question))

const mayWrite = (name: string) => succeeds(() => fs.access(name, constants.W_OK))

/**
 * How a file is opened so that it stays as it is, and so does what is beside it. A connection that may write removes the log that it made
 * when it closes, and one that may not leaves it behind; but where a log was there before, one that may write would bring it into the file.
 */
const accessTo = (filename: string): Effect.Effect<Access> =>
  Effect.gen(function* () {
    const real = yield* Effect.promise(() => fs.realpath(filename).catch(() => filename))
    if (yield* succeeds(() => fs.stat(`${real}-wal`))) return "read-only"
    return (yield* mayWrite(real)) && (yield* mayWrite(path.dirname(real))) ? "read-write" : "read-only"
  })

/** The file, and the log that may be beside it, in a directory of its own. */
const copied = (filename: string): Opening<string> =>
  Effect.gen(function* () {
    const failed = (cause: unknown) =>
      new StoreUnavailable({
        ...call,
        reason: "connection",
        outcome: "not-applied",
        detail: `the file lies where SQLite cannot read it, and cannot be copied to ${tmpdir()}: ${String(cause)}`,
        cause
      })
    const directory = yield* Effect.acquireRelease(
      Effect.tryPromise({ try: () => fs.mkdtemp(path.join(tmpdir(), "holdfast-")), catch: failed }),
      (directory) => Effect.ignore(Effect.tryPromise(() => fs.rm(directory, { recursive: true, force: true })))
    )
    const copy = path.join(directory, "store.db")
    yield* Effect.tryPromise({ try: () => fs.copyFile(filename, copy), catch: failed })
    yield* Effect.ignore(
      Effect.tryPromise(async () => fs.copyFile(`${await fs.realpath(filename)}-wal`, `${copy}-wal`))
    )
    yield* Effect.tryPromise({ try: () => fs.chmod(copy, 0o600), catch: failed })
    return copy
  })

const refusal = new StoreRejected({
  operation: "write",
  reason: "read-only",
  detail: "the database was opened to be read only"
})

const openAs = (library: Library, filename: string, access: Access): Opening<SqlDriver> =>
  Effect.gen(function* () {
    const connection = yield* connections.open(library, filename, access)
    const patiently = busyRetry.make(Duration.seconds(5), makeTurn())
    const driver: SqlDriver = {
      embedded: true,
      readsAnyText: true,
      snapshot: snapshot.ofFile(library, filename, patiently, access),
      transaction: () => Effect.fail(refusal),
      query: (call, statement) => patiently(call, connection.query(statement))
    }
    for (const sql of ["PRAGMA busy_timeout = 0", "PRAGMA query_only = ON", "SELECT count(*) FROM sqlite_master"]) {
      yield* driver.query(call, { sql, params: [] })
    }
    return driver
  })

/**
 * A driver on a file of SQLite's, or of libSQL's, that changes nothing: neither the file, nor its journal mode, nor its schema. On a medium
 * that cannot be written SQLite reads a database in write-ahead mode only where its log is there, and so a copy of it is read.
 */
export const make = (filename: string): Opening<SqlDriver> =>
  Effect.gen(function* () {
    yield* checkReadable(filename)
    const library = yield* load()
    const access = yield* accessTo(filename)
    return yield* Effect.catchIf(
      openAs(library, filename, access),
      ({ cause }) =>
        access === "read-only" && ["CANTOPEN", "READONLY"].some((code) => library.codeOf(cause).startsWith(code)),
      () => Effect.flatMap(copied(filename), (copy) => openAs(library, copy, "read-write"))
    )
  })
