import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import { describe, expect, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as RqliteClient from "holdfast/RqliteClient"
import * as RqliteStore from "holdfast/RqliteStore"
import { ddl } from "../../src/internal/schema/schema.js"
import { emit, everything, spawn, step } from "../../src/testing/internal/samples.js"
import { outbox } from "../../src/testing/internal/state.js"
import * as InProcessNode from "../support/rqlite/inProcessNode.js"

const noLeader = { status: 503, body: "leader not found\n", genuine: true } as const
const order = (id: string) => Execution.make({ id, definitionId: "order" })
const unbounded = { concurrency: "unbounded" } as const

/** A store on a cluster without a network; whatever fails is tried again at once. */
const open = (node: InProcessNode.InProcessNode, options: Partial<RqliteStore.Options> = {}) =>
  Layer.build(RqliteStore.layer({ urls: InProcessNode.urls, retry: Schedule.recurs(3), ...options })).pipe(
    Effect.provideService(HttpClient.HttpClient, node.http)
  )

const opened = (node: InProcessNode.InProcessNode, options?: Partial<RqliteStore.Options>) =>
  Effect.map(open(node, options), (context) => {
    const store = ExecutionStore.pipe(Effect.provide(context))
    return { context, store }
  })

/** What opening asks first: whether the cluster answers. */
const isFirst = ({ statements }: InProcessNode.Received) => statements[0] === "SELECT sqlite_version()"
const paths = (requests: ReadonlyArray<InProcessNode.Received>) => requests.map(({ path }) => path)

describe("opening", () => {
  it.scoped("asks for a leader, the versions and the schema, and makes the schema in one transaction", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      yield* open(node)
      const first = yield* node.asked
      expect(paths(first)).toEqual(["/db/query", "/nodes", "/db/query", "/db/execute", "/db/query"])
      expect(first[3]?.statements).toHaveLength(ddl("").length)
      // One that is there is only read.
      yield* open(node)
      expect(paths(yield* node.asked)).toEqual(["/db/query", "/nodes", "/db/query"])
      expect(yield* node.rows("SELECT name FROM sqlite_master WHERE name = 'executions'")).toEqual([["executions"]])
    })
  )

  it.scoped("waits a second after each try for a cluster that has no leader yet", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      yield* node.lead(false)
      const fiber = yield* Effect.fork(open(node))
      yield* TestClock.adjust("7500 millis")
      yield* node.lead(true)
      yield* TestClock.adjust("500 millis")
      yield* Fiber.join(fiber)
      const times = (yield* node.asked).filter(isFirst).map(({ at }) => at)
      expect(times).toEqual([0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000])
    })
  )

  it.scoped("fails after thirty tries more where no leader comes", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      yield* node.lead(false)
      const fiber = yield* Effect.fork(Effect.flip(open(node)))
      yield* TestClock.adjust("30 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({
        _tag: "StoreUnavailable",
        operation: "open",
        reason: "no-leader",
        outcome: "not-applied"
      })
      expect(paths(yield* node.asked)).toEqual(Array.from({ length: 31 }, () => "/db/query"))
    })
  )

  it.scoped("tries as often, and waits as long, as the options say", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      yield* node.inject({ path: "/db/query", times: 3, apply: 0, answer: "drop" })
      const fiber = yield* Effect.fork(open(node, { connectRetries: 3, retryDelay: "1 minute" }))
      yield* TestClock.adjust("3 minutes")
      yield* Fiber.join(fiber)
      yield* node.lead(false)
      expect(yield* Effect.flip(open(node, { connectRetries: 0 }))).toMatchObject({ reason: "no-leader" })
      const times = (yield* node.asked).filter(isFirst).map(({ at }) => at)
      expect(times).toEqual([0, 60_000, 120_000, 180_000, 180_000])
    })
  )

  it.scoped("goes on where a statement of it finds no leader, or its answer is lost", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      yield* node.inject(
        { path: "/db/query" },
        { path: "/db/query", times: 4, apply: 0, answer: noLeader },
        { path: "/db/execute", answer: "drop" }
      )
      const fiber = yield* Effect.fork(opened(node))
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      const { store } = yield* Fiber.join(fiber)
      expect((yield* (yield* store).save(order("a"))).version).toBe(1)
    })
  )

  it.scoped("fails at once on a password that is wrong", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make({ users: { app: { password: "right", permissions: ["all"] } } })
      const wrong = { username: "app", password: Redacted.make("gu3ss") }
      const error = yield* Effect.flip(open(node, wrong))
      expect(error).toMatchObject({ _tag: "StoreRejected", operation: "open", reason: "auth" })
      expect(String(error) + JSON.stringify(error)).not.toContain('wrong"')
    })
  )

  it.scoped("fails at once where every URL leads to something else", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      yield* node.inject({ apply: 0, answer: { status: 404, body: "404 page not found" } })
      const error = yield* Effect.flip(open(node))
      expect(error).toMatchObject({ _tag: "StoreRejected", operation: "open", reason: "open" })
      expect(error.message).toContain("http://n1:4001: no node of rqlite answers at this URL")
      expect(paths(yield* node.asked)).toEqual(["/db/query"])
    })
  )

  it.scoped("needs no more permissions than to read and to write", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make({ users: { app: { password: "pw", permissions: ["query", "execute"] } } })
      const { store } = yield* opened(node, { username: "app", password: Redacted.make("pw") })
      expect((yield* (yield* store).save(order("a"))).version).toBe(1)
      const levels = (yield* node.asked).flatMap(({ level }) => level ?? [])
      expect(new Set(levels)).toEqual(new Set(["linearizable"]))
    })
  )

  it.scoped("waits for a leader with these permissions too", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make({ users: { app: { password: "pw", permissions: ["query", "execute"] } } })
      yield* node.lead(false)
      const fiber = yield* Effect.fork(open(node, { username: "app", password: Redacted.make("pw") }))
      yield* TestClock.adjust("2 seconds")
      yield* node.lead(true)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
    })
  )

  it.scoped("refuses options that are wrong before it asks for anything", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const wrong: ReadonlyArray<readonly [string, Partial<RqliteStore.Options>]> = [
        ["urls", { urls: [] }],
        ["urls[0]", { urls: ["n1:4001/db"] }],
        ["username", { username: "a:b" }],
        ["connectRetries", { connectRetries: -1 }],
        ["connectRetries", { connectRetries: 0.5 }],
        ["retryDelay", { retryDelay: Number.POSITIVE_INFINITY }],
        // what a caller without types could pass
        ["retryDelay", JSON.parse('{"retryDelay":"soon"}')],
        ["level", JSON.parse('{"level":"exact"}')]
      ]
      for (const [path, options] of wrong) {
        expect(yield* Effect.flip(open(node, options))).toMatchObject({
          _tag: "StoreRejected",
          operation: "open",
          reason: "invalid-input",
          path
        })
      }
      expect(yield* node.asked).toEqual([])
      const late: ReadonlyArray<readonly [string, Partial<RqliteStore.Options>]> = [
        ["prefix", { prefix: "no-name" }],
        ["traceMax", { traceMax: -1 }]
      ]
      for (const [path, options] of late) {
        expect(yield* Effect.flip(open(node, options))).toMatchObject({ reason: "invalid-input", path })
      }
    })
  )

  it.scoped("leaves the schema to an operator where it is told to", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const error = yield* Effect.flip(open(node, { createSchema: false }))
      expect(error).toMatchObject({ _tag: "StoreRejected", reason: "schema", path: "createSchema" })
      expect(paths(yield* node.asked)).not.toContain("/db/execute")
      yield* open(node)
      yield* open(node, { createSchema: false })
    })
  )

  it.scoped("gives the client it has to the application too, and takes one that the application has", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { context, store } = yield* opened(node, { prefix: "harel_" })
      yield* (yield* store).save(order("a"))
      const count = [{ sql: "SELECT count(*) FROM harel_executions" }]
      const client = yield* Effect.provide(RqliteClient.RqliteClient, context)
      expect((yield* client.query(count))[0]?.values).toEqual([[1]])
      const second = yield* Layer.build(
        Layer.provide(
          RqliteStore.layerFromClient({ prefix: "harel_" }),
          Layer.succeed(RqliteClient.RqliteClient, client)
        )
      )
      const found = yield* Effect.provide(
        Effect.flatMap(ExecutionStore, (store) => store.load("a")),
        second
      )
      expect(Option.map(found, ({ version }) => version)).toEqual(Option.some(1))
    })
  )
})

