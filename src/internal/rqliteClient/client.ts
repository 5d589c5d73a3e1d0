import type * as HttpClient from "@effect/platform/HttpClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import type { ExecuteOptions, NodeStatus, Options, QueryOptions, RqliteClient } from "../../RqliteClient.js"
import type { RqliteError, RqliteRejected } from "../../RqliteError.js"
import { resultsOf } from "./answer.js"
import * as decode from "./decode.js"
import { encode } from "./encode.js"
import * as errors from "./errors.js"
import { makeRoute, type Request } from "./failover.js"
import { nodesOf } from "./nodes.js"
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

const queryPath = ({ freshness, level = "linearizable", transaction = false }: QueryOptions): string => {
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

/** @internal */
export const make = (options: Options): Effect.Effect<RqliteClient, RqliteRejected, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const nodes = yield* nodesOf(options)
    const route = makeRoute(yield* makeSend, nodes)
    const timeoutOf = ({ timeout = options.timeout ?? "10 seconds" }: ExecuteOptions) => Duration.decode(timeout)

    const persist = <A>(request: Request<A>): Effect.Effect<A, RqliteError> =>
      Effect.retry(route(request), {
        schedule: options.retry ?? defaultRetry,
        while: (error) => errors.canGoOn(request, error)
      })

    const probe = <A>(operation: string, path: string, read: Read<A>): Effect.Effect<A, RqliteError> => {
      const call = { operation, write: false }
      const message = { ...call, path, body: undefined, timeout: timeoutOf({}), leader: false }
      return route({ ...message, read: (answer) => read(answer, call) })
    }

    const queryEach: RqliteClient["queryEach"] = (statements, options = {}) =>
      Effect.gen(function* () {
        const call = { operation: "query", write: false }
        const encoded = yield* encode(call.operation, statements)
        return yield* persist({
          ...call,
          path: queryPath(options),
          body: encoded.body,
          timeout: timeoutOf(options),
          leader: options.level !== "none" && options.level !== "auto",
          read: (answer) => resultsOf(call, encoded, answer, decode.queryResult)
        })
      })

    return {
      execute: (statements, options = {}) =>
        Effect.gen(function* () {
          const call = { operation: "execute", write: true }
          const encoded = yield* encode(call.operation, statements)
          return yield* persist({
            ...call,
            path: "/db/execute?transaction&blob_array",
            body: encoded.body,
            timeout: timeoutOf(options),
            leader: true,
            read: (answer) =>
              Either.flatMap(resultsOf(call, encoded, answer, decode.executeResult), (results) => Either.all(results))
          })
        }),
      queryEach,
      query: (statements, options) => Effect.flatMap(queryEach(statements, options), (results) => Either.all(results)),
      ready: probe("ready", "/readyz?", readReady),
      version: probe("version", "/readyz?noleader", readVersion),
      nodes: probe("nodes", "/nodes?ver=2", readNodes)
    }
  })
