import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Database from "./database.js"
import * as Node from "./node.js"
import type { Reply } from "./reply.js"
import type { Fault } from "./server.js"

/** What came to the node: when, what for, with which statements, and how many bytes they were. */
export interface Received {
  readonly at: number
  readonly path: string
  readonly level: string | null
  readonly statements: ReadonlyArray<string>
  readonly bytes: number
}

const peer: Node.Peer = { id: "n1", api: "http://n1:4001", raft: "n1:4002", up: true }

export const urls = [peer.api]

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

const statementsOf = (body: string): ReadonlyArray<string> => {
  const parsed: unknown = body === "" ? [] : JSON.parse(body)
  return Array.isArray(parsed) ? parsed.map((statement) => String(Array.isArray(statement) ? statement[0] : "")) : []
}

interface Options {
  readonly version?: string
  readonly users?: Node.Users
}

/** The node, and the faults for the next requests. */
interface State {
  readonly options: Options
  readonly db: Database.Database
  readonly faults: Array<{ readonly fault: Fault; left: number }>
  readonly received: Array<Received>
  leader: Node.Peer | undefined
}

/** The fault for a request. It is taken out of the list. */
const take = ({ faults }: State, path: string): Fault => {
  const found = faults.find(
    ({ fault, left }) => left > 0 && (fault.path === undefined ? path.startsWith("/db/") : fault.path === path)
  )
  if (found === undefined) return {}
  found.left--
  return found.fault
}

const viewOf = ({ leader, options }: State): Node.View => ({
  self: peer,
  leader,
  peers: [peer],
  voting: true,
  open: true,
  version: options.version ?? "10",
  users: options.users
})

const handle = (state: State, request: HttpClientRequest.HttpClientRequest, url: URL) =>
  Effect.gen(function* () {
    const body = bodyOf(request)
    const path = url.pathname
    const at = yield* Clock.currentTimeMillis
    const level = url.searchParams.get("level")
    state.received.push({ at, path, level, statements: statementsOf(body), bytes: Buffer.byteLength(body) })
    const { after = Effect.void, answer, apply = 1, before = Effect.void } = take(state, path)
    const view = viewOf(state)
    yield* before
    const reply = () =>
      Node.answer(view, state.db, {
        method: request.method,
        path,
        query: url.searchParams,
        rawQuery: url.search.slice(1),
        contentType: request.headers["content-type"] ?? "application/json",
        authorization: request.headers["authorization"],
        body
      })
    if (apply === 2) reply()
    const own = apply === 0 ? { status: 200, headers: { "X-Rqlite-Version": view.version }, body: "" } : reply()
    yield* after
    return { own, answer }
  })

const replyOf = (own: Reply, answer: Exclude<Fault["answer"], "drop">): Reply => {
  if (answer === undefined) return own
  if (answer === "half") return { ...own, body: own.body.slice(0, own.body.length / 2) }
  return { status: answer.status, headers: answer.genuine === true ? own.headers : {}, body: answer.body ?? "" }
}

const httpOf = (state: State): HttpClient.HttpClient =>
  HttpClient.make((request, url) =>
    Effect.gen(function* () {
      const { answer, own } = yield* Effect.flatMap(Effect.forkDaemon(handle(state, request, url)), Fiber.join)
      if (answer === "drop") {
        const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" })
        return yield* new HttpClientError.RequestError({ request, reason: "Transport", cause })
      }
      const reply = replyOf(own, answer)
      return HttpClientResponse.fromWeb(request, new Response(reply.body, reply))
    })
  )

/**
 * A cluster of one node without a network between: an `HttpClient` whose requests the node answers at once. No time passes but that of
 * `TestClock`, and what happens happens in the same order every time. A request that the client gave up goes on at the node.
 */
export const make = (options: Options = {}) =>
  Effect.gen(function* () {
    const db = yield* Effect.acquireRelease(
      Effect.sync(() => Database.open()),
      (db) => Effect.sync(() => db.close())
    )
    const state: State = { options, db, faults: [], received: [], leader: peer }
    return {
      http: httpOf(state),
      received: state.received,
      /** The requests since this was asked the last time. */
      asked: Effect.sync(() => state.received.splice(0)),
      inject: (...more: ReadonlyArray<Fault>) =>
        Effect.sync(() => void state.faults.push(...more.map((fault) => ({ fault, left: fault.times ?? 1 })))),
      /** Drops the faults that are left. */
      heal: Effect.sync(() => void state.faults.splice(0)),
      lead: (up: boolean) =>
        Effect.sync(() => {
          state.leader = up ? peer : undefined
        }),
      rows: (sql: string) => Effect.sync(() => db.rows(sql))
    }
  })

export type InProcessNode = Effect.Effect.Success<ReturnType<typeof make>>
