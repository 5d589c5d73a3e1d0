import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/TestClock"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import { open as openDriver } from "holdfast/internal/libsql/open"
import * as LibsqlStore from "holdfast/LibsqlStore"
import type { StoreError } from "holdfast/StoreError"
import * as SqldServer from "../support/sqld/server.js"

const order = Execution.make({ id: "order-1", definitionId: "order" })
const emits = [{ targetId: "order-1", event: Event.make({ id: "ev-1", kind: "Paid" }) }]
const call = { operation: "test" }

const open = (options: Partial<LibsqlStore.Options> = {}, server: SqldServer.Options = {}) =>
  Effect.gen(function* () {
    const sqld = yield* SqldServer.make(server)
    const { client, store } = yield* LibsqlStore.make({ url: sqld.url, ...options })
    return { sqld, client, store }
  })

describe("a request", () => {
  it.scoped("is one for each commit and each read, and holds no decimal", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open()
      const requests = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.gen(function* () {
          const before = (yield* sqld.received).length
          yield* effect
          return (yield* sqld.received).slice(before)
        })
      const commit = store.commit(order, {
        emits,
        processed: "e",
        timers: [{ _tag: "Schedule", path: "p", fireAt: 1.1 }]
      })
      for (const operation of [
        commit,
        store.load("order-1"),
        store.loadForEvent("order-1", "e"),
        store.pendingOutbox(),
        store.dueTimers(1.1),
        store.ackOutbox(1),
        store.deleteTimer({ executionId: "order-1", path: "p", fireAt: 1.1 }),
        store.purge("order-1", 1)
      ]) {
        const received = yield* requests(operation)
        assert.strictEqual(received.length, 1)
        assert.notInclude(received[0]?.body ?? "", '"float"')
      }
    })
  )

  it.scoped("is one of at most so many at the same time", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open({ concurrency: 3 })
      const gate = yield* Deferred.make<void>()
      yield* sqld.inject({ times: 10, before: Deferred.await(gate) })
      yield* Queue.takeAll(sqld.arrivals)
      const fiber = yield* Effect.fork(
        Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (i) => store.pendingOutbox({ limit: i }), {
          concurrency: "unbounded"
        })
      )
      yield* Queue.takeN(sqld.arrivals, 3)
      assert.strictEqual(yield* Queue.size(sqld.arrivals), 0)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Fiber.join(fiber)).length, 10)
    })
  )

  it.scoped("is one for the reads of a moment, each of which has its own answer", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open()
      const ids = Array.from({ length: 10 }, (_, i) => `order-${i}`)
      yield* Effect.forEach(ids.slice(0, 8), (id) => store.commit({ ...order, id }), { concurrency: "unbounded" })
      const before = (yield* sqld.received).length
      const loaded = yield* Effect.forEach(ids, (id) => store.load(id), { concurrency: "unbounded" })
      assert.strictEqual((yield* sqld.received).length, before + 1)
      assert.deepStrictEqual(
        loaded.map(Option.map(({ id }) => id)),
        ids.map((id, i) => (i < 8 ? Option.some(id) : Option.none()))
      )
      yield* Effect.all([store.pendingOutbox(), store.load("order-1"), store.pendingSpawns(), store.load("order-2")], {
        concurrency: "unbounded"
      })
      // Pages have requests of their own.
      assert.strictEqual((yield* sqld.received).length, before + 4)
    })
  )

  it.scoped("that reads share fails only those that cannot be answered", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make()
      const { driver } = yield* openDriver({ url: sqld.url })
      const before = (yield* sqld.received).length
      const sql = [
        "SELECT 1",
        "SELECT nothing",
        "SELECT 1",
        "SELECT 9007199254740993",
        "SELECT json('no')",
        "SELECT NULL"
      ]
      const answers = yield* Effect.forEach(sql, (sql) => Effect.either(driver.query(call, { sql, params: [] })), {
        concurrency: "unbounded"
      })
      assert.strictEqual((yield* sqld.received).length, before + 1)
      assert.deepStrictEqual(
        answers.map(Either.match({ onLeft: (error) => error._tag, onRight: ([row]) => row?.[0] })),
        [1, "StoreRejected", 1, 9007199254740993n, "StoreRejected", null]
      )
      yield* sqld.inject({ answer: "drop" })
      const lost = yield* Effect.forEach(
        ["SELECT 1", "SELECT 2"],
        (sql) => Effect.either(driver.query(call, { sql, params: [] })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(lost.map(Either.match({ onLeft: (error) => error._tag, onRight: () => "answered" })), [
        "StoreUnavailable",
        "StoreUnavailable"
      ])
    })
  )

  it.scoped("that is too large for what is in front of the server is sent in its parts", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make()
      const { driver } = yield* openDriver({ url: sqld.url })
      yield* sqld.inject({ answer: { status: 413, type: "text/plain", body: "too large" } })
      const before = (yield* sqld.received).length
      const rows = yield* Effect.forEach([1, 2, 3], (i) => driver.query(call, { sql: "SELECT ?", params: [i] }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(rows, [[[1]], [[2]], [[3]]])
      assert.strictEqual((yield* sqld.received).length, before + 4)
    })
  )

  it.scoped("ends with the fiber that waits for it", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open()
      yield* Queue.takeAll(sqld.arrivals)
      yield* sqld.inject({ before: Effect.never })
      const fiber = yield* Effect.fork(store.load("order-1"))
      yield* Queue.take(sqld.arrivals)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Option.isNone(yield* store.load("order-1")))
    })
  )

  it.scoped("that is not answered in time fails, and a write is then looked for", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open({ timeout: "3 seconds" })
      yield* Queue.takeAll(sqld.arrivals)
      yield* sqld.inject({ before: Effect.never }, { before: Effect.never })
      const loading = yield* Effect.fork(Effect.flip(store.load("order-1")))
      yield* Queue.take(sqld.arrivals)
      yield* TestClock.adjust("3 seconds")
      assert.deepInclude(yield* Fiber.join(loading), {
        _tag: "StoreUnavailable",
        reason: "timeout",
        outcome: "not-applied"
      })
      const committing = yield* Effect.fork(store.commit(order, { emits }))
      yield* Queue.take(sqld.arrivals)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual((yield* Fiber.join(committing)).seqs, [1])
    })
  )

  it.scoped("refuses a port to which fetch never connects", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(LibsqlStore.make({ url: "http://127.0.0.1:1" }))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "open", path: "http://127.0.0.1:1" })
      assert.include(error.message, "port")
    })
  )

  it.scoped("keeps the path of its URL", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make()
      const error = yield* Effect.flip(LibsqlStore.make({ url: `${sqld.url}/base` }))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "open", path: `${sqld.url}/base` })
      assert.include(error.message, "status 404")
    })
  )
})

