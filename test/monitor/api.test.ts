import { assert, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Commit from "holdfast/Commit"
import * as Definition from "holdfast/Definition"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Monitor from "holdfast/Monitor"
import * as SqliteStore from "holdfast/SqliteStore"
import { fill } from "../support/cliStore.js"
import { shareOfTests } from "../support/extent.js"
import { ask, post } from "../support/monitor.js"
import { servers } from "../support/servers.js"

const inProcess = [
  { name: "memory", make: MemoryStore.make(), many: 1203 },
  { name: "SQLite", make: SqliteStore.make({ filename: ":memory:" }), many: 1203 }
]

// Each change is a request of its own.
const onServers = servers.map((server) => ({ ...server, many: 40 }))

const filled = (options: Monitor.Options = {}) =>
  Effect.gen(function* () {
    yield* fill
    return yield* Monitor.make(options)
  })

const Done = Schema.Struct({ state: Schema.String })
const Jobs = Schema.Array(Done)

const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** Waits until no job runs. */
const jobsEnd = (monitor: Monitor.Monitor) =>
  // A turn of the event loop, in which a server of another backend can answer.
  Effect.zipRight(turn, ask(monitor, "/api/jobs")).pipe(
    Effect.flatMap(({ json }) => Schema.decodeUnknown(Jobs)(json)),
    Effect.repeat({ until: (jobs) => jobs.every(({ state }) => state !== "running") })
  )

const statusOf = (id: string) =>
  Effect.flatMap(ExecutionStore.ExecutionStore, (store) =>
    Effect.map(store.load(id), Option.match({ onNone: () => null, onSome: ({ status }) => status }))
  )

for (const [{ make, many, name }, named] of [...shareOfTests(inProcess, 0, 1), ...shareOfTests(onServers, 1, 2)]) {
  describe(named(`the API of a monitor on ${name}`), () => {
    const test = <E>(title: string, body: () => Effect.Effect<void, E, ExecutionStore.ExecutionStore | Scope.Scope>) =>
      it.scoped(title, () =>
        Effect.flatMap(make, (store) => Effect.provideService(body(), ExecutionStore.ExecutionStore, store))
      )

    test("shows what there is", () =>
      Effect.gen(function* () {
        const monitor = yield* filled()
        const overview = yield* ask(monitor, "/api/overview")
        expect(overview.status).toBe(200)
        expect(overview.json).toMatchObject({
          stats: {
            outbox: { count: 1 },
            spawns: { count: 1 },
            timers: { count: 2 },
            activities: { count: 1 },
            deadLetters: { count: 1 }
          },
          health: null
        })
        expect(overview.json).toHaveProperty(
          "counts",
          expect.arrayContaining([{ definitionId: "order", status: "FAILED", count: 2 }])
        )
        expect((yield* ask(monitor, "/api/outbox")).json).toMatchObject({
          items: [{ seq: 2, targetId: "order-17", event: { id: "shop:2", data: { amount: 5 } }, attempts: 0 }],
          next: null
        })
        expect((yield* ask(monitor, "/api/spawns")).json).toMatchObject({ items: [{ childId: "parcel-2" }] })
        expect((yield* ask(monitor, "/api/activities")).json).toMatchObject({ items: [{ name: "charge", key: "c" }] })
        expect((yield* ask(monitor, "/api/dead-letters?kind=Outbox")).json).toMatchObject({
          items: [{ id: 1, error: "no answer", row: { event: { id: "shop:1" } }, text: null }]
        })
        expect((yield* ask(monitor, "/api/dead-letters?kind=Timer")).json).toMatchObject({ items: [] })
        expect((yield* ask(monitor, "/api/trace?id=order-17")).json).toMatchObject({
          steps: [{ eventKind: "Start", toPath: "AwaitingPayment", actions: ["reserve"] }]
        })
      }))

    test("shows who shares the work of the store", () =>
      Effect.gen(function* () {
        const monitor = yield* filled()
        const { activities, leases } = yield* ExecutionStore.ExecutionStore
        expect((yield* ask(monitor, "/api/overview")).json).toMatchObject({ processes: { pools: [] } })
        const claim = Array.from({ length: 30 }, (_, i) => String(i))
        yield* leases.renew({ pool: "shards/32/shop", holder: "orders-1", ttl: 10, claim: claim.slice(2) })
        yield* leases.renew({ pool: "shards/32/shop", holder: "orders-2", ttl: 10, claim: ["0", "1"] })
        yield* leases.renew({ pool: "activities", holder: "worker-1", ttl: 10 })
        yield* activities.claim({ name: "charge", owner: "worker-1", limit: 1 })
        yield* leases.leave("activities", "worker-1")
        yield* leases.renew({ pool: "activities", holder: "worker-2", ttl: 10 })
        yield* post(monitor, "/api/execution?id=order-17", { action: "suspend" })
        expect((yield* ask(monitor, "/api/overview")).json).toMatchObject({
          processes: {
            pools: [
              {
                shares: "activities",
                total: null,
                processes: [
                  { name: "worker-2", held: 0, running: 0 },
                  { name: "worker-1", renewedAt: null, ttl: null, running: 1 }
                ]
              },
              {
                shares: "lanes",
                service: "shop",
                total: 32,
                free: 2,
                processes: [
                  { name: "orders-1", ttl: 10, held: 28, leases: claim.slice(2) },
                  { name: "orders-2", held: 2, leases: ["0", "1"] }
                ]
              }
            ]
          }
        })
      }))

    test("shows one execution with all that waits for it, integers of any size as they are", () =>
      Effect.gen(function* () {
        const monitor = yield* filled()
        const page = yield* ask(monitor, "/api/execution?id=order-17")
        expect(page.json).toMatchObject({
          execution: { id: "order-17", status: "RUNNING", context: { customer: "c-1" }, version: 1 },
          ancestors: [],
          children: { items: [{ id: "parcel-1" }] },
          events: [{ seq: 2 }],
          timers: [{ path: "payment" }, { path: "later" }],
          spawns: [{ childId: "parcel-2" }],
          activities: [{ key: "c" }],
          deadLetters: [{ id: 1 }],
          attributes: { customer: "c-1", failed: false, code: "17" }
        })
        expect(page.text).toContain('"number":12345678901234567890')
        expect((yield* ask(monitor, "/api/execution?id=parcel-1")).json).toMatchObject({
          ancestors: [{ id: "order-17", definitionId: "order" }]
        })
        const none = yield* ask(monitor, "/api/execution?id=order-99")
        expect(none.status).toBe(404)
        expect(none.headers.get("content-type")).toBe("application/problem+json")
        expect(none.json).toMatchObject({ title: "No such execution" })
      }))

    test("lists by filters, page after page", () =>
      Effect.gen(function* () {
        const monitor = yield* filled()
        const ids = (query: string) =>
          Effect.map(ask(monitor, `/api/executions?${query}`), ({ text }) =>
            [...text.matchAll(/"id":"([^"]*)"/g)].map((found) => found[1])
          )
        expect(yield* ids("status=FAILED")).toEqual(["order-19", "order-20"])
        expect(yield* ids("status=FAILED,DONE&definition=order")).toEqual(["order-18", "order-19", "order-20"])
        expect(yield* ids("roots=true&prefix=par")).toEqual([])
        expect(yield* ids("prefix=par")).toEqual(["parcel-1"])
        expect(yield* ids("parent=order-17")).toEqual(["parcel-1"])
        expect(yield* ids("where=failed%3Dtrue")).toEqual(["order-19", "order-20"])
        expect(yield* ids("where=failed%3Dtrue&where=code%3D%2219%22&status=FAILED")).toEqual(["order-19"])
        // A number is no text.
        expect(yield* ids("where=code%3D19")).toEqual([])
        expect(yield* ids("where=customer%3Dc-1&status=RUNNING,DONE&prefix=order-1")).toEqual(["order-17", "order-18"])
        const first = yield* ask(monitor, "/api/executions?limit=2&definition=order")
        expect(first.json).toMatchObject({ items: [{ id: "order-17" }, { id: "order-18" }] })
        const [, cursor = ""] = /"next":"([^"]+)"/.exec(first.text) ?? []
        expect((yield* ask(monitor, `/api/executions?limit=2&definition=order&cursor=${cursor}`)).json).toMatchObject({
          items: [{ id: "order-19" }, { id: "order-20" }],
          next: null
        })
        const timers = yield* ask(monitor, "/api/timers?limit=1")
        expect(timers.json).toMatchObject({ items: [{ path: "payment" }] })
        const [, next = ""] = /"next":"((?:[^"\\]|\\.)+)"/.exec(timers.text) ?? []
        const behind = encodeURIComponent(JSON.parse(`"${next}"`))
        expect((yield* ask(monitor, `/api/timers?limit=1&cursor=${behind}`)).json).toMatchObject({
          items: [{ path: "later" }],
          next: null
        })
        for (const query of [
          "definition=order",
          "status=FAILED",
          "prefix=order-1",
          "roots=true",
          "where=failed%3Dtrue",
          ""
        ]) {
          const { json } = yield* ask(monitor, `/api/executions/count?${query}`)
          expect(json).toEqual({ count: (yield* ids(query)).length, exact: true })
        }
      }))

    test("does to an execution what it is told", () =>
      Effect.gen(function* () {
        const monitor = yield* filled()
        const act = (id: string, body: unknown) => post(monitor, `/api/execution?id=${id}`, body)
        expect((yield* act("order-17", { action: "suspend", reason: "audit" })).json).toEqual({
          changed: ["order-17", "parcel-1"],
          corrupt: []
        })
        expect(yield* statusOf("order-17")).toBe("SUSPENDED")
        expect((yield* ask(monitor, "/api/trace?id=order-17")).text).toContain('"text":"audit"')
        expect((yield* act("order-17", { action: "resume" })).status).toBe(200)
        expect((yield* act("order-19", { action: "redrive" })).status).toBe(200)
        expect(yield* statusOf("order-19")).toBe("RUNNING")
        expect((yield* act("order-17", { action: "cancel" })).status).toBe(200)
        expect(yield* statusOf("order-17")).toBe("CANCELLING")
        expect((yield* act("order-20", { action: "terminate" })).status).toBe(200)
        expect((yield* act("order-20", { action: "purge" })).status).toBe(200)
        expect(yield* statusOf("order-20")).toBe(null)
        const wrong = yield* act("order-18", { action: "suspend" })
        expect(wrong.status).toBe(409)
        expect(wrong.text).toContain("DONE")
        expect((yield* act("order-99", { action: "suspend" })).status).toBe(404)
      }))

    test("sends events, at once and later", () =>
      Effect.gen(function* () {
        const monitor = yield* filled()
        const send = (id: string, parts: object) =>
          post(monitor, `/api/execution?id=${id}`, { action: "send", kind: "Paid", ...parts })
        expect((yield* send("order-17", { data: { amount: 7 }, eventId: "desk:1" })).status).toBe(200)
        expect((yield* send("order-17", { delay: 60 })).status).toBe(200)
        const page = yield* ask(monitor, "/api/execution?id=order-17")
        expect(page.json).toMatchObject({
          events: [{}, { event: { id: "desk:1", kind: "Paid", data: { amount: 7 } } }],
          delayed: [{ event: { kind: "Paid" } }]
        })
        expect((yield* send("order-18", {})).status).toBe(409)
        expect((yield* send("order-99", {})).status).toBe(404)
        const reserved = yield* send("order-17", { eventId: "timeout:order-17:x:1" })
        expect(reserved.status).toBe(400)
      }))

    test("settles dead letters", () =>
      Effect.gen(function* () {
        const monitor = yield* filled()
        expect((yield* post(monitor, "/api/dead-letter?id=1", { action: "redrive" })).status).toBe(200)
        expect((yield* ask(monitor, "/api/outbox")).text).toContain("shop:1")
        expect((yield* post(monitor, "/api/dead-letter?id=1", { action: "discard" })).status).toBe(409)
      }))

    test("does in the background what is for many", () =>
      Effect.gen(function* () {
        const monitor = yield* filled()
        const store = yield* ExecutionStore.ExecutionStore
        yield* Effect.forEach(
          Array.from({ length: many }, (_, i) => i),
          (i) =>
            store.save(
              Execution.make({ id: `many-${String(i).padStart(4, "0")}`, definitionId: "many", status: "RUNNING" })
            ),
          { concurrency: 50 }
        )
        const started = yield* post(monitor, "/api/jobs", {
          of: "executions",
          filter: { definition: "many" },
          action: { action: "suspend" }
        })
        expect(started.json).toMatchObject({ state: "running", total: { count: many, exact: true }, seen: 0 })
        yield* jobsEnd(monitor)
        const [job] = yield* Effect.flatMap(ask(monitor, "/api/jobs"), ({ json }) =>
          Schema.decodeUnknown(Schema.Array(Schema.Unknown))(json)
        )
        expect(job).toMatchObject({ state: "done", seen: many, changed: many, failed: 0, errors: [] })
        expect((yield* ask(monitor, "/api/executions/count?definition=many&status=SUSPENDED")).json).toEqual({
          count: many,
          exact: true
        })
        const none = yield* post(monitor, "/api/jobs", {
          of: "executions",
          filter: { status: ["DONE"] },
          action: { action: "suspend" }
        })
        expect(none.status).toBe(400)
        const redriven = yield* post(monitor, "/api/jobs", {
          of: "executions",
          filter: { attributes: { customer: "c-1", code: "19" } },
          action: { action: "redrive" }
        })
        expect(redriven.json).toMatchObject({ total: { count: 1, exact: true } })
        yield* jobsEnd(monitor)
        expect([yield* statusOf("order-19"), yield* statusOf("order-20")]).toEqual(["RUNNING", "FAILED"])
        yield* post(monitor, "/api/jobs", { of: "dead letters", filter: { kind: "Outbox" }, action: "discard" })
        yield* jobsEnd(monitor)
        expect((yield* store.stats).deadLetters.count).toBe(0)
      }))
  })
}

