import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as DefinitionError from "holdfast/DefinitionError"
import * as Event from "holdfast/Event"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type * as Processor from "holdfast/Processor"
import * as SqliteStore from "holdfast/SqliteStore"
import type * as Step from "holdfast/Step"
import { StoreCorrupt, type StoreRejected, StoreUnavailable } from "holdfast/StoreError"
import * as Temp from "../support/temp.js"
import * as Support from "../support/workers.js"

const { armed, deaf, driven, event, eventually, execution, load, note, pendingIds, recorder, seen } = Support

type Store = ExecutionStore.ExecutionStore

const runtimeOn = <D extends Processor.Definitions>(store: Store, options: ExecutionRuntime.Options<D>) =>
  Effect.provideService(ExecutionRuntime.make(options), ExecutionStore.ExecutionStore, store)

/** A place for a store, which can be opened again and again, as after a crash. */
const backends: ReadonlyArray<
  readonly [name: string, place: Effect.Effect<Effect.Effect<Store, unknown, Scope.Scope>, never, Scope.Scope>]
> = [
  ["MemoryStore", Effect.map(Effect.orDie(MemoryStore.make()), (store) => Effect.succeed(store))],
  ["SqliteStore", Effect.map(Temp.database, (filename) => SqliteStore.make({ filename }))]
]

class Declined extends Schema.TaggedError<Declined>()("Declined", { why: Schema.String }) {
  override get message(): string {
    return `declined: ${this.why}`
  }
}

/** Spawns `count` children at its start and is done when all of them have finished; a child is done at its start. */
const family: Processor.Transition = (execution, cause) =>
  Effect.sync((): Step.Step => {
    const next = note(execution, cause)
    if (cause.kind === "Start" && execution.parentId === null) {
      const spawns = Array.from({ length: Number(cause.data["count"]) }, (_, i) => ({
        childId: `${execution.id}:${i}`,
        rootPath: "",
        context: {}
      }))
      return { execution: next, commit: { spawns } }
    }
    if (cause.kind === "Start") {
      const finished = Event.make({ id: `finished:${execution.id}`, kind: "Finished" })
      return {
        execution: { ...next, status: "DONE" },
        commit: { emits: [{ targetId: execution.parentId, event: finished }] }
      }
    }
    const all = seen(next).filter((id) => id.startsWith("finished:")).length
    return { execution: all === Number(execution.context["expected"]) ? { ...next, status: "DONE" } : next }
  })

