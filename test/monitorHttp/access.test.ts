import * as Http from "node:http"
import { assert, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import { isLoopbackHost } from "holdfast/internal/monitorHttp/access"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Monitor from "holdfast/Monitor"
import * as Server from "../support/http.js"
import { type Answer, ask, post } from "../support/monitor.js"

const stored = Effect.flatMap(ExecutionStore.ExecutionStore, (store) =>
  store.save(Execution.make({ id: "a", definitionId: "d", status: "RUNNING" }))
)

const reads = [
  "session",
  "overview",
  "executions",
  "execution?id=a",
  "trace?id=a",
  "outbox",
  "spawns",
  "timers",
  "activities"
]

/** Each change, with its body. */
const writes: ReadonlyArray<readonly [path: string, body: unknown]> = [
  ["execution?id=a", { action: "suspend" }],
  ["execution?id=a", { action: "terminate" }],
  ["execution?id=a", { action: "send", kind: "K" }],
  ["dead-letter?id=1", { action: "discard" }],
  ["jobs", { of: "executions", filter: {}, action: { action: "terminate" } }],
  ["jobs/stop?id=1", {}]
]

const untouched = Effect.gen(function* () {
  const store = yield* ExecutionStore.ExecutionStore
  const found = Option.getOrThrow(yield* store.load("a"))
  expect(found).toMatchObject({ status: "RUNNING", version: 1 })
  expect((yield* store.stats).outbox.count).toBe(0)
})

describe("access to a monitor", () => {
  it.scoped("is what the application says, for every request", () =>
    Effect.gen(function* () {
      yield* stored
      const monitor = yield* Monitor.make({
        access: ({ headers }) =>
          Effect.succeed(headers["x-user"] === "admin" ? "all" : headers["x-user"] === "guest" ? "read" : "none")
      })
      const as = (user: string) => ({ "x-user": user })
      for (const path of reads) {
        for (const [user, status] of [
          ["admin", 200],
          ["guest", 200],
          ["nobody", 403]
        ] as const) {
          const answer = yield* ask(monitor, `/api/${path}`, { headers: as(user) }, {})
          expect([path, user, answer.status]).toEqual([path, user, status])
        }
      }
      for (const user of ["guest", "nobody"]) {
        for (const [path, body] of writes) {
          const answer = yield* post(monitor, `/api/${path}`, body, as(user), {})
          expect([path, user, answer.status]).toEqual([path, user, 403])
          expect(answer.json).toMatchObject({ title: "No access" })
        }
      }
      expect((yield* ask(monitor, "/", { headers: as("nobody") })).status).toBe(403)
      expect((yield* ask(monitor, "/api/openapi.json", { headers: as("nobody") })).status).toBe(403)
      expect((yield* ask(monitor, "/api/session", { headers: as("guest") })).json).toMatchObject({ access: "read" })
      yield* untouched
      expect((yield* post(monitor, "/api/execution?id=a", { action: "suspend" }, as("admin"))).status).toBe(200)
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("is by default for this machine alone", () =>
    Effect.gen(function* () {
      yield* stored
      const monitor = yield* Monitor.make()
      const from = (remoteAddress: string | undefined, headers: Record<string, string> = {}) =>
        Effect.map(ask(monitor, "/api/session", { headers }, { remoteAddress }), ({ status }) => status)
      for (const address of ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"]) {
        expect(yield* from(address), address).toBe(200)
        expect(yield* from(address, { host: "monitor.localhost" })).toBe(200)
        expect(yield* from(address, { host: "127.0.0.1:80" })).toBe(200)
        expect(yield* from(address, { host: "[::1]:80" })).toBe(200)
      }
      // Nobody said from where; somewhere else; a name that another site gave to this machine; through a proxy.
      expect(yield* from(undefined)).toBe(403)
      for (const address of [
        "10.0.0.7",
        "192.168.1.2",
        "::ffff:10.0.0.7",
        "2001:db8::1",
        "128.0.0.1",
        "1127.0.0.1",
        ""
      ]) {
        expect(yield* from(address), address).toBe(403)
      }
      for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.7", ""]) {
        expect(yield* from("127.0.0.1", { host }), host).toBe(403)
      }
      for (const header of [
        "forwarded",
        "x-forwarded-for",
        "x-real-ip",
        "via",
        "x-forwarded-host",
        "cf-connecting-ip"
      ]) {
        expect(yield* from("127.0.0.1", { [header]: "127.0.0.1" }), header).toBe(403)
      }
      const answer = yield* ask(monitor, "/", {}, {})
      expect(answer.json).toMatchObject({ detail: expect.stringContaining("access") })
      yield* untouched
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it("knows the names of this machine", () => {
    for (const host of ["localhost", "LOCALHOST:1", "a.localhost", "127.0.0.1", "127.1.2.3:4", "[::1]"]) {
      assert.isTrue(isLoopbackHost(host), host)
    }
    for (const host of [
      "",
      "localhost:",
      "a@localhost",
      "evil/localhost",
      "xlocalhost",
      "127.0.0.1.evil",
      "[::1].evil",
      "0.0.0.0",
      "localhost:1:2"
    ]) {
      assert.isFalse(isLoopbackHost(host), host)
    }
  })

  it.scoped("for changes is refused to pages of other sites", () =>
    Effect.gen(function* () {
      yield* stored
      const monitor = yield* Monitor.make({ access: () => Effect.succeed("all") })
      const refused: ReadonlyArray<Record<string, string>> = [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { "sec-fetch-site": "none" },
        { "sec-fetch-site": "cross-site", origin: "http://localhost:4600" },
        { origin: "http://evil.example" },
        { origin: "http://localhost:4601" },
        { origin: "http://localhost:4600.evil.example" },
        { origin: "null" }
      ]
      for (const headers of refused) {
        for (const [path, body] of writes) {
          const answer = yield* post(monitor, `/api/${path}`, body, headers)
          expect([path, headers, answer.status]).toEqual([path, headers, 403])
        }
      }
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonx",
        ""
      ]) {
        for (const [path, body] of writes) {
          expect((yield* post(monitor, `/api/${path}`, body, { "content-type": type })).status, type).toBe(400)
        }
      }
      yield* untouched
      // A look, too; but not the way to the page itself.
      expect((yield* ask(monitor, "/api/executions", { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403)
      expect((yield* ask(monitor, "/", { headers: { "sec-fetch-site": "cross-site" } })).status).not.toBe(403)
      const suspend = { action: "suspend" }
      expect((yield* post(monitor, "/api/execution?id=a", suspend, { "sec-fetch-site": "same-origin" })).status).toBe(
        200
      )
      const resume = { action: "resume" }
      expect((yield* post(monitor, "/api/execution?id=a", resume, { origin: "http://localhost:4600" })).status).toBe(
        200
      )
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("comes with a strict policy on every answer", () =>
    Effect.gen(function* () {
      const monitor = yield* Monitor.make({ basePath: "/m" })
      const answers: ReadonlyArray<Answer> = yield* Effect.all([
        ask(monitor, "/m/"),
        ask(monitor, "/m"),
        ask(monitor, "/m/api/session"),
        ask(monitor, "/m/api/none"),
        ask(monitor, "/elsewhere"),
        ask(monitor, "/m/api/execution?id=none"),
        ask(monitor, "/m/", {}, {})
      ])
      for (const { headers } of answers) {
        const policy = headers.get("content-security-policy") ?? ""
        expect(policy).toMatch(/^default-src 'none';/)
        expect(policy).not.toContain("unsafe")
        expect(headers.get("x-content-type-options")).toBe("nosniff")
        expect(headers.get("x-frame-options")).toBe("DENY")
        expect(headers.get("cross-origin-resource-policy")).toBe("same-origin")
        expect(headers.get("cache-control")).not.toBe(null)
        expect(headers.get("access-control-allow-origin")).toBe(null)
      }
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})

describe("the place of a monitor", () => {
  it.scoped("is any path", () =>
    Effect.gen(function* () {
      for (const base of ["/admin/holdfast", "/admin/holdfast/", "/m", "/%C3%A9"]) {
        const monitor = yield* Monitor.make({ basePath: base })
        const at = base.replace(/\/$/, "")
        expect((yield* ask(monitor, `${at}/api/session`)).status).toBe(200)
        const beside = yield* ask(monitor, at)
        expect(beside.status).toBe(307)
        const to = new URL(beside.headers.get("location") ?? "", `http://localhost${at}`)
        expect(to.pathname).toBe(`${at}/`)
        expect((yield* ask(monitor, "/api/session")).status).toBe(404)
        expect((yield* ask(monitor, `${at}x/api/session`)).status).toBe(404)
      }
      const bare = yield* Monitor.make()
      expect((yield* ask(bare, "/api/session")).status).toBe(200)
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("is checked with the other options", () =>
    Effect.gen(function* () {
      for (const options of [{ basePath: "admin" }, { basePath: "//evil" }, { basePath: "/a?b" }, { interval: 10 }]) {
        const error = yield* Effect.flip(Monitor.make(options))
        expect(error).toMatchObject({ _tag: "StoreRejected", path: Object.keys(options)[0] })
      }
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scopedLive("is a server of node:http too, which tells from where a request comes", () =>
    Effect.gen(function* () {
      yield* stored
      const monitor = yield* Monitor.make({ basePath: "/m" })
      const server = yield* Effect.acquireRelease(Server.listen(monitor.listener, 0), Server.close)
      const url = `http://127.0.0.1:${Server.portOf(server)}/m`
      const fetched = yield* Effect.promise(() => fetch(`${url}/api/execution?id=a`))
      expect(fetched.status).toBe(200)
      expect(yield* Effect.promise(() => fetched.json())).toMatchObject({ execution: { id: "a" } })
      const changed = yield* Effect.promise(() =>
        fetch(`${url}/api/execution?id=a`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ action: "suspend" })
        })
      )
      expect(changed.status).toBe(200)
      const named = yield* asNamed(url, "evil.example")
      expect(named).toBe(403)
      expect(yield* asNamed(url, "localhost")).toBe(200)
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})

/** The status of an answer to who asks for this name. */
const asNamed = (url: string, host: string): Effect.Effect<number> =>
  Effect.async((resume) => {
    Http.get(`${url}/api/session`, { headers: { host }, agent: false }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    })
  })
