import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as RqliteClient from "holdfast/RqliteClient"
import { type Answer, connect, madeUp } from "../support/rqlite/client.js"
import * as RqliteServer from "../support/rqlite/server.js"

const select = [{ sql: "SELECT 1" }]
const insert = [{ sql: "INSERT INTO t VALUES(1)" }]
const one: Answer = { status: 200, body: '{"results":[{"columns":["1"],"types":["integer"],"values":[[1]]}]}' }
const noLeader: Answer = { status: 503, body: "leader not found\n" }
const once = Schedule.recurs(0)

describe("a URL", () => {
  it.effect.each([
    ["http://127.0.0.1:4001", "http://127.0.0.1:4001/db/query", undefined],
    [" https://db.example.com/ ", "https://db.example.com/db/query", undefined],
    ["http://[::1]:4001", "http://[::1]:4001/db/query", undefined],
    ["http://proxy/rqlite/one/", "http://proxy/rqlite/one/db/query", undefined],
    ["http://user:pass@host:4001/base", "http://host:4001/base/db/query", "user:pass"],
    ["http://user:p@ss:word@host:4001", "http://host:4001/db/query", "user:p@ss:word"],
    ["http://us%40er:p%3A%2F%3F%23%25%2C@host:4001", "http://host:4001/db/query", "us@er:p:/?#%,"],
    ["http://user:100%@host:4001", "http://host:4001/db/query", "user:100%"],
    ["http://üser:pä😀ss@host:4001", "http://host:4001/db/query", "üser:pä😀ss"],
    ["http://user@host:4001", "http://host:4001/db/query", "user:"]
  ] as const)("%s", ([url, sentTo, userinfo]) =>
    Effect.gen(function* () {
      const { client, sent } = yield* madeUp({ urls: [url] }, () => one)
      yield* client.query(select)
      expect(sent.map(({ url }) => url.replace(/\?.*/, ""))).toEqual([sentTo])
      const authorization = userinfo === undefined ? undefined : `Basic ${Buffer.from(userinfo).toString("base64")}`
      expect(sent[0]?.headers["authorization"]).toBe(authorization)
    })
  )

  it.effect("has the credentials of the options where it has none of its own", () =>
    Effect.gen(function* () {
      const options = {
        username: "user",
        password: Redacted.make("pass"),
        retry: once
      }
      const urls = ["http://one:4001", Redacted.make("http://own:secret@two:4001")]
      const { client, sent } = yield* madeUp({ ...options, urls }, () => noLeader)
      yield* Effect.flip(client.query(select))
      const basic = (userinfo: string) => `Basic ${Buffer.from(userinfo).toString("base64")}`
      expect(sent.map(({ headers }) => headers["authorization"])).toEqual([basic("user:pass"), basic("own:secret")])
    })
  )

  it.effect.each([
    ["localhost:4001", "must begin with http:// or https://"],
    ["ftp://user:s3cret@host", "must begin with http:// or https://"],
    ["", "is not a URL"],
    ["http://user:s3/cret@host:4001", "is not a URL"],
    ["http://user:12/s3cret@host:4001", "has more than host, port and base path"],
    ["http://user:12?s3cret@host:4001", "has more than host, port and base path"],
    ["http://user:12#s3cret@host:4001", "has more than host, port and base path"],
    ["http://host:4001/?level=none", "has more than host, port and base path"],
    ["http://us%3Aer:s3cret@host:4001", "a user name cannot hold a colon"]
  ] as const)("is refused at once where it is none, and not quoted: %s", ([url, problem]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(madeUp({ urls: ["http://host:4001", url] }, () => one))
      expect(error).toMatchObject({ _tag: "RqliteRejected", reason: "invalid-input", path: "urls[1]" })
      expect(error.message).toContain(problem)
      expect(error.message).not.toContain("s3")
      expect(JSON.stringify(error)).not.toContain("s3")
    })
  )

  it.effect("must be there, and a password needs a user", () =>
    Effect.gen(function* () {
      const none = yield* Effect.flip(madeUp({ urls: [] }, () => one))
      expect(none).toMatchObject({
        reason: "invalid-input",
        path: "urls",
        detail: "there are none (an option of RqliteClient)"
      })
      const urls = ["http://host:4001"]
      const nobody = yield* Effect.flip(madeUp({ urls, password: Redacted.make("s3cret") }, () => one))
      expect(nobody).toMatchObject({ reason: "invalid-input", path: "username" })
      const colon = yield* Effect.flip(madeUp({ urls, username: "a:b" }, () => one))
      expect(colon).toMatchObject({ reason: "invalid-input", path: "username" })
    })
  )

  it.scoped("may have a base path, behind a proxy", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make({ basePath: "/rqlite" })
      const client = yield* connect([`${server.urls[0]}/`])
      yield* client.execute([{ sql: "CREATE TABLE t(a)" }])
      yield* client.ready
      expect((yield* server.received).map(({ url }) => url)).toEqual([
        "/rqlite/db/execute?transaction&blob_array&redirect",
        "/rqlite/readyz"
      ])
    })
  )
})

