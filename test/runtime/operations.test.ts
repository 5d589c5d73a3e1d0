import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import type { Status } from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type * as Processor from "holdfast/Processor"
import * as SqlStore from "holdfast/SqlStore"
import { StoreRejected, StoreUnavailable } from "holdfast/StoreError"
import * as Client from "../support/sqlClient.js"
import * as Support from "../support/workers.js"

const { armed, driven, event, eventually, execution, load, note, pendingIds, recorder, seen } = Support

type Store = ExecutionStore.ExecutionStore

const runtimeOn = <D extends Processor.Definitions>(store: Store, options: ExecutionRuntime.Options<D>) =>
  Effect.provideService(ExecutionRuntime.make(options), ExecutionStore.ExecutionStore, store)

/** What the stream gives from now on; the stream runs when this has. */
const collecting = (runtime: ExecutionRuntime.ExecutionRuntime, count: number) =>
  Effect.zipLeft(
    Effect.fork(Effect.map(Stream.runCollect(Stream.take(runtime.commits, count)), Chunk.toReadonlyArray)),
    TestClock.adjust(0)
  )

/** For tests of days: hardly anybody looks at the store. */
const seldom = { pollInterval: "1 day", timerInterval: "1 day", statsInterval: "1 day" } as const

const diskFull = (executionId: string) =>
  new StoreRejected({ operation: "commit", executionId, reason: "disk-full", detail: "the disk is full" })

const readiness = (runtime: ExecutionRuntime.ExecutionRuntime) =>
  Effect.map(runtime.health, ({ live, problems, ready }) => ({ live, problems, ready }))

const well = { live: true, problems: [], ready: true }

const letters = (runtime: ExecutionRuntime.ExecutionRuntime) =>
  Effect.map(runtime.deadLetters.list(), ({ entries }) =>
    entries.map(({ executionId, reason }) => [executionId, reason])
  )

Support.onEach("ExecutionRuntime.commits", (make) => {
  it.scoped("tells who went from where to where, by which event or command", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      const commits = yield* collecting(runtime, 4)
      yield* runtime.create(execution("a"))
      yield* runtime.send("a", event("e1"))
      yield* driven(runtime.awaitIdle)
      yield* runtime.control.suspend("a")
      yield* store.save(yield* load(store, "a"))
      const place = (version: number, status: Status) => ({ version, status, activePath: null })
      const from = (version: number, status: Status) => ({
        version,
        status: Option.some(status),
        activePath: Option.some<string | null>(null)
      })
      const unknown = (version: number) => ({ version, status: Option.none(), activePath: Option.none() })
      const nothing = {
        executionId: "a",
        definitionId: "recorder",
        event: Option.none(),
        command: Option.none(),
        missed: 0
      }
      assert.deepStrictEqual(yield* Fiber.join(commits), [
        { ...nothing, from: unknown(0), to: place(1, "PENDING") },
        {
          ...nothing,
          from: from(1, "PENDING"),
          to: place(2, "RUNNING"),
          event: Option.some({ id: "e1", kind: "Happened" })
        },
        { ...nothing, from: from(2, "RUNNING"), to: place(3, "SUSPENDED"), command: Option.some("suspend") },
        { ...nothing, from: unknown(3), to: place(4, "SUSPENDED") }
      ])
    })
  )

  it.scoped("keeps a bounded number for one who is slow, and says how many it missed", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store, { definitions: { recorder }, commitsBuffer: 3 })
      const began = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const slow = yield* runtime.commits.pipe(
        Stream.mapEffect((commit) =>
          Effect.as(Effect.zipRight(Deferred.succeed(began, undefined), Deferred.await(gate)), [
            commit.executionId,
            commit.missed
          ])
        ),
        Stream.take(6),
        Stream.runCollect,
        Effect.fork
      )
      yield* TestClock.adjust(0)
      yield* runtime.create(execution("first"))
      yield* Deferred.await(began)
      // nobody who commits waits for it
      for (let i = 0; i < 20; i++) yield* runtime.create(execution(`e${i}`))
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust(0)
      yield* runtime.create(execution("later"))
      yield* runtime.create(execution("last"))
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Fiber.join(slow)), [
        ["first", 0],
        ["e17", 17],
        ["e18", 0],
        ["e19", 0],
        ["later", 0],
        ["last", 0]
      ])
    })
  )

  it.scoped("gives each reader all, from when it begins, and ends with the runtime", () =>
    Effect.gen(function* () {
      const store = yield* make
      const scope = yield* Scope.make()
      const runtime = yield* Scope.extend(runtimeOn(store, { definitions: { recorder } }), scope)
      const all = yield* Effect.fork(Stream.runCollect(runtime.commits))
      yield* TestClock.adjust(0)
      yield* runtime.create(execution("a"))
      const some = yield* Effect.fork(Stream.runCollect(runtime.commits))
      yield* TestClock.adjust(0)
      yield* runtime.create(execution("b"))
      yield* Scope.close(scope, Exit.void)
      const ids = (commits: Chunk.Chunk<ExecutionRuntime.CommitRecord>) =>
        Chunk.toReadonlyArray(commits).map(({ executionId }) => executionId)
      assert.deepStrictEqual(ids(yield* Fiber.join(all)), ["a", "b"])
      assert.deepStrictEqual(ids(yield* Fiber.join(some)), ["b"])
      assert.deepStrictEqual(ids(yield* Stream.runCollect(runtime.commits)), [])
    })
  )
})

