import { existsSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { createClient } from "@libsql/client"
import * as Effect from "effect/Effect"
import * as Inspectable from "effect/Inspectable"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Execution from "holdfast/Execution"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as Libsql from "../support/libsql.js"
import * as Replicas from "../support/sqld/replica.js"
import * as SqldServer from "../support/sqld/server.js"
import * as Temp from "../support/temp.js"

const order = (id: string) => Execution.make({ id, definitionId: "order" })

const ids = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.listExecutions(), (page) => page.items.map((item) => item.id))

const interval = "30 seconds"

const make = Effect.gen(function* () {
  const sqld = yield* SqldServer.make()
  const filename = yield* Temp.database
  const replicas = Replicas.make(sqld)
  const open = Libsql.make({ url: `file:${filename}`, syncUrl: sqld.url, syncInterval: interval }, replicas)
  return { sqld, filename, replicas, open }
})

/** Runs a program, and gives the warnings that it logs. */
const warnings = <A, E, R>(program: (lines: ReadonlyArray<string>) => Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel.label === "WARN") lines.push(Inspectable.format(message))
  })
  return Effect.provide(program(lines), Logger.replace(Logger.defaultLogger, logger))
}

/** Lets what goes on in the background come to an end: real files and requests take their own time. */
const settle = (condition: Effect.Effect<boolean>) =>
  Effect.repeat(Effect.zipRight(Effect.yieldNow(), condition), { until: (done) => done })

/** Whether listings come from the copy, which they do also while the server is away. */
const listsWithoutServer = (sqld: SqldServer.SqldServer, store: ExecutionStore.ExecutionStore) =>
  Effect.gen(function* () {
    yield* sqld.stop
    const listed = yield* Effect.either(ids(store))
    yield* sqld.start
    return yield* listed
  })

describe("a copy whose server was replaced by an older backup", () => {
  /** A server that is put back to how it was before the last of three orders, with a store open. */
  const restored = Effect.gen(function* () {
    const world = yield* make
    const { replica, store } = yield* world.open
    yield* store.save(order("order-1"))
    const restore = yield* world.sqld.backup
    yield* store.save(order("order-2"))
    yield* store.save(order("order-3"))
    assert.deepStrictEqual(yield* ids(store), ["order-1", "order-2", "order-3"])
    yield* restore
    return { ...world, replica, store }
  })

  it.scoped("is made again when this store writes", () =>
    warnings((lines) =>
      Effect.gen(function* () {
        const { sqld, store } = yield* restored
        yield* store.save(order("order-4"))
        assert.deepStrictEqual(yield* ids(store), ["order-1", "order-4"])
        assert.deepStrictEqual(yield* listsWithoutServer(sqld, store), ["order-1", "order-4"])
        assert.lengthOf(lines, 1)
        assert.include(lines[0], "the copy is made again: the server's log ends before what is in it")
      })
    )
  )

  it.scoped("is not believed from the next sync on, and made again where that stays so", () =>
    Effect.gen(function* () {
      const { replica, sqld, store } = yield* restored
      assert.isTrue(yield* Effect.isFailure(replica.sync))
      assert.deepStrictEqual(yield* ids(store), ["order-1"])
      yield* replica.sync
      assert.deepStrictEqual(yield* listsWithoutServer(sqld, store), ["order-1"])
      assert.deepStrictEqual(Option.getOrThrow(yield* replica.status).frame, Option.fromNullable(sqld.frame()))
    })
  )

  it.scoped("is not believed when it opens", () =>
    Effect.gen(function* () {
      const { open, sqld } = yield* make
      const restore = yield* Effect.scoped(
        Effect.gen(function* () {
          const { store } = yield* open
          yield* store.save(order("order-1"))
          const restore = yield* sqld.backup
          yield* store.save(order("order-2"))
          return restore
        })
      )
      yield* restore
      const { store } = yield* open
      assert.deepStrictEqual(yield* ids(store), ["order-1"])
    })
  )

  it.scoped("is made again once in a while only, where it stays wrong", () =>
    Effect.gen(function* () {
      const { open, replicas, sqld } = yield* make
      const { replica, store } = yield* open
      yield* store.save(order("order-1"))
      replicas.corrupt()
      yield* ids(store)
      yield* replica.sync
      replicas.corrupt()
      assert.deepStrictEqual(yield* ids(store), ["order-1"])
      const error = yield* Effect.flip(replica.sync)
      assert.include(error.message, "made again a moment ago")
      assert.include(error.message, sqld.url)
      yield* TestClock.adjust("1 minute")
      yield* replica.sync
      assert.deepStrictEqual(yield* listsWithoutServer(sqld, store), ["order-1"])
    })
  )
})