describe("the API of a monitor", () => {
  const hostile = [
    "..",
    ".",
    "a/b?c#d&e=f%20",
    "<script>alert(1)</script>",
    "\u0000\u001b[31m",
    "\u202eevil\u2066",
    "x".repeat(900),
    "'; DROP TABLE executions; --",
    "__proto__",
    "\u{1f600}\u{10ffff}"
  ]

  it.scoped("takes ids and contexts of any kind", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const monitor = yield* Monitor.make()
      for (const id of hostile) {
        yield* store.commit(
          Execution.make({ id, definitionId: id, status: "RUNNING", context: { [id]: id, nested: [{ [id]: null }] } }),
          {
            emits: [{ targetId: id, event: Event.make({ id, kind: id, data: { [id]: id } }) }],
            timers: [Commit.scheduleTimer(id, 5)]
          }
        )
        const page = yield* ask(monitor, `/api/execution?id=${encodeURIComponent(id)}`)
        expect(page.json).toMatchObject({ execution: { id }, events: [{ targetId: id }], timers: [{ path: id }] })
        expect(page.headers.get("content-type")).toBe("application/json")
        const listed = yield* ask(monitor, `/api/executions?definition=${encodeURIComponent(id)}`)
        expect(listed.json).toMatchObject({ items: [{ id }] })
        const done = yield* post(monitor, `/api/execution?id=${encodeURIComponent(id)}`, { action: "terminate" })
        expect(done.json).toMatchObject({ changed: [id] })
      }
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("refuses what is not as it should be, and says what", () =>
    Effect.gen(function* () {
      const monitor = yield* filled()
      const asked = [
        "limit=0",
        "limit=1001",
        "limit=x",
        "cursor=x",
        "status=LOST",
        "roots=perhaps",
        "where=x",
        "where=%3D1"
      ]
      asked.push("where=a%3D1&where=a%3D2", "where=1a%3D2", `where=a%3D${"x".repeat(2000)}`)
      for (const query of asked) expect((yield* ask(monitor, `/api/executions?${query}`)).status, query).toBe(400)
      for (const path of [
        "outbox?cursor=-1",
        "timers?cursor=[1]",
        "dead-letters?kind=x",
        "execution?id=",
        "execution"
      ]) {
        expect((yield* ask(monitor, `/api/${path}`)).status, path).toBe(400)
      }
      const bodies = [
        "",
        "{",
        "[]",
        "null",
        '{"action":"explode"}',
        '{"action":"send"}',
        '{"action":"send","kind":"K","data":[]}'
      ]
      for (const body of bodies) {
        const answer = yield* ask(monitor, "/api/execution?id=order-17", {
          method: "POST",
          body,
          headers: { "content-type": "application/json" }
        })
        expect(answer.status, body).toBe(400)
        expect(answer.json).toHaveProperty("detail")
      }
      const large = yield* post(monitor, "/api/execution?id=order-17", {
        action: "suspend",
        reason: "x".repeat(3_000_000)
      })
      expect(large.status).toBe(413)
      expect((yield* ask(monitor, "/api/nothing")).status).toBe(404)
      expect(
        (yield* ask(monitor, "/api/execution?id=order-17", {
          method: "DELETE",
          headers: { "content-type": "application/json" }
        })).status
      ).toBe(404)
      expect(yield* statusOf("order-17")).toBe("RUNNING")
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("checks events by the schemas of definitions, and gives them for forms", () =>
    Effect.gen(function* () {
      const Order = Definition.make("order", {
        context: Schema.Struct({}),
        events: { Paid: Schema.Struct({ amount: Schema.Number }) }
      })
      const monitor = yield* filled({ definitions: [Order] })
      expect((yield* ask(monitor, "/api/session")).json).toMatchObject({
        definitions: [{ name: "order", events: { Paid: { properties: { amount: { type: "number" } } } } }]
      })
      const send = (data: unknown) =>
        post(monitor, "/api/execution?id=order-17", { action: "send", kind: "Paid", data })
      const wrong = yield* send({ amount: "much" })
      expect(wrong.status).toBe(400)
      expect(wrong.text).toContain("amount")
      expect((yield* send({ amount: 3 })).status).toBe(200)
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("masks what executions hold, and shows nothing where that fails", () =>
    Effect.gen(function* () {
      const secret = "4111-1111"
      const store = yield* ExecutionStore.ExecutionStore
      const card = { card: secret }
      yield* store.commit(
        Execution.make({
          id: "a",
          definitionId: "d",
          status: "RUNNING",
          context: card,
          deferred: [Event.make({ id: "h", kind: "K", data: card })]
        }),
        {
          emits: [
            { targetId: "a", event: Event.make({ id: "1", kind: "K", data: card }) },
            { targetId: "a", event: Event.make({ id: "2", kind: "K", data: card }) },
            { targetId: "a", event: Event.make({ id: "3", kind: "K", data: card }), dueAt: 1e9 }
          ],
          spawns: [{ childId: "c", rootPath: "", context: card }],
          activities: [Commit.runActivity({ key: "k", name: "n", payload: card })],
          attributes: card,
          trace: Commit.traceStep({ eventKind: "K", timestamp: 1, eventData: card, contextOut: card, assigned: card })
        }
      )
      yield* store.save(Execution.make({ id: "b", definitionId: "d", status: "DONE", result: card }))
      yield* store.deadLetters.bury({ _tag: "Outbox", seq: 2 }, { reason: "attempts", attempts: 1, error: "e" })
      const paths = ["execution?id=a", "execution?id=b", "trace?id=a", "outbox", "spawns", "activities", "dead-letters"]
      const plain = yield* Monitor.make()
      const masked = yield* Monitor.make({ redact: () => ({ masked: true }) })
      const failing = yield* Monitor.make({
        redact: () => {
          throw new Error(secret)
        }
      })
      for (const path of paths) {
        expect((yield* ask(plain, `/api/${path}`)).text, path).toContain(secret)
        const shown = yield* ask(masked, `/api/${path}`)
        expect(shown.text, path).toContain('{"masked":true}')
        expect(shown.text, path).not.toContain(secret)
        const failed = yield* ask(failing, `/api/${path}`)
        expect(failed.status).toBe(200)
        expect(failed.text, path).not.toContain(secret)
      }
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("has a document", () =>
    Effect.gen(function* () {
      const monitor = yield* Monitor.make()
      const { json } = yield* ask(monitor, "/api/openapi.json")
      expect(json).toMatchObject({ openapi: expect.stringMatching(/^3\./), servers: [{ url: ".." }] })
      expect(json).toHaveProperty(["paths", "/api/execution", "post", "operationId"], "act")
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("says that the store does not answer", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const down = { ...store, load: () => Effect.die("down") }
      const monitor = yield* Effect.provideService(Monitor.make(), ExecutionStore.ExecutionStore, down)
      const answer = yield* ask(monitor, "/api/execution?id=a")
      expect(answer.status).toBe(500)
      expect(answer.json).toMatchObject({ title: "The monitor failed" })
      assert.notInclude(answer.text, "down")
    })
  )

  it.effect("ends its jobs with its scope", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const held = { ...store, deadLetters: { ...store.deadLetters, discard: () => Effect.never } }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const work = { emits: [{ targetId: "x", event: Event.make({ id: "1", kind: "K" }) }] }
          yield* store.commit(Execution.make({ id: "a", definitionId: "d" }), work)
          yield* store.deadLetters.bury({ _tag: "Outbox", seq: 1 }, { reason: "attempts", attempts: 1, error: "e" })
          const monitor = yield* Monitor.make()
          const bulk = { of: "dead letters", filter: {}, action: "discard" }
          for (let i = 0; i < 4; i++) expect((yield* post(monitor, "/api/jobs", bulk)).status).toBe(200)
          expect((yield* post(monitor, "/api/jobs", bulk)).status).toBe(409)
          const stopped = yield* post(monitor, "/api/jobs/stop?id=1", {})
          expect(stopped.json).toMatchObject({ id: "1", state: "stopped" })
          expect((yield* post(monitor, "/api/jobs/stop?id=99", {})).status).toBe(404)
        })
      ).pipe(Effect.provideService(ExecutionStore.ExecutionStore, held))
    })
  )
})
