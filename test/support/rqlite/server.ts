/**
 * A stand-in for a cluster of rqlite nodes: HTTP servers over one SQLite database, which answer as a real cluster was recorded to. It can
 * be told to misbehave as a real one does: see `Fault`.
 */
import type * as Http from "node:http"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { bodyOf, close, type ListenError, listen, portOf } from "../http.js"
import * as Database from "./database.js"
import * as Node from "./node.js"
import { json, type Reply } from "./reply.js"

/** - `basePath`: where the nodes are behind a proxy. - `advertise`: the API address a node tells others, where it is not its own. */
export interface Options {
  readonly nodes?: number
  readonly users?: Node.Users
  readonly version?: string
  readonly basePath?: string
  readonly advertise?: string
}

/**
 * What befalls a request to a node.
 *
 * - `path`, `node`: which requests it befalls, by default all with statements; `times`: how many of them, by default one.
 * - `apply`: how often the node handles the request before it answers with the last outcome; by default once. Twice is what a follower
 *   does whose first try to pass a write on fails.
 * - `before`, `after`: what must end before the node handles the request, and after it before it answers.
 * - `answer`: `"drop"` closes the connection without an answer, `"half"` in the middle of it; a reply stands for the node's own, and is
 *   not rqlite's unless it says its version.
 */
export interface Fault {
  readonly path?: string
  readonly node?: number
  readonly times?: number
  readonly apply?: 0 | 1 | 2
  readonly before?: Effect.Effect<void>
  readonly after?: Effect.Effect<void>
  readonly answer?: "drop" | "half" | { readonly status: number; readonly body?: string; readonly genuine?: boolean }
}

/** A request that came to a node, with what the client sent. */
export interface Received {
  readonly node: number
  readonly method: string
  readonly url: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
}

export interface ClusterNode {
  readonly url: string
  readonly start: Effect.Effect<void, ListenError>
  readonly stop: Effect.Effect<void>
}

/**
 * - `lead`: makes a node the leader, or none; `"never"` is a cluster that has had none yet.
 * - `opened`: whether the nodes have opened their database.
 * - `received`: every request so far; `arrivals` gives one after the other as they come.
 * - `rows`: reads the database itself.
 */
export interface RqliteServer {
  readonly nodes: ReadonlyArray<ClusterNode>
  readonly urls: ReadonlyArray<string>
  readonly lead: (leader: number | "none" | "never") => Effect.Effect<void>
  readonly opened: (open: boolean) => Effect.Effect<void>
  readonly inject: (...faults: ReadonlyArray<Fault>) => Effect.Effect<void>
  readonly received: Effect.Effect<ReadonlyArray<Received>>
  readonly arrivals: Queue.Dequeue<Received>
  readonly rows: (sql: string) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>>
}

// Go says the length of what fits its buffer, and sends what is longer in chunks.
const maxMeasured = 2048

const send = (response: Http.ServerResponse, reply: Reply): void => {
  const length = Buffer.byteLength(reply.body)
  const measured = length > maxMeasured ? {} : { "Content-Length": String(length) }
  response.writeHead(reply.status, { ...reply.headers, ...measured })
  response.end(reply.body)
}

/** Half of an answer: what was promised does not come. */
const sendHalf = (response: Http.ServerResponse, reply: Reply): void => {
  const body = Buffer.from(reply.body)
  response.writeHead(reply.status, { ...reply.headers, "Content-Length": String(body.length) })
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.socket?.destroy())
}

const befalls = (fault: Fault, node: number, path: string): boolean =>
  (fault.node === undefined || fault.node === node) &&
  (fault.path === undefined ? path.startsWith("/db/") : fault.path === path)

const replace = (
  { body = "", genuine = false, status }: { status: number; body?: string; genuine?: boolean },
  own: Reply
): Reply => ({
  status,
  headers: genuine ? own.headers : { "Content-Type": "text/html" },
  body
})

/** What a node that did nothing has to answer, where the fault leaves it an answer at all. */
const unapplied = ({ version }: Node.View): Reply =>
  json('{"results":[{"last_insert_id":1,"rows_affected":1}]}', { "X-Rqlite-Version": version })

