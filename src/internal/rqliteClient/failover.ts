import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
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

/** What is remembered from one request to the next. It decides only the order in which nodes are asked. */
interface Memory {
  leader: Node | undefined
  /** The URLs of those that gave no answer of a node's the last time. */
  readonly failing: Set<string>
}

/**
 * The order in which nodes are asked. An advertised address may be one that cannot be reached from here and swallows what is sent to it, so
 * it comes after all listed ones; what swallowed a request once comes after everything else.
 */
const ranks = { leader: 0, listed: 1, failing: 2, advertised: 3, forward: 4, failingAdvertised: 5 } as const

/** One node to ask. `forward` lets it pass the request on to the leader instead of saying where that is. */
interface Visit {
  readonly node: Node
  readonly rank: number
  readonly forward: boolean
}

/** One pass over the nodes for one request. `pointed` says that a node named another one as the leader. */
interface Round {
  visits: ReadonlyArray<Visit>
  readonly asked: Set<string>
  readonly errors: Array<RqliteError>
  pointed: boolean
}

const isRedirect = (status: number): boolean => status === 307 || status === 308 || (status >= 301 && status <= 303)

/** Whether another node may succeed where one failed with this. */
const elsewhere = (request: requestErrors.Call, error: RqliteError): boolean =>
  requestErrors.canGoOn(request, error) || requestErrors.isOfNode(error)

const begin = <A>(
  { leader: onlyLeader }: Request<A>,
  { failing, leader }: Memory,
  nodes: ReadonlyArray<Node>
): Round => {
  const forward = !onlyLeader
  const listed = nodes.map((node) => ({ node, rank: failing.has(node.url) ? ranks.failing : ranks.listed, forward }))
  const first = onlyLeader && leader !== undefined ? [{ node: leader, rank: ranks.leader, forward }] : []
  return { visits: [...first, ...listed], asked: new Set(), errors: [], pointed: false }
}

/** Takes the visit that comes next, if any is left. */
const take = (round: Round): Visit | undefined => {
  const rank = Math.min(...round.visits.map((visit) => visit.rank))
  const next = round.visits.find((visit) => visit.rank === rank)
  round.visits = round.visits.filter((visit) => visit !== next)
  return next
}

const forget = (memory: Memory, { url }: Node): void => {
  if (memory.leader?.url === url) memory.leader = undefined
}

/** A node says where the leader is: it is asked too, and for a read the node itself, where the leader cannot be reached. */
const follow = <A>(
  round: Round,
  request: Request<A>,
  { node }: Visit,
  { location, version }: Answer,
  memory: Memory,
  nodes: ReadonlyArray<Node>
): void => {
  round.pointed = true
  forget(memory, node)
  if (!request.write) round.visits = [...round.visits, { node, rank: ranks.forward, forward: true }]
  const target = redirected({ from: node, path: request.path, location, genuine: version !== undefined }, nodes)
  if (Either.isLeft(target)) {
    round.errors.push(requestErrors.notApplied(request, node.url, "connection", target.left))
    return
  }
  const advertised = memory.failing.has(target.right.url) ? ranks.failingAdvertised : ranks.advertised
  const rank = nodes.includes(target.right) ? ranks.leader : advertised
  round.visits = [...round.visits, { node: target.right, rank, forward: false }]
}

/**
 * One error for a round in which no node could answer. Only where each of them refused the request is it refused: where one names another
 * as the leader, or cannot answer now, that may change.
 */
const summary = ({ operation }: requestErrors.Call, { errors, pointed }: Round): RqliteError => {
  const unavailable = errors.filter((error) => error._tag === "RqliteUnavailable")
  const main = unavailable.find((error) => error.reason === "no-leader") ?? unavailable[0]
  const [refused] = errors.filter((error) => error._tag === "RqliteRejected")
  if (errors.length === 0) {
    const detail = "each node names another one as the leader"
    return new RqliteUnavailable({ operation, reason: "no-leader", outcome: "not-applied", detail })
  }
  const [only] = errors
  if (only !== undefined && errors.length === 1 && !(pointed && only === refused)) return only
  const detail = errors.map((error) => `${error.node}: ${error.detail}`).join("; ")
  if (main === undefined && refused !== undefined && !pointed) {
    return new RqliteRejected({ operation, reason: refused.reason, detail })
  }
  const { cause, outcome, reason } = main ?? { cause: refused?.cause, outcome: "not-applied", reason: "no-leader" }
  return new RqliteUnavailable({ operation, reason, outcome, detail, cause })
}

/** Reads what a node answered, and remembers what it says of the node. */
const settle = <A>(
  request: Request<A>,
  { forward, node }: Visit,
  answer: Answer,
  memory: Memory
): Either.Either<A, RqliteError> => {
  const result = request.read(answer)
  if (Either.isRight(result) || result.left._tag === "RqliteStatementError") {
    if (!forward) memory.leader = node
    return result
  }
  forget(memory, node)
  if (requestErrors.isOfNode(result.left) || answer.version === undefined) memory.failing.add(node.url)
  return result
}

/**
 * Sends each request to one node after the other until one answers it. The leader comes first, nodes that gave no answer the last time come
 * last.
 */
export const makeRoute = (send: Send, nodes: ReadonlyArray<Node>): Route => {
  const memory: Memory = { leader: undefined, failing: new Set() }

  /** Asks one node: an answer for the caller, or none, which leaves its reason in the round. */
  const visit = <A>(request: Request<A>, round: Round, next: Visit): Effect.Effect<Option.Option<A>, RqliteError> =>
    Effect.gen(function* () {
      const { forward, node } = next
      const path = forward ? request.path : `${request.path}&redirect`
      if (round.asked.has(node.url + path)) return Option.none()
      round.asked.add(node.url + path)

      const sent = yield* Effect.either(send({ ...request, path }, node))
      if (Either.isLeft(sent)) {
        memory.failing.add(node.url)
        forget(memory, node)
      } else {
        memory.failing.delete(node.url)
        if (!forward && isRedirect(sent.right.status)) {
          follow(round, request, next, sent.right, memory, nodes)
          return Option.none()
        }
      }
      const result = Either.flatMap(sent, (answer) => settle(request, next, answer, memory))
      if (Either.isRight(result)) return Option.some(result.right)
      if (!elsewhere(request, result.left)) return yield* result.left
      round.errors.push(result.left)
      return Option.none()
    })

  return (request) =>
    Effect.gen(function* () {
      const round = begin(request, memory, nodes)
      for (let next = take(round); next !== undefined; next = take(round)) {
        const answer = yield* visit(request, round, next)
        if (Option.isSome(answer)) return answer.value
      }
      return yield* summary(request, round)
    })
}
