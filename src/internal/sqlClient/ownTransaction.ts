import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Statement, StatementResult } from "../../SqlDriver.js"
import { type Failure, isBusy } from "../sqlite/busyRetry.js"
import { type Ended, endedBy, isWithin, leftOpen } from "../sqlite/error.js"
import type { Rows, Runner, Used } from "./connection.js"

const rollBack = (runner: Runner): Effect.Effect<Ended> =>
  Effect.match(runner.command("ROLLBACK"), {
    onFailure: ({ problem }) => endedBy(problem),
    onSuccess: () => "rolled-back"
  })

/**
 * Begins a transaction on a connection that nobody else uses. One that is open there is one of the application's whose COMMIT failed:
 * what it wrote never was, and must not be seen.
 */
const begin = (runner: Runner, sql: "BEGIN" | "BEGIN IMMEDIATE"): Effect.Effect<unknown, Failure> =>
  Effect.catchAll(runner.command(sql), (failure) => {
    if (isBusy(failure)) return Effect.fail(failure)
    return Effect.flatMap(rollBack(runner), (ended) => {
      if (ended === "rolled-back") return runner.command(sql)
      return Effect.fail(isWithin(failure.problem) ? { ...failure, problem: leftOpen(failure.problem) } : failure)
    })
  })

/** Where a COMMIT fails and leaves no transaction behind to roll back, it may have been applied. */
const commit = (runner: Runner): Effect.Effect<unknown, Failure> =>
  Effect.catchAllCause(runner.command("COMMIT"), (cause) =>
    Effect.flatMap(rollBack(runner), (ended) =>
      Effect.failCause(Cause.map(cause, (failure) => ({ ...failure, committing: true, over: ended === "over" })))
    )
  )

/** Runs the statements in a transaction of their own, which ends here in every case. */
export const write = (
  connection: Used,
  statements: () => ReadonlyArray<Statement>
): Effect.Effect<ReadonlyArray<StatementResult>, Failure> => {
  const all = (runner: Runner) => Effect.suspend(() => Effect.forEach(statements(), runner.write))
  return Effect.uninterruptible(
    connection((runner) =>
      Effect.flatMap(
        Effect.zipRight(begin(runner, "BEGIN IMMEDIATE"), Effect.exit(all(runner))),
        (exit): Effect.Effect<ReadonlyArray<StatementResult>, Failure> =>
          Exit.isSuccess(exit) ? Effect.as(commit(runner), exit.value) : Effect.zipRight(rollBack(runner), exit)
      )
    )
  )
}

/** Ends a transaction that wrote nothing: a COMMIT keeps what SQLite has read of the file. */
const end = (runner: Runner): Effect.Effect<unknown> =>
  Effect.catchAllCause(runner.command("COMMIT"), () => rollBack(runner))

/** Reads in a transaction of its own: what the application left open is not seen. */
export const read = (connection: Used, statement: Statement): Effect.Effect<Rows, Failure> =>
  Effect.uninterruptible(
    connection((runner) =>
      Effect.flatMap(
        Effect.zipRight(begin(runner, "BEGIN"), Effect.exit(runner.query(statement))),
        (exit): Effect.Effect<Rows, Failure> => Effect.zipRight(end(runner), exit)
      )
    )
  )
