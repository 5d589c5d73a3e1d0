import { createRequire } from "node:module"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type { Param, Statement, StatementResult } from "../../SqlDriver.js"
import { StoreRejected, type StoreUnavailable } from "../../StoreError.js"
import { type Problem, problemOf, toStoreError } from "./error.js"

type Rows = ReadonlyArray<ReadonlyArray<unknown>>

/** What is used of better-sqlite3, which has no types of its own. */
interface Prepared {
  readonly reader: boolean
  readonly raw: (on: boolean) => unknown
  readonly all: (...params: ReadonlyArray<Param>) => Rows
  readonly run: (...params: ReadonlyArray<Param>) => {
    readonly changes: number
    readonly lastInsertRowid: number | bigint
  }
}

interface Handle {
  readonly inTransaction: boolean
  readonly prepare: (sql: string) => Prepared
  readonly close: () => unknown
}

type Constructor = new (filename: string) => Handle

const isConstructor = (u: unknown): u is Constructor => typeof u === "function"

const call = { operation: "open" }

/**
 * The better-sqlite3 of @effect/sql-sqlite-node. Its client gives nobody the connection itself, and a statement that goes through it costs
 * twice what SQLite takes for it: an atomic commit is seven of them.
 */
const load: Effect.Effect<Constructor, StoreRejected> = Effect.try({
  try: () => {
    const here = createRequire(import.meta.url)
    const found: unknown = createRequire(here.resolve("@effect/sql-sqlite-node/SqliteClient"))("better-sqlite3")
    if (isConstructor(found)) return found
    throw new TypeError("better-sqlite3 exports no class")
  },
  catch: (cause) =>
    new StoreRejected({
      ...call,
      reason: "open",
      detail: `@effect/sql-sqlite-node cannot be loaded: install it beside this package (${cause instanceof Error ? cause.message : String(cause)})`,
      cause
    })
})

/** What a transaction failed with; it is rolled back. */
export interface Broken {
  readonly problem: Problem
  readonly committing: boolean
}

/** An open database. Both run without a pause, so that nobody else comes in between, and never wait for a lock; a transaction at once. */
export interface Database {
  readonly transaction: (
    statements: () => ReadonlyArray<Statement>
  ) => Either.Either<ReadonlyArray<StatementResult>, Broken>
  readonly query: (statement: Statement) => Effect.Effect<Rows, Broken>
}

// The texts of a store are few; those of the listings depend on what is asked for.
const maxPrepared = 256

const make = (handle: Handle): Database => {
  const known = new Map<string, Prepared>()

  const prepare = (sql: string): Prepared => {
    const found = known.get(sql)
    if (found !== undefined) return found
    const prepared = handle.prepare(sql)
    if (prepared.reader) prepared.raw(true)
    if (known.size >= maxPrepared) known.clear()
    known.set(sql, prepared)
    return prepared
  }

  const run = ({ params, sql }: Statement): StatementResult => {
    const { changes, lastInsertRowid } = prepare(sql).run(...params)
    return { changes, lastRowid: Number(lastInsertRowid) }
  }

  const command = (sql: string): void => void prepare(sql).run()

  /** Some failures have ended the transaction already; one of the rollback itself leaves it to the next one. */
  const rollBack = (): void => {
    try {
      if (handle.inTransaction) command("ROLLBACK")
    } catch {
      // The failure that led here says more.
    }
  }

  return {
    transaction: (statements) => {
      let committing = false
      try {
        if (handle.inTransaction) command("ROLLBACK")
        command("BEGIN IMMEDIATE")
        const results = statements().map(run)
        committing = true
        command("COMMIT")
        return Either.right(results)
      } catch (cause) {
        rollBack()
        return Either.left({ problem: problemOf({ cause }), committing })
      }
    },
    query: ({ params, sql }) =>
      Effect.suspend(() => {
        try {
          const prepared = prepare(sql)
          if (prepared.reader) return Effect.succeed(prepared.all(...params))
          prepared.run(...params)
          return Effect.succeed([])
        } catch (cause) {
          return Effect.fail({ problem: problemOf({ cause }), committing: false })
        }
      })
  }
}

/** Opens a file, and reads nothing of it yet. */
export const open = (filename: string): Effect.Effect<Database, StoreUnavailable | StoreRejected, Scope.Scope> =>
  Effect.flatMap(load, (Sqlite) =>
    Effect.acquireRelease(
      Effect.try({
        try: () => new Sqlite(filename),
        catch: (cause) => toStoreError(call, problemOf({ cause }))
      }),
      (handle) => Effect.sync(() => handle.close())
    )
  ).pipe(Effect.map(make))