describe("what a server answers", () => {
  const expected: ReadonlyArray<
    readonly [name: string, answer: SqldServer.Reply, expected: Partial<StoreError> & object, text: string]
  > = [
    [
      "its 401",
      { status: 401, body: '{"error":"Unauthorized: `The JWT is invalid`"}' },
      { _tag: "StoreRejected", reason: "auth" },
      "token is missing"
    ],
    [
      "its 403",
      { status: 403, body: '{"error":"Authorization forbidden: no Write permission"}' },
      { _tag: "StoreRejected", reason: "auth" },
      "does not allow this"
    ],
    [
      "that it cannot read the request",
      { status: 400, body: "Cannot deserialize client message from JSON: EOF" },
      { _tag: "StoreRejected", reason: "sql" },
      "EOF"
    ],
    [
      "500",
      { status: 500, body: "<p>oh\n no</p>" },
      { _tag: "StoreUnavailable", reason: "connection" },
      "<p>oh no</p>"
    ],
    [
      "no JSON",
      { status: 200, body: "<html>" },
      { _tag: "StoreUnavailable", reason: "connection" },
      "none of a libSQL"
    ],
    ["other JSON", { status: 200, body: "[]" }, { _tag: "StoreUnavailable", reason: "connection" }, ""],
    [
      "an expired stream",
      { status: 400, type: "application/json", body: '{"message":"The stream has expired","code":"STREAM_EXPIRED"}' },
      { _tag: "StoreUnavailable", reason: "connection" },
      "The stream has expired"
    ]
  ]
  const foreign: ReadonlyArray<readonly [SqldServer.Reply, "StoreRejected" | "StoreUnavailable", string]> = [
    [
      { status: 301, location: "https://elsewhere.example/db?token=secret" },
      "StoreRejected",
      "https://elsewhere.example/db)"
    ],
    [{ status: 400, body: "<h1>Bad\nRequest</h1>" }, "StoreRejected", "<h1>Bad Request</h1>"],
    [{ status: 401, body: "<html>" }, "StoreRejected", "what is in front of the server"],
    [{ status: 403, body: '{"message":"Forbidden"}' }, "StoreRejected", "Forbidden"],
    [{ status: 404, body: "<html>not found</html>" }, "StoreRejected", "not found"],
    [{ status: 502, body: "<html>bad gateway</html>" }, "StoreUnavailable", "bad gateway"],
    [{ status: 503, body: "no healthy upstream" }, "StoreUnavailable", "no healthy upstream"]
  ]
  for (const [answer, opening, text] of foreign) {
    it.scoped(`may not be the server's own word, which says nothing for good but to who opens: ${answer.status}`, () =>
      Effect.gen(function* () {
        const { sqld, store } = yield* open()
        const { driver } = yield* openDriver({ url: sqld.url, groupCommit: false })
        yield* sqld.inject({ times: 3, apply: 0, answer })
        const found = yield* Effect.flip(store.load("order-1"))
        assert.deepInclude(found, { _tag: "StoreUnavailable", reason: "connection", outcome: "not-applied" })
        assert.include(found.message, text)
        const unknown = yield* Effect.flip(driver.transaction(call, [{ sql: "DELETE FROM harel_outbox", params: [] }]))
        assert.deepInclude(unknown, { _tag: "StoreUnavailable", reason: "connection", outcome: "unknown" })
        const refused = yield* Effect.flip(LibsqlStore.make({ url: sqld.url }))
        assert.deepInclude(refused, { _tag: opening, operation: "open" })
        assert.notInclude(refused.message, "secret")
        yield* store.save(order)
      })
    )
  }

  for (const [status, body] of [
    [404, '{"error":"Namespace `default` doesn\'t exist"}'],
    [503, '{"error":"Namespace store has shutdown"}']
  ] as const) {
    const restarting = { apply: 0, answer: { status, type: "application/json", body } } as const

    it.scopedLive(`that it is going down or coming up is waited for: ${status}`, () =>
      Effect.gen(function* () {
        const sqld = yield* SqldServer.make()
        yield* sqld.inject(restarting)
        const { store } = yield* LibsqlStore.make({ url: sqld.url, busyTimeout: "1 minute" })
        yield* sqld.inject({ ...restarting, times: 3 })
        yield* store.save(order)
        assert.strictEqual((yield* sqld.rows("SELECT * FROM harel_executions")).length, 1)
      })
    )

    it.scoped(`that it stays so is an outage, and to who opens that there is no database: ${status}`, () =>
      Effect.gen(function* () {
        const { sqld, store } = yield* open({ busyTimeout: 0 })
        yield* sqld.inject({ ...restarting, times: 3 })
        for (const operation of [Effect.asVoid(store.load("order-1")), Effect.asVoid(store.save(order))]) {
          assert.deepInclude(yield* Effect.flip(operation), {
            _tag: "StoreUnavailable",
            reason: "busy",
            outcome: "not-applied"
          })
        }
        const refused = yield* Effect.flip(LibsqlStore.make({ url: sqld.url, busyTimeout: 0 }))
        assert.deepInclude(refused, { _tag: "StoreRejected", reason: "open", path: sqld.url })
      })
    )
  }

  for (const [name, answer, error, text] of expected) {
    it.scoped(`is told of a read: ${name}`, () =>
      Effect.gen(function* () {
        const { sqld, store } = yield* open()
        yield* sqld.inject({ apply: 0, answer })
        const found = yield* Effect.flip(store.load("order-1"))
        assert.deepInclude(found, { operation: "load", ...error })
        assert.include(found.message, text)
        if (found._tag === "StoreUnavailable") assert.strictEqual(found.outcome, "not-applied")
        yield* store.save(order)
      })
    )
  }

  for (const [name, statement, expected] of [
    ["a constraint", "INSERT INTO harel_outbox (event) VALUES (NULL)", { reason: "constraint" }],
    ["syntax", "SELEC 1", { reason: "sql" }],
    ["a missing table", "DELETE FROM nowhere", { reason: "sql" }],
    ["a missing column", "DELETE FROM harel_outbox WHERE nope = 1", { reason: "sql" }],
    ["two statements", "DELETE FROM harel_outbox; DELETE FROM harel_outbox", { reason: "sql" }],
    ["a statement it does not run", "VACUUM", { reason: "sql" }],
    ["too few arguments", "DELETE FROM harel_outbox WHERE seq = ?", { reason: "sql" }]
  ] as const) {
    it.scoped(`is told of a write, all of which is rolled back: ${name}`, () =>
      Effect.gen(function* () {
        const { sqld, store } = yield* open()
        const { driver } = yield* openDriver({ url: sqld.url, groupCommit: false })
        const insert = { sql: "INSERT INTO harel_outbox (event) VALUES ('{}')", params: [] }
        const error = yield* Effect.flip(driver.transaction(call, [insert, { sql: statement, params: [] }]))
        assert.deepInclude(error, { _tag: "StoreRejected", ...expected })
        assert.strictEqual((yield* sqld.rows("SELECT * FROM harel_outbox")).length, 0)
        yield* store.save(order)
      })
    )
  }

  it.scoped("that a write is too large is said of that write", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open()
      yield* sqld.inject({ apply: 0, answer: { status: 413 } })
      const error = yield* Effect.flip(store.save(order))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "too-large" })
      assert.include(error.message, "the request is larger")
      yield* store.save(order)
    })
  )

  it.scoped("that it is overloaded is waited for, up to a budget", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open({ busyTimeout: 0 })
      yield* sqld.inject({ apply: 0, answer: { status: 429 } })
      assert.deepInclude(yield* Effect.flip(store.save(order)), {
        _tag: "StoreUnavailable",
        reason: "busy",
        outcome: "not-applied"
      })
      yield* store.save(order)
    })
  )

  it.scopedLive("that it is overloaded now and then is no failure", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open({ busyTimeout: "1 minute" })
      yield* sqld.inject({ times: 3, apply: 0, answer: { status: 429 } })
      yield* store.save(order)
      assert.strictEqual((yield* sqld.rows("SELECT * FROM harel_executions")).length, 1)
    })
  )

  it.scoped(
    "that its disk failed, as where that is full: nothing is written, reads go on, and writes do when there is room",
    () =>
      Effect.gen(function* () {
        const { sqld, store } = yield* open({ resolveTimeout: 0 })
        yield* sqld.full(true)
        for (const write of [Effect.asVoid(store.save(order)), Effect.asVoid(store.enqueue(emits))]) {
          const error = yield* Effect.flip(write)
          assert.deepInclude(error, { _tag: "StoreUnavailable", reason: "connection" })
          assert.include(error.message, "disk I/O error, as where the disk of the server is full")
        }
        assert.deepStrictEqual(yield* store.load("order-1"), Option.none())
        assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
        yield* sqld.full(false)
        assert.strictEqual((yield* store.save(order)).version, 1)
        assert.strictEqual((yield* sqld.rows("SELECT * FROM harel_executions")).length, 1)
      })
  )

  it.scoped("nothing, since it is away: a write is certain not to be applied, and works when it is back", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open()
      yield* sqld.stop
      // The first finds a connection that was open before.
      yield* Effect.flip(store.load("order-1"))
      for (const operation of [Effect.asVoid(store.save(order)), Effect.asVoid(store.load("order-1"))]) {
        assert.deepInclude(yield* Effect.flip(operation), {
          _tag: "StoreUnavailable",
          reason: "connection",
          outcome: "not-applied"
        })
      }
      yield* sqld.start
      assert.strictEqual((yield* store.save(order)).version, 1)
    })
  )
})