describe("a store that has opened", () => {
  const refusals = [
    { status: 401, genuine: true },
    { status: 403, body: "forbidden" },
    { status: 404, body: "404 page not found" },
    { status: 400, body: "bad request" }
  ]

  it.scoped.each(refusals)("waits where the cluster refuses it, and goes on: status $status", (answer) =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node)
      const { load, pendingOutbox, save } = yield* store
      const saved = yield* save(order("a"))
      yield* node.inject({ apply: 0, times: Number.POSITIVE_INFINITY, answer })
      const calls = [save(saved), load("a"), pendingOutbox()].map((call) =>
        Effect.asVoid<unknown, unknown, never>(call)
      )
      for (const call of calls) {
        const error = yield* Effect.flip(call)
        expect(error).toMatchObject({ _tag: "StoreUnavailable", reason: "connection", outcome: "not-applied" })
        expect(String(error)).toContain(`status ${answer.status}`)
      }
      yield* node.heal
      expect((yield* save(saved)).version).toBe(2)
    })
  )

  it.scoped("finds out what became of a write though it is refused in between", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node)
      const { commit, pendingOutbox } = yield* store
      yield* node.inject(
        { path: "/db/execute", answer: "drop" },
        { path: "/db/query", apply: 0, times: 3, answer: { status: 401, genuine: true } }
      )
      const fiber = yield* Effect.fork(commit(order("a"), { emits: [emit("e")] }))
      yield* TestClock.adjust("5 seconds")
      expect((yield* Fiber.join(fiber)).execution.version).toBe(1)
      expect((yield* pendingOutbox()).entries).toHaveLength(1)
    })
  )

  it.scoped("is refused for good a commit that is too large for the proxy before it", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node)
      const { save } = yield* store
      yield* node.inject({ path: "/db/execute", apply: 0, answer: { status: 413, body: "too large" } })
      expect(yield* Effect.flip(save(order("a")))).toMatchObject({ _tag: "StoreRejected", reason: "too-large" })
    })
  )

  it.scoped("reads a backlog in parts where one answer would be too long, and names the row that never fits", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const longest = 900
      const error = new Error("Cannot create a string longer than 0x1fffffe8 characters")
      const http = HttpClient.transform(node.http, (answer, request) =>
        Effect.flatMap(answer, (response) =>
          Effect.flatMap(response.text, (text) =>
            text.length > longest && text.includes('"event"')
              ? new HttpClientError.ResponseError({ request, response, reason: "Decode", cause: error })
              : Effect.succeed(response)
          )
        )
      )
      const { store } = yield* opened({ ...node, http })
      const { ackOutbox, enqueue, pendingOutbox } = yield* store
      yield* enqueue(Array.from({ length: 8 }, (_, i) => emit(`${i}`)))
      expect((yield* pendingOutbox({ limit: 8 })).entries.map(({ event }) => event.id)).toEqual([..."01234567"])
      yield* enqueue([emit("x".repeat(longest))])
      for (const seq of [1, 2, 3, 4, 5, 6, 7, 8]) yield* ackOutbox(seq)
      const fiber = yield* Effect.fork(Effect.flip(pendingOutbox()))
      yield* TestClock.adjust("10 seconds")
      const refused = yield* Fiber.join(fiber)
      expect(refused).toMatchObject({ _tag: "StoreRejected", operation: "pendingOutbox", reason: "too-large" })
      expect(refused.message).toContain("the first row does not fit")
    })
  )

  it.scoped("refuses a text that an old SQLite would cut, before anything is written", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make({ version: "v7.21.4" })
      const old = { results: [{ columns: ["sqlite_version()"], types: ["text"], values: [["3.42.0"]] }] }
      yield* node.inject({ path: "/db/query", answer: { status: 200, body: JSON.stringify(old), genuine: true } })
      const { store } = yield* opened(node)
      const { commit, load } = yield* store
      const refused = { _tag: "StoreRejected", reason: "invalid-input", executionId: "a" }
      const cut = commit(order("a"), { spawns: [spawn("child\u0000of")] })
      expect(yield* Effect.flip(cut)).toMatchObject(refused)
      expect(yield* load("a")).toEqual(Option.none())
      // The characters of an escape are no U+0000.
      yield* commit(order("a"), { spawns: [spawn("child\\u0000of")], trace: step("a\u0000b") })
      expect(yield* node.rows("SELECT child_id FROM spawns")).toEqual([["child\\u0000of"]])
    })
  )

  it.scoped("counts what waits in one try, so that health need not wait", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node)
      const { stats } = yield* store
      yield* node.lead(false)
      yield* node.asked
      expect(yield* Effect.flip(stats)).toMatchObject({ _tag: "StoreUnavailable", reason: "no-leader" })
      expect(paths(yield* node.asked)).toEqual(["/db/query"])
    })
  )
})

