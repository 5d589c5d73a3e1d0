import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as libsqlBusyRetry from "holdfast/internal/libsql/busyRetry"
import { Failure } from "holdfast/internal/libsql/error"
import * as replicaState from "holdfast/internal/libsql/replicaState"
import * as cachedRead from "holdfast/internal/monitor/cachedRead"
import * as counts from "holdfast/internal/runtime/counts"
import * as health from "holdfast/internal/runtime/health"
import * as unserved from "holdfast/internal/runtime/unserved"
import * as busyRetry from "holdfast/internal/sqlite/busyRetry"
import type { Problem } from "holdfast/internal/sqlite/error"
import { DefinitionNotFound } from "holdfast/ProcessorError"
import * as MemoryStore from "holdfast/MemoryStore"
import { StoreUnavailable } from "holdfast/StoreError"
import { wallClock } from "../support/timers.js"
import { event } from "../support/workers.js"

const hour = 3600

describe("Where the clock is set back", () => {
  it.scoped("what waits is counted anew, and so is what the monitor shows", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      yield* TestClock.setTime(hour * 1000)
      const counted = Effect.map(yield* counts.make(store.stats), (found) =>
        Either.map(
          found,
          Option.map(({ outbox }) => outbox.count)
        )
      )
      let reads = 0
      const cached = yield* cachedRead.make(
        Effect.sync(() => ++reads),
        { least: 5000, share: 1 }
      )
      assert.deepStrictEqual(yield* counted, Either.right(Option.some(0)))
      assert.strictEqual((yield* cached.get).value, 1)
      yield* store.enqueue([{ targetId: "a", event: event("one") }])
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* counted, Either.right(Option.some(0)))
      assert.strictEqual((yield* cached.get).value, 1)
      yield* TestClock.setTime(1000)
      assert.deepStrictEqual(yield* counted, Either.right(Option.some(1)))
      assert.strictEqual((yield* cached.get).value, 2)
    })
  )

  it.scoped("a store that refused a write long ago is not said to refuse writes", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const away = new StoreUnavailable({
        operation: "enqueue",
        reason: "connection",
        outcome: "not-applied",
        detail: ""
      })
      yield* TestClock.setTime(hour * 1000)
      const watched = yield* health.watch({ ...store, enqueue: () => Effect.fail(away) })
      yield* Effect.flip(watched.store.enqueue([]))
      assert.isTrue(Option.isSome(yield* watched.outage))
      yield* TestClock.setTime(1000)
      assert.isTrue(Option.isNone(yield* watched.outage))
    })
  )

  it.effect("work for definitions that others have is looked at again as soon as before", () =>
    Effect.gen(function* () {
      const found = unserved.make({
        definitions: { transitions: new Map(), serves: () => false },
        activities: new Set(),
        waits: true,
        tellsChildren: true
      })
      const { found: meet, passed } = unserved.elsewhere(found)
      const definitions = Effect.map(passed(), ({ definitions }) => definitions)
      yield* TestClock.setTime(hour * 1000)
      yield* meet(new DefinitionNotFound({ definitionId: "theirs", executionId: "a", eventId: "e" }))
      yield* TestClock.setTime(1000)
      assert.deepStrictEqual(yield* definitions, ["theirs"])
      yield* TestClock.adjust("599 seconds")
      assert.deepStrictEqual(yield* definitions, ["theirs"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* definitions, [])
    })
  )

  it.scoped("a locked database is not waited for any longer", () =>
    Effect.gen(function* () {
      const { setBack, wall } = yield* wallClock
      const busyTimeout = Duration.seconds(1)
      const fails = <E>(error: E) =>
        Effect.suspend(() => {
          setBack(10)
          return Effect.fail(error)
        })
      const problem: Problem = { kind: "busy", said: "locked", meaning: "", cause: undefined }
      const sqlite = busyRetry.make(busyTimeout)({ operation: "commit" }, fails({ problem, committing: false }))
      const busy = new Failure({ reason: "busy", outcome: "not-applied", detail: "locked" })
      const libsql = libsqlBusyRetry.retryWhileBusy(busyTimeout)(fails(busy))
      for (const waiting of [Effect.isFailure(sqlite), Effect.isFailure(libsql)]) {
        const fiber = yield* Effect.fork(Effect.withClock(waiting, wall))
        yield* TestClock.adjust("2 seconds")
        const ended = Option.getOrElse(yield* Fiber.poll(fiber), () => assert.fail("it waits still"))
        assert.deepStrictEqual(ended, Exit.succeed(true))
      }
    })
  )

  it("a copy of a server's database does not rest for longer", () => {
    const state = { ...replicaState.initial(), pausedUntil: 20_000, noRebuildBefore: 60_000 }
    assert.deepStrictEqual(
      [25_000, 15_000, 10_000, 9_000].map((now) => replicaState.pauseLeft(state, now)),
      [0, 5_000, 10_000, 0]
    )
    assert.deepStrictEqual(
      [60_000, 59_000, 0, -1000].map((now) => replicaState.isJustRebuilt(state, now)),
      [false, true, true, false]
    )
  })
})
