import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Call, SqlDriver, Statement } from "../../SqlDriver.js"
import type { Options } from "../../SqliteStore.js"
import { StoreRejected, type StoreUnavailable } from "../../StoreError.js"
import * as group from "../groupCommit/groupCommit.js"
import type { Failure, LazyDriver, Results } from "../groupCommit/lazyDriver.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { checkedText, flag, oneOf, optional, patience } from "../options/fields.js"
import { sqlFields } from "../options/store.js"
import { load, names } from "../sqliteDriver/load.js"
import * as busyRetry from "./busyRetry.js"
import { check, isFilename, memory } from "./checkFile.js"
import * as sqliteConnection from "./connection.js"
import { mayBeApplied, toStoreError } from "./error.js"
import { make as makeTurn, tasksOf } from "./eventLoop.js"
import { logOf, OpenFiles } from "./openFiles.js"
import * as otherWrites from "./otherWrites.js"
import * as snapshot from "./snapshot.js"

const call = { operation: "open" }

/** The options of a store on a file. */
export const decode = decoder(
  Schema.Struct({
    ...sqlFields,
    filename: checkedText(isFilename, `the path of a file, without file: and spaces around it, or ${memory}`),
    durability: optional(oneOf("full", "normal")),
    busyTimeout: optional(patience),
    groupCommit: optional(flag),
    driver: optional(oneOf(...names))
  } satisfies Fields<Options>),
  refused("open", "SqliteStore")
)

const synchronous = { full: "PRAGMA synchronous = FULL", normal: "PRAGMA synchronous = NORMAL" }

/** Runs a transaction on the spot. What failed and is certainly not applied is left to be tried again. */
const attempt = (
  connection: sqliteConnection.Connection,
  call: Call,
  statements: () => ReadonlyArray<Statement>
): Either.Either<Results, Failure> | undefined => {
  const result = connection.transaction(statements)
  if (Either.isRight(result)) return Either.right(result.right)
  const { problem, ...at } = result.left
  return mayBeApplied(problem, at) ? Either.left(toStoreError(call, problem, at)) : undefined
}

/** For how long a locked database is tried again. */
const defaultBusyTimeout = Duration.seconds(5)

/** What the driver itself needs to know of these. */
interface Settings {
  readonly filename: string
  readonly durability?: Options["durability"]
  readonly busyTimeout?: Duration.Duration | undefined
  readonly groupCommit?: boolean | undefined
  readonly driver?: Options["driver"]
}

/** A driver on a database file, with a connection that waits for locks in Effect and never in SQLite. */
export const make = ({
  busyTimeout = defaultBusyTimeout,
  driver,
  durability = "full",
  filename,
  groupCommit = true
}: Settings): Effect.Effect<SqlDriver, StoreUnavailable | StoreRejected, Scope.Scope> =>
  Effect.gen(function* () {
    const turn = makeTurn()
    const retryWhileBusy = busyRetry.make(busyTimeout, turn)
    yield* check(filename)
    const library = yield* load(driver)
    const connection = yield* sqliteConnection.open(library, filename)
    const single: LazyDriver = {
      embedded: true,
      exclusive: filename === memory,
      readsAnyText: true,
      transaction: (call, statements) =>
        retryWhileBusy(
          call,
          Effect.suspend(() => connection.transaction(statements))
        ),
      inTurn: yield* tasksOf(turn),
      attempt: (call, statements) => (turn.take() ? attempt(connection, call, statements) : undefined),
      query: (call, statement) => retryWhileBusy(call, connection.query(statement))
    }
    const pragma = (sql: string) => Effect.map(single.query(call, { sql, params: [] }), (rows) => rows[0]?.[0])
    yield* pragma("PRAGMA busy_timeout = 0")
    const journal = yield* pragma("PRAGMA journal_mode = WAL")
    if (journal !== "wal" && filename !== memory) {
      const detail = `its file system does not allow SQLite's write-ahead log: the journal mode stays ${String(journal)}`
      return yield* new StoreRejected({ ...call, reason: "open", detail })
    }
    // Said even where it seems so already: as it is built for Node, SQLite goes down to NORMAL with its first write to the log.
    yield* pragma(synchronous[durability])
    // A first read makes the log.
    yield* pragma("PRAGMA schema_version")
    connection.watch(OpenFiles.of(filename, turn))
    const grouped: SqlDriver = groupCommit
      ? yield* group.make(single, group.embedded)
      : { ...single, transaction: (call, statements) => single.transaction(call, () => statements) }
    return filename === memory
      ? grouped
      : {
          ...grouped,
          snapshot: snapshot.ofFile(library, filename, retryWhileBusy),
          otherWrites: otherWrites.make({
            watch: otherWrites.watchFile(logOf(filename)),
            look: () => connection.othersWrote()
          })
        }
  })
