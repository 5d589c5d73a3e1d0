import { readdirSync, readlinkSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as Child from "../support/childProcess.js"
import { extent, longer } from "../support/extent.js"
import * as Temp from "../support/temp.js"

const order = (id: string) => Execution.make({ id, definitionId: "order" })
const emits = [{ targetId: "order-1", event: Event.make({ id: "ev-1", kind: "Paid" }) }]
const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const unbounded = { concurrency: "unbounded" } as const

const release = (child: Child.Child) => Effect.zipRight(child.send("release"), child.line)

/** Twenty turns of this process's own. Were it to stand still for each look at the lock, they would take minutes. */
const ticking = Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(20)))

const open = (options: Partial<LibsqlStore.Options> = {}) =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    const { client, store } = yield* LibsqlStore.make({ url: `file:${filename}`, ...options })
    return { filename, client, store }
  })

/** A store, and another process that holds the lock for writing its file. */
const locked = (options: Partial<LibsqlStore.Options> = {}) =>
  Effect.flatMap(open(options), (opened) =>
    Effect.map(Child.lockFile(opened.filename, "BEGIN IMMEDIATE"), (child) => ({ ...opened, child }))
  )

/** How many open files of this process are of this database. */
const handles = (filename: string): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(filename)
    } catch {
      return false
    }
  }).length