describe("the level", () => {
  const used = (
    version: string,
    options: Partial<RqliteStore.Options> = {},
    users?: Parameters<typeof InProcessNode.make>[0]
  ) =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make({ version, ...users })
      const { store } = yield* opened(node, options)
      const { commit, listExecutions, load, save } = yield* store
      yield* node.asked
      yield* load("a")
      yield* listExecutions()
      const reads = (yield* node.asked).map(({ level }) => level)
      const saved = yield* save(order("a"))
      yield* Effect.flip(commit({ ...saved, version: 7 }))
      const decisive = (yield* node.asked).flatMap(({ level }) => level ?? [])
      return { reads, decisive }
    })

  it.scoped("is linearizable", () =>
    Effect.gen(function* () {
      for (const version of ["10", "v8.32.5", "v8.36.3", "v9.4.1"]) {
        expect(yield* used(version)).toEqual({ reads: ["linearizable", "linearizable"], decisive: ["linearizable"] })
      }
    })
  )

  it.scoped("is strong on a server that is too old, or does not say how old it is", () =>
    Effect.gen(function* () {
      for (const version of ["v8.32.4", "v7.21.4", "v8.32.5-rc", "dev", ""]) {
        const expected = version === "v8.32.5-rc" ? "linearizable" : "strong"
        expect(yield* used(version)).toEqual({ reads: [expected, expected], decisive: [expected] })
      }
    })
  )

  it.scoped("can be chosen for reads, and what a write depends on keeps its own", () =>
    Effect.gen(function* () {
      for (const level of ["strong", "weak", "none"] as const) {
        expect(yield* used("v9.4.1", { level })).toEqual({ reads: [level, level], decisive: ["linearizable"] })
        for (const version of ["v8.0.0", "v7.21.4"]) {
          expect(yield* used(version, { level })).toEqual({ reads: [level, level], decisive: ["strong"] })
        }
      }
      expect(yield* used("v8.0.0", { level: "linearizable" })).toEqual({
        reads: ["strong", "strong"],
        decisive: ["strong"]
      })
    })
  )

  it.scoped("is found by a user that may not see the nodes", () =>
    Effect.gen(function* () {
      const users = { app: { password: "pw", permissions: ["query", "execute", "ready"] } }
      const credentials = { username: "app", password: Redacted.make("pw") }
      expect((yield* used("v9.0.0", credentials, { users })).reads).toEqual(["linearizable", "linearizable"])
      expect((yield* used("v8.0.0", credentials, { users })).reads).toEqual(["strong", "strong"])
    })
  )
})

