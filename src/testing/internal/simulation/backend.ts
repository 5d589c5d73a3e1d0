import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type { Encoded } from "../../../EncodedStore.js"
import * as memoryEncoded from "../../../internal/memory/encoded.js"
import { Tables } from "../../../internal/memory/tables.js"
import { type Connection, open as openConnection } from "../../../internal/sqlite/connection.js"
import { toStoreError } from "../../../internal/sqlite/error.js"
import { load } from "../../../internal/sqliteDriver/load.js"
import * as sqlStore from "../../../internal/sqlStore/store.js"
import type { Call, SqlDriver, Statement } from "../../../SqlDriver.js"
import type { StoreError } from "../../../StoreError.js"
import type { Send } from "./network.js"
import * as remote from "./remote.js"

/**
 * A database.
 *
 * - `truth`: what is in it. Each operation is done at once, and nothing goes wrong.
 * - `connect`: the same as a process has it.
 * - `duplicates`: whether the way to it may carry out a request again.
 */
export interface Backend {
  readonly duplicates: boolean
  readonly truth: Encoded
  readonly connect: (send: Send) => Effect.Effect<Encoded, StoreError>
}

// All of it, so that what an execution has consumed can be told by its trace.
const traceMax = 0

const memory: Effect.Effect<Backend> = Effect.sync(() => {
  // Others can write to it.
  const truth: Encoded = { ...memoryEncoded.make(new Tables(), traceMax), exclusive: false }
  return { truth, duplicates: false, connect: (send) => Effect.succeed(remote.make(truth, send)) }
})

const run = (connection: Connection, call: Call, statements: ReadonlyArray<Statement>) =>
  Either.match(
    connection.transaction(() => statements),
    {
      onLeft: ({ problem, ...at }) => Exit.fail(toStoreError(call, problem, at)),
      onRight: Exit.succeed
    }
  )

const rows = (connection: Connection, call: Call, statement: Statement) =>
  Effect.runSyncExit(
    Effect.mapError(connection.query(statement), ({ problem, ...at }) => toStoreError(call, problem, at))
  )

const sqlite: Effect.Effect<Backend, StoreError, Scope.Scope> = Effect.gen(function* () {
  const library = yield* load()
  const connection = yield* openConnection(library, ":memory:")
  const direct: SqlDriver = {
    transaction: (call, statements) => Effect.suspend(() => run(connection, call, statements)),
    query: (call, statement) => Effect.suspend(() => rows(connection, call, statement))
  }
  const { encoded } = yield* sqlStore.open(direct, { traceMax })
  return {
    truth: encoded,
    duplicates: true,
    connect: (send) =>
      Effect.map(
        sqlStore.open(
          {
            transaction: (call, statements) => send({ ...call, write: true }, () => run(connection, call, statements)),
            query: (call, statement) => send({ ...call, write: false }, () => rows(connection, call, statement))
          },
          { traceMax }
        ),
        ({ encoded }) => encoded
      )
  }
})

/** A new, empty database. */
export const make = (kind: "memory" | "sqlite"): Effect.Effect<Backend, StoreError, Scope.Scope> =>
  kind === "memory" ? memory : sqlite
