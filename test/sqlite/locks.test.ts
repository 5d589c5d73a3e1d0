import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Child from "../support/childProcess.js"
import * as Temp from "../support/temp.js"

const order = Execution.make({ id: "order-1", definitionId: "order" })
const emits = [{ targetId: "order-1", event: Event.make({ id: "ev-1", kind: "Paid" }) }]

const release = (child: Child.Child) => Effect.zipRight(child.send("release"), child.line)

/** Twenty turns of this process's own. Were it to stand still for each look at the lock, they would take minutes. */
const ticking = Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(20)))

/** A store, and another process that holds the lock for writing its file. */
const locked = (busyTimeout?: SqliteStore.Options["busyTimeout"]) =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    const store = yield* SqliteStore.make({ filename, ...(busyTimeout === undefined ? {} : { busyTimeout }) })
    const child = yield* Child.lockFile(filename, "BEGIN IMMEDIATE")
    return { filename, store, child }
  })

describe("a file that another process has locked", () => {
  it.scoped("is waited for", () =>
    Effect.gen(function* () {
      const { child, store } = yield* locked()
      const committing = yield* Effect.fork(store.commit(order, { emits }))
      yield* TestClock.adjust("200 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(committing)))
      yield* release(child)
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* Fiber.join(committing)).execution.version, 1)
      assert.strictEqual((yield* store.pendingOutbox()).entries.length, 1)
    })
  )

  it.scopedLive("does not stop this process", () =>
    Effect.gen(function* () {
      const { child, store } = yield* locked("1 minute")
      const committing = yield* Effect.fork(store.commit(order))
      yield* Effect.repeat(Effect.void, ticking)
      assert.isTrue(Option.isNone(yield* Fiber.poll(committing)))
      yield* release(child)
      assert.strictEqual((yield* Fiber.join(committing)).execution.version, 1)
    })
  )

  for (const [seconds, busyTimeout] of [
    [1, "1 second"],
    [5, undefined]
  ] as const) {
    it.scoped(`is not waited for beyond a budget of ${seconds} seconds`, () =>
      Effect.gen(function* () {
        const { child, store } = yield* locked(busyTimeout)
        const committing = yield* Effect.fork(Effect.flip(store.commit(order, { emits })))
        yield* TestClock.adjust(seconds * 1000 - 100)
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
        assert.strictEqual(
          error.message,
          `commit of execution "order-1" is not possible now: the database stayed locked for ${seconds}s: database is locked (SQLITE_BUSY); try again later`
        )
        yield* release(child)
        assert.strictEqual((yield* store.commit(order)).execution.version, 1)
        assert.strictEqual((yield* store.pendingOutbox()).entries.length, 0)
      })
    )
  }

  it.scoped("is not waited for where there is no budget", () =>
    Effect.gen(function* () {
      const { store } = yield* locked(0)
      assert.deepInclude(yield* Effect.flip(store.commit(order)), { _tag: "StoreUnavailable", reason: "busy" })
    })
  )

  it.scoped("can still be read", () =>
    Effect.gen(function* () {
      const { store } = yield* locked()
      assert.isTrue(Option.isNone(yield* store.load("order-1")))
    })
  )

  it.scoped("is waited for no longer by one who is interrupted", () =>
    Effect.gen(function* () {
      const { child, store } = yield* locked()
      const committing = yield* Effect.fork(store.commit(order))
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(committing)
      yield* release(child)
      assert.isTrue(Option.isNone(yield* store.load("order-1")))
      assert.strictEqual((yield* store.commit(order)).execution.version, 1)
    })
  )

  it.scoped("is opened without waiting where its schema is there", () =>
    Effect.gen(function* () {
      const { filename } = yield* locked()
      const store = yield* SqliteStore.make({ filename })
      assert.isTrue(Option.isNone(yield* store.load("order-1")))
    })
  )

  it.scopedLive("is waited for by one who opens it first, which does not stop this process either", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const child = yield* Child.lockFile(filename, "BEGIN EXCLUSIVE")
      const opening = yield* Effect.fork(SqliteStore.make({ filename, busyTimeout: "1 minute" }))
      yield* Effect.repeat(Effect.void, ticking)
      assert.isTrue(Option.isNone(yield* Fiber.poll(opening)))
      yield* release(child)
      const store = yield* Fiber.join(opening)
      assert.strictEqual((yield* store.commit(order)).execution.version, 1)
    })
  )

  it.scoped("is not waited for beyond the budget by one who opens it", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      yield* Child.lockFile(filename, "BEGIN EXCLUSIVE")
      const error = yield* Effect.flip(SqliteStore.make({ filename, busyTimeout: 0 }))
      assert.deepInclude(error, { _tag: "StoreUnavailable", operation: "open", reason: "busy" })
    })
  )
})