Support.onEach("ExecutionRuntime.health", (make) => {
  it.scoped("is live and ready when all is well, and says how much there is to do", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* TestClock.adjust("10 seconds")
      yield* eventually(readiness(runtime), well)
      const health = yield* runtime.health
      assert.deepStrictEqual(health.oldestAge, Option.none())
      assert.deepStrictEqual(
        Option.map(health.store, ({ outbox }) => outbox.count),
        Option.some(0)
      )
      assert.deepStrictEqual([health.shards, health.retention], [Option.none(), Option.none()])
    })
  )

  it.scoped("is not ready before the workers have read the store", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(
        {
          ...store,
          pendingOutbox: () => Effect.never,
          pendingSpawns: () => Effect.never,
          dueTimers: () => Effect.never
        },
        { definitions: { recorder } }
      )
      yield* TestClock.adjust("1 second")
      const { live, problems, ready } = yield* readiness(runtime)
      assert.deepStrictEqual([live, ready], [true, false])
      assert.deepStrictEqual(
        problems,
        ["outbox", "spawns", "timers"].map((name) => `${name}: has not read the store yet`)
      )
    })
  )

  it.scoped("is not ready while a worker stalls though the process is well, and the oldest row gets older", () =>
    Effect.gen(function* () {
      const store = yield* make
      let stalls = false
      const runtime = yield* runtimeOn(
        {
          ...store,
          exclusive: false,
          pendingOutbox: (query) => Effect.suspend(() => (stalls ? Effect.never : store.pendingOutbox(query)))
        },
        { definitions: { recorder } }
      )
      yield* runtime.create(execution("a"))
      yield* TestClock.adjust("5 seconds")
      yield* eventually(readiness(runtime), well)
      stalls = true
      yield* TestClock.adjust("2 seconds")
      // it reads no more, and another one's event is not found
      yield* store.enqueue([{ targetId: "a", event: event("e1") }])
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* readiness(runtime), well)
      assert.deepStrictEqual((yield* runtime.health).oldestAge, Option.some(20))
      yield* TestClock.adjust("40 seconds")
      const health = yield* runtime.health
      assert.deepStrictEqual([health.live, health.ready], [true, false])
      assert.deepStrictEqual(health.oldestAge, Option.some(60))
      assert.match(health.problems.join("; "), /^outbox: has not read the store for 6\d s$/)
      assert.deepStrictEqual(
        Option.map(health.store, ({ outbox }) => outbox.count),
        Option.some(1)
      )
    })
  )

  it.scoped("is not ready while all of a worker's places are taken for long", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store, {
        definitions: { recorder: () => Effect.never },
        concurrency: 1,
        shutdownTimeout: 0,
        timerInterval: "1 minute",
        transitionTimeout: "1 hour"
      })
      yield* Effect.forEach(["a", "b"], (id) => runtime.start(execution(id)))
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual((yield* readiness(runtime)).problems, [])
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual((yield* readiness(runtime)).problems, [
        "outbox: all its places have been taken for 5 s by work that does not end; all else waits"
      ])
      yield* TestClock.adjust("115 seconds")
      const { live, problems, ready } = yield* readiness(runtime)
      assert.deepStrictEqual([live, ready], [true, false])
      assert.deepStrictEqual(problems, [
        "outbox: has not read the store for 120 s; what runs the longest began 120 s ago",
        "outbox: all its places have been taken for 120 s by work that does not end; all else waits"
      ])
    })
  )

  it.scoped("is not live once a worker has ended", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(
        { ...store, dueTimers: () => Effect.die(new Error("a bug")) },
        { definitions: { recorder } }
      )
      yield* Effect.exit(runtime.awaitFatal)
      yield* TestClock.adjust(0)
      const { live, problems, ready } = yield* readiness(runtime)
      assert.deepStrictEqual([live, ready], [false, false])
      assert.include(problems, "a worker ended: defect: a bug")
    })
  )

  it.scoped("is not ready while the store does not answer, and says how the workers are all the same", () =>
    Effect.gen(function* () {
      const store = yield* make
      let answers = true
      const runtime = yield* runtimeOn(
        { ...store, stats: Effect.suspend(() => (answers ? store.stats : Effect.never)) },
        { definitions: { recorder } }
      )
      yield* TestClock.adjust("5 seconds")
      yield* eventually(readiness(runtime), well)
      answers = false
      yield* TestClock.adjust("20 seconds")
      const asked = yield* Effect.fork(runtime.health)
      yield* TestClock.adjust("1 second")
      const health = yield* Fiber.join(asked)
      assert.deepStrictEqual([health.ready, health.problems], [false, ["store: no answer within 1 s"]])
      assert.deepStrictEqual([health.store, health.oldestAge], [Option.none(), Option.none()])
      assert.isTrue(Option.isSome(health.outbox.lastRun))
    })
  )

  it.scoped("gives the counts of the time before while the store takes long to count", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(
        { ...store, stats: Effect.delay(store.stats, "3 seconds") },
        { definitions: { recorder }, statsInterval: "1 day" }
      )
      const ask = Effect.gen(function* () {
        const asked = yield* Effect.fork(runtime.health)
        yield* TestClock.adjust("1 second")
        const health = yield* Fiber.join(asked)
        return [health.ready, Option.isSome(health.store)]
      })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* ask, [false, false])
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(yield* ask, [true, true])
    })
  )

  it.scoped("is not ready while the store is down", () =>
    Effect.gen(function* () {
      const store = yield* make
      const down = new StoreUnavailable({
        operation: "stats",
        reason: "connection",
        outcome: "not-applied",
        detail: "the server is away"
      })
      const runtime = yield* runtimeOn({ ...store, stats: Effect.fail(down) }, { definitions: { recorder } })
      yield* TestClock.adjust("5 seconds")
      const problems = [`telemetry: has waited for the store for 5 s: ${down.message}`, `store: ${down.message}`]
      yield* eventually(readiness(runtime), { live: true, ready: false, problems })
    })
  )
})

