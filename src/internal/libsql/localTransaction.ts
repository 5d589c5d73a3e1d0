import { type Client, type InStatement, LibsqlError, type ResultSet, type Transaction } from "@libsql/client"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Failure } from "./error.js"
import type { Owned } from "./localConnection.js"
import { toNumbers } from "./values.js"

/** Runs an effect for a caller of the client, who sees what the client itself throws. */
export type Promised = <A>(effect: Effect.Effect<A, Failure>) => Promise<A>

/**
 * - `begun`: its connection, or why it did not begin.
 * - `done`: lets the next transaction begin.
 */
interface Options {
  readonly promise: Promised
  readonly begun: Either.Either<Owned, Failure>
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

/** Ends a transaction on a connection. A commit that fails is rolled back. */
const end = ({ giveBack, use }: Owned, how: "COMMIT" | "ROLLBACK"): Effect.Effect<void, Failure> => {
  const rollback = Effect.ignore(use((client) => client.execute(statement("ROLLBACK"))))
  const commit = Effect.tapError(
    use((client) => client.execute(statement("COMMIT"))),
    () => rollback
  )
  return Effect.asVoid(Effect.ensuring(how === "COMMIT" ? commit : rollback, giveBack))
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
    const run = async (client: Client): Promise<ResultSet> => {
      try {
        return toNumbers(await client.execute(statement))
      } catch (error) {
        if (await isOutside(client)) await this.#leave()
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
    return this.#over ? Promise.reject(closed()) : this.#end("COMMIT")
  }

  rollback(): Promise<void> {
    return this.#end("ROLLBACK")
  }

  close(): void {
    void this.#end("ROLLBACK")
  }

  /** A failure ended the transaction. */
  #leave(): Promise<void> {
    const { begun, done, promise } = this.options
    this.#over = true
    return promise(Either.isRight(begun) ? Effect.zipRight(begun.right.giveBack, done) : done)
  }

  #end(how: "COMMIT" | "ROLLBACK"): Promise<void> {
    const { begun, done, promise } = this.options
    const ending = Effect.suspend(() => {
      if (this.#over) return Effect.void
      this.#over = true
      if (Either.isRight(begun)) return end(begun.right, how)
      return how === "COMMIT" ? Effect.fail(begun.left) : Effect.void
    })
    return promise(Effect.uninterruptible(Effect.ensuring(ending, done)))
  }
}

export const make = (options: Options): Transaction => new LocalTransaction(options)
