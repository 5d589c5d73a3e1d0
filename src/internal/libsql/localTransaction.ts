import {
  type Client,
  type InStatement,
  LibsqlError,
  type ResultSet,
  type Transaction,
  type TransactionMode
} from "@libsql/client"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Failure } from "./error.js"
import type { Owned } from "./localConnection.js"
import { toNumbers } from "./values.js"

/**
 * A transaction that has begun.
 *
 * - `leaveIfOver`: whether SQLite itself has ended it, so that each further statement would be committed by itself. Then the connection is in
 *   no transaction any more.
 */
interface Begun {
  readonly execute: (statement: InStatement) => Promise<ResultSet>
  readonly leaveIfOver: () => Promise<boolean>
  readonly commit: () => Promise<unknown>
  readonly rollback: () => Promise<unknown>
}

/** Runs an effect for a caller of the client, who sees what the client itself throws. */
export type Promised = <A>(effect: Effect.Effect<A, Failure>) => Promise<A>

/**
 * - `begun`: what has begun on a connection of its own, or why it did not begin.
 * - `done`: lets the next transaction begin.
 */
interface Options {
  readonly promise: Promised
  readonly begun: Either.Either<Owned<Begun>, Failure>
  readonly done: Effect.Effect<void>
}

const statement = (sql: string): InStatement => ({ sql, args: [] })

const closed = () => new LibsqlError("The transaction is closed", "TRANSACTION_CLOSED")

const unsupported = () => new LibsqlError("executeMultiple would end the transaction here: use batch", "UNSUPPORTED")

/** Whether the connection is in no transaction: each statement on it would be committed by itself. */
const isOutside = async (client: Client): Promise<boolean> => {
  try {
    await client.execute(statement("BEGIN"))
  } catch {
    return false
  }
  await client.execute(statement("ROLLBACK"))
  return true
}

/** Whether the client rolls back what `execute` leaves begun, as one with a pool of connections does (0.18): then there is nothing to end. */
const keepsNone = async (client: Client): Promise<boolean> => {
  await client.execute(statement("BEGIN"))
  try {
    await client.execute(statement("ROLLBACK"))
    return false
  } catch {
    return true
  }
}

const ofStatements = (client: Client): Begun => ({
  execute: (statement) => client.execute(statement),
  leaveIfOver: () => isOutside(client),
  commit: () => client.execute(statement("COMMIT")),
  rollback: () => client.execute(statement("ROLLBACK"))
})

const ofTransaction = (transaction: Transaction): Begun => ({
  execute: (statement) => transaction.execute(statement),
  leaveIfOver: async () => {
    if (!transaction.closed) return false
    transaction.close()
    return true
  },
  commit: () => transaction.commit(),
  rollback: () => transaction.rollback()
})

/**
 * What begins transactions. The client's own are used where there is no other way: before 0.18 it leaves the connection of each to the garbage
 * collector, and goes on with one that was not prepared.
 */
export const makeBegin = (): ((mode: TransactionMode) => (client: Client) => Promise<Begun>) => {
  let own: boolean | undefined
  return (mode) => async (client) => {
    own ??= await keepsNone(client)
    if (own) return ofTransaction(await client.transaction(mode === "write" ? mode : "deferred"))
    await client.execute(statement(mode === "write" ? "BEGIN IMMEDIATE" : "BEGIN"))
    return ofStatements(client)
  }
}

/** Ends a transaction. A commit that fails is rolled back. */
const end = ({ giveBack, use }: Owned<Begun>, how: "commit" | "rollback"): Effect.Effect<void, Failure> => {
  const rollback = Effect.ignore(use((begun) => begun.rollback()))
  const commit = Effect.tapError(
    use((begun) => begun.commit()),
    () => rollback
  )
  return Effect.asVoid(Effect.ensuring(how === "commit" ? commit : rollback, giveBack))
}

/**
 * A transaction on a connection of its own. Where it cannot begin, its statements fail: an SqlClient of @effect/sql whose transaction does
 * not begin waits for ever.
 */
class LocalTransaction implements Transaction {
  #over = false

  constructor(private readonly options: Options) {}

  get closed(): boolean {
    return this.#over
  }

  execute(statement: InStatement): Promise<ResultSet> {
    const { begun, promise } = this.options
    if (this.#over) return Promise.reject(closed())
    const run = async (begun: Begun): Promise<ResultSet> => {
      try {
        return toNumbers(await begun.execute(statement))
      } catch (error) {
        if (await begun.leaveIfOver()) await this.#leave()
        throw error
      }
    }
    return promise(Effect.flatMap(begun, ({ use }) => use(run)))
  }

  async batch(statements: Array<InStatement>): Promise<Array<ResultSet>> {
    const results: Array<ResultSet> = []
    for (const statement of statements) results.push(await this.execute(statement))
    return results
  }

  executeMultiple(): Promise<void> {
    return Promise.reject(unsupported())
  }

  commit(): Promise<void> {
    return this.#over ? Promise.reject(closed()) : this.#end("commit")
  }

  rollback(): Promise<void> {
    return this.#end("rollback")
  }

  close(): void {
    void this.#end("rollback")
  }

  /** A failure ended the transaction. */
  #leave(): Promise<void> {
    const { begun, done, promise } = this.options
    this.#over = true
    return promise(Either.isRight(begun) ? Effect.zipRight(begun.right.giveBack, done) : done)
  }

  #end(how: "commit" | "rollback"): Promise<void> {
    const { begun, done, promise } = this.options
    const ending = Effect.suspend(() => {
      if (this.#over) return Effect.void
      this.#over = true
      if (Either.isRight(begun)) return end(begun.right, how)
      return how === "commit" ? Effect.fail(begun.left) : Effect.void
    })
    return promise(Effect.uninterruptible(Effect.ensuring(ending, done)))
  }
}

export const make = (options: Options): Transaction => new LocalTransaction(options)