Support.onEach("Runtime", (make) => {
  it.scoped("waits out a full disk: no attempt is burnt, no dead letter made, and health says so", () =>
    Effect.gen(function* () {
      const store = yield* make
      let full = true
      const runtime = yield* runtimeOn(
        {
          ...store,
          commit: (execution, commit) =>
            Effect.suspend(() =>
              full && commit?.processed !== undefined
                ? Effect.fail(diskFull(execution.id))
                : store.commit(execution, commit)
            )
        },
        { definitions: { recorder }, maxAttempts: 2, pollInterval: "30 seconds", timerInterval: "30 seconds" }
      )
      yield* runtime.create(execution("a"), { timers: [Commit.scheduleTimer("t", 0)] })
      yield* runtime.send("a", event("e1"))
      yield* TestClock.adjust("5 minutes")
      yield* eventually(pendingIds(store), ["e1"])
      assert.deepStrictEqual(yield* letters(runtime), [])
      assert.deepStrictEqual((yield* store.pendingOutbox()).failures, [])
      const health = yield* runtime.health
      assert.deepStrictEqual([health.live, health.ready], [true, false])
      assert.deepStrictEqual(health.problems, [`store: has refused writes for 300 s: ${diskFull("a").message}`])
      assert.include(Option.getOrThrow(health.outbox.lastError).message, "the disk is full")
      full = false
      yield* TestClock.adjust("1 minute")
      yield* eventually(pendingIds(store), [])
      yield* eventually(armed(store), [])
      assert.deepStrictEqual(seen(yield* load(store, "a")).toSorted(), ["e1", "timeout:a:t:0.0"])
      yield* eventually(readiness(runtime), well)
    })
  )

  it.scoped("is ready again a while after an outage that only a caller met", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(
        { ...store, enqueue: () => Effect.fail(diskFull("a")) },
        { definitions: { recorder } }
      )
      yield* TestClock.adjust("5 seconds")
      yield* Effect.flip(runtime.send("a", event("e1")))
      assert.isFalse((yield* runtime.health).ready)
      yield* TestClock.adjust("61 seconds")
      yield* eventually(readiness(runtime), well)
    })
  )

  it.scoped("makes an event a dead letter at once whose step the store refuses for good, and others flow", () =>
    Effect.gen(function* () {
      const store = yield* make
      let invalid = true
      const runtime = yield* runtimeOn(store, {
        definitions: {
          recorder: (execution, cause) =>
            Effect.succeed({
              execution: note(execution, cause),
              ...(invalid && cause.id === "poison"
                ? { commit: { emits: [{ targetId: "", event: event("x") }] } }
                : undefined)
            })
        }
      })
      yield* runtime.create(execution("a"))
      yield* runtime.send("a", event("poison"))
      yield* runtime.send("a", event("e2"))
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(seen(yield* load(store, "a")), ["e2"])
      assert.deepStrictEqual(yield* letters(runtime), [["a", "rejected"]])
      const [letter] = (yield* runtime.deadLetters.list()).entries
      assert.include(letter?.error, "emits[0].targetId")
      // it may become a dead letter again
      assert.isTrue(yield* runtime.deadLetters.redrive(letter?.id ?? -1))
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(yield* letters(runtime), [["a", "rejected"]])
      invalid = false
      const [again] = (yield* runtime.deadLetters.list()).entries
      assert.isTrue(yield* runtime.deadLetters.redrive(again?.id ?? -1))
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(seen(yield* load(store, "a")), ["e2", "poison"])
      assert.deepStrictEqual(yield* letters(runtime), [])
    })
  )

  it.scoped("keeps what nobody can be found for as a dead letter, to be redriven or discarded", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* runtime.send("nobody", event("e1"))
      yield* runtime.send("nobody", event("e2"))
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(yield* letters(runtime), [
        ["nobody", "no-target"],
        ["nobody", "no-target"]
      ])
      const [first, second] = (yield* runtime.deadLetters.list({ executionId: "nobody" })).entries
      assert.isTrue(yield* runtime.deadLetters.discard(second?.id ?? -1))
      assert.isFalse(yield* runtime.deadLetters.discard(second?.id ?? -1))
      yield* runtime.create(execution("nobody"))
      assert.isTrue(yield* runtime.deadLetters.redrive(first?.id ?? -1))
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(seen(yield* load(store, "nobody")), ["e1"])
    })
  )

  it.scoped("takes no work while it is paused, and all of it when it is resumed", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* runtime.create(execution("a"), { timers: [Commit.scheduleTimer("t", 10)] })
      yield* runtime.create(execution("p"), { spawns: [] })
      yield* TestClock.adjust("1 second")
      yield* runtime.pause
      yield* runtime.send("a", event("e1"))
      yield* store.commit(yield* load(store, "p"), { spawns: [{ childId: "c", rootPath: "", context: {} }] })
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(seen(yield* load(store, "a")), [])
      assert.deepStrictEqual(yield* store.load("c"), Option.none())
      // it does as it is told: nothing is wrong
      assert.deepStrictEqual(yield* readiness(runtime), well)
      assert.isTrue((yield* runtime.health).outbox.paused)
      yield* runtime.resume
      yield* driven(runtime.awaitIdle)
      yield* eventually(armed(store), [])
      assert.deepStrictEqual(seen(yield* load(store, "a")).toSorted(), ["e1", "timeout:a:t:10.0"])
      assert.deepStrictEqual(seen(yield* load(store, "c")), ["start:c"])
      assert.isFalse((yield* runtime.health).outbox.paused)
    })
  )

  it.scoped("at the end of its scope interrupts what takes longer than it may, which is delivered again", () =>
    Effect.gen(function* () {
      const store = yield* make
      const scope = yield* Scope.make()
      const began = yield* Deferred.make<void>()
      const runtime = yield* Scope.extend(
        runtimeOn(store, {
          definitions: { recorder: () => Effect.zipRight(Deferred.succeed(began, undefined), Effect.never) },
          shutdownTimeout: "20 seconds"
        }),
        scope
      )
      yield* runtime.create(execution("a"))
      yield* runtime.send("a", event("e1"))
      yield* runtime.send("a", event("e2"))
      yield* Deferred.await(began)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("19 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(yield* pendingIds(store), ["e1", "e2"])
      assert.deepStrictEqual((yield* store.pendingOutbox()).failures, [])
      const next = yield* runtimeOn(store, { definitions: { recorder } })
      yield* driven(next.awaitIdle)
      assert.deepStrictEqual(seen(yield* load(store, "a")), ["e1", "e2"])
    })
  )

  it.scoped(
    "keeps events and timers of a suspended tree, burns no attempts on them, and delivers them at once after",
    () =>
      Effect.gen(function* () {
        const store = yield* make
        const logs = Support.logs()
        yield* Effect.gen(function* () {
          const runtime = yield* runtimeOn(store, {
            definitions: { recorder },
            maxAttempts: 2,
            pollInterval: "30 seconds"
          })
          yield* runtime.create(execution("p", { status: "RUNNING" }))
          yield* runtime.create(execution("c", { status: "RUNNING", parentId: "p", childId: "c" }), {
            timers: [Commit.scheduleTimer("t", 5)]
          })
          yield* runtime.control.suspend("p")
          yield* runtime.send("p", event("e1"))
          yield* runtime.send("c", event("e2"))
          yield* store.commit(yield* load(store, "p"), { spawns: [{ childId: "d", rootPath: "", context: {} }] })
          yield* TestClock.adjust("3 minutes")
          assert.deepStrictEqual(yield* pendingIds(store), ["e1", "e2"])
          assert.deepStrictEqual(yield* armed(store), [["c", "t", 5]])
          assert.deepStrictEqual(yield* store.load("d"), Option.none())
          assert.deepStrictEqual((yield* store.pendingOutbox()).failures, [])
          assert.deepStrictEqual(yield* letters(runtime), [])
          assert.deepStrictEqual(yield* readiness(runtime), well)
          yield* runtime.control.resume("p")
          // no poll is waited for: where event and timer meet at one execution, the loser runs again after some milliseconds
          yield* driven(eventually(pendingIds(store), []))
          yield* driven(eventually(armed(store), []))
          assert.deepStrictEqual(seen(yield* load(store, "p")), ["e1"])
          assert.deepStrictEqual(seen(yield* load(store, "c")).toSorted(), ["e2", "timeout:c:t:5.0"])
          yield* TestClock.adjust("1 minute")
          yield* eventually(Effect.map(load(store, "d"), seen), ["start:d"])
        }).pipe(Effect.provide(logs.layer))
        assert.deepStrictEqual(logs.lines, [])
      })
  )

  it.scoped("cancels: the transition cleans up, or need not know of it, and other events are dropped", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store, {
        definitions: {
          recorder,
          careful: (execution, cause) =>
            Effect.succeed({
              execution: {
                ...note(execution, cause),
                ...(cause.kind === "Cancel"
                  ? { status: "DONE" as const, outcome: String(cause.data["why"]) }
                  : undefined)
              }
            }),
          unaware: (execution) => Effect.succeed({ execution })
        }
      })
      for (const definitionId of ["careful", "unaware"]) {
        yield* runtime.create(execution(definitionId, { definitionId, status: "RUNNING" }))
        yield* runtime.pause
        yield* runtime.send(definitionId, event("e1"))
        yield* runtime.control.cancel(definitionId, { reason: { why: "late" } })
        yield* runtime.send(definitionId, event("e2"))
        yield* runtime.resume
      }
      yield* driven(runtime.awaitIdle)
      const careful = yield* load(store, "careful")
      assert.deepStrictEqual([careful.status, careful.outcome, seen(careful)], ["DONE", "late", ["cancel:careful:1"]])
      const unaware = yield* load(store, "unaware")
      assert.deepStrictEqual([unaware.status, unaware.processedEvents], ["CANCELLED", 1])
      assert.deepStrictEqual(yield* letters(runtime), [])
    })
  )

  it.scoped("redrives what failed, with the event that it failed at", () =>
    Effect.gen(function* () {
      const store = yield* make
      let broken = true
      const runtime = yield* runtimeOn(store, {
        definitions: {
          recorder: (execution, cause) =>
            Effect.suspend(() => (broken ? Effect.fail("it broke") : recorder(execution, cause)))
        },
        onFailure: "fail"
      })
      yield* runtime.create(execution("a"))
      yield* runtime.send("a", event("e1"))
      yield* driven(runtime.awaitIdle)
      const failed = yield* load(store, "a")
      assert.deepStrictEqual([failed.status, failed.error], ["FAILED", "it broke"])
      broken = false
      yield* runtime.control.redrive("a", { event: event("e1 again") })
      yield* driven(runtime.awaitIdle)
      const redriven = yield* load(store, "a")
      assert.deepStrictEqual([redriven.status, redriven.error, seen(redriven)], ["RUNNING", null, ["e1 again"]])
    })
  )

  it.scoped("shares the work with other processes, where it is told to", () =>
    Effect.gen(function* () {
      const store = yield* make
      const delivered: Array<string> = []
      const sharing = (holder: string) =>
        runtimeOn(store, {
          definitions: { recorder },
          leases: { holder, count: 8 },
          deliverExternal: () => Effect.void,
          pollInterval: "1 second"
        })
      const counting: Store = {
        ...store,
        loadForEvent: (id, eventId) =>
          Effect.suspend(() => {
            delivered.push(`${id} ${eventId}`)
            return store.loadForEvent(id, eventId)
          })
      }
      const [one, two] = yield* Effect.all([
        sharing("one"),
        Effect.provideService(
          ExecutionRuntime.make({ definitions: { recorder }, leases: { holder: "two", count: 8 } }),
          ExecutionStore.ExecutionStore,
          counting
        )
      ])
      yield* TestClock.adjust("1 minute")
      const shards = (runtime: ExecutionRuntime.ExecutionRuntime) =>
        Effect.map(runtime.health, ({ shards }) => Option.map(shards, ({ members, owned }) => [members, owned.length]))
      yield* eventually(shards(one), Option.some([2, 4]))
      yield* eventually(shards(two), Option.some([2, 4]))
      const ids = Array.from({ length: 20 }, (_, i) => `t${i}`)
      yield* Effect.forEach(ids, (id) => Effect.zipRight(one.create(execution(id)), one.send(id, event("e"))))
      yield* TestClock.adjust("2 seconds")
      yield* eventually(pendingIds(store), [])
      assert.isAbove(delivered.length, 0)
      assert.isBelow(delivered.length, 20)
    })
  )

  it.scoped("hands up a defect of sharing, and is not live then", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(
        { ...store, leases: { ...store.leases, renew: () => Effect.die("a bug") } },
        { definitions: { recorder }, leases: true }
      )
      assert.deepStrictEqual(yield* Effect.exit(runtime.awaitFatal), Exit.die("a bug"))
      yield* TestClock.adjust(0)
      assert.isFalse((yield* runtime.health).live)
    })
  )

  it.scoped("hands up a defect of retention", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(
        { ...store, ledger: { ...store.ledger, mark: Effect.die("a bug") } },
        { definitions: { recorder }, retention: { processed: "1 day" } }
      )
      assert.deepStrictEqual(yield* Effect.exit(runtime.awaitFatal), Exit.die("a bug"))
    })
  )

  it.scoped("refuses leases that cannot be", () =>
    Effect.gen(function* () {
      const store = yield* make
      const error = yield* Effect.flip(runtimeOn(store, { definitions: { recorder }, leases: { count: 0 } }))
      assert.strictEqual(error._tag, "StoreRejected")
    })
  )

  it.scoped("removes what is old, where it is told to", () =>
    Effect.gen(function* () {
      const store = yield* make
      const runtime = yield* runtimeOn(store, {
        definitions: { recorder },
        retention: { finished: "1 day", interval: "12 hours" },
        ...seldom
      })
      yield* runtime.create(execution("a", { status: "DONE" }))
      yield* TestClock.adjust("12 hours")
      assert.isTrue(Option.isSome(yield* store.load("a")))
      yield* TestClock.adjust("12 hours")
      yield* eventually(store.load("a"), Option.none())
      const health = yield* runtime.health
      assert.deepStrictEqual(
        Option.map(health.retention, ({ removed }) => removed),
        Option.some({ processed: 0, executions: 1 })
      )
    })
  )

  it.scoped("keeps an event that was sent though the process dies at once", () =>
    Effect.gen(function* () {
      const store = yield* make
      const scope = yield* Scope.make()
      const dying = yield* Scope.extend(
        runtimeOn({ ...store, pendingOutbox: () => Effect.never }, { definitions: { recorder }, shutdownTimeout: 0 }),
        scope
      )
      yield* dying.create(execution("a"))
      yield* dying.send("a", event("e1"))
      yield* Scope.close(scope, Exit.void)
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(seen(yield* load(store, "a")), ["e1"])
    })
  )
})

