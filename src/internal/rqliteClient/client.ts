import type * as HttpClient from "@effect/platform/HttpClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import type { ExecuteOptions, NodeStatus, Options, QueryResult, RqliteClient, Statement } from "../../RqliteClient.js"
import { type RqliteError, type RqliteRejected, RqliteStatementError } from "../../RqliteError.js"
import { resultsOf } from "./answer.js"
import * as decode from "./decode.js"
import { encode } from "./encode.js"
import * as errors from "./errors.js"
import { makeRoute, type Request } from "./failover.js"
import { nodesOf } from "./nodes.js"
import * as options_ from "./options.js"
import { type Answer, makeSend } from "./request.js"

/** @internal */
export const isAtLeast = (version: string, least: readonly [number, number, number]): boolean => {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+].*)?$/.exec(version)
  if (match === null) return false
  const parts = match.slice(1, 4).map((part) => Number(part ?? 0))
  const difference = parts.map((part, i) => part - (least[i] ?? 0)).find((difference) => difference !== 0)
  return difference === undefined || difference > 0
}

const defaultRetry: Schedule.Schedule<unknown, RqliteError> = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("1 second")),
  Schedule.jittered,
  Schedule.upTo("10 seconds")
)

const queryPath = ({ freshness, level = "linearizable", transaction = false }: options_.Query): string => {
  const fresh = freshness === undefined ? "" : `&freshness=${Math.ceil(Duration.toMillis(freshness))}ms`
  return `/db/query?level=${level}&blob_array${fresh}${transaction ? "&transaction" : ""}`
}

type Read<A> = (answer: Answer, call: errors.Call) => Either.Either<A, RqliteError>

const refused = (call: errors.Call, { body, node, status, version }: Answer): RqliteError =>
  errors.ofStatus(call, node, status, body, version !== undefined)

const readReady: Read<void> = (answer, call) =>
  answer.status === 200 ? Either.void : Either.left(refused(call, answer))

// Every answer of a node names its version, whatever else it says.
const readVersion: Read<string> = (answer, call) =>
  answer.version === undefined ? Either.left(refused(call, answer)) : Either.right(answer.version)

const readNodes: Read<ReadonlyArray<NodeStatus>> = (answer, call) =>
  answer.status === 200
    ? Either.mapLeft(decode.nodes(answer.body), (problem) =>
        errors.unknown(call, answer.node, "answer", `the answer ${problem}`)
      )
    : Either.left(refused(call, answer))

type Results = ReadonlyArray<Either.Either<QueryResult, RqliteStatementError>>

/** The results of a statement that was asked by itself, as one of the list it came from. */
const placed = (results: Results, { sql }: Statement, index: number): Results =>
  results.map(
    Either.mapLeft(
      ({ detail, node, operation, reason }) => new RqliteStatementError({ operation, reason, index, sql, node, detail })
    )
  )

/**
 * Asks queries of which none depends on another. What a request failed with as a whole may be the fault of one of them, whose value rqlite
 * cannot send for example: then each is asked by itself.
 */
const separately =
  (ask: RqliteClient["queryEach"]): RqliteClient["queryEach"] =>
  (statements, options = {}) => {
    const alone = (statement: Statement, index: number) =>
      ask([statement], options).pipe(
        Effect.catchTag("RqliteStatementError", (error) => Effect.succeed([Either.left(error)])),
        Effect.map((results) => placed(results, statement, index))
      )
    return Effect.catchTag(
      ask(statements, options),
      "RqliteStatementError",
      (error): Effect.Effect<Results, RqliteError> => {
        const [only] = statements
        if (only !== undefined && statements.length === 1) return Effect.succeed(placed([Either.left(error)], only, 0))
        return options.transaction === true
          ? Effect.fail(error)
          : Effect.map(Effect.forEach(statements, alone), (results) => results.flat())
      }
    )
  }

/** @internal */
export const make = (options: Options): Effect.Effect<RqliteClient, RqliteRejected, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const decoded = yield* options_.decode(options)
    const nodes = yield* nodesOf(decoded)
    const route = makeRoute(yield* makeSend, nodes)
    const { timeout = Duration.seconds(10) } = decoded

    const persist = <A>(
      request: Request<A>,
      { retry = options.retry ?? defaultRetry }: ExecuteOptions
    ): Effect.Effect<A, RqliteError> =>
      Effect.retry(route(request), { schedule: retry, while: (error) => errors.canGoOn(request, error) })

    const probe = <A>(operation: string, path: string, read: Read<A>): Effect.Effect<A, RqliteError> => {
      const call = { operation, write: false }
      const message = { ...call, path, body: undefined, timeout, leader: false }
      return route({ ...message, read: (answer) => read(answer, call) })
    }

    const queryEach = separately((statements, options = {}) =>
      Effect.gen(function* () {
        const call = { operation: "query", write: false }
        const given = yield* options_.decodeQuery(options)
        const encoded = yield* encode(call.operation, statements)
        const request = {
          ...call,
          path: queryPath(given),
          body: encoded.body,
          timeout: given.timeout ?? timeout,
          leader: options.level !== "none" && options.level !== "auto",
          read: (answer: Answer) => resultsOf(call, encoded, answer, decode.queryResult)
        }
        return yield* persist(request, options)
      })
    )

    return {
      execute: (statements, options = {}) =>
        Effect.gen(function* () {
          const call = { operation: "execute", write: true }
          const given = yield* options_.decodeExecute(options)
          const encoded = yield* encode(call.operation, statements)
          const request = {
            ...call,
            path: "/db/execute?transaction&blob_array",
            body: encoded.body,
            timeout: given.timeout ?? timeout,
            leader: true,
            read: (answer: Answer) =>
              Either.flatMap(resultsOf(call, encoded, answer, decode.executeResult), (results) => Either.all(results))
          }
          return yield* persist(request, options)
        }),
      queryEach,
      query: (statements, options) => Effect.flatMap(queryEach(statements, options), (results) => Either.all(results)),
      ready: probe("ready", "/readyz?", readReady),
      version: probe("version", "/readyz?noleader", readVersion),
      nodes: probe("nodes", "/nodes?ver=2", readNodes)
    }
  })
