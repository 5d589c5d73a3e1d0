import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import type { Call, SqlDriver, Statement, StatementResult } from "../../SqlDriver.js"
import { StoreRejected, type StoreUnavailable } from "../../StoreError.js"
import * as group from "../groupCommit/groupCommit.js"
import type { LazyDriver } from "../groupCommit/lazyDriver.js"
import * as busyRetry from "./busyRetry.js"
import { type Failure, isBusy } from "./busyRetry.js"
import { problemOf, toStoreError } from "./error.js"
import { type Runner, type Used, using } from "./sqlClientConnection.js"

const failed = (error: SqlError): Failure => ({ problem: problemOf(error), committing: false })

type Results = ReadonlyArray<StatementResult>

/** Begins a transaction on a connection that nobody else uses. */
const begin = (runner: Runner): Effect.Effect<unknown, SqlError> => {
  const immediate = runner.command("BEGIN IMMEDIATE")
  return Effect.catchAll(immediate, (error) =>
    isBusy(failed(error))
      ? Effect.fail(error)
      : // A COMMIT of the application that failed leaves its transaction open.
        Effect.matchEffect(runner.command("ROLLBACK"), {
          onFailure: () => Effect.fail(error),
          onSuccess: () => immediate
        })
  )
}

/** Runs the statements in a transaction of their own. It ends here in every case; some failures have ended it already. */
const transact = (connection: Used, statements: () => ReadonlyArray<Statement>): Effect.Effect<Results, Failure> =>
  Effect.suspend(() => {
    let committing = false
    const commit = (runner: Runner) =>
      Effect.suspend(() => {
        committing = true
        return runner.command("COMMIT")
      })
    const all = (runner: Runner) =>
      Effect.suspend(() => {
        committing = false
        return Effect.forEach(statements(), runner.write)
      })
    const written = connection((runner) =>
      Effect.zipRight(
        begin(runner),
        Effect.tapErrorCause(Effect.zipLeft(all(runner), commit(runner)), () =>
          Effect.ignore(runner.command("ROLLBACK"))
        )
      )
    )
    return Effect.mapError(written, (error) => ({ problem: problemOf(error), committing }))
  }).pipe(Effect.uninterruptible)

/** Runs the statements within the transaction that the connection is in, and takes back those that ran where one fails. */
const join = (connection: Used, statements: ReadonlyArray<Statement>): Effect.Effect<Results, SqlError> =>
  Effect.uninterruptible(
    connection((runner) =>
      Effect.zipRight(
        runner.command("SAVEPOINT holdfast"),
        Effect.tapErrorCause(
          Effect.zipLeft(Effect.forEach(statements, runner.write), runner.command("RELEASE holdfast")),
          () =>
            Effect.ignore(Effect.zipRight(runner.command("ROLLBACK TO holdfast"), runner.command("RELEASE holdfast")))
        )
      )
    )
  )

const refused = (detail: string, cause?: unknown): StoreRejected =>
  new StoreRejected({ operation: "open", reason: "open", detail, cause })

/** Fails where a transaction of the caller is open: it may hold the very connection that a store must get hold of once. */
export const outsideTransaction: Effect.Effect<void, StoreRejected> = Effect.flatMap(
  Effect.serviceOption(SqlClient.TransactionConnection),
  Option.match({
    onNone: () => Effect.void,
    onSome: () => refused("a store cannot be made inside a transaction: make it before sql.withTransaction")
  })
)

const libsqlClient: unique symbol = Symbol.for("@effect/sql-libsql/LibsqlClient")

/** Refuses the clients that could not keep what the store promises. */
const check = (client: SqlClient.SqlClient): Effect.Effect<void, StoreRejected> => {
  if (!client.onDialectOrElse({ sqlite: () => true, orElse: () => false })) {
    return refused("the SqlClient is not one of SQLite")
  }
  return Predicate.hasProperty(client, libsqlClient)
    ? refused(
        "a client of @effect/sql-libsql does not reserve its connection: statements of others would fall into the store's transactions"
      )
    : Effect.void
}

/**
 * - `busyTimeout`: for how long a locked database is tried again.
 * - `groupCommit`: whether transactions that wait at the same time share one.
 */
export interface DriverOptions {
  readonly client: SqlClient.SqlClient
  readonly busyTimeout: Duration.Duration
  readonly groupCommit: boolean
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

    // Some clients replace their connection while they live.
    let last: { readonly connection: Connection; readonly used: Used } | undefined
    const reserve = Effect.map(Effect.mapError(client.reserve, failed), (connection): Used => {
      if (last?.connection !== connection) last = { connection, used: using(connection) }
      return last.used
    })
    yield* Effect.scoped(reserve).pipe(
      Effect.mapError((failure) => toStoreError({ operation: "open" }, failure.problem)),
      Effect.catchAllDefect((cause) => refused(`the SqlClient cannot reserve its connection: ${String(cause)}`, cause))
    )

    const patiently = busyRetry.make(busyTimeout)
    /** Uses the reserved connection. Waiting for it is no waiting for the database, but the client may wait for locks itself. */
    const reserved = <A>(use: (connection: Used) => Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
      Effect.scoped(
        Effect.flatMap(Effect.zip(reserve, Clock.currentTimeMillis), ([connection, began]) =>
          Effect.mapError(use(connection), (failure) => ({ ...failure, began }))
        )
      )

    const single: LazyDriver = {
      embedded: true,
      transaction: (call, statements) =>
        patiently(
          call,
          reserved((connection) => transact(connection, statements))
        ),
      query: (call, statement) =>
        patiently(
          call,
          reserved((connection) =>
            Effect.mapError(
              connection((runner) => runner.query(statement)),
              failed
            )
          )
        )
    }
    const alone: SqlDriver = groupCommit
      ? yield* group.make(single, group.embedded)
      : { ...single, transaction: (call, statements) => single.transaction(call, () => statements) }

    const within = (connection: Used): SqlDriver => {
      const busy = "the database is locked, so the whole transaction that this is a part of must be run again"
      const refail = (call: Call) =>
        Effect.mapError((error: SqlError) => toStoreError(call, problemOf(error), { busy }))
      return {
        transaction: (call, statements) => refail(call)(join(connection, statements)),
        query: (call, statement) => refail(call)(connection((runner) => runner.query(statement)))
      }
    }

    // The service is one for all clients of an application: only a transaction on this client's connection is the caller's here.
    const current = Effect.map(Effect.serviceOption(SqlClient.TransactionConnection), (transaction) => {
      const theirs = Option.isSome(transaction) && transaction.value[0] === last?.connection
      return theirs && last !== undefined ? within(last.used) : alone
    })
    return {
      embedded: true,
      transaction: (call, statements) => Effect.flatMap(current, (driver) => driver.transaction(call, statements)),
      query: (call, statement) => Effect.flatMap(current, (driver) => driver.query(call, statement))
    }
  })
