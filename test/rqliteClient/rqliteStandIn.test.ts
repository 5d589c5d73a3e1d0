import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import { bytes, guarded, recordings, replay, seed, tables, three, whole } from "../support/rqlite/replay.js"
import * as RqliteServer from "../support/rqlite/server.js"

const server = "asks what the server is built of or set up with, which this library never asks"
const volatile = "holds random or current values"
const unused = (what: string) => `${what} is never used by this library`

const slow = Object.fromEntries(
  Array.from({ length: 14 }, (_, i) => [
    `follower-0${20 + i}`,
    "a statement that takes longer than the follower waits; it is applied twice, as the fault of that name does"
  ])
)

const same =
  (count: number) =>
  ({ actual, expected }: { readonly actual: ReadonlyArray<unknown>; readonly expected: ReadonlyArray<unknown> }) => {
    expect(actual).toEqual(expected)
    expect(actual.length).toBe(count)
  }

describe("the stand-in answers as rqlite was recorded to", () => {
  it("has whole texts for the recordings that were cut short", () => {
    for (const { name, request, response } of recordings("single")) {
      if (request.bodyTruncatedFrom !== undefined) {
        expect(bytes(whole[name]?.request ?? "")).toBe(request.bodyTruncatedFrom)
      }
      if (response.bodyTruncatedFrom !== undefined) {
        expect(bytes(whole[name]?.response ?? "")).toBe(response.bodyTruncatedFrom)
      }
    }
  })

  it.scoped("a single node, from an empty database", () =>
    Effect.map(
      replay("single", {
        addresses: [["127.0.0.1:14001", "127.0.0.1:14002"]],
        notSent: {
          "single-002": server,
          "single-052": "the console of the server",
          "single-135": unused("/db/sql"),
          "single-137":
            "db_timeout ends a statement while it runs; nodes may differ in it, so this library never sends it",
          "single-138": "db_timeout, and rolled back",
          "single-139": "db_timeout: what 138 left",
          "single-140": "db_timeout, and rolled back",
          "single-149": server,
          "single-150": server,
          "single-151": server,
          "single-152": server,
          "single-160": server,
          "single-163": unused("/db/backup"),
          "single-164": unused("/db/backup")
        },
        notCompared: {
          "single-066": unused("associative"),
          "single-070": unused("associative"),
          "single-080": unused("pretty"),
          "single-087": unused("timings"),
          "single-088": unused("timings"),
          "single-089": unused("associative"),
          "single-090": unused("raft_index"),
          "single-092": unused("raft_index"),
          "single-100": unused("associative"),
          "single-112": unused("associative"),
          "single-134": volatile,
          "single-142": unused("queue"),
          "single-143": unused("queue"),
          "single-144": unused("queue"),
          "single-145": unused("queue")
        }
      }),
      same(140)
    )
  )

  it.scoped("requests that are sent again", () =>
    Effect.map(
      replay("idem", {
        addresses: [["127.0.0.1:14041", "127.0.0.1:14042"]],
        notSent: { "idem-020": "reads what a request wrote that was cut off and is not among the recordings" }
      }),
      same(19)
    )
  )

  it.scoped("a follower", () =>
    Effect.map(
      replay("follower", {
        options: { nodes: 3 },
        addresses: three,
        ask: () => 1,
        setup: tables(1),
        notSent: { "follower-019": unused("/db/backup"), ...slow, "follower-034": unused("retries") }
      }),
      same(18)
    )
  )

  it.scoped("users and their permissions", () =>
    Effect.map(
      replay("auth", {
        options: {
          nodes: 2,
          users: {
            "*": { permissions: ["status"] },
            full: { password: "pw", permissions: ["all"] },
            ro: { password: "pw", permissions: ["query", "ready"] },
            wo: { password: "pw", permissions: ["execute"] }
          }
        },
        addresses: [
          ["127.0.0.1:14401", "127.0.0.1:14402"],
          ["127.0.0.1:14411", "127.0.0.1:14412"]
        ],
        ask: (name) => (name >= "auth-019" ? 1 : 0),
        notCompared: { "auth-014": "names the nodes otherwise" },
        notSent: {
          "auth-022": "nodes that disagree about their users",
          "auth-023": "nodes that disagree about their users",
          "auth-024": "nodes that disagree about their users"
        }
      }),
      same(20)
    )
  )

  it.scoped("a cluster that never had a leader", () =>
    Effect.map(
      replay("preleader", {
        addresses: [["127.0.0.1:14301", "127.0.0.1:14302"]],
        setup: (server) => server.lead("never")
      }),
      same(14)
    )
  )

  it.scoped("a survivor of a cluster without a majority", () =>
    Effect.map(
      replay("noquorum", {
        options: { nodes: 3 },
        addresses: three,
        ask: () => 1,
        setup: (server) =>
          Effect.all([tables(2)(server), server.nodes[0]?.stop ?? Effect.void, server.nodes[2]?.stop ?? Effect.void], {
            discard: true
          }),
        // At first it believes that the leader is alive.
        before: (name, server) => (name >= "noquorum-003" ? server.lead("none") : Effect.void),
        notSent: {
          "noquorum-012": unused("queue"),
          "noquorum-013": unused("queue"),
          "noquorum-014": unused("queue"),
          "noquorum-020": unused("/db/backup"),
          "noquorum-021": unused("/db/backup")
        }
      }),
      same(16)
    )
  )
})