/** Starts a cluster, by default of one node, whose first node is the leader; it stops with the scope. */
export const make = (options: Options = {}): Effect.Effect<RqliteServer, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const db = yield* Effect.acquireRelease(Effect.sync(Database.open), (db) => Effect.sync(() => db.close()))
    const run = yield* FiberSet.makeRuntime<never>()
    const arrivals = yield* Queue.unbounded<Received>()
    const received: Array<Received> = []
    const faults: Array<{ readonly fault: Fault; left: number }> = []
    const servers: Array<{ server: Http.Server; port: number; up: boolean }> = []
    const basePath = options.basePath ?? ""
    let leader: number | undefined = 0
    let voting = true
    let open = true

    const peers = (): ReadonlyArray<Node.Peer> =>
      servers.map(({ port, up }, i) => ({
        id: `n${i + 1}`,
        api: options.advertise ?? `http://127.0.0.1:${port}`,
        raft: `127.0.0.1:${port + 1}`,
        up
      }))

    const view = (index: number): Node.View => {
      const all = peers()
      const self = all[index] ?? { id: "", api: "", raft: "", up: false }
      const version = options.version ?? "10"
      return {
        self,
        leader: leader === undefined ? undefined : all[leader],
        peers: all,
        voting,
        open,
        version,
        users: options.users
      }
    }

    const take = (node: number, path: string): Fault => {
      const found = faults.find(({ fault, left }) => left > 0 && befalls(fault, node, path))
      if (found === undefined) return {}
      found.left--
      return found.fault
    }

    const handle = (index: number, incoming: Http.IncomingMessage, response: Http.ServerResponse) =>
      Effect.gen(function* () {
        const body = yield* bodyOf(incoming)
        const { headers, method = "GET", url = "/" } = incoming
        const [path = "/", rawQuery = ""] = url.split(/\?(.*)/s)
        const request = { node: index, method, url, headers, body }
        received.push(request)
        yield* Queue.offer(arrivals, request)
        if (!path.startsWith(basePath)) return send(response, { status: 404, headers: {}, body: "" })
        const inner = path.slice(basePath.length)
        const { after = Effect.void, answer, apply = 1, before = Effect.void } = take(index, inner)
        const reply = () =>
          Node.answer(view(index), db, {
            method,
            path: inner,
            query: new URLSearchParams(rawQuery),
            rawQuery,
            contentType: headers["content-type"] ?? "",
            authorization: headers.authorization,
            body
          })
        yield* before
        if (apply === 2) reply()
        const own = apply === 0 ? unapplied(view(index)) : reply()
        yield* after
        if (answer === "drop") return response.socket?.destroy()
        if (answer === "half") return sendHalf(response, own)
        send(response, answer === undefined ? own : replace(answer, own))
      })

    const listener =
      (index: number): Http.RequestListener =>
      (incoming, response) => {
        run(handle(index, incoming, response))
      }

    const start = (index: number) =>
      Effect.gen(function* () {
        const server = yield* listen(listener(index), servers[index]?.port ?? 0)
        servers[index] = { server, port: portOf(server), up: true }
      })

    const stop = (index: number) =>
      Effect.suspend(() => {
        const node = servers[index]
        if (node === undefined || !node.up) return Effect.void
        node.up = false
        return close(node.server)
      })

    const indices = Array.from({ length: options.nodes ?? 1 }, (_, i) => i)
    yield* Effect.addFinalizer(() => Effect.forEach(indices, stop, { discard: true }))
    yield* Effect.forEach(indices, start, { discard: true })
    const nodes = servers.map(({ port }, index) => ({
      url: `http://127.0.0.1:${port}${basePath}`,
      start: start(index),
      stop: stop(index)
    }))

    return {
      nodes,
      urls: nodes.map(({ url }) => url),
      lead: (next) =>
        Effect.sync(() => {
          leader = typeof next === "number" ? next : undefined
          voting = next !== "never"
        }),
      opened: (value) =>
        Effect.sync(() => {
          open = value
        }),
      inject: (...more) =>
        Effect.sync(() => {
          faults.push(...more.map((fault) => ({ fault, left: fault.times ?? 1 })))
        }),
      received: Effect.sync(() => [...received]),
      arrivals,
      rows: (sql) => Effect.sync(() => db.rows(sql))
    }
  })
