import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type * as Commit from "holdfast/Commit"
import type { Execution } from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import type * as SqlDriver from "holdfast/SqlDriver"
import { StoreRejected } from "holdfast/StoreError"
import * as drivers from "../support/drivers.js"
import * as Support from "../support/workers.js"

const { driven, event, eventually, execution, load, note, pendingIds, recorder, seen } = Support

type Store = ExecutionStore.ExecutionStore

const ids = Array.from({ length: 40 }, (_, i) => `together-${i}`)

const runtimeOn = <D extends Processor.Definitions>(
  store: Store,
  definitions: D,
  options: Omit<ExecutionRuntime.Options<D>, "definitions"> = {}
) =>
  Effect.provideService(
    ExecutionRuntime.make<D, never, never, never, never>({ concurrency: ids.length, ...options, definitions }),
    ExecutionStore.ExecutionStore,
    store
  )

/** Executions, each with so many events that wait for it. */
const fill = (store: Store, events: number, definitionId = "recorder") =>
  Effect.gen(function* () {
    for (const id of ids) yield* store.save(execution(id, { definitionId }))
    for (let n = 0; n < events; n++) {
      yield* store.enqueue(ids.map((targetId) => ({ targetId, event: event(`e${n}`) })))
    }
  })

const allSeen = (store: Store) => Effect.forEach(ids, (id) => Effect.map(load(store, id), seen))

const each = <A>(value: A): Array<A> => ids.map(() => value)