describe("requests", () => {
  it.scoped("a commit is one, whatever it carries", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node)
      const { commit } = yield* store
      yield* node.asked
      const first = yield* commit(order("a"), everything("e"))
      expect(first.seqs).toEqual([1])
      yield* commit(first.execution, { emits: Array.from({ length: 300 }, (_, i) => emit(`${i}`)) })
      const asked = yield* node.asked
      expect(paths(asked)).toEqual(["/db/execute", "/db/execute"])
    })
  )

  it.scoped("a commit sends the execution once: 1.25 times its text at most, with all that is beside it", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node)
      const { commit } = yield* store
      const text = "The parcel is to be left at the door. ".repeat(432)
      const first = yield* commit(Execution.make({ id: "a", definitionId: "order", context: { text } }))
      yield* node.asked
      yield* commit(first.execution, {
        emits: [emit("e1"), emit("e2")],
        processed: "e",
        timers: [Commit.scheduleTimer("payment", 1790000000.5)],
        trace: step("Placed")
      })
      const [request] = yield* node.asked
      const [[stored] = []] = yield* node.rows("SELECT length(CAST(data AS BLOB)) FROM executions")
      expect(Number(stored)).toBeGreaterThan(16_384)
      expect(request?.bytes).toBeLessThanOrEqual(1.25 * Number(stored))
    })
  )

  it.scoped("commits of the same moment share one, up to 64 of them", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node)
      const { commit } = yield* store
      yield* node.asked
      const ids = Array.from({ length: 128 }, (_, i) => `a${i}`)
      const committed = yield* Effect.forEach(ids, (id) => commit(order(id), { emits: [emit(id)] }), unbounded)
      expect(committed.map(({ seqs }) => seqs)).toEqual(ids.map((_, i) => [i + 1]))
      const asked = yield* node.asked
      expect(paths(asked)).toEqual(["/db/execute", "/db/execute"])
      expect(asked.map(({ statements }) => statements.length)).toEqual([128, 128])
    })
  )

  it.scoped("but not where groupCommit is false", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node, { groupCommit: false })
      const { save } = yield* store
      yield* node.asked
      yield* Effect.forEach(["a", "b", "c"], (id) => save(order(id)), unbounded)
      expect(paths(yield* node.asked)).toEqual(["/db/execute", "/db/execute", "/db/execute"])
    })
  )

  it.scoped("a commit that is refused fails alone, the others of its moment are there", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { context, store } = yield* opened(node)
      const { load, save } = yield* store
      const client = yield* Effect.provide(RqliteClient.RqliteClient, context)
      yield* client.execute([
        {
          sql: "CREATE TRIGGER no_b BEFORE INSERT ON executions WHEN NEW.id = 'b' BEGIN SELECT RAISE(ABORT, 'not b'); END"
        }
      ])
      const results = yield* Effect.forEach(["a", "b", "c"], (id) => Effect.either(save(order(id))), unbounded)
      expect(results.map(({ _tag }) => _tag)).toEqual(["Right", "Left", "Right"])
      expect(results[1]).toMatchObject({
        left: { _tag: "StoreRejected", operation: "commit", executionId: "b", reason: "sql" }
      })
      expect(Option.isNone(yield* load("b"))).toBe(true)
      expect(Option.isSome(yield* load("c"))).toBe(true)
    })
  )

  it.scoped("reads by key of the same moment share one, listings go by themselves", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { context, store } = yield* opened(node)
      const self = yield* store
      const ids = Array.from({ length: 30 }, (_, i) => `a${i}`)
      yield* Effect.forEach(ids, (id) => self.commit(order(id), { processed: "e" }), unbounded)
      yield* node.asked
      const [loaded, forEvent, processed] = yield* Effect.all(
        [
          Effect.forEach(ids, self.load, unbounded),
          Effect.forEach(ids, (id) => self.loadForEvent(id, "e"), unbounded),
          Effect.forEach(["e", "f"], (event) => self.isProcessed("a1", event), unbounded),
          self.listExecutions(),
          Effect.provide(outbox(), context)
        ],
        unbounded
      )
      expect(loaded.map((found) => Option.getOrThrow(found).id)).toEqual(ids)
      expect(forEvent.map(({ processed }) => processed)).toEqual(ids.map(() => true))
      expect(processed).toEqual([true, false])
      expect((yield* node.asked).map(({ statements }) => statements.length).toSorted((a, b) => a - b)).toEqual([
        1, 1, 62
      ])
    })
  )

  it.scoped("reads of a shared request each fail by themselves, with their own operation", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { context, store } = yield* opened(node)
      const { isProcessed, load, save } = yield* store
      yield* save(order("a"))
      const client = yield* Effect.provide(RqliteClient.RqliteClient, context)
      yield* client.execute([{ sql: "DROP TABLE processed_events" }])
      const [loaded, error] = yield* Effect.all([load("a"), Effect.flip(isProcessed("b", "e"))], unbounded)
      expect(Option.isSome(loaded)).toBe(true)
      expect(error).toMatchObject({
        _tag: "StoreRejected",
        operation: "isProcessed",
        executionId: "b",
        reason: "sql",
        detail: "http://n1:4001: no such table: processed_events"
      })
    })
  )

  it.scoped("whose answers say that no leader is there fail as unavailable, for each caller", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const { store } = yield* opened(node)
      const { load, save } = yield* store
      yield* node.lead(false)
      const errors = yield* Effect.all(
        [Effect.flip(load("a")), Effect.flip(load("b")), Effect.flip(save(order("c"))), Effect.flip(save(order("d")))],
        unbounded
      )
      const unavailable = { _tag: "StoreUnavailable", reason: "no-leader", outcome: "not-applied" }
      expect(errors).toMatchObject([
        { ...unavailable, operation: "load", executionId: "a" },
        { ...unavailable, operation: "load", executionId: "b" },
        { ...unavailable, operation: "commit", executionId: "c" },
        { ...unavailable, operation: "commit", executionId: "d" }
      ])
    })
  )
})

