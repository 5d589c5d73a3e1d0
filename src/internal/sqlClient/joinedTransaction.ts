import * as Effect from "effect/Effect"
import type { Call, SqlDriver, Statement, StatementResult } from "../../SqlDriver.js"
import type { Failure } from "../sqlite/busyRetry.js"
import { isWithin, toStoreError } from "../sqlite/error.js"
import type { Runner, Used } from "./connection.js"

/** The client's connection, which the fibers of one transaction share. */
export interface Shared {
  readonly use: Used
  readonly turns: Effect.Semaphore
}

/**
 * Takes turns with the store's other operations in the transaction: they share the savepoint, and a read must not see what may still be
 * taken back. A fiber that yields within its turn would let the application's own statements come in between.
 */
const inTurn = <A>({ turns, use }: Shared, body: (runner: Runner) => Effect.Effect<A, Failure>) =>
  turns.withPermits(1)(Effect.uninterruptible(Effect.withMaxOpsBeforeYield(use(body), Number.POSITIVE_INFINITY)))

const ended: Failure = {
  problem: {
    kind: "io",
    said: "the transaction that this is a part of has ended, so it must be run again as a whole",
    meaning: "",
    cause: undefined
  },
  committing: false
}

/** Fails where the caller's transaction is over: some failures end it, and a fiber that was forked in it may outlive it. */
const ensureOpen = (runner: Runner): Effect.Effect<void, Failure> =>
  Effect.matchEffect(runner.command("BEGIN"), {
    onFailure: (failure) => (isWithin(failure.problem) ? Effect.void : Effect.fail(failure)),
    onSuccess: () => Effect.zipRight(Effect.ignore(runner.command("ROLLBACK")), Effect.fail(ended))
  })

const takeBack = (runner: Runner) =>
  Effect.ignore(Effect.zipRight(runner.command("ROLLBACK TO holdfast"), runner.command("RELEASE holdfast")))

/** Runs the statements within the transaction that the connection is in, and takes back those that ran where one fails. */
const write = (
  shared: Shared,
  statements: ReadonlyArray<Statement>
): Effect.Effect<ReadonlyArray<StatementResult>, Failure> =>
  inTurn(shared, (runner) => {
    const all = Effect.zipLeft(Effect.forEach(statements, runner.write), runner.command("RELEASE holdfast"))
    return ensureOpen(runner).pipe(
      Effect.zipRight(runner.command("SAVEPOINT holdfast")),
      Effect.zipRight(Effect.tapErrorCause(all, () => takeBack(runner)))
    )
  })

const busy = "the database is locked, so the whole transaction that this is a part of must be run again"

/** The driver within a transaction of the caller's. */
export const make = (shared: Shared): SqlDriver => {
  const refail = (call: Call) => Effect.mapError((failure: Failure) => toStoreError(call, failure.problem, { busy }))
  return {
    transaction: (call, statements) => refail(call)(write(shared, statements)),
    query: (call, statement) => refail(call)(inTurn(shared, (runner) => runner.query(statement)))
  }
}
