import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Call, SqlDriver, Statement, StatementResult } from "../SqlDriver.js"
import { StoreRejected, type StoreUnavailable } from "../StoreError.js"
import * as group from "./groupCommit.js"
import { command, query, write } from "./sqlConnection.js"
import { type Problem, problemOf, toStoreError } from "./sqliteError.js"
import { make as makeTurn } from "./turn.js"

interface Failure {
  readonly problem: Problem
  readonly committing: boolean
}

const failed = (error: SqlError): Failure => ({ problem: problemOf(error), committing: false })

const isBusy = (failure: Failure): boolean => failure.problem.kind === "busy"

/** How long to wait before looking at a locked database again. */
const backoff = Schedule.exponential("1 millis").pipe(
  Schedule.union(Schedule.spaced("25 millis")),
  Schedule.jitteredWith({ min: 0.5, max: 1.5 })
)

const writeAll = (connection: Connection, statements: ReadonlyArray<Statement>) =>
  Effect.forEach(statements, (statement) => write(connection, statement))

/** Begins a transaction on a connection that nobody else uses. */
const begin = (connection: Connection): Effect.Effect<void, Failure> => {
  const immediate = Effect.mapError(command(connection, "BEGIN IMMEDIATE"), failed)
  return Effect.catchAll(immediate, (failure) =>
    isBusy(failure)
      ? Effect.fail(failure)
      : // A COMMIT of the application that failed leaves its transaction open.
        Effect.matchEffect(command(connection, "ROLLBACK"), {
          onFailure: () => Effect.fail(failure),
          onSuccess: () => immediate
        })
  )
}

/** Runs the statements in a transaction of their own. It ends here in every case; some failures have ended it already. */
const transact = (
  connection: Connection,
  statements: () => ReadonlyArray<Statement>
): Effect.Effect<ReadonlyArray<StatementResult>, Failure> =>
  begin(connection).pipe(
    Effect.zipRight(
      Effect.suspend(() => writeAll(connection, statements())).pipe(
        Effect.mapError(failed),
        Effect.zipLeft(
          Effect.mapError(command(connection, "COMMIT"), (error) => ({ problem: problemOf(error), committing: true }))
        ),
        Effect.tapErrorCause(() => Effect.ignore(command(connection, "ROLLBACK")))
      )
    ),
    Effect.uninterruptible
  )

/** Runs the statements within the transaction that the connection is in, and takes back those that ran where one fails. */
const join = (
  connection: Connection,
  statements: ReadonlyArray<Statement>
): Effect.Effect<ReadonlyArray<StatementResult>, SqlError> =>
  command(connection, "SAVEPOINT holdfast").pipe(
    Effect.zipRight(
      writeAll(connection, statements).pipe(
        Effect.zipLeft(command(connection, "RELEASE holdfast")),
        Effect.tapErrorCause(() =>
          Effect.ignore(
            Effect.zipRight(command(connection, "ROLLBACK TO holdfast"), command(connection, "RELEASE holdfast"))
          )
        )
      )
    ),
    Effect.uninterruptible
  )

const refused = (detail: string, cause?: unknown): StoreRejected =>
  new StoreRejected({ operation: "open", reason: "open", detail, ...(cause === undefined ? {} : { cause }) })

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

// One sync serves so many; beyond that a group only makes its first members wait.
const groupLimits = { maxCommits: 128, maxBytes: 8_000_000 }

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
    const patience = Duration.toMillis(busyTimeout)

    const turn = makeTurn()

    // Some clients replace their connection while they live.
    let own: Connection | undefined
    const reserve = Effect.mapError(
      Effect.tap(client.reserve, (connection) =>
        Effect.sync(() => {
          own = connection
        })
      ),
      failed
    )
    yield* Effect.scoped(reserve).pipe(
      Effect.mapError((failure) => toStoreError({ operation: "open" }, failure.problem)),
      Effect.catchAllDefect((cause) => refused(`the SqlClient cannot reserve its connection: ${String(cause)}`, cause))
    )

    /** Runs on the reserved connection, again and again while the database is locked and there is time left. */
    const patiently = <A>(
      call: Call,
      use: (connection: Connection) => Effect.Effect<A, Failure>
    ): Effect.Effect<A, StoreUnavailable | StoreRejected> =>
      Effect.suspend(() => {
        let since: number | undefined
        const attempt = Effect.gen(function* () {
          yield* turn
          const connection = yield* reserve
          // Waiting for the connection is no waiting for the database.
          since ??= yield* Clock.currentTimeMillis
          return yield* use(connection)
        })
        return Effect.retry(Effect.scoped(attempt), {
          schedule: backoff,
          while: (failure) =>
            isBusy(failure) && Effect.map(Clock.currentTimeMillis, (now) => now - (since ?? now) < patience)
        })
      }).pipe(
        Effect.mapError(({ committing, problem }) => {
          const busy = `the database stayed locked for ${Duration.format(busyTimeout)}`
          return toStoreError(call, problem, { busy, committing })
        })
      )

    const single: group.LazyDriver = {
      transaction: (call, statements) => patiently(call, (connection) => transact(connection, statements)),
      query: (call, statement) => patiently(call, (connection) => Effect.mapError(query(connection, statement), failed))
    }
    const alone: SqlDriver = groupCommit
      ? yield* group.make(single, groupLimits)
      : { ...single, transaction: (call, statements) => single.transaction(call, () => statements) }

    const within = (connection: Connection): SqlDriver => {
      const busy = "the database is locked, so the whole transaction that this is a part of must be run again"
      const refail = (call: Call) =>
        Effect.mapError((error: SqlError) => toStoreError(call, problemOf(error), { busy }))
      return {
        transaction: (call, statements) => refail(call)(join(connection, statements)),
        query: (call, statement) => refail(call)(query(connection, statement))
      }
    }

    // The service is one for all clients of an application: only a transaction on this client's connection is the caller's here.
    const current = Effect.map(
      Effect.serviceOption(SqlClient.TransactionConnection),
      Option.match({
        onNone: () => alone,
        onSome: ([connection]) => (connection === own ? within(connection) : alone)
      })
    )
    return {
      embedded: true,
      transaction: (call, statements) => Effect.flatMap(current, (driver) => driver.transaction(call, statements)),
      query: (call, statement) => Effect.flatMap(current, (driver) => driver.query(call, statement))
    }
  })