describe("a write whose answer is lost on the way from a server", () => {
  const faults: ReadonlyArray<readonly [string, ReadonlyArray<SqldServer.Fault>]> = [
    ["before it is applied", [{ apply: 0, answer: "drop" }]],
    ["after it is applied", [{ answer: "drop" }]],
    ["in the middle of the answer", [{ answer: "half" }]],
    ["after it is applied twice", [{ apply: 2, answer: "drop" }]],
    ["behind a proxy", [{ answer: { status: 502, body: "bad gateway" } }]],
    ["behind one that says what is no answer", [{ answer: { status: 200, body: "hello" } }]],
    ["three times", [{ apply: 0, answer: "drop" }, { apply: 0, answer: "half" }, { answer: "drop" }]]
  ]

  const event = Event.make({ id: "x", kind: "X" })
  const writes: ReadonlyArray<
    readonly [string, (store: LibsqlStore.LibsqlStore["store"]) => Effect.Effect<unknown, unknown>]
  > = [
    ["commit", (store) => store.commit({ ...order, id: "order-2" }, { emits, processed: "e" })],
    ["enqueue", (store) => store.enqueue([{ targetId: null, event }])],
    ["ackOutbox", (store) => store.ackOutbox(1)],
    ["deleteTimer", (store) => store.deleteTimer({ executionId: "order-1", path: "p", fireAt: 1.1 })],
    ["purge", (store) => store.purge("order-1", 1)]
  ]

  const run = (
    write: (store: LibsqlStore.LibsqlStore["store"]) => Effect.Effect<unknown, unknown>,
    faults: ReadonlyArray<SqldServer.Fault>
  ) =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open({ groupCommit: false })
      yield* store.commit(order, { emits, timers: [{ _tag: "Schedule", path: "p", fireAt: 1.1 }] })
      yield* sqld.inject(...faults.map((fault) => ({ ...fault, writes: true })))
      const outcome = yield* write(store)
      const tables = ["executions", "outbox", "processed_events", "timers"]
      const counts = yield* Effect.forEach(tables, (table) => sqld.rows(`SELECT count(*) FROM harel_${table}`))
      const seqs = Option.liftPredicate(outcome, (outcome) => Array.isArray(outcome) || typeof outcome === "boolean")
      return { seqs, counts }
    })

  for (const [name, write] of writes) {
    for (const [when, list] of faults) {
      it.scopedLive(`${name}, ${when}`, () =>
        Effect.gen(function* () {
          const expected = yield* run(write, [])
          assert.deepStrictEqual(yield* run(write, list), expected)
        })
      )
    }
  }

  it.scopedLive("is found out about when the server is back", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open({ groupCommit: false })
      const stopped = yield* Deferred.make<void>()
      yield* sqld.inject({ after: Effect.zipRight(sqld.stop, Deferred.succeed(stopped, undefined)), answer: "drop" })
      const committing = yield* Effect.fork(store.commit(order, { emits }))
      yield* Deferred.await(stopped)
      yield* sqld.start
      assert.deepStrictEqual((yield* Fiber.join(committing)).seqs, [1])
      assert.strictEqual((yield* sqld.rows("SELECT * FROM harel_outbox")).length, 1)
    })
  )

  // As it was seen of a real server that was killed and frozen: the answer to version 5 was lost, and others wrote 6 to 9.
  for (const apply of [0, 1] as const) {
    it.scopedLive(`under those of others is no conflict where it was ${apply === 0 ? "not " : ""}applied`, () =>
      Effect.gen(function* () {
        const { sqld, store } = yield* open({ groupCommit: false })
        const { store: other } = yield* LibsqlStore.make({ url: sqld.url, groupCommit: false })
        const execution = yield* store.save(order)
        const next = Effect.flatMap(other.load(order.id), (found) => other.save(Option.getOrThrow(found)))
        const after = Effect.orDieWith(Effect.zipRight(next, next), String)
        yield* sqld.inject({ writes: true, apply, after, answer: "drop" })
        const error = yield* Effect.flip(store.commit(execution, { emits, processed: "e" }))
        const { processed } = yield* other.loadForEvent(order.id, "e")
        assert.strictEqual(processed, apply === 1)
        if (processed) assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "unknown" })
        else assert.deepInclude(error, { _tag: "StoreConflict", expected: 1, found: Option.some(3) })
      })
    )
  }

  it.scoped("looks for its events behind those that it knows of, however many the target has", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open({ groupCommit: false })
      const { execution, seqs } = yield* store.commit(order, { emits })
      assert.deepStrictEqual(seqs, [1])
      yield* sqld.inject({ writes: true, answer: "drop" })
      assert.deepStrictEqual((yield* store.commit(execution, { emits })).seqs, [2])
      const looks = (yield* sqld.received).filter(({ body }) => body.includes("SELECT json_each.key,"))
      assert.strictEqual(looks.length, 1)
      assert.include(looks[0]?.body, '{"type":"integer","value":"1"}')
    })
  )

  it.scoped("of a group is found out about for each of its members", () =>
    Effect.gen(function* () {
      const { sqld, store } = yield* open()
      yield* sqld.inject({ writes: true, answer: "drop" })
      const ids = ["a", "b", "c", "d"]
      const saved = yield* Effect.forEach(ids, (id) => store.commit({ ...order, id }, { emits }), {
        concurrency: "unbounded"
      })
      const seqs = saved.flatMap(({ seqs }) => seqs)
      assert.strictEqual(saved.length, 4)
      assert.strictEqual((yield* sqld.rows("SELECT * FROM harel_outbox")).length, 4)
      assert.isAtMost(seqs.length, 4)
    })
  )
})