Support.onEach("Events to many executions at once", (makeStore) => {
  it.scoped("are all consumed, once and in their order", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 7)
      const runtime = yield* runtimeOn(store, { recorder }, { pageSize: 50, concurrency: 9 })
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(yield* allSeen(store), each(Array.from({ length: 7 }, (_, n) => `e${n}`)))
      for (const id of ids) assert.isTrue(yield* store.isProcessed(id, "e6"))
    })
  )

  it.scoped("do not wait for one whose transition waits, and it is committed when it is done", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 2)
      const gate = yield* Deferred.make<void>()
      const slow: Processor.Transition = (given, happened) =>
        given.id === ids[3]
          ? Effect.as(Deferred.await(gate), { execution: note(given, happened) })
          : recorder(given, happened)
      yield* runtimeOn(store, { recorder: slow })
      const expected = ids.map((id) => (id === ids[3] ? [] : ["e0", "e1"]))
      yield* eventually(allSeen(store), expected)
      yield* Deferred.succeed(gate, undefined)
      yield* eventually(allSeen(store), each(["e0", "e1"]))
      assert.deepStrictEqual(yield* pendingIds(store), [])
    })
  )

  it.scoped("are not hurt by neighbours that fail, die, are refused or end, which are treated as ever", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 2)
      const [fails, dies, refused, interrupted, suspended, finished] = ids
      const mixed: Processor.Transition<string> = (given, happened) => {
        switch (given.id) {
          case fails:
            return Effect.fail("no")
          case dies:
            throw new Error("a bug")
          case refused:
            return Effect.succeed({ execution: { ...given, context: { at: new Date(0) } } })
          case interrupted:
            return Effect.interrupt
          default:
            return recorder(given, happened)
        }
      }
      yield* store.save({ ...(yield* load(store, suspended ?? "")), status: "SUSPENDED" })
      yield* store.save({ ...(yield* load(store, finished ?? "")), status: "DONE" })
      yield* runtimeOn(store, { recorder: mixed }, { maxAttempts: 2 })
      const spoilt = new Set([fails, dies, refused, interrupted, suspended, finished])
      yield* eventually(
        allSeen(store),
        ids.map((id) => (spoilt.has(id) ? [] : ["e0", "e1"]))
      )
      yield* TestClock.adjust("1 hour")
      yield* eventually(
        Effect.map(store.deadLetters.list(), ({ entries }) =>
          entries.map(({ attempts, reason }) => `${attempts} ${reason}`).toSorted()
        ),
        ["1 rejected", "1 rejected", ...Array.from({ length: 6 }, () => "2 attempts")]
      )
      // What is suspended waits, and what has ended takes no more.
      assert.deepStrictEqual(yield* pendingIds(store), ["e0", "e1"])
      assert.strictEqual((yield* load(store, finished ?? "")).version, 2)
    })
  )

  it.scoped("run their transitions once for each attempt, whether these are done on the spot or not", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 1)
      const [waits, fails, throws, strays] = ids
      const calls = new Map<string, number>()
      const counted: Processor.Transition<string> = (given, happened) => {
        calls.set(given.id, (calls.get(given.id) ?? 0) + 1)
        switch (given.id) {
          case waits:
            return Effect.zipRight(Effect.yieldNow(), recorder(given, happened))
          case fails:
            return Effect.fail("no")
          case throws:
            throw new Error("a bug")
          case strays:
            return Effect.succeed({ execution: { ...given, id: "another" } })
          default:
            return recorder(given, happened)
        }
      }
      yield* runtimeOn(store, { recorder: counted }, { maxAttempts: 3 })
      yield* eventually(
        Effect.map(allSeen(store), (all) => all.filter((seen) => seen.length === 1).length),
        ids.length - 3
      )
      yield* TestClock.adjust("1 hour")
      yield* eventually(
        Effect.map(store.deadLetters.list(), ({ entries }) => entries.map(({ attempts }) => attempts)),
        [3, 3, 3]
      )
      assert.isTrue(Option.isNone(yield* store.load("another")))
      assert.deepStrictEqual(
        ids.map((id) => calls.get(id)),
        ids.map((id) => (id === fails || id === throws || id === strays ? 3 : 1))
      )
    })
  )

  it.scoped("are decided again where another commit came first", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 1)
      const rival = ids[5] ?? ""
      let raced = false
      // Somebody else advances the execution after it was loaded.
      const transition: Processor.Transition = (given, happened) =>
        Effect.suspend(() => {
          if (given.id !== rival || raced) return recorder(given, happened)
          raced = true
          return Effect.zipRight(Effect.orDie(store.save({ ...given, outcome: "rival" })), recorder(given, happened))
        })
      yield* runtimeOn(store, { recorder: transition })
      yield* driven(eventually(allSeen(store), each(["e0"])))
      const { outcome, processedEvents, version } = yield* load(store, rival)
      assert.deepStrictEqual([outcome, processedEvents, version], ["rival", 1, 3])
    })
  )

  it.scoped("are not run again where a crash came after the commit, and are where it came before", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 1)
      const [hangs = ""] = ids
      const hanging: Processor.Transition = (given, happened) =>
        given.id === hangs ? Effect.never : recorder(given, happened)
      const scope = yield* Scope.make()
      yield* Scope.extend(runtimeOn(store, { recorder: hanging }, { shutdownTimeout: 0 }), scope)
      yield* eventually(
        allSeen(store),
        ids.map((id) => (id === hangs ? [] : ["e0"]))
      )
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* pendingIds(store), ["e0"])
      const runtime = yield* runtimeOn(store, { recorder })
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(yield* allSeen(store), each(["e0"]))
    })
  )

  it.scoped("that make events of their own go on until there are none left", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 1)
      const chain: Processor.Transition = (given, happened) => {
        const next = note(given, happened)
        const count = seen(next).length
        const emits = count < 25 ? [{ targetId: given.id, event: event(`next-${count}`) }] : []
        return Effect.succeed({ execution: next, commit: { emits } })
      }
      const runtime = yield* runtimeOn(store, { recorder: chain })
      yield* driven(runtime.awaitIdle)
      const expected = ["e0", ...Array.from({ length: 24 }, (_, i) => `next-${i + 1}`)]
      assert.deepStrictEqual(yield* allSeen(store), each(expected))
    })
  )

  it.scoped("begin no more while the workers are paused", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 3)
      let pause = Effect.void
      const pausing: Processor.Transition = (given, happened) =>
        Effect.zipRight(
          Effect.suspend(() => (given.id === ids[0] ? pause : Effect.void)),
          recorder(given, happened)
        )
      const runtime = yield* runtimeOn(store, { recorder: pausing }, { shutdownTimeout: "1 minute" })
      pause = runtime.pause
      yield* eventually(allSeen(store), each(["e0"]))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* allSeen(store), each(["e0"]))
      pause = Effect.void
      yield* runtime.resume
      yield* eventually(allSeen(store), each(["e0", "e1", "e2"]))
    })
  )

  it.scoped("each say in the log of which execution and event they are", () => {
    const annotations: Array<unknown> = []
    const telling: Processor.Transition = (given, happened) =>
      Effect.zipRight(Effect.logInfo("told"), recorder(given, happened))
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 1)
      yield* runtimeOn(store, { recorder: telling })
      yield* eventually(allSeen(store), each(["e0"]))
      assert.sameDeepMembers(
        annotations,
        ids.map((executionId) => ({ package: "holdfast", module: "OutboxRelay", executionId, eventId: "e0" }))
      )
    }).pipe(Effect.provide(Support.annotations(annotations)))
  })

  it.scoped("are each committed by itself where somebody watches over the commits", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* fill(store, 1)
      const full = new StoreRejected({ operation: "commit", reason: "disk-full", detail: "full" })
      const watched = new Set<string>()
      let refuses = true
      const commit: Store["commit"] = (given: Execution, commit?: Commit.Commit) => {
        watched.add(given.id)
        return refuses ? Effect.fail(full) : store.commit(given, commit)
      }
      yield* runtimeOn({ ...store, commit }, { recorder })
      yield* eventually(
        Effect.sync(() => watched.size),
        ids.length
      )
      assert.deepStrictEqual(yield* allSeen(store), each([]))
      refuses = false
      yield* TestClock.adjust("1 minute")
      yield* eventually(allSeen(store), each(["e0"]))
    })
  )
})

for (const [name, makeDriver] of drivers.all) {
  const consumed = (expected: ReadonlyArray<string>, options?: SqlDriver.Options) =>
    Effect.gen(function* () {
      const { operations, store } = yield* drivers.counting(makeDriver, options)
      yield* fill(store, 1)
      operations.length = 0
      const runtime = yield* runtimeOn(store, { recorder })
      yield* driven(runtime.awaitIdle)
      assert.deepStrictEqual(yield* allSeen(store), each(["e0"]))
      assert.deepStrictEqual(
        operations.filter((operation) => operation !== "load"),
        expected
      )
      assert.isTrue(Option.isSome(yield* store.load(ids[0] ?? "")))
    })

  it.scoped(`Events to many executions that this process wrote take one transaction on ${name}`, () =>
    consumed([`${ids.length} commits`])
  )

  it.scoped(`Events to many executions that are not remembered take one read and one transaction on ${name}`, () =>
    consumed(["loadForEvents", `${ids.length} commits`], { executionCache: false })
  )
}
