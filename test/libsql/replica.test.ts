import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as Libsql from "../support/libsql.js"
import * as Replicas from "../support/sqld/replica.js"
import * as SqldServer from "../support/sqld/server.js"
import * as Temp from "../support/temp.js"

const order = (id: string) => Execution.make({ id, definitionId: "order" })
const emit = (id: string) => ({ targetId: "order-1", event: Event.make({ id, kind: "Paid" }) })

/** A store with a replica, and one without on the same server, which is somebody else. */
const open = (options: Partial<LibsqlStore.Options> = {}, server: SqldServer.Options = {}) =>
  Effect.gen(function* () {
    const sqld = yield* SqldServer.make(server)
    const filename = yield* Temp.database
    const replicas = Replicas.make(sqld)
    const all = { url: `file:${filename}`, syncUrl: sqld.url, ...options }
    const { client, replica, store } = yield* Libsql.make(all, replicas)
    const authToken = options.authToken
    const other = yield* LibsqlStore.make({ url: sqld.url, authToken })
    return { sqld, filename, replicas, replica, client, store, other: other.store }
  })

const ids = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.listExecutions(), (page) => page.items.map((item) => item.id))

/** The status of the replica, once it is as expected. */
const until = (replica: LibsqlStore.Replica, expected: (status: LibsqlStore.ReplicaStatus) => boolean) =>
  Effect.gen(function* () {
    for (;;) {
      yield* Effect.yieldNow()
      const status = Option.getOrThrow(yield* replica.status)
      if (expected(status)) return status
    }
  })

