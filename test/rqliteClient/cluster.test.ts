import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as RqliteClient from "holdfast/RqliteClient"
import { connect, madeUp } from "../support/rqlite/client.js"
import { cluster, count, insert, node, value } from "../support/rqlite/cluster.js"

const users = { full: { password: "pw", permissions: ["all"] } }
const credentials = { username: "full", password: Redacted.make("pw") }

describe("the leader", () => {
  it.scoped("is found from a follower, which is told not to pass the write on, and is asked first from then on", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 3 })
      yield* server.lead(2)
      const client = yield* connect(server.urls)
      yield* client.execute(insert)
      expect(yield* server.asked).toEqual(["0 execute?redirect", "2 execute?redirect"])
      yield* client.execute(insert)
      expect(value(yield* client.query(count))).toBe(2)
      expect(yield* server.asked).toEqual(["2 execute?redirect", "2 query?level=linearizable&redirect"])
    })
  )

  it.scoped("gets the body and the credentials though the first host is dead and the second redirects", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 3, users, credentials })
      yield* node(server, 0).stop
      yield* server.lead(2)
      const client = yield* connect(server.urls, credentials)
      yield* client.execute(insert)
      expect(yield* server.asked).toEqual(["1 execute?redirect", "2 execute?redirect"])
      const [, , followed] = (yield* server.received).slice(-3)
      expect(followed?.headers).toMatchObject({
        "content-type": "application/json",
        authorization: `Basic ${Buffer.from("full:pw").toString("base64")}`
      })
      expect(followed?.body).toBe('[["INSERT INTO t(a) VALUES(?)","value"]]')
      expect(yield* server.stored).toBe(1)
    })
  )

  it.scoped("is used where it is not listed, at the address it advertises", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2, users, credentials })
      yield* server.lead(1)
      const client = yield* connect([`http://full:pw@${new URL(node(server, 0).url).host}`])
      yield* client.execute(insert)
      yield* client.execute(insert)
      expect(yield* server.asked).toEqual(["0 execute?redirect", "1 execute?redirect", "1 execute?redirect"])
    })
  )

  it.scoped("is found again when it moves, and when it dies", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 3 })
      const client = yield* connect(server.urls)
      yield* client.execute(insert)
      yield* server.lead(1)
      yield* client.execute(insert)
      yield* node(server, 1).stop
      yield* server.lead(2)
      yield* client.execute(insert)
      expect(yield* server.asked).toEqual([
        "0 execute?redirect",
        "0 execute?redirect",
        "1 execute?redirect",
        "0 execute?redirect",
        "2 execute?redirect"
      ])
      expect(value(yield* client.query(count))).toBe(3)
    })
  )

  it.scoped("is waited for", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      const client = yield* connect(server.urls, { retry: Schedule.recurs(2) })
      const leader = { apply: 0, answer: { status: 503, body: "leader not found\n", genuine: true } } as const
      yield* server.inject({ ...leader, times: 4 })
      yield* client.execute(insert)
      expect(yield* server.stored).toBe(1)
      yield* server.inject({
        apply: 0,
        times: 4,
        answer: { status: 200, body: '{"results":[],"error":"store not open"}' }
      })
      yield* client.execute(insert)
      expect(yield* server.stored).toBe(2)
    })
  )

  it.scoped("that never comes is a failure that applied nothing", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      const client = yield* connect(server.urls, { retry: Schedule.recurs(2) })
      for (const state of ["none", "never"] as const) {
        yield* server.lead(state)
        const expected = { _tag: "RqliteUnavailable", reason: "no-leader", outcome: "not-applied" }
        expect(yield* Effect.flip(client.execute(insert))).toMatchObject(expected)
        expect(yield* Effect.flip(client.query(count))).toMatchObject(expected)
        expect(yield* Effect.flip(client.ready)).toMatchObject(expected)
        expect((yield* client.nodes).filter(({ leader }) => leader)).toEqual([])
        expect(value(yield* client.query(count, { level: "none" }))).toBe(0)
      }
      expect((yield* server.asked).filter((request) => request.includes("execute")).length).toBe(12)
    })
  )

  it.scoped("out of reach is read through a follower, and never written through one", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2, advertise: "http://127.0.0.1:1" })
      yield* server.lead(1)
      const client = yield* connect([node(server, 0).url], { retry: Schedule.recurs(1) })
      expect(value(yield* client.query(count))).toBe(0)
      expect(yield* server.asked).toEqual(["0 query?level=linearizable&redirect", "0 query?level=linearizable"])
      const error = yield* Effect.flip(client.execute(insert))
      expect(error).toMatchObject({ reason: "connection", outcome: "not-applied", node: "http://127.0.0.1:1" })
      expect(yield* server.asked).toEqual(["0 execute?redirect", "0 execute?redirect"])
      // Where it is listed, it is found all the same.
      const listed = yield* connect(server.urls)
      yield* listed.execute(insert)
      expect(yield* server.asked).toEqual(["0 execute?redirect", "1 execute?redirect"])
    })
  )

  it.effect("advertised at an address that is not listed is asked after all that are", () =>
    Effect.gen(function* () {
      const result = { status: 200, body: '{"results":[{"rows_affected":1}]}' }
      const read = { status: 200, body: '{"results":[{"columns":["n"],"types":["integer"],"values":[[1]]}]}' }
      const refused = { broken: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) }
      const hosts = ["a", "b", "c"].map((host) => `http://${host}:4001`)
      const points = { status: 301, headers: { location: "http://hidden:4001/db/execute" } }
      const hostsOf = (sent: ReadonlyArray<{ readonly url: string }>) => sent.map(({ url }) => new URL(url).hostname)

      const listed = yield* madeUp({ urls: hosts }, (url) => (url.includes("//c:") ? result : points))
      yield* listed.client.execute(insert)
      expect(hostsOf(listed.sent)).toEqual(["a", "b", "c"])

      const unlisted = yield* madeUp({ urls: hosts }, (url) => (url.includes("//hidden:") ? result : points))
      yield* unlisted.client.execute(insert)
      yield* unlisted.client.execute(insert)
      expect(hostsOf(unlisted.sent)).toEqual(["a", "b", "c", "hidden", "hidden"])

      // A read goes through a follower, and once it is known that the address leads nowhere it does so at once.
      const lost = yield* madeUp({ urls: hosts.slice(0, 1) }, (url) => {
        if (url.includes("//hidden:")) return refused
        return url.includes("&redirect") ? points : read
      })
      yield* lost.client.query(count)
      yield* lost.client.query(count)
      expect(hostsOf(lost.sent)).toEqual(["a", "hidden", "a", "a", "a"])
    })
  )

  it.scoped("is found by fetch too, which must not follow the redirect itself", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2, users, credentials })
      yield* server.lead(1)
      const client = yield* Effect.provide(
        RqliteClient.make({ urls: server.urls, ...credentials }),
        FetchHttpClient.layer
      )
      yield* client.execute(insert)
      expect(value(yield* client.query(count))).toBe(1)
    })
  )

  it.scoped("is found by a client that takes every status but 2xx for an error", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      yield* server.lead(1)
      const undici = yield* Layer.build(NodeHttpClient.layerUndici)
      const client = yield* Effect.map(HttpClient.HttpClient, HttpClient.filterStatusOk).pipe(
        Effect.flatMap((strict) =>
          Effect.provideService(RqliteClient.make({ urls: server.urls }), HttpClient.HttpClient, strict)
        ),
        Effect.provide(undici)
      )
      yield* client.execute(insert)
      expect(yield* server.stored).toBe(1)
    })
  )
})

