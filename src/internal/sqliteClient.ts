import * as Reactivity from "@effect/experimental/Reactivity"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { SqlDriver } from "../SqlDriver.js"
import type { Options } from "../SqliteStore.js"
import { StoreRejected, type StoreUnavailable } from "../StoreError.js"
import { decode as decodeBusyTimeout } from "./busyTimeout.js"
import * as sqlClientDriver from "./sqlClientDriver.js"
import { problemOf, toStoreError } from "./sqliteError.js"
import { check, memory } from "./sqliteFile.js"

const call = { operation: "open" }

// Opening reads nothing and waits for nobody. Left to itself the client would set the journal's mode at once, and a lock of another
// process would stop this one for the five seconds of SQLite's own waiting.
const open = (filename: string): Effect.Effect<SqlClient.SqlClient, StoreUnavailable | StoreRejected, Scope.Scope> =>
  SqliteClient.make({ filename, disableWAL: true }).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    Effect.catchAllDefect((cause) => Effect.fail(toStoreError(call, problemOf({ cause }))))
  )

const synchronous = { full: "PRAGMA synchronous = FULL", normal: "PRAGMA synchronous = NORMAL" }

/** A driver on a database file, with a connection that waits for locks in Effect and never in SQLite. */
export const make = ({
  busyTimeout,
  durability = "full",
  filename,
  groupCommit = true
}: Options): Effect.Effect<SqlDriver, StoreUnavailable | StoreRejected, Scope.Scope> =>
  Effect.gen(function* () {
    const patience = yield* decodeBusyTimeout(busyTimeout)
    yield* check(filename)
    const driver = yield* sqlClientDriver.make({ client: yield* open(filename), busyTimeout: patience, groupCommit })
    const pragma = (sql: string) => Effect.map(driver.query(call, { sql, params: [] }), (rows) => rows[0]?.[0])
    yield* pragma("PRAGMA busy_timeout = 0")
    const journal = yield* pragma("PRAGMA journal_mode = WAL")
    if (journal !== "wal" && filename !== memory) {
      const detail = `its file system does not allow SQLite's write-ahead log: the journal mode stays ${String(journal)}`
      return yield* new StoreRejected({ ...call, reason: "open", detail })
    }
    // Said even where it seems so already: as it is built for Node, SQLite goes down to NORMAL with its first write to the log.
    yield* pragma(synchronous[durability])
    return driver
  })
