import { inspect } from "node:util"
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { connect } from "../support/rqlite/client.js"
import { cluster, count, insert, node, value } from "../support/rqlite/cluster.js"
import type { Fault } from "../support/rqlite/server.js"

const requestError = (error: string) => ({ status: 200, body: JSON.stringify({ results: [], error }), genuine: true })
const unavailable = (reason: string, outcome: string) => ({ _tag: "RqliteUnavailable", reason, outcome })
const rejected = (reason: string) => ({ _tag: "RqliteRejected", reason, outcome: "not-applied" })

interface Case {
  readonly name: string
  readonly fault: Fault
  /** What a write fails with, or how many rows it leaves when it succeeds after all. */
  readonly write: object | "succeeds"
  /** What a read fails with, when it does not succeed by being tried again. */
  readonly read?: object
}

const unknown = (name: string, reason: string, answer: Fault["answer"]): ReadonlyArray<Case> =>
  ([0, 1] as const).map((apply) => ({
    name: `${name}, ${apply === 0 ? "not applied" : "applied"}`,
    fault: { apply, ...(answer === undefined ? {} : { answer }) },
    write: unavailable(reason, "unknown")
  }))

const later = (name: string, answer: Fault["answer"]): Case => ({
  name,
  fault: { apply: 0, ...(answer === undefined ? {} : { answer }) },
  write: "succeeds"
})

const never = (name: string, reason: string, answer: Fault["answer"]): Case => ({
  name,
  fault: { apply: 0, ...(answer === undefined ? {} : { answer }) },
  write: rejected(reason),
  read: rejected(reason)
})

const cases: ReadonlyArray<Case> = [
  ...unknown("the connection is dropped", "connection", "drop"),
  ...unknown("half an answer", "connection", "half"),
  ...unknown("leadership lost", "answer", requestError("leadership lost while committing log")),
  ...unknown("a lost hop", "answer", requestError("read protobuf length: read tcp 1.2.3.4:5: i/o timeout")),
  ...unknown("a refused hop", "answer", requestError("dial tcp 1.2.3.4:5: connect: connection refused")),
  ...unknown("a deadline", "answer", requestError("context deadline exceeded")),
  ...unknown("an end inside the transaction", "answer", requestError("cannot commit - no transaction is active")),
  ...unknown("a page instead of an answer", "answer", { status: 200, body: "<html>welcome</html>" }),
  ...unknown("JSON that is no answer", "answer", { status: 200, body: '{"results":[{"rows_affected":"one"}]}' }),
  ...unknown("too few results", "answer", { status: 200, body: '{"results":[]}' }),
  ...unknown("an answer cut off", "answer", { status: 200, body: '{"results":[{"rows_af' }),
  ...unknown("a proxy's bad gateway", "answer", { status: 502, body: "bad gateway" }),
  ...unknown("a proxy's unavailable", "answer", { status: 503, body: "no upstream" }),
  ...unknown("a proxy's time-out", "timeout", { status: 504 }),
  ...unknown("a server's fault", "answer", { status: 500, body: "oops", genuine: true }),
  later("no leader", { status: 503, body: "leader not found\n", genuine: true }),
  later("no leader to redirect to", { status: 500, body: "leader not found\n", genuine: true }),
  later("a node that is not ready", { status: 503, body: "not yet", genuine: true }),
  later("a proxy that holds back", { status: 429 }),
  later("not the leader any more", requestError("not leader")),
  later("a store that is closed", requestError("store not open")),
  later("a store that is not ready", requestError("store not ready")),
  later("a leader on its way", requestError("leadership transfer in progress")),
  later("a full queue", requestError("timed out enqueuing operation")),
  later("a transaction left open", requestError("cannot start a transaction within a transaction")),
  never("no credentials", "auth", { status: 401, genuine: true }),
  never("a proxy's refusal", "auth", { status: 403, body: "forbidden" }),
  never("a wrong base path", "endpoint", { status: 404 }),
  never("a path that the node does not have", "endpoint", { status: 404, genuine: true }),
  never("a proxy's bad request", "endpoint", { status: 400, body: "bad request" }),
  never("too large for a proxy", "too-large", { status: 413 }),
  never("a request that is not understood", "request", { status: 400, body: "invalid request\n", genuine: true }),
  never("a statement that cannot be rewritten", "request", { status: 500, body: "SQL rewrite: ?", genuine: true })
]

