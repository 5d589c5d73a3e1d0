/**
 * A stand-in for sqld, the server of libSQL: Hrana over HTTP on an SQLite file, which answers as a real server was recorded to. It can be
 * told to misbehave as a real one does: see `Fault`.
 */
import type * as Http from "node:http"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { bodyOf, close, type ListenError, listen, portOf } from "../http.js"
import * as Temp from "../temp.js"
import * as Database from "./database.js"
import { parseJson } from "./numbers.js"
import * as Pipeline from "./pipeline.js"
import { decodePipeline, ProtocolError } from "./protocol.js"

/** What a token allows, or why it is refused. */
export type Access = "rw" | "ro" | "invalid" | "expired"

/**
 * - `accept`: what a token allows; without it no token is asked for.
 * - `durability`: as the database is configured, by default `"strong"`, which syncs each commit; a real one's default is `"relaxed"`.
 */
export interface Options {
  readonly accept?: (token: string) => Access
  readonly durability?: "relaxed" | "strong"
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
  readonly body: string
}

/**
 * - `received`: every request so far; `arrivals` gives one after the other as they come.
 * - `expire`: ends all streams that wait for their client.
 * - `stop`, `start`: takes the server away, and brings it back at the same address.
 * - `rows`: reads the database itself; `copy` makes a copy of it, in a file that is not there yet.
 */
export interface SqldServer {
  readonly url: string
  readonly inject: (...faults: ReadonlyArray<Fault>) => Effect.Effect<void>
  readonly received: Effect.Effect<ReadonlyArray<Received>>
  readonly arrivals: Queue.Dequeue<Received>
  readonly expire: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void, ListenError>
  readonly rows: (sql: string) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>>
  readonly copy: (filename: string) => void
}

const headersOf = ({ location, type }: Reply): Http.OutgoingHttpHeaders => ({
  ...(type === undefined ? {} : { "Content-Type": type }),
  ...(location === undefined ? {} : { Location: location })
})

const json = (status: number, body: unknown): Reply => ({
  status,
  type: "application/json",
  body: JSON.stringify(body)
})

const text = (status: number, body: string): Reply => ({ status, type: "text/plain", body })

const send = (response: Http.ServerResponse, reply: Reply): void => {
  response.writeHead(reply.status, headersOf(reply))
  response.end(reply.body)
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

const refusal = ({ accept }: Options, { authorization, body }: Received): Reply | undefined => {
  if (accept === undefined) return undefined
  if (authorization === undefined) return unauthorized("Expected authorization header but none given")
  switch (accept(authorization.replace(/^Bearer /, ""))) {
    case "invalid":
      return unauthorized("The JWT is invalid")
    case "expired":
      return unauthorized("The JWT has expired")
    case "ro":
      return isWrite(body) ? forbidden : undefined
    case "rw":
      return undefined
  }
}

/** Starts a server; it stops with the scope. */
export const make = (options: Options = {}): Effect.Effect<SqldServer, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    const run = yield* FiberSet.makeRuntime<never>()
    const arrivals = yield* Queue.unbounded<Received>()
    const released = yield* Effect.makeLatch(true)
    const pipeline = Pipeline.make(released)
    const received: Array<Received> = []
    const faults: Array<{ readonly fault: Fault; left: number }> = []
    const streams = new Map<string, Pipeline.Stream>()
    const gone = new Set<string>()
    let count = 0

    const end = (baton: string) =>
      Effect.suspend(() => {
        streams.get(baton)?.connection.close()
        streams.delete(baton)
        return released.open
      })

    const answer = (body: string): Effect.Effect<Reply> =>
      Effect.gen(function* () {
        const { baton: known, requests } = yield* Effect.try({
          try: () => decodePipeline(parseJson(body)),
          catch: (error) =>
            new ProtocolError({ message: `Cannot deserialize client message from JSON: ${String(error)}` })
        })
        if (typeof known === "string" && gone.has(known)) return expired
        if (typeof known === "string" && !streams.has(known))
          return yield* new ProtocolError({ message: "Received an invalid baton" })
        const baton = known ?? `baton-${++count}`
        const stream = streams.get(baton) ?? {
          connection: Database.connect(filename, options.durability ?? "strong"),
          texts: new Map<number, string>()
        }
        streams.set(baton, stream)
        const results = yield* Effect.tapError(pipeline(stream, requests), () => end(baton))
        const closed = requests.some((request) => request.type === "close")
        if (closed) yield* end(baton)
        return json(200, { baton: closed ? null : baton, base_url: null, results })
      }).pipe(Effect.catchAll((error) => Effect.succeed(text(400, error.message))))

    const take = (body: string): Fault => {
      const found = faults.find(({ fault, left }) => left > 0 && (fault.writes !== true || isWrite(body)))
      if (found === undefined) return {}
      found.left--
      return found.fault
    }

    const handle = (incoming: Http.IncomingMessage, response: Http.ServerResponse) =>
      Effect.gen(function* () {
        const { headers, method = "GET", url = "/" } = incoming
        const request = { method, url, authorization: headers.authorization, body: yield* bodyOf(incoming) }
        const page = method === "GET" ? pages.get(url) : undefined
        if (page !== undefined) return send(response, page)
        if (!/^\/v[23]\/pipeline$/.test(url)) return send(response, { status: 404 })
        if (method !== "POST") return send(response, { status: 405 })
        received.push(request)
        yield* Queue.offer(arrivals, request)
        const { after = Effect.void, answer: instead, apply = 1, before = Effect.void } = take(request.body)
        yield* before
        const refused = refusal(options, request)
        const reply = refused === undefined ? answer(request.body) : Effect.succeed(refused)
        if (apply === 2) yield* reply
        const own = apply === 0 ? json(200, { baton: null, base_url: null, results: [] }) : yield* reply
        yield* after
        if (instead === "drop") return response.socket?.destroy()
        if (instead === "half") return sendHalf(response, own)
        send(response, instead ?? own)
      })

    const listener: Http.RequestListener = (incoming, response) => {
      run(handle(incoming, response))
    }

    let server = yield* listen(listener, 0)
    const port = portOf(server)
    let up = true
    const stop = Effect.suspend(() => {
      if (!up) return Effect.void
      up = false
      return Effect.zipRight(Effect.forEach(Array.from(streams.keys()), end, { discard: true }), close(server))
    })
    yield* Effect.addFinalizer(() => stop)

    return {
      url: `http://127.0.0.1:${port}`,
      inject: (...more) =>
        Effect.sync(() => {
          faults.push(...more.map((fault) => ({ fault, left: fault.times ?? 1 })))
        }),
      received: Effect.sync(() => [...received]),
      arrivals,
      expire: Effect.suspend(() => {
        const all = Array.from(streams.keys())
        for (const baton of all) gone.add(baton)
        return Effect.forEach(all, end, { discard: true })
      }),
      stop,
      start: Effect.map(listen(listener, port), (started) => {
        server = started
        up = true
      }),
      rows: (sql) =>
        Effect.sync(() => {
          const db = new Sqlite(filename)
          const rows = db.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql).raw().all()
          db.close()
          return rows
        }),
      copy: (to) => {
        const db = new Sqlite(filename)
        db.prepare("VACUUM INTO ?").run(to)
        db.close()
      }
    }
  })