describe("a libSQL file that another process has locked", () => {
  for (const groupCommit of [true, false]) {
    const how = groupCommit ? "" : " without group commit"

    it.scoped(`is waited for${how}`, () =>
      Effect.gen(function* () {
        const { child, store } = yield* locked({ groupCommit })
        const committing = yield* Effect.fork(store.commit(order("order-1"), { emits }))
        yield* TestClock.adjust("200 millis")
        assert.isTrue(Option.isNone(yield* Fiber.poll(committing)))
        yield* release(child)
        yield* TestClock.adjust("100 millis")
        assert.strictEqual((yield* Fiber.join(committing)).execution.version, 1)
        assert.strictEqual((yield* store.pendingOutbox()).entries.length, 1)
      })
    )

    it.scoped(`is not waited for beyond the budget${how}`, () =>
      Effect.gen(function* () {
        const { child, store } = yield* locked({ groupCommit })
        const committing = yield* Effect.fork(Effect.flip(store.commit(order("order-1"), { emits })))
        yield* TestClock.adjust("4900 millis")
        assert.isTrue(Option.isNone(yield* Fiber.poll(committing)))
        yield* TestClock.adjust("200 millis")
        const error = yield* Fiber.join(committing)
        assert.deepInclude(error, {
          _tag: "StoreUnavailable",
          operation: "commit",
          executionId: "order-1",
          reason: "busy",
          outcome: "not-applied"
        })
        assert.include(error.message, "it stayed so for 5s: database is locked (SQLITE_BUSY)")
        yield* release(child)
        assert.strictEqual((yield* store.commit(order("order-1"))).execution.version, 1)
        assert.strictEqual((yield* store.pendingOutbox()).entries.length, 0)
      })
    )
  }

  it.scoped("leaves nothing behind: after one lock the next ten commits are durable, and the lock is free", () =>
    Effect.gen(function* () {
      const { child, filename, store } = yield* locked({ busyTimeout: 0 })
      for (let i = 0; i < 3; i++) {
        assert.deepInclude(yield* Effect.flip(store.save(order("lost"))), { reason: "busy", outcome: "not-applied" })
        assert.isTrue(Option.isNone(yield* store.load("lost")))
      }
      yield* release(child)
      for (const i of range(10)) yield* store.commit(order(`order-${i}`), { emits })
      const { store: other } = yield* LibsqlStore.make({ url: `file:${filename}` })
      assert.strictEqual((yield* other.idsWithPrefix("order-")).length, 10)
      assert.strictEqual((yield* other.pendingOutbox()).entries.length, 10)
      // It only says so when it has the lock.
      yield* Child.lockFile(filename, "BEGIN IMMEDIATE")
    })
  )

  it.scopedLive("does not stop this process", () =>
    Effect.gen(function* () {
      const { child, store } = yield* locked({ busyTimeout: "1 minute" })
      const committing = yield* Effect.forEach(range(5), (i) => Effect.fork(store.save(order(`order-${i}`))))
      yield* Effect.repeat(Effect.void, ticking)
      for (const fiber of committing) assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* release(child)
      const saved = yield* Fiber.join(Fiber.all(committing))
      assert.deepStrictEqual(
        saved.map((execution) => execution.version),
        [1, 1, 1, 1, 1]
      )
    })
  )

  it.scoped("can be read, and is opened without waiting where its schema is there", () =>
    Effect.gen(function* () {
      const { filename, store } = yield* locked({ busyTimeout: 0 })
      yield* Effect.flip(store.save(order("order-1")))
      assert.isTrue(Option.isNone(yield* store.load("order-1")))
      const { store: other } = yield* LibsqlStore.make({ url: `file:${filename}`, busyTimeout: 0 })
      assert.isTrue(Option.isNone(yield* other.load("order-1")))
    })
  )

  it.scoped("is waited for no longer by one who is interrupted, and nothing of it is written", () =>
    Effect.gen(function* () {
      const { child, store } = yield* locked({ groupCommit: false })
      const committing = yield* Effect.fork(store.save(order("order-1")))
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(committing)
      yield* release(child)
      assert.isTrue(Option.isNone(yield* store.load("order-1")))
    })
  )

  it.scoped(longer("costs few file handles however often it is looked at"), () =>
    Effect.gen(function* () {
      const { child, filename, store } = yield* locked({ groupCommit: false, busyTimeout: "300 millis" })
      const before = handles(filename)
      const fibers = yield* Effect.forEach(range(extent({ quick: 15, long: 50 })), (i) =>
        Effect.fork(Effect.flip(store.save(order(`order-${i}`))))
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(Fiber.all(fibers))
      assert.isAtMost(handles(filename), before + 3)
      yield* release(child)
    })
  )
})

describe("a libSQL file", () => {
  it.scoped(longer("costs no more file handles after any number of commits"), () =>
    Effect.gen(function* () {
      const { filename, store } = yield* open({ durability: "normal" })
      let execution = yield* store.save(order("order-1"))
      const before = handles(filename)
      assert.isAbove(before, 0)
      const commits = extent({ quick: 500, long: 5000 })
      for (let i = 0; i < commits; i++) execution = yield* store.save(execution)
      assert.strictEqual(execution.version, commits + 1)
      assert.isAtMost(handles(filename), before + 3)
    })
  )

  it.scoped("is listed by a hundred fibers while it is written", () =>
    Effect.gen(function* () {
      const { store } = yield* open()
      const [listed] = yield* Effect.all(
        [
          Effect.forEach(range(100), () => store.listExecutions(), unbounded),
          Effect.forEach(range(50), (i) => store.commit(order(`order-${i}`), { emits }), unbounded)
        ],
        unbounded
      )
      assert.strictEqual(listed.length, 100)
      assert.strictEqual((yield* store.listExecutions()).items.length, 50)
    })
  )

  it.scoped("tells a constraint and a full disk from an SQL error", () =>
    Effect.gen(function* () {
      const { client, store } = yield* open()
      const run = (sql: string) => Effect.promise(() => client.executeMultiple(sql))
      yield* run("CREATE TRIGGER no BEFORE INSERT ON harel_timers BEGIN SELECT RAISE(ABORT, 'no timers'); END")
      const timers = [{ _tag: "Schedule" as const, path: "p", fireAt: 1 }]
      const refused = yield* Effect.flip(store.commit(order("order-1"), { timers, emits }))
      assert.deepInclude(refused, { _tag: "StoreRejected", reason: "constraint" })
      assert.include(refused.message, "no timers")
      yield* run("DROP TRIGGER no; ALTER TABLE harel_spawns RENAME TO elsewhere")
      const missing = yield* Effect.flip(store.pendingSpawns())
      assert.deepInclude(missing, { _tag: "StoreRejected", reason: "sql" })
      yield* store.commit(order("order-1"), { emits })
      yield* run("PRAGMA max_page_count = 1")
      const full = yield* Effect.flip(store.save({ ...order("order-2"), context: { text: "x".repeat(2_000_000) } }))
      assert.deepInclude(full, { _tag: "StoreRejected", reason: "disk-full" })
      assert.strictEqual((yield* store.pendingOutbox()).entries.length, 1)
    })
  )

  it.scoped(longer("is shared by four processes: no update is lost, and no lock reaches a caller"), () =>
    Effect.gen(function* () {
      const { filename, store } = yield* open()
      const names = ["a", "b", "c", "d"]
      const steps = extent({ quick: 25, long: 100 })
      const children = yield* Effect.forEach(
        names,
        (name) => Child.run("libsqlCommitProcess.ts", filename, name, String(steps)),
        unbounded
      )
      for (const child of children) assert.strictEqual(yield* child.line, "ready")
      yield* Effect.forEach(children, (child) => child.send("go"))
      const said = yield* Effect.forEach(children, (child) => child.line, unbounded)
      for (const line of said) assert.match(line, /^done/)
      const counter = Option.getOrThrow(yield* store.load("counter"))
      assert.deepStrictEqual(counter.context, { n: 4 * steps })
      assert.strictEqual(counter.version, 4 * steps + 1)
      const ids = (yield* store.pendingOutbox({ limit: 1000 })).entries.map((entry) => entry.event.id)
      const expected = names.flatMap((name) => range(steps).map((i) => `${name}-${i}`))
      assert.deepStrictEqual([...ids].sort(), expected.sort())
    })
  )

  it.scoped("holds whole commits when a process is killed amid them", () =>
    Effect.gen(function* () {
      const { client, filename, store } = yield* open()
      const child = yield* Child.run("libsqlCommitProcess.ts", filename, "a", "1000000")
      yield* child.line
      yield* child.send("go")
      yield* Effect.repeat(Effect.zipRight(Effect.yieldNow(), store.pendingOutbox()), {
        until: (page) => page.entries.length >= 50
      })
      yield* child.kill
      assert.strictEqual(yield* child.exit, "SIGKILL")
      const check = yield* Effect.promise(() => client.execute({ sql: "PRAGMA integrity_check", args: [] }))
      assert.strictEqual(check.rows[0]?.[0], "ok")
      const counter = Option.getOrThrow(yield* store.load("counter"))
      const rows = yield* Effect.promise(() => client.execute({ sql: "SELECT count(*) FROM harel_outbox", args: [] }))
      assert.strictEqual(rows.rows[0]?.[0], counter.version - 1)
      yield* store.save(counter)
    })
  )
})