describe("the configuration", () => {
  const built = (env: ReadonlyArray<readonly [string, string]>) =>
    Layer.build(Layer.provide(RqliteClient.layerConfig(), NodeHttpClient.layerUndici)).pipe(
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(env)))
    )

  it.scoped("names the nodes, the user and the time-out", () =>
    Effect.gen(function* () {
      const users = { full: { password: "pw", permissions: ["all"] } }
      const server = yield* RqliteServer.make({ nodes: 2, users })
      yield* server.lead(1)
      const context = yield* built([
        ["RQLITE_URL", ` ${server.urls.join(" , ")},`],
        ["RQLITE_USERNAME", "full"],
        ["RQLITE_PASSWORD", "pw"],
        ["RQLITE_TIMEOUT", "2 seconds"]
      ])
      const client = yield* Effect.provide(RqliteClient.RqliteClient, context)
      yield* client.query(select)
      expect((yield* server.received).map(({ node }) => node)).toEqual([0, 1])

      yield* Queue.takeAll(server.arrivals)
      yield* server.inject({ before: Effect.never })
      const fiber = yield* Effect.fork(Effect.flip(client.execute(insert)))
      yield* Queue.take(server.arrivals)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({ reason: "timeout", outcome: "unknown" })
    })
  )

  it.scoped("is refused without showing what was wrong with it", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(built([]))
      expect(String(missing)).toContain("RQLITE_URL")
      const wrong = yield* Effect.flip(built([["RQLITE_URL", "http://host:4001,user:s3cret@host"]]))
      expect(wrong).toMatchObject({ _tag: "RqliteRejected", path: "urls[1]" })
      const late = [
        ["RQLITE_URL", "http://user:s3cret@host:4001"],
        ["RQLITE_TIMEOUT", "soon"]
      ] as const
      const unreadable = yield* Effect.flip(built(late))
      expect(String(unreadable)).toContain("RQLITE_TIMEOUT")
      for (const error of [wrong, unreadable]) expect(JSON.stringify(error) + String(error)).not.toContain("s3cret")
    })
  )
})

describe("trying again", () => {
  const nodes = { urls: ["http://one:4001", "http://two:4001"] }

  it.effect("by default waits longer each time, up to a second, and ends after ten", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* madeUp(nodes, () => noLeader)
      for (const call of [Effect.asVoid(client.execute(insert)), Effect.asVoid(client.query(select))]) {
        const start = sent.at(-1)?.at ?? 0
        const from = sent.length
        const fiber = yield* Effect.fork(Effect.flip(call))
        yield* TestClock.adjust("30 seconds")
        const error = yield* Fiber.join(fiber)
        expect(error).toMatchObject({ _tag: "RqliteUnavailable", reason: "no-leader", outcome: "not-applied" })
        expect(error.message).toContain("http://one:4001: the cluster has no leader; http://two:4001: the cluster")
        const times = [...new Set(sent.slice(from).map(({ at }) => at))]
        const waits = times.slice(1).map((time, i) => time - (times[i] ?? 0))
        expect(times[0] === 0 || times[0] === 30_000).toBe(true)
        expect(waits.length).toBeGreaterThan(9)
        expect(waits[0]).toBeLessThanOrEqual(60)
        for (const wait of waits) expect(wait).toBeLessThanOrEqual(1_200)
        expect((times.at(-1) ?? 0) - (times[0] ?? start)).toBeLessThanOrEqual(11_200)
        expect(sent.length - from).toBe(times.length * 2)
      }
    })
  )

  it.effect("ends with the first answer: 503, 503, 200", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* madeUp({ urls: ["http://one:4001"] }, (_, count) =>
        count < 3 ? noLeader : { status: 200, body: '{"results":[{"rows_affected":1}]}' }
      )
      const fiber = yield* Effect.fork(client.execute(insert))
      yield* TestClock.adjust("1 second")
      expect((yield* Fiber.join(fiber)).map(({ rowsAffected }) => rowsAffected)).toEqual([1])
      expect(sent.length).toBe(3)
    })
  )

  it.effect("asks every node once a round, also where they name each other as the leader", () =>
    Effect.gen(function* () {
      const other = (url: string): Answer => ({
        status: 301,
        headers: { Location: url.includes("one") ? url.replace("one", "two") : url.replace("two", "one") }
      })
      const { client, sent } = yield* madeUp({ ...nodes, retry: once }, other)
      const error = yield* Effect.flip(client.execute(insert))
      expect(error).toMatchObject({ reason: "no-leader", outcome: "not-applied" })
      expect(sent.map(({ url }) => new URL(url).hostname)).toEqual(["one", "two"])
    })
  )
})