for (const [name, place] of backends) {
  describe(`Runtime on ${name}`, () => {
    it.scoped("starts an execution, delivers what is sent to it, and is idle then", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const runtime = yield* runtimeOn(store, { definitions: { recorder } })
        const committed = yield* runtime.start(execution("a"), { qty: 2 })
        assert.strictEqual(committed.execution.version, 1)
        assert.strictEqual(committed.seqs.length, 1)
        const first = yield* runtime.send("a", event("e1"))
        const second = yield* runtime.send("a", event("e2"))
        assert.isAbove(second, first)
        yield* runtime.awaitIdle
        const stored = yield* load(store, "a")
        assert.deepStrictEqual(seen(stored), ["start:a", "e1", "e2"])
        assert.strictEqual(stored.processedEvents, 3)
        assert.strictEqual(stored.version, 4)
      })
    )

    it.scoped("lets nobody from outside take the id of a timer or of another's event", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const runtime = yield* runtimeOn(store, { definitions: { recorder } })
        yield* runtime.create(execution("a"), { timers: [Commit.scheduleTimer("t", 60)] })
        const timeout = Event.timeoutId("a", "t", 60)
        for (const id of [timeout, "emit:a:0:1:0", "finished:c:0:1", "cancel:a:1", "start:b"]) {
          for (const refusal of [
            yield* Effect.flip(runtime.send("a", event(id))),
            yield* Effect.flip(runtime.process("a", event(id)))
          ]) {
            assert.deepInclude(refusal, { _tag: "StoreRejected", reason: "invalid-input" })
            assert.include(refusal.message, "give it a namespace (Event.externalId)")
          }
        }
        yield* runtime.process("a", Event.start("a"))
        yield* runtime.process("a", event("cancel:other:1"), { reservedIds: "accept" })
        yield* runtime.send("a", event(Event.externalId("shop", timeout)))
        yield* runtime.send("a", event("emit:other:0:1:0"), { reservedIds: "accept" })
        yield* runtime.awaitIdle
        yield* TestClock.adjust("60 seconds")
        const all = ["start:a", `ext:shop:${timeout}`, "emit:other:0:1:0", "cancel:other:1", timeout]
        yield* eventually(
          Effect.map(load(store, "a"), (found) => seen(found).toSorted()),
          all.toSorted()
        )
      })
    )

    it.scoped("refuses to create or start what exists already, and writes nothing then", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const runtime = yield* runtimeOn(deaf(store), { definitions: { recorder } })
        yield* runtime.create(execution("a"), { timers: [Commit.scheduleTimer("t", 100)] })
        const error = new DefinitionError.AlreadyExists({ executionId: "a" })
        const rival = { ...execution("a"), version: 7 }
        Support.assertError(yield* Effect.flip(runtime.create(rival)), error)
        Support.assertError(yield* Effect.flip(runtime.start(execution("a"))), error)
        assert.strictEqual((yield* load(store, "a")).version, 1)
        assert.deepStrictEqual(yield* pendingIds(store), [])
        assert.deepStrictEqual(yield* armed(store), [["a", "t", 100]])
      })
    )

    it.scoped(
      "keeps an event for an execution that does not exist, where it is told to, and delivers it when it does",
      () =>
        Effect.gen(function* () {
          const store = yield* Effect.flatten(place)
          const runtime = yield* runtimeOn(store, { definitions: { recorder }, unknownTarget: "wait" })
          yield* runtime.send("late", event("e1"))
          yield* runtime.send("late", event("e2"))
          yield* runtime.start(execution("other"))
          yield* TestClock.adjust("3 seconds")
          yield* eventually(pendingIds(store), ["e1", "e2"])
          yield* eventually(
            Effect.map(runtime.health, (health) => health.outbox.held),
            1
          )
          yield* runtime.create(execution("late"))
          yield* runtime.awaitIdle
          assert.deepStrictEqual(seen(yield* load(store, "late")), ["e1", "e2"])
          assert.strictEqual((yield* runtime.health).outbox.held, 0)
        })
    )

    it.scoped("creates children, which start, finish and are joined", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const runtime = yield* runtimeOn(store, { definitions: { recorder: family }, pageSize: 10 })
        yield* runtime.start(execution("p", { context: { expected: 25 } }), { count: 25 })
        yield* runtime.awaitIdle
        const parent = yield* load(store, "p")
        assert.strictEqual(parent.status, "DONE")
        assert.strictEqual(parent.processedEvents, 26)
        const children = (yield* store.listExecutions({ status: ["DONE"], limit: 1000 })).items
        assert.strictEqual(children.filter((child) => child.parentId === "p").length, 25)
        assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [])
      })
    )

    it.scoped("fires timers, and removes those of executions that are finished", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const runtime = yield* runtimeOn(store, { definitions: { recorder } })
        yield* runtime.create(execution("a"), { timers: [Commit.scheduleTimer("t", 60)] })
        yield* runtime.create(execution("done", { status: "DONE" }), { timers: [Commit.scheduleTimer("t", 61)] })
        yield* TestClock.adjust("59999 millis")
        assert.deepStrictEqual(seen(yield* load(store, "a")), [])
        yield* TestClock.adjust("1 millis")
        yield* eventually(Effect.map(load(store, "a"), seen), ["timeout:a:t:60.0"])
        yield* TestClock.adjust("1 second")
        yield* eventually(armed(store), [])
        assert.strictEqual((yield* load(store, "done")).version, 1)
      })
    )

    it.scoped("fires a timer in its time while the outbox is never empty", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const fired = yield* Deferred.make<number>()
        let rounds = 0
        yield* store.listen(({ committed }) => {
          if (Option.exists(committed, ({ execution }) => execution.id === "a" && execution.version === 2)) {
            Deferred.unsafeDone(fired, Effect.succeed(rounds))
          }
        })
        const runtime = yield* runtimeOn(store, {
          concurrency: 1,
          definitions: {
            recorder,
            // each event makes the next one, for ever
            busy: (execution) =>
              Effect.sync(() => ({
                execution,
                commit: { emits: [{ targetId: execution.id, event: event(`next${rounds++}`) }] }
              }))
          }
        })
        yield* runtime.start(execution("busy", { definitionId: "busy" }))
        yield* runtime.create(execution("a"), { timers: [Commit.scheduleTimer("t", 0)] })
        assert.isBelow(yield* Deferred.await(fired), 100)
        assert.strictEqual((yield* pendingIds(store)).length, 1)
        assert.deepStrictEqual(yield* armed(store), [])
      })
    )

    it.scoped("keeps the events of a suspended execution, and delivers them at once when it is resumed", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const runtime = yield* runtimeOn(store, { definitions: { recorder } })
        const { execution: suspended } = yield* runtime.create(execution("a", { status: "SUSPENDED" }), {
          timers: [Commit.scheduleTimer("t", 1)]
        })
        yield* runtime.send("a", event("e1"))
        yield* TestClock.adjust("10 seconds")
        yield* eventually(
          Effect.map(runtime.health, ({ outbox, timers }) => [outbox.held, timers.held]),
          [1, 1]
        )
        assert.deepStrictEqual(yield* pendingIds(store), ["e1"])
        assert.deepStrictEqual(yield* armed(store), [["a", "t", 1]])
        yield* store.save({ ...suspended, status: "RUNNING" })
        // the two may meet, and then one of them waits a little
        yield* driven(runtime.awaitIdle)
        yield* driven(eventually(armed(store), []))
        assert.deepStrictEqual(Array.from(seen(yield* load(store, "a"))).sort(), ["e1", "timeout:a:t:1.0"])
      })
    )

    it.scoped("skips and removes what a crash between a commit and its acknowledgement left", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        // The commit is there, the work that it came from too, and the process gets no further.
        const crashing: Store = {
          ...store,
          commit: (execution, commit = {}) => {
            const { ack, ...rest } = commit
            return Effect.zipLeft(store.commit(execution, rest), ack === undefined ? Effect.void : Effect.never)
          }
        }
        yield* Effect.scoped(
          Effect.gen(function* () {
            const runtime = yield* runtimeOn(crashing, { definitions: { recorder: family }, shutdownTimeout: 0 })
            yield* runtime.start(execution("p", { context: { expected: 2 } }), { count: 2 })
            const left = ["finished:p:0", "finished:p:1", "start:p", "start:p:0", "start:p:1"]
            yield* eventually(
              Effect.map(pendingIds(store), (ids) => ids.toSorted()),
              left
            )
          })
        )
        assert.strictEqual((yield* store.pendingSpawns()).entries.length, 2)
        assert.deepStrictEqual(seen(yield* load(store, "p")), ["start:p"])
        const runtime = yield* runtimeOn(store, { definitions: { recorder: family } })
        yield* runtime.awaitIdle
        const parent = yield* load(store, "p")
        assert.deepStrictEqual(Array.from(seen(parent)).sort(), ["finished:p:0", "finished:p:1", "start:p"])
        assert.strictEqual(parent.status, "DONE")
        assert.strictEqual(parent.processedEvents, 3)
        assert.deepStrictEqual(seen(yield* load(store, "p:0")), ["start:p:0"])
        assert.deepStrictEqual(yield* pendingIds(store), [])
        assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [])
      })
    )

    it.scoped("picks up entries, spawns and timers that a crash left, without anybody committing", () =>
      Effect.gen(function* () {
        const open = yield* place
        yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* open
            const began = yield* Deferred.make<void>()
            const runtime = yield* runtimeOn(store, {
              shutdownTimeout: 0,
              definitions: {
                recorder: () => Effect.zipRight(Deferred.succeed(began, undefined), Effect.never)
              }
            })
            yield* runtime.start(execution("a"), { count: 1 })
            yield* runtime.send("a", event("e1"))
            yield* Deferred.await(began)
            // nobody listens any more
            yield* store.commit(execution("p"), {
              timers: [Commit.scheduleTimer("t", 60)],
              spawns: [{ childId: "p:1", rootPath: "", context: {} }]
            })
          })
        )
        yield* TestClock.setTime(90_000)
        const store = yield* open
        const runtime = yield* runtimeOn(store, { definitions: { recorder } })
        yield* driven(runtime.awaitIdle)
        assert.deepStrictEqual(seen(yield* load(store, "a")), ["start:a", "e1"])
        assert.deepStrictEqual(seen(yield* load(store, "p:1")), ["start:p:1"])
        yield* eventually(Effect.map(load(store, "p"), seen), ["timeout:p:t:60.0"])
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* load(store, "p")).processedEvents, 1)
      })
    )

    it.scoped("processes each event once and in order where two processes share the store", () =>
      Effect.gen(function* () {
        const open = yield* place
        const mine = yield* open
        const theirs = deaf(yield* open)
        const here = yield* runtimeOn(mine, { definitions: { recorder }, pageSize: 7 })
        const there = yield* runtimeOn(theirs, { definitions: { recorder }, pollInterval: "10 millis", pageSize: 5 })
        const targets = ["a", "b", "c"]
        yield* Effect.forEach(targets, (id) => mine.save(execution(id)))
        const ids = Array.from({ length: 60 }, (_, i) => `e${i}`)
        yield* driven(Effect.forEach(ids, (id, i) => here.send(targets[i % 3] ?? "a", event(id)), { discard: true }))
        yield* driven(Effect.all([here.awaitIdle, there.awaitIdle]))
        for (const [n, target] of targets.entries()) {
          const stored = yield* load(mine, target)
          assert.deepStrictEqual(
            seen(stored),
            ids.filter((_, i) => i % 3 === n)
          )
          assert.strictEqual(stored.processedEvents, 20)
        }
      })
    )

    it.scoped("at the end of its scope finishes the steps that run, all workers at once, and leaves the rest", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const began = yield* Queue.unbounded<string>()
        const gate = yield* Deferred.make<void>()
        const scope = yield* Scope.make()
        const runtime = yield* runtimeOn(store, {
          definitions: {
            recorder: (execution, cause) =>
              began
                .offer(cause.id)
                .pipe(Effect.zipRight(Deferred.await(gate)), Effect.zipRight(recorder(execution, cause)))
          }
        }).pipe(Scope.extend(scope))
        yield* runtime.create(execution("a"))
        yield* runtime.create(execution("b"), { timers: [Commit.scheduleTimer("t", 0), Commit.scheduleTimer("u", 0)] })
        yield* runtime.send("a", event("e1"))
        yield* runtime.send("a", event("e2"))
        assert.deepStrictEqual(Array.from(yield* Queue.takeN(began, 2)).sort(), ["e1", "timeout:b:t:0.0"])
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* TestClock.adjust("9 seconds")
        assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(closing)
        assert.deepStrictEqual(seen(yield* load(store, "a")), ["e1"])
        assert.deepStrictEqual(yield* pendingIds(store), ["e2"])
        assert.deepStrictEqual(seen(yield* load(store, "b")), ["timeout:b:t:0.0"])
        assert.deepStrictEqual(yield* armed(store), [["b", "u", 0]])
      })
    )

    it.scoped("bounds the shutdown: what takes longer is interrupted, and run again by the next runtime", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatten(place)
        const began = yield* Queue.unbounded<string>()
        const scope = yield* Scope.make()
        const stuck = yield* runtimeOn(store, {
          shutdownTimeout: "2 seconds",
          definitions: { recorder: (_, cause) => Effect.zipRight(began.offer(cause.id), Effect.never) }
        }).pipe(Scope.extend(scope))
        yield* stuck.create(execution("b"), { timers: [Commit.scheduleTimer("t", 0)] })
        yield* stuck.start(execution("a"))
        yield* Queue.takeN(began, 2)
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* TestClock.adjust("1999 millis")
        assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
        yield* driven(Fiber.join(closing))
        const runtime = yield* runtimeOn(store, { definitions: { recorder } })
        yield* runtime.awaitIdle
        assert.deepStrictEqual(seen(yield* load(store, "a")), ["start:a"])
        yield* eventually(Effect.map(load(store, "b"), seen), ["timeout:b:t:0.0"])
      })
    )
  })
}