describe("the stand-in answers as a release server did", () => {
  const ask = (path: string, sql: string) =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      const client = yield* HttpClient.HttpClient
      const request = HttpClientRequest.post(`${server.urls[0]}${path}`)
      const response = yield* client.execute(HttpClientRequest.bodyUnsafeJson(request, [sql]))
      return { status: response.status, headers: response.headers, body: yield* response.text }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))

  it.scoped("a short answer says its length, a long one comes in chunks", () =>
    Effect.gen(function* () {
      const short = yield* ask("/db/query", "SELECT 1")
      expect(short.headers["content-length"]).toBe(String(short.body.length))
      const long = yield* ask("/db/query", `SELECT '${"x".repeat(3000)}'`)
      expect(long.headers).toMatchObject({ "transfer-encoding": "chunked" })
    })
  )

  it.scoped.each([
    ["SELECT 1e999", "+Inf"],
    ["SELECT -1e999", "-Inf"]
  ] as const)("%s cannot be sent", ([sql, value]) =>
    Effect.gen(function* () {
      expect(yield* ask("/db/query", sql)).toMatchObject({
        status: 500,
        headers: { "content-type": "text/plain; charset=utf-8", "x-rqlite-version": "10" },
        body: `json: error calling MarshalJSON for type *http.DBResults: json: unsupported value: ${value}\n`
      })
    })
  )

  it.scoped("a freshness is a duration", () =>
    Effect.gen(function* () {
      const { body, status } = yield* ask("/db/query?level=none&freshness=soon", "SELECT 1")
      expect([status, body]).toEqual([400, "freshness is not a valid duration\n"])
      expect((yield* ask("/db/query?level=none&freshness=1m1.5s", "SELECT 1")).status).toBe(200)
    })
  )
})

describe("the stand-in misbehaves on demand", () => {
  const answerTo = (base: string, statements: ReadonlyArray<unknown>) =>
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      const request = HttpClientRequest.post(`${base}/db/execute?transaction`)
      const response = yield* client.execute(HttpClientRequest.bodyUnsafeJson(request, statements))
      return { status: response.status, body: yield* response.text }
    })

  const commit = [
    [seed, "e2", "d", "A", 1, 0],
    [guarded, "x", "e", "e2", "A"]
  ]

  it.scoped("applies a request twice and answers as the second time, which looks like a conflict", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      yield* tables(1)(server)
      yield* server.inject({ apply: 2 })
      const { body } = yield* answerTo(server.urls[0] ?? "", commit)
      expect(body).toBe('{"results":[{"last_insert_id":1},{"last_insert_id":2,"rows_affected":1}]}')
      expect(yield* server.rows("SELECT version FROM executions WHERE id = 'e2'")).toEqual([[1]])
      expect(yield* server.rows("SELECT count(*) FROM outbox")).toEqual([[2]])
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.scoped("befalls the requests it is meant for, as often as it is told, in the order of telling", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      yield* tables(1)(server)
      const base = server.urls[0] ?? ""
      yield* server.inject(
        { path: "/db/query", answer: "drop" },
        { apply: 0, times: 2, answer: { status: 503, body: "leader not found" } },
        { apply: 0, answer: "drop" },
        { answer: "drop" },
        { answer: "half" }
      )
      const statements = ["INSERT INTO outbox(target_id, event) VALUES ('t', 'e')"]
      const outcomes = yield* Effect.forEach(Array.from({ length: 6 }), () =>
        Effect.gen(function* () {
          const answer = yield* Effect.option(answerTo(base, statements))
          const [[rows] = []] = yield* server.rows("SELECT count(*) FROM outbox")
          return [Option.match(answer, { onNone: () => "broken", onSome: ({ status }) => status }), rows]
        })
      )
      expect(outcomes).toEqual([
        [503, 0],
        [503, 0],
        ["broken", 0],
        ["broken", 1],
        ["broken", 2],
        [200, 3]
      ])
      const received = yield* server.received
      expect(received.length).toBe(7)
      expect(received[1]).toMatchObject({ node: 0, method: "POST", url: "/db/execute?transaction" })
      expect(received[1]?.body).toBe(JSON.stringify(statements))
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.scoped("holds a request back until it is released, and applies it though the client is gone", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      yield* tables(1)(server)
      const gate = yield* Deferred.make<void>()
      yield* server.inject({ before: Deferred.await(gate) })
      const fiber = yield* Effect.fork(answerTo(server.urls[0] ?? "", ["DELETE FROM executions"]))
      yield* Queue.take(server.arrivals)
      yield* Queue.take(server.arrivals)
      yield* Fiber.interrupt(fiber)
      expect(yield* server.rows("SELECT count(*) FROM executions")).toEqual([[1]])
      yield* Deferred.succeed(gate, undefined)
      const client = yield* HttpClient.HttpClient
      yield* client.get(`${server.urls[0]}/readyz`)
      expect(yield* server.rows("SELECT count(*) FROM executions")).toEqual([[0]])
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.scoped("stops and starts a node at its address", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make({ nodes: 2 })
      const [first] = server.nodes
      const client = yield* HttpClient.HttpClient
      const status = Effect.option(Effect.map(client.get(`${first?.url}/readyz`), (response) => response.status))
      expect(yield* status).toEqual(Option.some(200))
      yield* first?.stop ?? Effect.void
      expect(yield* status).toEqual(Option.none())
      yield* first?.start ?? Effect.void
      expect(yield* status).toEqual(Option.some(200))
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )
})