describe("a redirect", () => {
  const options = { urls: ["https://user:pass@one:4001"], retry: once }

  it.effect("to a node that is not encrypted is not followed by one that is", () =>
    Effect.gen(function* () {
      const headers = { Location: "http://two:4001/db/execute?transaction" }
      const { client, sent } = yield* madeUp(options, () => ({ status: 301, headers }))
      const error = yield* Effect.flip(client.execute(insert))
      expect(error).toMatchObject({ _tag: "RqliteUnavailable", outcome: "not-applied" })
      expect(error.message).toContain("it redirects to http://two:4001, which is not encrypted")
      expect(sent.length).toBe(1)
    })
  )

  it.effect("that says nothing usable is a failure that applied nothing", () =>
    Effect.gen(function* () {
      for (const headers of [{}, { Location: "/db/execute" }, { Location: "mailto:you" }]) {
        const { client, sent } = yield* madeUp(options, () => ({ status: 301, headers }))
        const error = yield* Effect.flip(client.execute(insert))
        expect(error).toMatchObject({ outcome: "not-applied", detail: "it redirects to no address" })
        expect(sent.length).toBe(1)
      }
    })
  )

  it.effect("keeps the base path that a proxy puts before it", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* madeUp(options, (url) =>
        url.startsWith("https://one")
          ? { status: 308, headers: { Location: "https://two/base/db/query?level=linearizable" } }
          : one
      )
      yield* client.query(select)
      expect(sent.map(({ url }) => url.replace(/\?.*/, ""))).toEqual([
        "https://one:4001/db/query",
        "https://two/base/db/query"
      ])
      expect(sent[1]?.headers["authorization"]).toBe(sent[0]?.headers["authorization"])
    })
  )
})

describe("what the HTTP client fails with", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:4001"), {
    code: "ECONNREFUSED",
    syscall: "connect"
  })
  const several = Object.assign(new Error(""), { code: "ECONNREFUSED", errors: [refused, refused] })

  it.effect.each([
    [refused, "connection", "not-applied"],
    [several, "connection", "not-applied"],
    [Object.assign(new Error("fetch failed"), { cause: refused }), "connection", "not-applied"],
    [{ code: "ENOTFOUND", syscall: "getaddrinfo", message: "x" }, "connection", "not-applied"],
    [{ code: "ETIMEDOUT", syscall: "connect" }, "connection", "not-applied"],
    [{ code: "UND_ERR_CONNECT_TIMEOUT" }, "connection", "not-applied"],
    [{ code: "ETIMEDOUT", syscall: "read" }, "connection", "unknown"],
    [{ code: "ECONNRESET", syscall: "read" }, "connection", "unknown"],
    [{ code: "UND_ERR_SOCKET", message: "other side closed" }, "connection", "unknown"],
    ["something else", "connection", "unknown"],
    [{ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }, "tls", "not-applied"],
    [{ code: "ERR_TLS_CERT_ALTNAME_INVALID" }, "tls", "not-applied"],
    [{ code: "CERT_HAS_EXPIRED" }, "tls", "not-applied"],
    [Object.assign(new Error("fetch failed"), { cause: new Error("bad port") }), "endpoint", "not-applied"]
  ] as const)("%j", ([broken, reason, outcome]) =>
    Effect.gen(function* () {
      const { client } = yield* madeUp({ urls: ["http://one:4001"], retry: once }, () => ({ broken }))
      expect(yield* Effect.flip(client.execute(insert))).toMatchObject({ reason, outcome, node: "http://one:4001" })
      expect(yield* Effect.flip(client.query(select))).toMatchObject({ reason, outcome: "not-applied" })
    })
  )
})

describe("an answer that is longer than a string may be", () => {
  it.effect("is too large where it was only read, and leaves the outcome of a write open", () =>
    Effect.gen(function* () {
      const broken = new RangeError("Cannot create a string longer than 0x1fffffe8 characters")
      const { client, sent } = yield* madeUp({ urls: ["http://one:4001"], retry: once }, () => ({ broken }))
      expect(yield* Effect.flip(client.query(select))).toMatchObject({ reason: "too-large", outcome: "not-applied" })
      expect(yield* Effect.flip(client.execute(insert))).toMatchObject({ reason: "connection", outcome: "unknown" })
      expect(sent.length).toBe(2)
    })
  )
})

describe("a version", () => {
  it.each([
    ["v8.32.5", true],
    ["8.32.5", true],
    ["v8.32.4", false],
    ["v8.31.99", false],
    ["v8.36.0", true],
    ["v10.0.0", true],
    ["10", true],
    ["v9.0.0-rc1", true],
    ["v7.21.4", false],
    ["unknown", false],
    ["df4edc42", false],
    ["", false]
  ])("%s is at least 8.32.5: %s", (version, expected) => {
    expect(RqliteClient.isAtLeast(version, [8, 32, 5])).toBe(expected)
  })
})
