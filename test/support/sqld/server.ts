/**
 * A stand-in for sqld, the server of libSQL: Hrana over HTTP on an SQLite file, which answers as a real server was recorded to. It can be
 * told to misbehave as a real one does: see `Fault`.
 *
 * Known to differ: it is SQLite 3.53 where sqld 0.24.33 is 3.47; a row is measured by what is bound to the statement that inserts it; all
 * answers at one moment have no limit of their own; a transaction that holds its lock for long keeps it; texts that are no UTF-8 are
 * answered.
 */
import { writeFileSync } from "node:fs"
import type * as Http from "node:http"
import { gzipSync } from "node:zlib"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { bodyOf, close, type ListenError, listen, portOf } from "../http.js"
import * as Temp from "../temp.js"
import type * as Database from "./database.js"
import * as Log from "./log.js"
import type * as Pipeline from "./pipeline.js"
import * as Streams from "./streams.js"

/** What a token allows, or why it is refused. */
export type Access = Pipeline.Access | "invalid" | "expired"

/**
 * - `accept`: what a token allows; without it no token is asked for.
 * - `durability`: as the database is configured, by default `"strong"`, which syncs each commit; a real one's default is `"relaxed"`.
 * - `initial`: the bytes of the database that it begins with, by default an empty one.
 * - `maxResponseSize`: how many bytes an answer holds, by default 10 MB.
 */
export interface Options {
  readonly accept?: (token: string) => Access
  readonly durability?: Database.Durability
  readonly initial?: Buffer
  readonly maxResponseSize?: number
}

export interface Reply {
  readonly status: number
  readonly type?: string | undefined
  readonly location?: string
  readonly body?: string
}

/**
 * What befalls a pipeline of requests.
 *
 * - `times`: how many of them, by default one; `writes`: only those that write.
 * - `apply`: how often the server runs it before it answers with the last outcome; by default once.
 * - `before`, `after`: what must end before it runs, and after it before the answer.
 * - `answer`: `"drop"` closes the connection without an answer, `"half"` in the middle of it; a reply stands for the server's own.
 */
export interface Fault {
  readonly times?: number
  readonly writes?: boolean
  readonly apply?: 0 | 1 | 2
  readonly before?: Effect.Effect<void>
  readonly after?: Effect.Effect<void>
  readonly answer?: "drop" | "half" | Reply
}

export interface Received {
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
  readonly encoding: string | undefined
  readonly body: string
}

/**
 * - `received`: every request so far; `arrivals` gives one after the other as they come.
 * - `expire`: ends all streams that wait for their client.
 * - `stop`, `start`: takes the server away, and brings it back at the same address.
 * - `configure`: sets how durable the database is from now on.
 * - `full`: says whether its disk has no room from now on.
 * - `rows`: reads the database itself.
 * - `frame`, `copy`, `backup`: see `Log`.
 */
export interface SqldServer extends Log.Log {
  readonly url: string
  readonly inject: (...faults: ReadonlyArray<Fault>) => Effect.Effect<void>
  readonly received: Effect.Effect<ReadonlyArray<Received>>
  readonly arrivals: Queue.Dequeue<Received>
  readonly expire: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void, ListenError>
  readonly configure: (durability: Database.Durability) => Effect.Effect<void>
  readonly full: (isFull: boolean) => Effect.Effect<void>
  readonly rows: (sql: string) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>>
}

const json = (status: number, body: unknown): Reply => ({
  status,
  type: "application/json",
  body: JSON.stringify(body)
})

const text = (status: number, body: string): Reply => ({ status, type: "text/plain", body })

/** What a request in flight is answered with while the server stops: it was not run. */
export const stopping: ReadonlyArray<Reply> = [
  json(404, { error: "Namespace `default` doesn't exist" }),
  json(503, { error: "Namespace store has shutdown" })
]

const headersOf = ({ location, type }: Reply): Http.OutgoingHttpHeaders => ({
  ...(type === undefined ? {} : { "Content-Type": type }),
  ...(location === undefined ? {} : { Location: location })
})

/** An answer is packed unless the client says that it wants it as it is. */
const send = (response: Http.ServerResponse, reply: Reply, encoding: string | undefined): void => {
  const packed = reply.body !== undefined && encoding?.includes("gzip") === true
  response.writeHead(reply.status, { ...headersOf(reply), ...(packed ? { "Content-Encoding": "gzip" } : {}) })
  response.end(packed ? gzipSync(reply.body) : reply.body)
}

/** Half of an answer: what was promised does not come. */
const sendHalf = (response: Http.ServerResponse, reply: Reply): void => {
  const body = Buffer.from(reply.body ?? "")
  response.writeHead(reply.status, { ...headersOf(reply), "Content-Length": String(body.length) })
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.socket?.destroy())
}

const isWrite = (body: string): boolean => /\b(INSERT|UPDATE|DELETE|CREATE|DROP)\b/.test(body)

const welcome = text(200, "Hello, this is HTTP API v2 (Hrana over HTTP)")

const pages = new Map<string, Reply>([
  ["/v2", welcome],
  ["/v3", welcome],
  ["/health", { status: 200 }]
])

const unauthorized = (why: string) => json(401, { error: `Unauthorized: \`${why}\`` })

