import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { SqlDriver } from "../../SqlDriver.js"
import type { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import { elapsed } from "../clock/elapsed.js"
import * as group from "../groupCommit/groupCommit.js"
import type { LazyDriver } from "../groupCommit/lazyDriver.js"
import * as busyRetry from "../sqlite/busyRetry.js"
import { problemOf, toStoreError } from "../sqlite/error.js"
import { make as makeTurn, tasksOf } from "../sqlite/eventLoop.js"
import { check, refused } from "./client.js"
import { using } from "./connection.js"
import * as joinedTransaction from "./joinedTransaction.js"
import * as ownTransaction from "./ownTransaction.js"

/**
 * - `busyTimeout`: for how long a locked database is tried again.
 * - `groupCommit`: whether transactions that wait at the same time share one.
 */
export interface DriverOptions {
  readonly client: SqlClient.SqlClient
  readonly busyTimeout: Duration.Duration
  readonly groupCommit: boolean
}

/** A client, and the connection that it gave last: some clients replace theirs while they live. */
interface Client {
  readonly client: SqlClient.SqlClient
  last: { readonly connection: Connection; readonly shared: joinedTransaction.Shared } | undefined
}

/** The client's connection, which nobody else uses until the scope closes. */
const reserve = (state: Client): Effect.Effect<joinedTransaction.Shared, busyRetry.Failure, Scope.Scope> =>
  Effect.mapBoth(state.client.reserve, {
    onFailure: (error) => ({ problem: problemOf(error), committing: false }),
    onSuccess: (connection) => {
      if (state.last?.connection !== connection) {
        state.last = { connection, shared: { use: using(connection), turns: Effect.unsafeMakeSemaphore(1) } }
      }
      return state.last.shared
    }
  })

/** Uses the reserved connection. Waiting for it is no waiting for the database, but the client may wait for locks itself. */
const reserved = <A>(
  state: Client,
  use: (shared: joinedTransaction.Shared) => Effect.Effect<A, busyRetry.Failure>
): Effect.Effect<A, busyRetry.Failure> =>
  Effect.scoped(
    Effect.flatMap(Effect.zip(reserve(state), elapsed), ([shared, began]) =>
      Effect.mapError(use(shared), (failure) => ({ ...failure, began }))
    )
  )

/** Fails at once for a client that cannot reserve its connection. */
const tryReserving = (state: Client): Effect.Effect<void, StoreUnavailable | StoreRejected> =>
  Effect.scoped(reserve(state)).pipe(
    Effect.asVoid,
    Effect.mapError((failure) => toStoreError({ operation: "open" }, failure.problem)),
    Effect.catchAllDefect((cause) => refused(`the SqlClient cannot reserve its connection: ${String(cause)}`, cause))
  )

/** The driver outside of the caller's transactions. */
const makeOwn = (state: Client, busyTimeout: Duration.Duration): Effect.Effect<LazyDriver> => {
  const turn = makeTurn()
  const retryWhileBusy = busyRetry.make(busyTimeout, turn)
  return Effect.map(tasksOf(turn), (inTurn) => ({
    embedded: true,
    inTurn,
    transaction: (call, statements) =>
      retryWhileBusy(
        call,
        reserved(state, ({ use }) => ownTransaction.write(use, statements))
      ),
    query: (call, statement) =>
      retryWhileBusy(
        call,
        reserved(state, ({ use }) => ownTransaction.read(use, statement))
      )
  }))
}

/**
 * A driver on an SQLite client. It takes the client's one connection for itself for each call, except within the caller's own
 * `sql.withTransaction`, of which its statements become a part.
 */
export const make = ({
  busyTimeout,
  client,
  groupCommit
}: DriverOptions): Effect.Effect<SqlDriver, StoreUnavailable | StoreRejected, Scope.Scope> =>
  Effect.gen(function* () {
    yield* check(client)
    const state: Client = { client, last: undefined }
    yield* tryReserving(state)
    const lazy = yield* makeOwn(state, busyTimeout)
    const own: SqlDriver = groupCommit
      ? yield* group.make(lazy, group.embedded)
      : { ...lazy, transaction: (call, statements) => lazy.transaction(call, () => statements) }

    // The service is one for all clients of an application: only a transaction on this client's connection is the caller's here.
    const current = Effect.map(Effect.serviceOption(SqlClient.TransactionConnection), (transaction) =>
      Option.isSome(transaction) && transaction.value[0] === state.last?.connection
        ? joinedTransaction.make(state.last.shared)
        : own
    )
    return {
      embedded: true,
      transaction: (call, statements) => Effect.flatMap(current, (driver) => driver.transaction(call, statements)),
      query: (call, statement) => Effect.flatMap(current, (driver) => driver.query(call, statement))
    }
  })