describe("what a fault does to a write, and to a read", () => {
  it.scoped.each(cases)("$name", ({ fault, read, write }) =>
    Effect.gen(function* () {
      const server = yield* cluster()
      const client = yield* connect(server.urls)
      yield* server.inject({ ...fault, times: 2 })
      const applied = fault.apply ?? 0
      if (write === "succeeds") {
        const results = yield* client.execute(insert)
        expect(results.map(({ rowsAffected }) => rowsAffected)).toEqual([1])
        expect(yield* server.stored).toBe(1)
        expect((yield* server.asked).length).toBe(3)
      } else {
        // It is not sent again.
        expect(yield* Effect.flip(client.execute(insert))).toMatchObject(write)
        expect(yield* server.stored).toBe(applied)
        expect((yield* server.asked).length).toBe(1)
      }
      yield* server.inject({ ...fault, path: "/db/query", times: 1 })
      const rows = write === "succeeds" ? 1 : applied
      if (read === undefined) expect(value(yield* client.query(count))).toBe(rows)
      else expect(yield* Effect.flip(client.query(count))).toMatchObject(read)
    })
  )

  it.scoped("no connection at all: nothing was applied", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      const client = yield* connect(server.urls, { retry: Schedule.recurs(2) })
      yield* node(server, 0).stop
      yield* node(server, 1).stop
      const error = yield* Effect.flip(client.execute(insert))
      expect(error).toMatchObject(unavailable("connection", "not-applied"))
      for (const url of server.urls) expect(error.message).toContain(`${url}: connect ECONNREFUSED`)
      expect(yield* Effect.flip(client.query(count))).toMatchObject(unavailable("connection", "not-applied"))
    })
  )

  it.scoped("a node that does not speak TLS: nothing was applied", () =>
    Effect.gen(function* () {
      const server = yield* cluster()
      const secure = node(server, 0).url.replace("http:", "https:")
      const plain = yield* connect([secure])
      expect(yield* Effect.flip(plain.execute(insert))).toMatchObject(rejected("tls"))
      // The next node may be set up better.
      const both = yield* connect([secure, node(server, 0).url])
      yield* both.execute(insert)
      expect(yield* server.stored).toBe(1)
    })
  )

  it.scoped("a follower's second try is not seen by the client", () =>
    Effect.gen(function* () {
      const server = yield* cluster()
      const client = yield* connect(server.urls)
      yield* server.inject({ apply: 2 })
      yield* client.execute(insert)
      expect(yield* server.stored).toBe(2)
    })
  )
})

const page = "<html>nothing here</html>"

describe("an answer that is not the server's own says nothing of the other nodes", () => {
  it.scoped.each([400, 401, 403, 404, 405, 421])("status %i of one node's proxy: the next one is asked", (status) =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 3 })
      yield* server.lead(1)
      yield* server.inject({ node: 0, apply: 0, times: Number.POSITIVE_INFINITY, answer: { status, body: page } })
      const client = yield* connect(server.urls, { retry: Schedule.recurs(0) })
      yield* client.execute(insert)
      // From then on the one behind that proxy comes last.
      expect(value(yield* client.query(count, { level: "none" }))).toBe(1)
      expect(yield* server.asked).toEqual(["0 execute?redirect", "1 execute?redirect", "1 query?level=none"])
    })
  )

  it.scoped("one node that does not know the user says nothing of the others either", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      yield* server.lead(1)
      yield* server.inject({ node: 0, apply: 0, times: 2, answer: { status: 401, genuine: true } })
      const client = yield* connect(server.urls, { retry: Schedule.recurs(0) })
      yield* client.execute(insert)
      expect(yield* server.stored).toBe(1)
    })
  )

  it.scoped("the leader's proxy: it is read through a follower, and a write waits for another leader", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 3 })
      const client = yield* connect(server.urls, { retry: Schedule.recurs(1) })
      yield* client.execute(insert)
      yield* server.inject({
        node: 0,
        apply: 0,
        times: Number.POSITIVE_INFINITY,
        answer: { status: 404, body: page }
      })
      expect(value(yield* client.query(count))).toBe(1)
      const error = yield* Effect.flip(client.execute(insert))
      expect(error).toMatchObject(unavailable("no-leader", "not-applied"))
      expect(error.message).toContain("status 404")
      yield* server.lead(2)
      yield* client.execute(insert)
      expect(yield* server.stored).toBe(2)
    })
  )

  it.scoped("all of them refuse: that is told at once, with what each said", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      const client = yield* connect(server.urls)
      yield* server.inject({ apply: 0, times: 4, answer: { status: 404, body: page } })
      for (const call of [Effect.asVoid(client.execute(insert)), Effect.asVoid(client.query(count))]) {
        const error = yield* Effect.flip(call)
        expect(error).toMatchObject(rejected("endpoint"))
        for (const url of server.urls) expect(error.message).toContain(`${url}: no node of rqlite answers at this URL`)
      }
      expect((yield* server.asked).length).toBe(4)
    })
  )

  it.scoped("one refuses and the other is down: that may pass", () =>
    Effect.gen(function* () {
      const server = yield* cluster({ nodes: 2 })
      const client = yield* connect(server.urls, { retry: Schedule.recurs(0) })
      yield* node(server, 1).stop
      yield* server.inject({ apply: 0, times: 2, answer: { status: 403, body: page } })
      for (const call of [Effect.asVoid(client.execute(insert)), Effect.asVoid(client.query(count))]) {
        const error = yield* Effect.flip(call)
        expect(error).toMatchObject(unavailable("connection", "not-applied"))
        for (const said of ["status 403", "ECONNREFUSED"]) expect(error.message).toContain(said)
      }
    })
  )
})