const forbidden = json(403, {
  error: "Authorization forbidden: Current session doesn't not have Write permission to namespace default"
})

const expired = json(400, { message: "The stream has expired due to inactivity", code: "STREAM_EXPIRED" })

/** What the token of a request allows, or the answer where it allows nothing. */
const accessOf = ({ accept }: Options, { authorization }: Received): Pipeline.Access | Reply => {
  if (accept === undefined) return "rw"
  if (authorization === undefined) return unauthorized("Expected authorization header but none given")
  const [scheme = "", token] = authorization.split(" ")
  if (token === undefined) return unauthorized("Auth string does not conform to '<scheme> <token>' form")
  if (scheme.toLowerCase() !== "bearer") {
    return unauthorized("The authentication scheme in the `Authorization` HTTP header is not supported")
  }
  const access = accept(token)
  if (access === "invalid") return unauthorized("The JWT is invalid")
  return access === "expired" ? unauthorized("The JWT has expired") : access
}

/** The faults that are still to befall requests. */
const makeFaults = () => {
  const faults: Array<{ readonly fault: Fault; left: number }> = []
  return {
    inject: (...more: ReadonlyArray<Fault>) =>
      Effect.sync(() => {
        faults.push(...more.map((fault) => ({ fault, left: fault.times ?? 1 })))
      }),
    take: (body: string): Fault => {
      const found = faults.find(({ fault, left }) => left > 0 && (fault.writes !== true || isWrite(body)))
      if (found === undefined) return {}
      found.left--
      return found.fault
    }
  }
}

/** What a stream is answered with. */
const replyOf = (streams: Streams.Streams, body: string, access: Pipeline.Access): Effect.Effect<Reply> =>
  Effect.match(streams.answer(body, access), {
    onSuccess: (answer) => json(200, answer),
    onFailure: (error) => {
      switch (error._tag) {
        case "Expired":
          return expired
        case "Forbidden":
          return forbidden
        case "ProtocolError":
          return text(400, error.message)
      }
    }
  })

/** A server that can be taken away, and come back at the same address. */
const makeListener = (listener: Http.RequestListener, onStop: Effect.Effect<void>) =>
  Effect.gen(function* () {
    let server = yield* listen(listener, 0)
    const port = portOf(server)
    let up = true
    const stop = Effect.suspend(() => {
      if (!up) return Effect.void
      up = false
      return Effect.zipRight(onStop, close(server))
    })
    yield* Effect.addFinalizer(() => stop)
    const start = Effect.map(listen(listener, port), (started) => {
      server = started
      up = true
    })
    return { url: `http://127.0.0.1:${port}`, stop, start }
  })

/** Starts a server; it stops with the scope. */
export const make = (options: Options = {}): Effect.Effect<SqldServer, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    if (options.initial !== undefined) writeFileSync(filename, options.initial)
    const log = yield* Log.make(filename)
    const { maxResponseSize = 10_000_000 } = options
    let { durability = "strong" } = options
    let full = false
    const state = { durability: () => durability, full: () => full, maxResponseSize }
    const streams = yield* Streams.make(filename, log, state)
    const faults = makeFaults()
    const run = yield* FiberSet.makeRuntime<never>()
    const arrivals = yield* Queue.unbounded<Received>()
    const received: Array<Received> = []

    const handle = (incoming: Http.IncomingMessage, response: Http.ServerResponse) =>
      Effect.gen(function* () {
        const { headers, method = "GET", url = "/" } = incoming
        const body = yield* bodyOf(incoming)
        const encoding = headers["accept-encoding"]?.toString()
        const request = { method, url, authorization: headers.authorization, encoding, body }
        const page = method === "GET" ? pages.get(url) : undefined
        if (page !== undefined) return send(response, page, encoding)
        if (!/^\/v[23]\/pipeline$/.test(url)) return send(response, { status: 404 }, encoding)
        if (method !== "POST") return send(response, { status: 405 }, encoding)
        received.push(request)
        yield* Queue.offer(arrivals, request)
        const { after = Effect.void, answer: instead, apply = 1, before = Effect.void } = faults.take(body)
        yield* before
        const access = accessOf(options, request)
        const reply = typeof access === "string" ? replyOf(streams, body, access) : Effect.succeed(access)
        if (apply === 2) yield* reply
        const own = apply === 0 ? json(200, { baton: null, base_url: null, results: [] }) : yield* reply
        yield* after
        if (instead === "drop") return response.socket?.destroy()
        if (instead === "half") return sendHalf(response, own)
        send(response, instead ?? own, encoding)
      })

    const { start, stop, url } = yield* makeListener((incoming, response) => {
      run(handle(incoming, response))
    }, streams.end)

    return {
      ...log,
      url,
      stop,
      start,
      inject: faults.inject,
      received: Effect.sync(() => [...received]),
      arrivals,
      expire: streams.expire,
      configure: (to) =>
        Effect.sync(() => {
          durability = to
        }),
      full: (isFull) =>
        Effect.sync(() => {
          full = isFull
        }),
      rows: (sql) =>
        Effect.sync(() => {
          const db = new Sqlite(filename)
          const rows = db.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql).raw().all()
          db.close()
          return rows
        })
    }
  })
