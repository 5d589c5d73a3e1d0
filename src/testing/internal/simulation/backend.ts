import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import { constant } from "effect/Function"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Encoded } from "../../../EncodedStore.js"
import * as group from "../../../internal/groupCommit/groupCommit.js"
import type { LazyDriver } from "../../../internal/groupCommit/lazyDriver.js"
import * as memoryEncoded from "../../../internal/memory/encoded.js"
import { Tables } from "../../../internal/memory/tables.js"
import { type Connection, open as openConnection } from "../../../internal/sqlite/connection.js"
import { toStoreError } from "../../../internal/sqlite/error.js"
import { load } from "../../../internal/sqliteDriver/load.js"
import * as sqlStore from "../../../internal/sqlStore/store.js"
import type { Call, SqlDriver, Statement } from "../../../SqlDriver.js"
import type { StoreError } from "../../../StoreError.js"
import { Breakable, type BrokenStatement } from "./brokenLibrary.js"
import type { Send } from "./network.js"
import * as remote from "./remote.js"
import type { RuntimeOptions } from "./runtimeOptions.js"

/**
 * A database.
 *
 * - `truth`: what is in it. Each operation is done at once, and nothing goes wrong.
 * - `connect`: the same as a process has it.
 * - `sql`: whether a request is a list of statements: one of them may fail, and the way to it may carry out a request again.
 */
export interface Backend {
  readonly sql: boolean
  readonly truth: Encoded
  readonly connect: (send: Send, wrong: (problem: string) => void) => Effect.Effect<Encoded, StoreError, Scope.Scope>
}

/** Of the options of a world, what its database is reached by. */
export type Reached = Pick<RuntimeOptions, "alone" | "exclusive" | "grouped">

// All of it, so that what an execution has consumed can be told by its trace.
const traceMax = 0

const memory = ({ exclusive }: Reached): Effect.Effect<Backend> =>
  Effect.sync(() => {
    const truth: Encoded = { ...memoryEncoded.make(new Tables(), traceMax), exclusive }
    return { truth, sql: false, connect: (send) => Effect.succeed(remote.make(truth, send)) }
  })

/** A connection whose statements can be made to fail. */
interface Reach {
  readonly connection: Connection
  readonly breakable: Breakable
}

const run = (
  { breakable, connection }: Reach,
  call: Call,
  statements: () => ReadonlyArray<Statement>,
  broken?: BrokenStatement
) =>
  Either.match(
    breakable.during(broken, () => connection.transaction(statements)),
    {
      onLeft: ({ problem, ...at }) => Exit.fail(toStoreError(call, problem, at)),
      onRight: Exit.succeed
    }
  )

const rows = ({ breakable, connection }: Reach, call: Call, statement: Statement, broken?: BrokenStatement) =>
  breakable.during(broken, () =>
    Effect.runSyncExit(
      Effect.mapError(connection.query(statement), ({ problem, ...at }) => toStoreError(call, problem, at))
    )
  )

/**
 * Transactions that share one, whose members must not suffer from each other: a statement that the database refuses is refused to him alone
 * who asked for it.
 */
const shared = (driver: LazyDriver, wrong: (problem: string) => void): Effect.Effect<SqlDriver, never, Scope.Scope> => {
  /** With how many others a statement was in the smallest transaction that was refused. */
  const least = new WeakMap<Statement, number>()
  const transaction: LazyDriver["transaction"] = (call, statements) => {
    let sent: ReadonlyArray<Statement> = []
    const remembered = () => {
      sent = statements()
      return sent
    }
    return Effect.tapErrorTag(driver.transaction(call, remembered), "StoreRejected", () =>
      Effect.sync(() => {
        for (const one of sent) least.set(one, Math.min(least.get(one) ?? sent.length, sent.length))
      })
    )
  }
  const told = ({ operation }: Call, asked: ReadonlyArray<Statement>, error: StoreError): void => {
    const [first] = asked
    if (error._tag === "StoreRejected" && first !== undefined && (least.get(first) ?? 0) > asked.length)
      wrong(`${operation} was refused for what another transaction asked for: ${error.message}`)
  }
  return Effect.map(group.make({ ...driver, transaction }, group.embedded), ({ transactions, ...grouped }) => ({
    ...grouped,
    transaction: (call, asked) =>
      Effect.tapError(grouped.transaction(call, asked), (error) => Effect.sync(() => told(call, asked, error))),
    ...(transactions === undefined
      ? {}
      : {
          transactions: (all) =>
            Effect.tap(transactions(all), (exits) =>
              Effect.sync(() => {
                for (const [place, { call, statements }] of all.entries()) {
                  const exit = exits[place]
                  if (exit === undefined || Exit.isSuccess(exit)) continue
                  Option.map(Cause.failureOption(exit.cause), (error) => told(call, statements, error))
                }
              })
            )
        })
  }))
}

/** The driver that a process has of an SQLite. */
const driver = (
  reach: Reach,
  { alone, exclusive, grouped }: Reached,
  send: Send,
  wrong: (problem: string) => void
): Effect.Effect<SqlDriver, never, Scope.Scope> => {
  const where = { embedded: alone, exclusive }
  const query: SqlDriver["query"] = (call, statement) =>
    send({ ...call, write: false }, (broken) => rows(reach, call, statement, broken))
  const transaction: LazyDriver["transaction"] = (call, statements) =>
    Effect.suspend(() => {
      // A request over a network has its statements when it is sent.
      const asked = alone ? statements : constant(statements())
      return send({ ...call, write: true }, (broken) => run(reach, call, asked, broken))
    })
  return grouped
    ? shared({ ...where, transaction, query }, wrong)
    : Effect.succeed({ ...where, query, transaction: (call, asked) => transaction(call, constant(asked)) })
}

const sqlite = (reached: Reached): Effect.Effect<Backend, StoreError, Scope.Scope> =>
  Effect.gen(function* () {
    const breakable = new Breakable(yield* load())
    const reach = { breakable, connection: yield* openConnection(breakable.library, ":memory:") }
    const direct: SqlDriver = {
      transaction: (call, statements) => Effect.suspend(() => run(reach, call, constant(statements))),
      query: (call, statement) => Effect.suspend(() => rows(reach, call, statement))
    }
    const { encoded } = yield* sqlStore.open(direct, { traceMax })
    return {
      truth: encoded,
      sql: true,
      connect: (send, wrong) =>
        driver(reach, reached, send, wrong).pipe(
          Effect.flatMap((driver) => sqlStore.open(driver, { traceMax })),
          Effect.map(({ encoded }) => encoded)
        )
    }
  })

/** A new, empty database. */
export const make = (kind: "memory" | "sqlite", reached: Reached): Effect.Effect<Backend, StoreError, Scope.Scope> =>
  kind === "memory" ? memory(reached) : sqlite(reached)
