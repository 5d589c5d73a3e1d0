import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type RqliteError, RqliteRejected, RqliteUnavailable } from "../../RqliteError.js"
import * as requestErrors from "./errors.js"
import { type Node, redirected } from "./nodes.js"
import type { Answer, Message, Send } from "./request.js"

/**
 * A request to whichever node can answer it.
 *
 * `leader` says that only the leader can. Followers are then asked to say where it is instead of passing the request on: a follower sends
 * a write a second time when its first try fails, and so one request would be applied twice. A read may be passed on, where the leader is
 * out of reach. `read` says what an answer means.
 */
export interface Request<A> extends Message {
  readonly leader: boolean
  readonly read: (answer: Answer) => Either.Either<A, RqliteError>
}

export type Route = <A>(request: Request<A>) => Effect.Effect<A, RqliteError>

const isRedirect = (status: number): boolean => status === 307 || status === 308 || (status >= 301 && status <= 303)

/** Whether another node may do better: one whose certificate is not trusted says nothing about the others. */
const elsewhere = (request: requestErrors.Call, error: RqliteError): boolean =>
  requestErrors.canGoOn(request, error) || (error._tag === "RqliteRejected" && error.reason === "tls")

/** One error for a round in which no node could answer. */
const summary = ({ operation }: requestErrors.Call, errors: ReadonlyArray<RqliteError>): RqliteError => {
  const unavailable = errors.filter((error) => error._tag === "RqliteUnavailable")
  const main = unavailable.find((error) => error.reason === "no-leader") ?? unavailable[0] ?? errors[0]
  if (main === undefined) {
    const detail = "each node names another one as the leader"
    return new RqliteUnavailable({ operation, reason: "no-leader", outcome: "not-applied", detail })
  }
  if (errors.length === 1) return main
  const detail = errors.map((error) => `${error.node}: ${error.detail}`).join("; ")
  return main._tag === "RqliteUnavailable"
    ? new RqliteUnavailable({ operation, reason: main.reason, outcome: main.outcome, detail, cause: main.cause })
    : new RqliteRejected({ operation, reason: "tls", detail })
}

/**
 * Sends each request to one node after the other until one answers it. What is remembered decides only the order: the leader comes first,
 * nodes that gave no answer the last time come last.
 */
export const makeRoute = (send: Send, nodes: ReadonlyArray<Node>): Route => {
  const silent = new Set<string>()
  let leader: Node | undefined
  const forget = (node: Node): void => {
    if (leader?.url === node.url) leader = undefined
  }

  return (request) =>
    Effect.gen(function* () {
      const listed = [...nodes.filter(({ url }) => !silent.has(url)), ...nodes.filter(({ url }) => silent.has(url))]
      const order = request.leader && leader !== undefined ? [leader, ...listed] : listed
      const queue = order.map((node) => ({ node, passOn: !request.leader }))
      const asked = new Set<string>()
      const errors: Array<RqliteError> = []

      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { node, passOn } = next
        const path = passOn ? request.path : `${request.path}&redirect`
        if (asked.has(node.url + path)) continue
        asked.add(node.url + path)

        const answer = yield* Effect.either(send({ ...request, path }, node))
        if (Either.isLeft(answer)) {
          silent.add(node.url)
          forget(node)
          if (!elsewhere(request, answer.left)) return yield* answer.left
          errors.push(answer.left)
          continue
        }
        silent.delete(node.url)

        if (!passOn && isRedirect(answer.right.status)) {
          forget(node)
          const target = redirected(node, request.path, answer.right.location, nodes)
          if (Either.isRight(target)) queue.unshift({ node: target.right, passOn: false })
          else errors.push(requestErrors.notApplied(request, node.url, "connection", target.left))
          if (!request.write) queue.push({ node, passOn: true })
          continue
        }

        const result = request.read(answer.right)
        const answered = Either.isRight(result) || result.left._tag === "RqliteStatementError"
        if (answered && !passOn) leader = node
        if (Either.isRight(result)) return result.right
        if (!answered) forget(node)
        if (!elsewhere(request, result.left)) return yield* result.left
        errors.push(result.left)
      }
      return yield* summary(request, errors)
    })
}
