import { assert, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import type { Execution } from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as SpawnRelay from "holdfast/SpawnRelay"
import { StoreUnavailable } from "holdfast/StoreError"
import * as Support from "../support/workers.js"

const { deaf, execution, load } = Support

const relayOn = <E = never, R = never>(store: ExecutionStore.ExecutionStore, options: SpawnRelay.Options<E, R> = {}) =>
  Effect.provideService(SpawnRelay.make(options), ExecutionStore.ExecutionStore, store)

const spawn = (childId: string, context = {}) => ({ childId, rootPath: "Root.Branch", context })

const pendingChildren = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.pendingSpawns({ limit: 1000 }), (page) => page.entries.map((entry) => entry.childId))

const parent = execution("p", { definitionId: "order", definitionFqn: "pkg.order" })

Support.onEach("SpawnRelay", (makeStore) => {
  it.scoped("creates the child, sends it its start and removes the spawn, in one commit", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const relay = yield* relayOn(store)
      yield* relay.awaitQuiet
      const notices: Array<ExecutionStore.Notice> = []
      yield* store.listen((notice) => notices.push(notice))
      yield* store.commit(parent, { spawns: [spawn("p:1", { qty: 2 })] })
      yield* relay.awaitQuiet
      const child = yield* load(store, "p:1")
      assert.deepInclude(child, {
        id: "p:1",
        version: 1,
        status: "PENDING",
        definitionId: "order",
        definitionFqn: "pkg.order",
        rootPath: "Root.Branch",
        context: { qty: 2 },
        parentId: "p",
        childId: "p:1"
      })
      assert.deepStrictEqual(yield* pendingChildren(store), [])
      const [start] = (yield* store.pendingOutbox()).entries
      assert.deepInclude(start, { targetId: "p:1" })
      assert.deepStrictEqual(start?.event, {
        id: "start:p:1",
        kind: "Start",
        createdTime: null,
        receivedTime: null,
        data: {},
        extra: {}
      })
      assert.deepStrictEqual(
        notices.map((notice) => [notice.spawns, notice.emits]),
        [
          [1, 0],
          [0, 1]
        ]
      )
    })
  )

  it.scoped("takes a child that another program made already for created: no second start, nothing overwritten", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* store.save(execution("p:1", { parentId: "p", childId: "p:1", context: { mine: true } }))
      yield* store.commit(parent, { spawns: [spawn("p:1")] })
      const relay = yield* relayOn(store)
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingChildren(store), [])
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
      assert.deepStrictEqual((yield* load(store, "p:1")).context, { mine: true })
    })
  )

  it.scoped("makes one child and one start where several relays work on the same spawns", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* store.commit(parent, { spawns: Array.from({ length: 20 }, (_, i) => spawn(`p:${i}`)) })
      const relays = yield* Effect.all([relayOn(store), relayOn(deaf(store)), relayOn(store)])
      yield* Effect.forEach(relays, (relay) => relay.awaitQuiet)
      assert.strictEqual((yield* Support.pendingIds(store)).length, 20)
      assert.strictEqual((yield* store.idsWithPrefix("p:")).length, 20)
    })
  )

  it.scoped("stops at no bad spawn: others are created, also behind pages of bad ones", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* store.commit(parent, {
        spawns: [
          ...Array.from({ length: 25 }, (_, i) => spawn(`bad${i}`)),
          spawn("dies"),
          spawn("other"),
          spawn("good")
        ]
      })
      let broken = true
      const relay = yield* relayOn(store, {
        pageSize: 10,
        retry: Schedule.spaced("1 second"),
        child: (entry, parent) =>
          Effect.gen(function* () {
            if (!broken || entry.childId === "good") return yield* SpawnRelay.defaultChild(entry, parent)
            if (entry.childId === "dies") return yield* Effect.die("a bug")
            if (entry.childId === "other") return execution("another id")
            return yield* Effect.fail(`no idea of ${entry.childId}`)
          })
      })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* store.idsWithPrefix(""), ["good", "p"])
      assert.strictEqual((yield* pendingChildren(store)).length, 27)
      assert.strictEqual((yield* relay.health).held, 27)
      assert.strictEqual(logs.lines.filter((line) => line.startsWith("WARN")).length, 0)
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(logs.lines.some((line) => line.includes('`child` made "another id"')))
      assert.strictEqual(logs.lines.filter((line) => line.startsWith("WARN")).length, 27)
      broken = false
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* pendingChildren(store), [])
      assert.strictEqual((yield* store.idsWithPrefix("")).length, 29)
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("gives up a spawn whose parent is gone, unless it is told what the child is", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      // as a purge leaves it that comes between the relay's look at the spawn and its look at the parent
      const orphaned: ExecutionStore.ExecutionStore = { ...store, load: () => Effect.succeedNone }
      yield* store.commit(parent, { spawns: [spawn("p:1")] })
      const relay = yield* relayOn(orphaned)
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingChildren(store), [])
      const [letter] = (yield* store.deadLetters.list()).entries
      assert.deepInclude(letter, { _tag: "Spawn", executionId: "p", reason: "rejected", attempts: 1 })
      assert.include(letter?.error, 'has no parent "p"')
      const knowing = yield* relayOn(orphaned, {
        child: (entry, parent) =>
          Effect.succeed(execution(entry.childId, { context: { orphan: Option.isNone(parent) } }))
      })
      yield* knowing.awaitQuiet
      yield* relay.pause
      assert.isTrue(yield* store.deadLetters.redrive(letter?.id ?? 0))
      yield* knowing.awaitQuiet
      assert.deepStrictEqual((yield* load(store, "p:1")).context, { orphan: true })
    })
  )

  it.scoped("waits while the parent is suspended, uncounted, and goes on at once when it is resumed", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { execution: suspended } = yield* store.commit(
        { ...parent, status: "SUSPENDED" },
        { spawns: [spawn("p:1"), spawn("p:2")] }
      )
      const relay = yield* relayOn(store, { maxAttempts: 1 })
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* pendingChildren(store), ["p:1", "p:2"])
      yield* store.save({ ...suspended, status: "RUNNING" })
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* pendingChildren(store), [])
      assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
    })
  )

  it.scoped("keeps attempts over restarts, gives up a poisoned spawn, and takes it up when it is redriven", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* store.commit(parent, { spawns: [spawn("p:bad"), spawn("p:good")] })
      yield* store.commit(execution("q"), { spawns: [spawn("q:1")] })
      let broken = true
      const run = (duration: Duration.DurationInput) =>
        Effect.scoped(
          Effect.gen(function* () {
            yield* relayOn(store, {
              retry: Schedule.spaced("1 second"),
              maxAttempts: 3,
              child: (entry, parent): Effect.Effect<Execution, string | SpawnRelay.ParentNotFound> =>
                broken && entry.childId === "p:bad" ? Effect.fail("poison") : SpawnRelay.defaultChild(entry, parent)
            })
            yield* TestClock.adjust(duration)
          })
        )
      yield* run("1 second")
      assert.deepStrictEqual(yield* pendingChildren(store), ["p:bad"])
      assert.deepStrictEqual(yield* store.idsWithPrefix(""), ["p", "p:good", "q", "q:1"])
      assert.strictEqual((yield* store.pendingSpawns()).failures[0]?.attempts, 2)
      yield* run("1 second")
      const [letter] = (yield* store.deadLetters.list({ kind: "Spawn" })).entries
      assert.deepInclude(letter, { executionId: "p", reason: "attempts", attempts: 3, error: "poison" })
      broken = false
      yield* store.deadLetters.redrive(letter?.id ?? 0)
      yield* run(0)
      assert.isTrue(Option.isSome(yield* store.load("p:bad")))
    })
  )

  it.scoped("finds by polling what other processes left", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const relay = yield* relayOn(deaf(store), { pollInterval: "10 seconds" })
      yield* relay.awaitQuiet
      yield* store.commit(parent, { spawns: [spawn("p:1")] })
      yield* TestClock.adjust("9999 millis")
      assert.deepStrictEqual(yield* pendingChildren(store), ["p:1"])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* pendingChildren(store), [])
    })
  )

  it.scoped("creates a child once where the commit's outcome was not known", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      let lost = false
      const ambiguous: ExecutionStore.ExecutionStore = {
        ...store,
        commit: (...args) =>
          Effect.flatMap(store.commit(...args), (committed) => {
            if (lost || committed.execution.id !== "p:1") return Effect.succeed(committed)
            lost = true
            return new StoreUnavailable({
              operation: "commit",
              executionId: "p:1",
              reason: "timeout",
              outcome: "unknown",
              detail: "no answer"
            })
          })
      }
      const relay = yield* relayOn(ambiguous)
      yield* ambiguous.commit(parent, { spawns: [spawn("p:1")] })
      yield* TestClock.adjust("2 seconds")
      yield* relay.awaitQuiet
      assert.isTrue(lost)
      assert.deepStrictEqual(yield* pendingChildren(store), [])
      assert.deepStrictEqual(yield* Support.pendingIds(store), ["start:p:1"])
      assert.strictEqual((yield* relay.health).held, 0)
    })
  )
})
