import { type Database, RequestFailed } from "./database.js"
import type { Reply } from "./reply.js"
import * as reply from "./reply.js"
import { BadRequest, parseStatements, type Statement } from "./statements.js"

/** Who may do what: `*` is everybody, also without credentials. */
export type Users = Readonly<
  Record<string, { readonly password?: string; readonly permissions: ReadonlyArray<string> }>
>

/** What a node knows of the cluster. `leader` is missing where there is none; before its first leader a cluster has no voters either. */
export interface View {
  readonly self: Peer
  readonly leader: Peer | undefined
  readonly peers: ReadonlyArray<Peer>
  readonly voting: boolean
  readonly open: boolean
  readonly version: string
  readonly users: Users | undefined
}

export interface Peer {
  readonly id: string
  readonly api: string
  readonly raft: string
  readonly up: boolean
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly rawQuery: string
  readonly contentType: string
  readonly authorization: string | undefined
  readonly body: string
}

const authority = (url: string): string => url.replace(/^https?:\/\//, "")

const credentials = (authorization: string | undefined): readonly [string, string] | undefined => {
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/.exec(authorization ?? "")?.[1]
  const [, user, password] = /^([^:]*):([\s\S]*)$/.exec(Buffer.from(encoded ?? "", "base64").toString("utf8")) ?? []
  return user === undefined || password === undefined ? undefined : [user, password]
}

const allows = (users: Users | undefined, request: Request, permissions: ReadonlyArray<string>): boolean => {
  if (users === undefined) return true
  const grants = (name: string) => {
    const granted = users[name]?.permissions ?? []
    return granted.includes("all") || permissions.every((permission) => granted.includes(permission))
  }
  if (grants("*")) return true
  const [user, password] = credentials(request.authorization) ?? []
  return user !== undefined && users[user]?.password === password && grants(user)
}

const noLeader = "leader not found"

/** Whether only the leader can answer. An unknown level is taken as weak, and so is none at all. */
const needsLeader = (view: View, request: Request): boolean => {
  const level = request.query.get("level")?.toLowerCase()
  return level !== "none" && !(level === "auto" && !view.voting)
}

/** Runs on the leader what this node may not run itself: says where it is, or passes the request on. */
const route = (view: View, request: Request, run: (servedBy: string) => Reply): Reply => {
  const { leader, self } = view
  if (leader?.id === self.id) return run(authority(self.api))
  if (request.query.has("redirect")) {
    if (leader?.up !== true) return reply.textError(500, noLeader)
    return reply.empty(301, { Location: `${leader.api}${request.path}?${request.rawQuery}` })
  }
  if (leader === undefined) return reply.textError(503, noLeader)
  return leader.up ? run(leader.raft) : reply.requestError(`dial tcp ${leader.raft}: connect: connection refused`)
}

const read = (request: Request): ReadonlyArray<Statement> => {
  if (request.contentType.startsWith("text/plain") && request.method === "POST")
    return [{ sql: request.body, params: [] }]
  if (request.method !== "GET") return parseStatements(request.body)
  const sql = request.query.get("q")
  if (sql === "") throw new BadRequest("query parameter not set")
  return sql === null ? [] : [{ sql, params: [] }]
}

const duration = /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/

const checkOptions = ({ query }: Request): void => {
  for (const name of ["timeout", "freshness"]) {
    const given = query.get(name)
    if (given !== null && !duration.test(given)) throw new BadRequest(`${name} is not a valid duration`)
  }
  const retries = query.get("retries")
  if (retries !== null && !/^[-+]?\d+$/.test(retries)) throw new BadRequest("retries is not a valid integer")
}

const statements = (view: View, db: Database, request: Request): Reply => {
  const { query } = request
  const parsed = read(request)
  const blobArray = query.has("blob_array")
  const options = { transaction: query.has("transaction"), noparse: query.has("noparse") }
  if (!view.open) return reply.requestError("store not open")
  if (request.path === "/db/execute") {
    return route(view, request, (servedBy) => reply.results(db.execute(parsed, options), servedBy, blobArray))
  }
  const run = request.path === "/db/query" ? db.query : db.request
  const answer = (servedBy: string) => reply.results(run(parsed, options), servedBy, blobArray)
  const local = request.path === "/db/query" && !needsLeader(view, request)
  if (!local) return route(view, request, answer)
  return query.has("freshness") && query.get("level") === "none" && view.leader === undefined
    ? reply.requestError("stale read")
    : answer(authority(view.self.api))
}

const readyz = (view: View, request: Request): Reply => {
  if (request.query.has("noleader")) return reply.text(200, ["[+]node ok"])
  if (view.leader === undefined) return reply.text(503, ["[+]node ok", "[+]leader does not exist"])
  const sync = request.query.has("sync") ? ["[+]sync ok"] : []
  return reply.text(200, ["[+]node ok", "[+]leader ok", "[+]store ok", ...sync, "[+]db ok"])
}

const status = (view: View, peer: Peer) =>
  peer.up
    ? {
        id: peer.id,
        api_addr: peer.api,
        addr: peer.raft,
        version: view.version,
        voter: true,
        reachable: true,
        leader: peer.id === view.leader?.id,
        time: 0.00001,
        time_s: "10µs"
      }
    : {
        id: peer.id,
        addr: peer.raft,
        version: "",
        voter: true,
        reachable: false,
        leader: false,
        error: `dial tcp ${peer.raft}: connect: connection refused`
      }

/** Release 7 knew one form of the list of nodes, without their versions. */
const isOld = ({ version }: View): boolean => version.startsWith("v7.")

const nodes = (view: View, request: Request): Reply => {
  const peers = view.voting ? view.peers.map((peer) => status(view, peer)) : []
  if (request.query.get("ver") === "2" && !isOld(view)) return reply.json(JSON.stringify({ nodes: peers }))
  const fields = ({ addr, api_addr, leader, reachable, time }: ReturnType<typeof status>) =>
    isOld(view) ? { api_addr, addr, reachable, leader, time } : undefined
  return reply.json(JSON.stringify(Object.fromEntries(peers.map((peer) => [peer.id, fields(peer) ?? peer]))))
}

const raftState = (view: View): string => {
  if (view.leader !== undefined) return view.leader.id === view.self.id ? "Leader" : "Follower"
  return view.voting ? "Candidate" : "Follower"
}

interface Endpoint {
  readonly methods: ReadonlyArray<string>
  readonly permissions: ReadonlyArray<string>
  /** The content type of an answer that says nothing, which is decided before anything else is. */
  readonly type: string | undefined
  readonly answer: (view: View, db: Database, request: Request) => Reply
}

const jsonType = "application/json; charset=utf-8"

const db = (methods: ReadonlyArray<string>, permissions: ReadonlyArray<string>): Endpoint => ({
  methods,
  permissions,
  type: jsonType,
  answer: statements
})

const get = (permission: string, answer: (view: View, request: Request) => Reply, type?: string): Endpoint => ({
  methods: ["GET"],
  permissions: [permission],
  type,
  answer: (view, _, request) => answer(view, request)
})

const leader = (view: View): Reply =>
  view.leader === undefined ? reply.textError(503, noLeader) : reply.json(JSON.stringify(status(view, view.leader)))

const state = (view: View, { query }: Request): Reply =>
  reply.json(query.get("key") === "store.raft.state" ? JSON.stringify(raftState(view)) : "{}")

const endpoints: ReadonlyMap<string, Endpoint> = new Map([
  ["/db/execute", db(["POST"], ["execute"])],
  ["/db/query", db(["GET", "POST"], ["query"])],
  ["/db/request", db(["POST"], ["query", "execute"])],
  ["/readyz", get("ready", readyz)],
  ["/nodes", get("status", nodes, jsonType)],
  ["/leader", get("status", leader, jsonType)],
  ["/status", get("status", state, jsonType)]
])

const handle = (view: View, db: Database, request: Request): Reply => {
  if (request.method === "OPTIONS") return reply.empty(200)
  const endpoint = endpoints.get(request.path)
  if (endpoint === undefined) return reply.empty(404)
  try {
    checkOptions(request)
    if (!allows(view.users, request, endpoint.permissions)) return reply.empty(401)
    return endpoint.methods.includes(request.method) ? endpoint.answer(view, db, request) : reply.empty(405)
  } catch (error) {
    if (error instanceof BadRequest) return reply.textError(400, error.message)
    if (error instanceof RequestFailed) return reply.requestError(error.message)
    throw error
  }
}

/** What a node answers to a request. */
export const answer = (view: View, db: Database, request: Request): Reply => {
  const { body, headers, status } = handle(view, db, request)
  const type = request.method === "OPTIONS" ? undefined : endpoints.get(request.path)?.type
  const always = {
    "Access-Control-Allow-Headers": view.users === undefined ? "Content-Type" : "Content-Type, Authorization",
    "Access-Control-Allow-Methods": "OPTIONS, GET, POST",
    "X-Rqlite-Version": view.version,
    ...(type === undefined ? {} : { "Content-Type": type }),
    ...(view.users === undefined
      ? {}
      : { "Access-Control-Allow-Credentials": "true", "Www-Authenticate": 'Basic realm="rqlite"' })
  }
  return { status, body, headers: { ...always, ...headers } }
}