describe("a store with a replica", () => {
  it.scoped("syncs it first, and leaves it to nobody else when it is synced", () =>
    Effect.gen(function* () {
      const { filename, other, replicas, sqld } = yield* open({ syncInterval: "5 seconds" })
      yield* other.save(order("order-1"))
      const later = Replicas.make(sqld)
      const { store } = yield* Libsql.make({ url: `file:${yield* Temp.database}`, syncUrl: sqld.url }, later)
      assert.strictEqual(later.syncs(), 1)
      assert.deepStrictEqual(yield* ids(store), ["order-1"])
      assert.deepStrictEqual(replicas.opened, [{ url: `file:${filename}`, syncUrl: sqld.url, intMode: "bigint" }])
    })
  )

  const compacting = new Error('Replication(Client(Status { code: Unavailable, message: "snapshot not found" }))')

  const opening = Effect.gen(function* () {
    const sqld = yield* SqldServer.make()
    const replicas = Replicas.make(sqld)
    replicas.fail(compacting)
    const options = { url: `file:${yield* Temp.database}`, syncUrl: sqld.url }
    const fiber = yield* Effect.fork(Effect.either(Libsql.make(options, replicas)))
    yield* Effect.repeat(Effect.yieldNow(), { until: () => replicas.opened.length > 0 })
    return { fiber, replicas }
  })

  it.scoped("waits for a server that is compacting its log when it opens", () =>
    Effect.gen(function* () {
      const { fiber, replicas } = yield* opening
      yield* TestClock.adjust("2 seconds")
      replicas.fail(undefined)
      yield* Effect.repeat(Effect.zipRight(TestClock.adjust("100 millis"), Fiber.poll(fiber)), { until: Option.isSome })
      assert.isTrue(Either.isRight(yield* Fiber.join(fiber)))
      // The other one follows the making of the schema.
      assert.strictEqual(replicas.syncs(), 2)
    })
  )

  it.scoped("does not wait for it for ever", () =>
    Effect.gen(function* () {
      const { fiber } = yield* opening
      yield* Effect.repeat(Effect.zipRight(TestClock.adjust("100 millis"), Fiber.poll(fiber)), { until: Option.isSome })
      const error = yield* Effect.flip(Effect.flatten(Fiber.join(fiber)))
      assert.deepInclude(error, { _tag: "StoreUnavailable", operation: "open", reason: "connection" })
      assert.isAtLeast(yield* Clock.currentTimeMillis, 5000)
    })
  )

  it.scoped("has no conflict with what it has not seen: a version that was committed elsewhere is loaded", () =>
    Effect.gen(function* () {
      const { other, store } = yield* open()
      const elsewhere = yield* other.commit(order("order-1"), { emits: [emit("1")], processed: "e" })
      assert.deepStrictEqual(yield* ids(store), [])
      const loaded = Option.getOrThrow(yield* store.load("order-1"))
      assert.strictEqual(loaded.version, 1)
      assert.deepStrictEqual(loaded, elsewhere.execution)
      assert.isTrue((yield* store.loadForEvent("order-1", "e")).processed)
      assert.isTrue(yield* store.isProcessed("order-1", "e"))
      assert.strictEqual((yield* store.pendingOutbox()).entries.length, 1)
      assert.strictEqual((yield* store.save(loaded)).version, 2)
    })
  )

  it.scoped("lists what it wrote itself at once, and what others wrote after a sync", () =>
    Effect.gen(function* () {
      const { other, replica, store } = yield* open()
      yield* other.save(order("theirs-1"))
      yield* store.commit(order("mine"), { trace: Commit.traceStep({ eventKind: "E", timestamp: 1 }) })
      assert.deepStrictEqual(yield* ids(store), ["mine", "theirs-1"])
      assert.strictEqual((yield* store.readTrace("mine")).entries.length, 1)
      yield* other.save(order("theirs-2"))
      assert.deepStrictEqual(yield* store.idsWithPrefix("theirs"), ["theirs-1"])
      yield* replica.sync
      assert.deepStrictEqual(yield* store.idsWithPrefix("theirs"), ["theirs-1", "theirs-2"])
    })
  )

  it.scoped("asks the primary for the children of an execution, by which a tree is purged", () =>
    Effect.gen(function* () {
      const { other, store } = yield* open()
      yield* other.save({ ...order("theirs"), parentId: "order-1" })
      assert.deepStrictEqual(yield* ids(store), [])
      const { items } = yield* store.listExecutions({ parentId: "order-1" })
      assert.deepStrictEqual(
        items.map(({ id }) => id),
        ["theirs"]
      )
    })
  )

  it.scoped("asks the primary for listings where it is told to", () =>
    Effect.gen(function* () {
      const { other, store } = yield* open({ readFrom: "primary" })
      yield* other.commit(order("theirs"), { trace: Commit.traceStep({ eventKind: "E", timestamp: 1 }) })
      assert.deepStrictEqual(yield* ids(store), ["theirs"])
      assert.deepStrictEqual(yield* store.idsWithPrefix("t"), ["theirs"])
      assert.strictEqual((yield* store.readTrace("theirs")).entries.length, 1)
    })
  )

  it.scoped("syncs each interval, and says how old the replica is", () =>
    Effect.gen(function* () {
      const { other, replica, replicas, sqld, store } = yield* open({ syncInterval: "30 seconds" })
      const frame = sqld.frame()
      yield* other.save(order("theirs"))
      const before = replicas.syncs()
      const first = Option.getOrThrow(yield* replica.status)
      assert.deepStrictEqual(first.lastSync, Option.some(0))
      assert.deepStrictEqual(first.lag, Option.some(Duration.zero))
      assert.deepStrictEqual(first.frame, Option.fromNullable(frame))
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(replicas.syncs(), before)
      const later = Option.getOrThrow(yield* replica.status)
      assert.deepStrictEqual(later.lag, Option.some(Duration.seconds(29)))
      yield* TestClock.adjust("1 second")
      const synced = yield* until(replica, (status) => Option.getOrElse(status.lastSync, () => 0) > 0)
      assert.deepStrictEqual(synced.lastSync, Option.some(30))
      assert.deepStrictEqual(yield* ids(store), ["theirs"])
      yield* TestClock.adjust("30 seconds")
      yield* until(replica, (status) => Option.getOrElse(status.lastSync, () => 0) === 60)
    })
  )

  it.scoped("serves many writers with few syncs", () =>
    Effect.gen(function* () {
      const { replicas, store } = yield* open({ groupCommit: false })
      const before = replicas.syncs()
      const names = Array.from({ length: 20 }, (_, i) => `order-${i}`)
      yield* Effect.forEach(names, (id) => store.save(order(id)), { concurrency: "unbounded" })
      assert.isAtMost(replicas.syncs() - before, 20)
      assert.strictEqual((yield* ids(store)).length, 20)
    })
  )

  it.scoped("reads on while the primary is down, cannot write, and recovers by itself", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(Inspectable.format(message)))
      const body = Effect.gen(function* () {
        const { replica, sqld, store } = yield* open({ syncInterval: "30 seconds" })
        yield* store.save(order("order-1"))
        yield* sqld.stop
        assert.deepStrictEqual(yield* ids(store), ["order-1"])
        assert.deepInclude(yield* Effect.flip(store.load("order-1")), {
          _tag: "StoreUnavailable",
          reason: "connection"
        })
        assert.deepInclude(yield* Effect.flip(store.save(order("order-2"))), {
          _tag: "StoreUnavailable",
          reason: "connection",
          outcome: "not-applied"
        })
        assert.deepInclude(yield* Effect.flip(replica.sync), { _tag: "StoreUnavailable", operation: "sync" })
        yield* TestClock.adjust("30 seconds")
        const down = yield* until(replica, (status) => Option.isSome(status.lastError))
        assert.include(Option.getOrThrow(down.lastError).message, "sync is not possible now")
        assert.deepStrictEqual(down.lag, Option.some(Duration.seconds(30)))
        assert.deepStrictEqual(yield* ids(store), ["order-1"])
        yield* sqld.start
        yield* TestClock.adjust("30 seconds")
        yield* until(replica, (status) => Option.isNone(status.lastError))
        assert.strictEqual((yield* store.save(order("order-2"))).version, 1)
        assert.deepStrictEqual(yield* ids(store), ["order-1", "order-2"])
      })
      yield* Effect.provide(body, Logger.replace(Logger.defaultLogger, logger))
      assert.isAbove(logged.filter((line) => line.includes("synced again")).length, 0)
    })
  )

  it.scoped("writes on while the replica cannot be synced, and tries it again after a while", () =>
    Effect.gen(function* () {
      const secret = "s3cret-token"
      const { replica, replicas, store } = yield* open(
        { authToken: Redacted.make(secret), syncInterval: "1 hour" },
        { accept: (token) => (token === secret ? "rw" : "invalid") }
      )
      replicas.fail(new Error(`Replication(PrimaryHandshakeTimeout, "${secret}")`))
      yield* store.save(order("order-1"))
      const failed = Option.getOrThrow(yield* replica.status)
      const error = Option.getOrThrow(failed.lastError)
      assert.include(error.message, "PrimaryHandshakeTimeout")
      assert.notInclude(error.message + Inspectable.format(error), secret)
      replicas.fail(undefined)
      const before = replicas.syncs()
      yield* store.save(order("order-2"))
      assert.strictEqual(replicas.syncs(), before)
      // What it wrote itself it sees all the same: the primary lists while the copy is behind.
      assert.deepStrictEqual(yield* ids(store), ["order-1", "order-2"])
      yield* TestClock.adjust("10 seconds")
      yield* store.save(order("order-3"))
      assert.deepStrictEqual(yield* ids(store), ["order-1", "order-2", "order-3"])
      assert.isTrue(Option.isNone(Option.getOrThrow(yield* replica.status).lastError))
    })
  )

  it.scoped("opens it again with the token that is valid now", () =>
    Effect.gen(function* () {
      const current = yield* Ref.make("first")
      const authToken = Effect.map(Ref.get(current), (token) => Redacted.make(token))
      const { replica, replicas } = yield* open(
        { authToken },
        { accept: (token) => (token === Effect.runSync(Ref.get(current)) ? "rw" : "expired") }
      )
      yield* replica.sync
      yield* Ref.set(current, "second")
      yield* replica.sync
      assert.deepStrictEqual(
        replicas.opened.map(({ authToken }) => authToken),
        ["first", "second"]
      )
    })
  )

  it.scoped("reads from the primary where the local file cannot be read", () =>
    Effect.gen(function* () {
      const { replicas, store } = yield* open()
      yield* store.save(order("order-1"))
      replicas.lose()
      assert.deepStrictEqual(yield* ids(store), ["order-1"])
      yield* store.save(order("order-2"))
      assert.deepStrictEqual(yield* ids(store), ["order-1", "order-2"])
    })
  )

  it.scoped("needs the primary to start, and tells where it is", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make({ accept: () => "expired" })
      const url = `file:${yield* Temp.database}`
      const replicas = Replicas.make(sqld)
      const options = { url, syncUrl: sqld.url, authToken: Redacted.make("old") }
      const refused = yield* Effect.flip(Libsql.make(options, replicas))
      assert.deepInclude(refused, { _tag: "StoreRejected", operation: "open", reason: "auth" })
      yield* sqld.stop
      const away = yield* Effect.flip(Libsql.make(options, replicas))
      assert.deepInclude(away, { _tag: "StoreUnavailable", operation: "open", reason: "connection" })
      assert.strictEqual(replicas.opened.length, 0)
    })
  )
})

describe("the state of a replica", () => {
  it.scoped("is a service, with nothing in it where there is none", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(LibsqlStore.layer({ url: ":memory:" }))
      const status = yield* Effect.flatMap(LibsqlStore.Replica, (replica) =>
        Effect.zipRight(replica.sync, replica.status)
      ).pipe(Effect.provide(context))
      assert.isTrue(Option.isNone(status))
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    })
  )
})