describe("Runtime on a disk that is full", () => {
  it.scoped("waits, says so, and goes on when there is room again", () =>
    Effect.gen(function* () {
      const sql = yield* Client.make()
      const store = yield* Effect.provideService(SqlStore.make(), SqlClient.SqlClient, sql)
      const runtime = yield* runtimeOn(store, {
        definitions: {
          // the rows before the limit have room enough
          recorder: (execution, cause) =>
            Effect.succeed({
              execution: { ...note(execution, cause), context: { seen: [cause.id], much: "x".repeat(100_000) } }
            })
        },
        pollInterval: "30 seconds",
        timerInterval: "30 seconds"
      })
      yield* runtime.create(execution("a"))
      yield* TestClock.adjust("30 seconds")
      const [size] = yield* sql<{ readonly page_count: number }>`PRAGMA page_count`
      yield* sql.unsafe(`PRAGMA max_page_count = ${(size?.page_count ?? 0) + 2}`)
      yield* runtime.send("a", event("e1"))
      yield* TestClock.adjust("2 minutes")
      yield* eventually(pendingIds(store), ["e1"])
      const health = yield* runtime.health
      assert.deepStrictEqual([health.live, health.ready], [true, false])
      assert.match(health.problems.join("; "), /^store: .*full/)
      assert.deepStrictEqual(yield* letters(runtime), [])
      assert.deepStrictEqual((yield* store.pendingOutbox()).failures, [])
      yield* sql`PRAGMA max_page_count = 100000`
      yield* TestClock.adjust("1 minute")
      yield* eventually(pendingIds(store), [])
      assert.deepStrictEqual(seen(yield* load(store, "a")), ["e1"])
      yield* eventually(readiness(runtime), well)
    })
  )
})

describe("ExecutionRuntime.commits", () => {
  it.scoped("costs nothing where nobody reads it", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      let listeners = 0
      const counting: Store = {
        ...store,
        listen: (listener) =>
          Effect.zipRight(
            Effect.acquireRelease(
              Effect.sync(() => listeners++),
              () => Effect.sync(() => listeners--)
            ),
            store.listen(listener)
          )
      }
      const runtime = yield* runtimeOn(counting, { definitions: { recorder } })
      const before = listeners
      const reading = yield* Effect.fork(Stream.runDrain(runtime.commits))
      yield* TestClock.adjust(0)
      assert.strictEqual(listeners, before + 1)
      yield* Fiber.interrupt(reading)
      assert.strictEqual(listeners, before)
    })
  )
})