describe("the configuration", () => {
  const from = (entries: ReadonlyArray<readonly [string, string]>) => ConfigProvider.fromMap(new Map(entries))

  it.effect("is read from the environment", () =>
    Effect.gen(function* () {
      const provider = from([
        ["RQLITE_URL", "http://a:4001, http://b:4001"],
        ["RQLITE_USERNAME", "app"],
        ["RQLITE_PASSWORD", "secret"],
        ["RQLITE_LEVEL", "weak"],
        ["RQLITE_TABLE_PREFIX", "harel_"],
        ["RQLITE_CONNECT_RETRIES", "3"],
        ["RQLITE_RETRY_DELAY", "2 seconds"]
      ])
      const options = yield* Effect.withConfigProvider(RqliteStore.config, provider)
      expect(options).toMatchObject({ level: "weak", prefix: "harel_", connectRetries: 3, username: "app" })
      expect(options.urls.map((url) => (Redacted.isRedacted(url) ? Redacted.value(url) : url))).toEqual([
        "http://a:4001",
        "http://b:4001"
      ])
      const least = yield* Effect.withConfigProvider(RqliteStore.config, from([["RQLITE_URL", "http://a:4001"]]))
      expect(Object.keys(least).toSorted()).toEqual(["password", "timeout", "urls", "username"])
      const wrong = from([
        ["RQLITE_URL", "http://a:4001"],
        ["RQLITE_LEVEL", "exact"]
      ])
      expect(String(yield* Effect.flip(Effect.withConfigProvider(RqliteStore.config, wrong)))).toContain("RQLITE_LEVEL")
    })
  )

  it.scoped("makes a layer", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const provider = from([["RQLITE_URL", InProcessNode.urls.join(",")]])
      const build = (layer: ReturnType<typeof RqliteStore.layerConfig>) =>
        Layer.build(layer).pipe(
          Effect.provideService(HttpClient.HttpClient, node.http),
          Effect.withConfigProvider(provider)
        )
      yield* build(RqliteStore.layerConfig())
      yield* build(RqliteStore.layerConfig({ urls: Config.succeed(InProcessNode.urls), prefix: Config.succeed("x_") }))
      const tables = yield* node.rows("SELECT name FROM sqlite_master WHERE name LIKE '%executions' ORDER BY name")
      expect(tables).toEqual([["executions"], ["x_executions"]])
    })
  )
})