describe("a read", () => {
  it.scoped("at level none asks the first node, and the next one where it is dead or stale", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      yield* server.lead(1)
      const client = yield* connect(server.urls)
      expect(value(yield* client.query(count, { level: "none", freshness: "1 second" }))).toBe(0)
      expect(yield* server.asked).toEqual(["0 query?level=none&freshness=1000ms"])
      yield* server.inject({ node: 0, apply: 0, answer: { status: 200, body: '{"results":[],"error":"stale read"}' } })
      yield* client.query(count, { level: "none" })
      yield* node(server, 0).stop
      yield* client.query(count, { level: "none" })
      expect(yield* server.asked).toEqual(["0 query?level=none", "1 query?level=none", "1 query?level=none"])
      yield* server.lead("none")
      const error = yield* Effect.flip(client.query(count, { level: "none", freshness: "1 second" }))
      expect(error).toMatchObject({ _tag: "RqliteUnavailable", reason: "stale", outcome: "not-applied" })
    })
  )

  it.scoped("of a hundred at once succeeds beside a write", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      const client = yield* connect(server.urls)
      const reads = Effect.replicateEffect(Effect.map(client.query(count), value), 50, { concurrency: "unbounded" })
      const [before, , after] = yield* Effect.all([reads, client.execute(insert), reads], { concurrency: "unbounded" })
      expect(before.length + after.length).toBe(100)
      for (const seen of [...before, ...after]) expect([0, 1]).toContain(seen)
      expect(value(yield* client.query(count))).toBe(1)
    })
  )
})

describe("a node that gives no answer in time", () => {
  it.scoped("leaves the outcome of a write open, which may be applied later", () =>
    Effect.gen(function* () {
      const server = yield* cluster()
      const client = yield* connect(server.urls, { timeout: "3 seconds" })
      yield* Queue.takeAll(server.arrivals)
      const gate = yield* Deferred.make<void>()
      yield* server.inject({ before: Deferred.await(gate) })
      const fiber = yield* Effect.fork(Effect.flip(client.execute(insert)))
      yield* Queue.take(server.arrivals)
      yield* TestClock.adjust("3 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({
        _tag: "RqliteUnavailable",
        reason: "timeout",
        outcome: "unknown",
        node: node(server, 0).url
      })
      expect(yield* server.stored).toBe(0)
      yield* Deferred.succeed(gate, undefined)
      yield* client.ready
      expect(yield* server.stored).toBe(1)
    })
  )

  it.scoped("sends a read to the next node, and comes last from then on until it answers", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      const client = yield* connect(server.urls)
      yield* Queue.takeAll(server.arrivals)
      yield* server.inject({ node: 0, before: Effect.never })
      const fiber = yield* Effect.fork(client.query(count, { level: "none", timeout: "2 seconds" }))
      yield* Queue.take(server.arrivals)
      yield* TestClock.adjust("2 seconds")
      expect(value(yield* Fiber.join(fiber))).toBe(0)
      yield* client.query(count, { level: "none" })
      expect(yield* server.asked).toEqual(["0 query?level=none", "1 query?level=none", "1 query?level=none"])
      yield* node(server, 1).stop
      yield* client.query(count, { level: "none" })
      yield* node(server, 1).start
      yield* client.query(count, { level: "none" })
      expect(yield* server.asked).toEqual(["0 query?level=none", "0 query?level=none"])
    })
  )
})