describe("Runtime", () => {
  it.scoped("removes the timer of an execution that does not exist", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* SqliteStore.make({ filename })
      // as another program may leave it
      const database = new Database(filename)
      database.exec("INSERT INTO harel_timers (execution_id, path, fire_at) VALUES ('gone', 't', 1.5)")
      database.close()
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* TestClock.adjust("1499 millis")
      assert.deepStrictEqual(yield* armed(store), [["gone", "t", 1.5]])
      yield* TestClock.adjust("1 millis")
      yield* eventually(armed(store), [])
      assert.strictEqual((yield* runtime.health).timers.held, 0)
    })
  )

  it.scoped("gives events without a target to deliverExternal, in order, and removes them", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const out: Array<string> = []
      let down = true
      const runtime = yield* Effect.provideService(
        ExecutionRuntime.make({
          definitions: { recorder },
          deliverExternal: (entry) =>
            Effect.suspend(() => (down ? Effect.fail("down") : Effect.sync(() => void out.push(entry.event.id))))
        }),
        ExecutionStore.ExecutionStore,
        store
      )
      yield* runtime.send(null, event("x1"))
      yield* runtime.send(null, event("x2"))
      yield* runtime.start(execution("a"))
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* pendingIds(store), ["x1", "x2"])
      down = false
      // when it is tried again is a matter of chance
      yield* TestClock.adjust("1 minute")
      yield* runtime.awaitIdle
      assert.deepStrictEqual(out, ["x1", "x2"])
    })
  )

  it.scoped("removes events without a target where nobody takes them", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* runtime.send(null, event("x1"))
      yield* runtime.awaitIdle
      assert.deepStrictEqual(yield* pendingIds(store), [])
      assert.isTrue(Option.isNone((yield* runtime.health).outbox.lastError))
    })
  )

  it.scoped("tells a transition's failure from the store's, and goes on with other executions", () => {
    const logs = Support.logs()
    return Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const runtime = yield* runtimeOn(store, {
        definitions: { recorder, strict: () => new Declined({ why: "no money" }) }
      })
      yield* runtime.create(execution("bad", { definitionId: "strict" }))
      yield* runtime.create(execution("good"))
      const error = yield* Effect.flip(runtime.process("bad", event("e1")))
      assert.strictEqual(error._tag, "TransitionFailed")
      assert.include(error.message, "declined: no money")
      assert.isTrue(error._tag === "TransitionFailed" && error.cause instanceof Declined)
      yield* runtime.send("bad", event("e2"))
      yield* runtime.send("good", event("e3"))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(seen(yield* load(store, "good")), ["e3"])
      assert.deepStrictEqual(yield* pendingIds(store), ["e2"])
      const warnings = logs.lines.filter((line) => line.startsWith("WARN"))
      assert.strictEqual(warnings.length, 1)
      assert.include(warnings[0], "declined: no money")
    }).pipe(Effect.provide(logs.layer))
  })

  it.scoped("processes past the outbox, and skips what the outbox brings later", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* runtime.create(execution("a"))
      assert.strictEqual((yield* runtime.process("a", event("e1")))._tag, "Advanced")
      yield* runtime.send("a", event("e1"))
      yield* runtime.awaitIdle
      assert.deepStrictEqual(seen(yield* load(store, "a")), ["e1"])
      assert.deepStrictEqual(yield* pendingIds(store), [])
    })
  )

  it.scoped("makes children as it is told", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const runtime = yield* Effect.provideService(
        ExecutionRuntime.make({
          definitions: { recorder, family },
          child: (spawn, parent) =>
            Effect.succeed(
              execution(spawn.childId, {
                parentId: spawn.parentId,
                priority: Option.match(parent, { onNone: () => 0, onSome: (parent) => parent.priority })
              })
            )
        }),
        ExecutionStore.ExecutionStore,
        store
      )
      yield* runtime.start(execution("p", { definitionId: "family", priority: 3 }), { count: 2 })
      yield* runtime.awaitIdle
      const child = yield* load(store, "p:1")
      assert.deepStrictEqual([child.definitionId, child.priority, seen(child)], ["recorder", 3, ["start:p:1"]])
    })
  )

  it.scoped("is idle not before the last of a chain of events is done", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const runtime = yield* runtimeOn(store, {
        definitions: {
          recorder: (execution, cause) =>
            Effect.as(Effect.repeatN(Effect.yieldNow(), 5), {
              execution: note(execution, cause),
              ...(execution.version < 30
                ? { commit: { emits: [{ targetId: execution.id, event: event(`e${execution.version}`) }] } }
                : undefined)
            })
        }
      })
      yield* runtime.start(execution("a"))
      yield* runtime.awaitIdle
      assert.strictEqual((yield* load(store, "a")).version, 31)
      assert.deepStrictEqual(yield* pendingIds(store), [])
      yield* runtime.awaitIdle
    })
  )

  it.scoped("is not idle where something is written between its looks at the store", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      let writes = 1
      const runtime = yield* runtimeOn(
        {
          ...store,
          // the second look is at the spawns
          pendingSpawns: (query) =>
            query?.limit === 100 || writes-- <= 0
              ? store.pendingSpawns(query)
              : Effect.zipRight(
                  store.commit(execution("a"), { emits: [{ targetId: "a", event: event("e1") }] }),
                  store.pendingSpawns(query)
                ).pipe(Effect.catchTag("StoreConflict", () => store.pendingSpawns(query)))
        },
        { definitions: { recorder } }
      )
      yield* runtime.awaitIdle
      assert.isBelow(writes, 1)
      assert.deepStrictEqual(seen(yield* load(store, "a")), ["e1"])
    })
  )

  it.scoped("is not idle while an event cannot be delivered, and is when it was", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const runtime = yield* runtimeOn(store, { definitions: { recorder }, unknownTarget: "wait" })
      yield* runtime.send("late", event("e1"))
      const idle = yield* Effect.fork(runtime.awaitIdle)
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Option.isNone(yield* Fiber.poll(idle)))
      yield* runtime.create(execution("late"))
      yield* Fiber.join(idle)
      assert.deepStrictEqual(seen(yield* load(store, "late")), ["e1"])
    })
  )

  it.scoped("is idle where only rows that do not decode are left", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const corrupt = Array.from(
        { length: 11 },
        (_, i) =>
          new StoreCorrupt({ operation: "pendingOutbox", table: "outbox", key: String(i + 1), problem: "not JSON" })
      )
      const runtime = yield* runtimeOn(
        {
          ...store,
          pendingOutbox: (query = {}) => {
            const after = query.after ?? 0
            const rows = corrupt.slice(after, after + (query.limit ?? 100))
            const next = after + rows.length < corrupt.length ? Option.some(after + rows.length) : Option.none()
            return Effect.succeed({ entries: [], corrupt: rows, failures: [], next, reached: Option.none() })
          }
        },
        { definitions: { recorder } }
      )
      yield* runtime.awaitIdle
      // they are nobody's work, where they cannot be moved to the dead letters
      assert.strictEqual((yield* runtime.health).outbox.backlog, 0)
    })
  )

  it.scoped("tells a failed look at the store from idleness", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const down = new StoreUnavailable({
        operation: "pendingSpawns",
        reason: "connection",
        outcome: "not-applied",
        detail: "the server is away"
      })
      let broken = false
      const runtime = yield* runtimeOn(
        {
          ...store,
          pendingSpawns: (query) => Effect.suspend(() => (broken ? Effect.fail(down) : store.pendingSpawns(query)))
        },
        { definitions: { recorder } }
      )
      yield* runtime.awaitIdle
      broken = true
      assert.strictEqual(yield* Effect.flip(runtime.awaitIdle), down)
    })
  )

  it.scoped("hands up a defect of a worker", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const runtime = yield* runtimeOn(
        { ...store, dueTimers: () => Effect.die("a bug") },
        { definitions: { recorder } }
      )
      assert.deepStrictEqual(yield* Effect.exit(runtime.awaitFatal), Exit.die("a bug"))
    })
  )

  it.scoped("takes definitions with failures and services of their own, as a layer", () => {
    class Price extends Context.Tag("test/Price")<Price, number>() {}
    class Stock extends Context.Tag("test/Stock")<Stock, Array<string>>() {}
    const live: Layer.Layer<
      ExecutionRuntime.ExecutionRuntime,
      StoreRejected,
      ExecutionStore.ExecutionStore | Price | Stock
    > = ExecutionRuntime.layer({
      definitions: {
        priced: (execution, cause) =>
          Effect.gen(function* () {
            if (cause.kind === "Refuse") return yield* new Declined({ why: "refused" })
            return { execution: { ...note(execution, cause), context: { price: yield* Price } } }
          }),
        recorder,
        failing: () => Effect.fail("just text" as const)
      },
      deliverExternal: (entry) => Effect.map(Stock, (stock) => void stock.push(entry.event.id))
    })
    const stock: Array<string> = []
    return Effect.gen(function* () {
      const runtime = yield* ExecutionRuntime.ExecutionRuntime
      const store = yield* ExecutionStore.ExecutionStore
      yield* runtime.start(execution("a", { definitionId: "priced" }))
      yield* runtime.send(null, event("x"))
      yield* runtime.awaitIdle
      assert.deepStrictEqual((yield* load(store, "a")).context, { price: 7 })
      assert.deepStrictEqual(stock, ["x"])
      yield* runtime.create(execution("b", { definitionId: "failing" }))
      assert.include((yield* Effect.flip(runtime.process("b", event("e1")))).message, "just text")
    }).pipe(
      Effect.provide(
        live.pipe(
          Layer.provideMerge(MemoryStore.layer),
          Layer.provide([Layer.succeed(Price, 7), Layer.succeed(Stock, stock)])
        )
      )
    )
  })

  it.scoped("makes spans of processing alone, each the root of its trace, and none by polling", () => {
    const spans = Support.spans()
    const traced = Effect.map(
      MemoryStore.make(),
      (store): Store => ({
        ...store,
        pendingOutbox: (query) => Effect.withSpan(store.pendingOutbox(query), "poll"),
        pendingSpawns: (query) => Effect.withSpan(store.pendingSpawns(query), "poll"),
        dueTimers: (...args) => Effect.withSpan(store.dueTimers(...args), "poll")
      })
    )
    const live = ExecutionRuntime.layer({ definitions: { recorder } }).pipe(
      Layer.provideMerge(Layer.effect(ExecutionStore.ExecutionStore, traced))
    )
    return Effect.gen(function* () {
      const runtime = yield* ExecutionRuntime.ExecutionRuntime
      yield* runtime.start(execution("a"))
      yield* runtime.awaitIdle
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(spans.started, [
        { name: "main", root: true },
        { name: "ExecutionStore.commit", root: false },
        { name: "OutboxRelay.deliver", root: true },
        { name: "Processor.process", root: false },
        { name: "ExecutionStore.commit", root: false }
      ])
    }).pipe(Effect.provide(live), Effect.withSpan("main"), Effect.provide(spans.layer))
  })

  it.scoped("annotates what the workers log", () => {
    const annotations: Array<unknown> = []
    return Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* runtime.send("nobody", event("e1"))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(annotations, [
        { package: "holdfast", module: "OutboxRelay", executionId: "nobody", eventId: "e1", seq: 1 }
      ])
    }).pipe(Effect.provide(Support.annotations(annotations)))
  })
})
