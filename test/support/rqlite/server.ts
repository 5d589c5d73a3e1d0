/**
 * A stand-in for a cluster of rqlite nodes: HTTP servers over one SQLite database, which answer as a real cluster was recorded to. It can
 * be told to misbehave as a real one does: see `Fault`.
 *
 * Known to differ from a real one, which the contract suite is therefore run on too (`RQLITE_URL`):
 *
 * - All nodes share one database: no follower is ever behind, and a read at level `none` is only stale where there is no leader.
 * - SQLite is that of better-sqlite3, with its compile-time options. `random()` and `'now'` are not replaced before they are run.
 * - Nothing takes time, and no time-out of a server passes (`timeout`, `db_timeout`, `linearizable_timeout`); a leader that dies is not
 *   elected anew, but by `lead`.
 * - No TLS, no `/db/backup`, `/db/load`, `/status` beyond its one key, `/db/sql`, queued writes, and none of the forms `associative`,
 *   `pretty`, `timings` and `raft_index`, which this library never asks for.
 * - Of release 7 it has the list of nodes only. Before 8.31 a real one refuses parameters that are arrays of bytes.
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

/**
 * - `basePath`: where the nodes are behind a proxy.
 * - `advertise`: the API address a node tells others, where it is not its own.
 * - `initial`: the bytes of the database that it begins with, by default an empty one.
 */
export interface Options {
  readonly initial?: Buffer
  readonly nodes?: number
  readonly users?: Node.Users
  readonly version?: string
  readonly basePath?: string
  readonly advertise?: string
}

/**
 * What happens to a request to a node.
 *
 * - `path`, `node`: for which requests it is, by default all with statements; `times`: how many of them, by default one.
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

interface Injected {
  readonly fault: Fault
  left: number
}

/** The nodes, the one database that they share, and the faults for the next requests. */
interface Cluster {
  readonly options: Options
  readonly db: Database.Database
  readonly arrivals: Queue.Queue<Received>
  readonly received: Array<Received>
  readonly faults: Array<Injected>
  readonly servers: Array<{ server: Http.Server; port: number; up: boolean }>
  leader: number | undefined
  voting: boolean
  open: boolean
}

const peersOf = ({ options, servers }: Cluster): ReadonlyArray<Node.Peer> =>
  servers.map(({ port, up }, i) => ({
    id: `n${i + 1}`,
    api: options.advertise ?? `http://127.0.0.1:${port}`,
    raft: `127.0.0.1:${port + 1}`,
    up
  }))

const viewOf = (cluster: Cluster, index: number): Node.View => {
  const { leader, open, options, voting } = cluster
  const peers = peersOf(cluster)
  return {
    self: peers[index] ?? { id: "", api: "", raft: "", up: false },
    leader: leader === undefined ? undefined : peers[leader],
    peers,
    voting,
    open,
    version: options.version ?? "10",
    users: options.users
  }
}

/** The fault for a request to a node. It is taken out of the list. */
const take = ({ faults }: Cluster, node: number, path: string): Fault => {
  const found = faults.find(({ fault, left }) => left > 0 && befalls(fault, node, path))
  if (found === undefined) return {}
  found.left--
  return found.fault
}

const handle = (cluster: Cluster, node: number, incoming: Http.IncomingMessage, response: Http.ServerResponse) =>
  Effect.gen(function* () {
    const body = yield* bodyOf(incoming)
    const { headers, method = "GET", url = "/" } = incoming
    const [path = "/", rawQuery = ""] = url.split(/\?(.*)/s)
    const request = { node, method, url, headers, body }
    cluster.received.push(request)
    yield* Queue.offer(cluster.arrivals, request)
    const basePath = cluster.options.basePath ?? ""
    if (!path.startsWith(basePath)) return send(response, { status: 404, headers: {}, body: "" })
    const inner = path.slice(basePath.length)
    const { after = Effect.void, answer, apply = 1, before = Effect.void } = take(cluster, node, inner)
    const reply = () =>
      Node.answer(viewOf(cluster, node), cluster.db, {
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
    const own = apply === 0 ? unapplied(viewOf(cluster, node)) : reply()
    yield* after
    if (answer === "drop") return response.socket?.destroy()
    if (answer === "half") return sendHalf(response, own)
    send(response, answer === undefined ? own : replace(answer, own))
  })

type Run = (request: Effect.Effect<void>) => unknown

const start = (cluster: Cluster, index: number, run: Run) =>
  Effect.gen(function* () {
    const listener: Http.RequestListener = (incoming, response) => {
      run(Effect.asVoid(handle(cluster, index, incoming, response)))
    }
    const server = yield* listen(listener, cluster.servers[index]?.port ?? 0)
    cluster.servers[index] = { server, port: portOf(server), up: true }
  })

const stop = ({ servers }: Cluster, index: number) =>
  Effect.suspend(() => {
    const node = servers[index]
    if (node === undefined || !node.up) return Effect.void
    node.up = false
    return close(node.server)
  })

/** Starts a cluster, by default of one node, whose first node is the leader; it stops with the scope. */
export const make = (options: Options = {}): Effect.Effect<RqliteServer, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const cluster: Cluster = {
      options,
      db: yield* Effect.acquireRelease(
        Effect.sync(() => Database.open(options.initial)),
        (db) => Effect.sync(() => db.close())
      ),
      arrivals: yield* Queue.unbounded<Received>(),
      received: [],
      faults: [],
      servers: [],
      leader: 0,
      voting: true,
      open: true
    }
    const run = yield* FiberSet.makeRuntime<never>()
    const indices = Array.from({ length: options.nodes ?? 1 }, (_, i) => i)
    yield* Effect.addFinalizer(() => Effect.forEach(indices, (index) => stop(cluster, index), { discard: true }))
    yield* Effect.forEach(indices, (index) => start(cluster, index, run), { discard: true })
    const nodes = cluster.servers.map(({ port }, index) => ({
      url: `http://127.0.0.1:${port}${options.basePath ?? ""}`,
      start: start(cluster, index, run),
      stop: stop(cluster, index)
    }))

    return {
      nodes,
      urls: nodes.map(({ url }) => url),
      lead: (next) =>
        Effect.sync(() => {
          cluster.leader = typeof next === "number" ? next : undefined
          cluster.voting = next !== "never"
        }),
      opened: (value) =>
        Effect.sync(() => {
          cluster.open = value
        }),
      inject: (...more) =>
        Effect.sync(() => {
          cluster.faults.push(...more.map((fault) => ({ fault, left: fault.times ?? 1 })))
        }),
      received: Effect.sync(() => [...cluster.received]),
      arrivals: cluster.arrivals,
      rows: (sql) => Effect.sync(() => cluster.db.rows(sql))
    }
  })