describe("an address", () => {
  it.scoped("that has no TLS says so", () =>
    Effect.gen(function* () {
      const server = yield* cluster()
      const client = yield* connect([node(server, 0).url.replace("http:", "https:")])
      const error = yield* Effect.flip(client.query(count))
      expect(error.message).toContain("begins with http://")
    })
  )

  it.scoped("that does not resolve says what to list", () =>
    Effect.gen(function* () {
      const client = yield* connect(["http://nowhere.invalid:4001"], { retry: Schedule.recurs(0) })
      const error = yield* Effect.flip(client.query(count))
      expect(error).toMatchObject(unavailable("connection", "not-applied"))
      expect(error.message).toContain("nowhere.invalid: the name has no address here, list the nodes' addresses")
    })
  )
})

describe("a password", () => {
  const password = "s3cr3t@:/?#%[]"

  it.scoped("is shown by no failure", () =>
    Effect.gen(function* () {
      const users = { full: { password, permissions: ["all"] } }
      const server = yield* cluster({ users, credentials: { username: "full", password: Redacted.make(password) } })
      const withUserinfo = server.urls.map((url) => url.replace("//", `//full:${encodeURIComponent(password)}@`))
      const client = yield* connect(withUserinfo, { retry: Schedule.recurs(0) })
      yield* client.execute(insert)

      const answers = [...cases.map(({ fault }) => fault), { apply: 0, answer: "drop" } as const]
      const errors: Array<unknown> = [client]
      for (const fault of answers) {
        yield* server.inject(fault)
        errors.push(yield* Effect.either(client.execute(insert)))
      }
      errors.push(
        yield* Effect.either(client.execute([{ sql: "INSERT INTO t(a) VALUES(json(?))", params: ["private"] }]))
      )
      yield* node(server, 0).stop
      errors.push(yield* Effect.either(client.execute([{ sql: "INSERT INTO t(a) VALUES(?)", params: ["private"] }])))
      errors.push(yield* Effect.exit(client.query(count)))
      errors.push(Cause.pretty(Cause.fail(yield* Effect.flip(client.ready))))

      const shown = errors.map((error) =>
        [String(error), JSON.stringify(error), inspect(error, { depth: 20, showHidden: true })].join("\n")
      )
      expect(shown.join("\n")).toContain("ECONNREFUSED")
      const basic = Buffer.from(`full:${password}`).toString("base64")
      for (const secret of [password, encodeURIComponent(password), basic, "s3cr3t", "private"]) {
        expect(shown.filter((text) => text.includes(secret))).toEqual([])
      }
    })
  )

  it.scoped("that is wrong fails at once, on each of the calls", () =>
    Effect.gen(function* () {
      const users = { full: { password, permissions: ["all"] }, reader: { password: "pw", permissions: ["query"] } }
      const server = yield* cluster({ users, credentials: { username: "full", password: Redacted.make(password) } })
      const client = yield* connect(server.urls, { username: "full", password: Redacted.make("guess") })
      for (const call of [client.execute(insert), client.query(count), client.ready, client.nodes]) {
        expect(yield* Effect.flip(call)).toMatchObject(rejected("auth"))
      }
      expect((yield* server.asked).length).toBe(4)
      expect(yield* client.version).toBe("10")
      const reader = yield* connect(server.urls, { username: "reader", password: Redacted.make("pw") })
      expect(value(yield* reader.query(count))).toBe(0)
      expect(yield* Effect.flip(reader.execute(insert))).toMatchObject(rejected("auth"))
    })
  )
})
