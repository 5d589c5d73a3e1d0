import { type Client, createClient, type Transaction, type TransactionMode } from "@libsql/client"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { Statement } from "../../SqlDriver.js"
import * as readBatcher from "../groupCommit/readBatcher.js"
import type { HranaError } from "../hrana/errors.js"
import * as pipeline from "../hrana/pipeline.js"
import * as hrana from "../hrana/send.js"
import { retryWhileBusy } from "./busyRetry.js"
import { askedOnce, type Rows } from "./driver.js"
import * as durability from "./durability.js"
import { at, type Failure, ofHrana } from "./error.js"
import { toNumbers } from "./values.js"

/**
 * - `durable`: whether a transaction is to fail where the server does not sync it.
 * - `concurrency`: how many requests there are at the same time.
 */
export interface Options extends hrana.Options {
  readonly url: string
  readonly durable: boolean
  readonly busyTimeout: Duration.Duration
  readonly concurrency: number
}

/**
 * A server.
 *
 * - `transaction`: runs statements in one transaction, which is one request. It asks for them when it is about to send them, once.
 * - `query`: runs one statement, in a request of its own.
 * - `read`: runs a query for an operation of the store: those of the same moment share a request, but for pages.
 * - `client`: for the application's own use.
 */
export interface Remote {
  readonly transaction: (
    statements: () => ReadonlyArray<Statement>
  ) => Effect.Effect<pipeline.Answered<ReadonlyArray<pipeline.Result>>, Failure>
  readonly query: (statement: Statement) => Effect.Effect<pipeline.Answered<Rows>, Failure>
  readonly read: (statement: Statement, operation: string) => Effect.Effect<Rows, Failure>
  readonly client: Client
}

// As on rqlite: what is asked while so many are on their way shares the next one.
const readLimits = { maxReads: 100, maxBytes: 4_000_000, maxRequests: 2 }

/** Of a whole request that was refused, a part may not be. */
const isSplit = ({ reason }: Failure): boolean => reason === "too-large" || reason === "sql"

/** Runs an effect as a promise that fails with the error itself. */
export const toPromise = async <A, E>(runtime: Runtime.Runtime<never>, effect: Effect.Effect<A, E>): Promise<A> => {
  const result = await Runtime.runPromise(runtime)(Effect.either(effect))
  if (Either.isRight(result)) return result.right
  throw result.left
}

const numbers = (transaction: Transaction): Transaction => ({
  execute: async (statement) => toNumbers(await transaction.execute(statement)),
  batch: async (statements) => (await transaction.batch(statements)).map(toNumbers),
  executeMultiple: (sql) => transaction.executeMultiple(sql),
  rollback: () => transaction.rollback(),
  commit: () => transaction.commit(),
  close: () => transaction.close(),
  get closed() {
    return transaction.closed
  }
})

/** What an application's client sends goes the way of the store's own requests. */
const fetchOf = (runtime: Runtime.Runtime<never>, options: Options) => (request: Request) =>
  toPromise(
    runtime,
    Effect.gen(function* () {
      const body = yield* Effect.promise(() => request.text())
      const type = request.headers.get("content-type") ?? "application/json"
      const answer = yield* Effect.mapError(hrana.send({ url: request.url, body, type }, options), ofHrana)
      return new Response(answer, { headers: { "content-type": "application/json" } })
    })
  )

/** A client for the application, which closes with the scope and not before. */
const applicationClient = (options: Options): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const shared = yield* Effect.acquireRelease(
      Effect.sync(() =>
        createClient({
          // Without the slash the client would drop the last part of a path.
          url: `${options.url}/`,
          intMode: "bigint",
          concurrency: options.concurrency,
          fetch: fetchOf(runtime, options)
        })
      ),
      (client) => Effect.sync(() => client.close())
    )
    return {
      execute: async (statement) => toNumbers(await shared.execute(statement)),
      batch: async (statements, mode) => (await shared.batch(statements, mode)).map(toNumbers),
      migrate: async (statements) => (await shared.migrate(statements)).map(toNumbers),
      executeMultiple: (sql) => shared.executeMultiple(sql),
      transaction: async (mode: TransactionMode = "write") => numbers(await shared.transaction(mode)),
      sync: () => shared.sync(),
      close: () => {},
      reconnect: () => {},
      closed: false,
      protocol: shared.protocol
    }
  })

export const make = (options: Options): Effect.Effect<Remote, never, Scope.Scope> =>
  Effect.gen(function* () {
    const slots = yield* Effect.makeSemaphore(options.concurrency)
    const wait = retryWhileBusy(options.busyTimeout)
    const url = `${options.url}/v2/pipeline`
    const { durable } = options

    const failed = (error: HranaError): Failure => at(options.url)(ofHrana(error))
    const once = <A>(body: () => string, read: (answer: string) => Either.Either<A, HranaError>) =>
      Effect.suspend(() => hrana.send({ url, body: body(), type: "application/json" }, options)).pipe(
        Effect.flatMap(read),
        Effect.mapError(failed),
        slots.withPermits(1)
      )
    const request = <A>(body: () => string, read: (answer: string) => Either.Either<A, HranaError>) =>
      wait(once(body, read))
    const query: Remote["query"] = (statement) => request(() => pipeline.query(statement), pipeline.queryResult)
    const shared = yield* readBatcher.make<Failure>({
      ...readLimits,
      isSplit,
      run: (statements) =>
        Effect.map(
          once(
            () => pipeline.queries(statements),
            (answer) => pipeline.queriesResults(answer, statements.length)
          ),
          (results) => results.map((result) => Either.mapLeft(result, failed))
        )
    })

    return {
      transaction: (list) => {
        const statements = askedOnce(list)
        const guard = durable ? durability.guard : undefined
        return request(
          () => pipeline.transaction(statements(), guard),
          (answer) => pipeline.transactionResults(answer, { count: statements().length, guarded: durable })
        )
      },
      query,
      // Each waits for a busy database by itself.
      read: (statement, operation) =>
        readBatcher.isPage(operation) || operation === "stats"
          ? Effect.map(query(statement), ({ value }) => value)
          : wait(shared(statement)),
      client: yield* applicationClient(options)
    }
  })