describe("what a store wrote itself", () => {
  const compacting = new Error('Replication(Client(Status { code: Unavailable, message: "snapshot not found" }))')

  it.scoped("is listed while the server is compacting its log, and soon from the copy again", () =>
    Effect.gen(function* () {
      const { open, replicas, sqld } = yield* make
      const { replica, store } = yield* open
      replicas.fail(compacting)
      yield* store.save(order("order-1"))
      assert.deepStrictEqual(yield* ids(store), ["order-1"])
      assert.isTrue(Option.isSome(Option.getOrThrow(yield* replica.status).lastError))
      replicas.fail(undefined)
      yield* TestClock.adjust("1 second")
      yield* settle(Effect.map(replica.status, (status) => Option.isNone(Option.getOrThrow(status).lastError)))
      assert.deepStrictEqual(yield* listsWithoutServer(sqld, store), ["order-1"])
    })
  )
})

describe("the files of a copy", () => {
  const index = "-client_wal_index"

  /** A copy that was closed, with an order in it. */
  const closed = Effect.gen(function* () {
    const world = yield* make
    yield* Effect.scoped(Effect.flatMap(world.open, ({ store }) => store.save(order("order-1"))))
    assert.isTrue(existsSync(world.filename + index))
    return world
  })

  const damages: ReadonlyArray<readonly [string, (filename: string) => void]> = [
    ["whose data is gone", (filename) => rmSync(filename)],
    ["whose data was cut to nothing", (filename) => truncateSync(filename, 0)],
    ["whose log is gone", (filename) => rmSync(`${filename}-wal`)],
    ["whose log was cut", (filename) => truncateSync(`${filename}-wal`, 2000)],
    ["whose data is something else", (filename) => writeFileSync(filename, "hello world ".repeat(1000))]
  ]
  for (const [name, damage] of damages) {
    it.scoped(`${name} are made again`, () =>
      warnings((lines) =>
        Effect.gen(function* () {
          const { filename, open, sqld } = yield* closed
          damage(filename)
          const { store } = yield* open
          assert.deepStrictEqual(yield* listsWithoutServer(sqld, store), ["order-1"])
          assert.lengthOf(lines, 1)
          assert.include(lines[0], filename)
        })
      )
    )
  }

  it.scoped("that are damaged while they are in use are made again with the next sync", () =>
    Effect.gen(function* () {
      const { open, replicas, sqld } = yield* closed
      const { replica, store } = yield* open
      replicas.corrupt()
      assert.deepStrictEqual(yield* ids(store), ["order-1"])
      yield* replica.sync
      assert.deepStrictEqual(yield* listsWithoutServer(sqld, store), ["order-1"])
    })
  )

  it.scoped("that may be no copy are left alone, and named", () =>
    Effect.gen(function* () {
      const { filename, open } = yield* make
      const client = createClient({ url: `file:${filename}` })
      yield* Effect.promise(() => client.executeMultiple("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)"))
      const error = yield* Effect.flip(open)
      assert.deepInclude(error, { _tag: "StoreRejected", operation: "open", reason: "open", path: "url" })
      for (const suffix of ["", index, "-wal", "-shm"]) assert.include(error.message, filename + suffix)
      const { rows } = yield* Effect.promise(() => client.execute({ sql: "SELECT a FROM mine", args: [] }))
      assert.strictEqual(rows.length, 1)
      client.close()
    })
  )

  it.scoped("that cannot be synced are named with the server they are of", () =>
    Effect.gen(function* () {
      const { filename, open, replicas, sqld } = yield* closed
      replicas.fail(new Error("Replication(PrimaryHandshakeTimeout)"))
      const error = yield* Effect.flip(open)
      assert.deepInclude(error, { _tag: "StoreUnavailable", operation: "open" })
      assert.include(String(error), sqld.url)
      assert.include(String(error), filename)
    })
  )
})
