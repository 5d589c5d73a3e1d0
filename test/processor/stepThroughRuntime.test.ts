import { copyFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Processor from "holdfast/Processor"
import * as SpawnRelay from "holdfast/SpawnRelay"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Step from "holdfast/Step"
import { StoreUnavailable } from "holdfast/StoreError"
import * as Temp from "../support/temp.js"
import * as Support from "../support/workers.js"

const { armed, driven, event, eventually, execution, load, onEach, pendingIds, recorder, seen } = Support

type Store = ExecutionStore.ExecutionStore

const Work = Schema.Struct({ price: Schema.Number })

/** Is done at its start, with what its work costs, or fails by an outcome where that is too much. */
const worker = Processor.transition({
  context: Work,
  transition: (execution, event) =>
    Effect.map(Step.make(execution, event), (step) => {
      const { price } = execution.context
      return step.pipe(Step.finish(price > 100 ? "refused" : { outcome: "success", result: { cost: price * 2 } }))
    })
})

/** Has its prices worked on side by side, and is done with their sum when all have finished. */
const crew: Processor.Transition = (execution, event) =>
  Effect.map(Step.make(execution, event), (step) => {
    if (event.kind === "Start") {
      const prices = Array.isArray(execution.context["prices"]) ? execution.context["prices"] : []
      return prices.reduce<Step.Builder>(
        (step, price) => Step.spawn(step, "Work", { definition: "worker", context: { price } }),
        Step.advance(step, "Work")
      )
    }
    const joined = Step.join(step)
    if (!Step.isJoined(joined, "Work")) return joined
    const children = Step.children(joined, "Work")
    return joined.pipe(
      Step.updateContext((context) => ({
        ...context,
        total: children.reduce((sum, { result }) => sum + Number(result["cost"] ?? 0), 0),
        outcomes: children.map(({ outcome }) => outcome)
      })),
      Step.advance("Done"),
      Step.finish("success")
    )
  })

onEach("A built step", (make) => {
  const on = <A, E, R>(effect: (store: Store) => Effect.Effect<A, E, R>) =>
    Effect.scoped(
      Effect.flatMap(make, (store) => Effect.provideService(effect(store), ExecutionStore.ExecutionStore, store))
    )

  it.effect("is written as it says: execution, events, delayed events, timers, children, trace", () =>
    on((store) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("100500 millis")
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution, event) =>
              Effect.map(Step.make(execution, event), (step) =>
                step.pipe(
                  Step.advance({ path: "Work.Pick", context: { qty: 3 } }),
                  Step.emit("b", { id: "now", kind: "Now" }),
                  Step.emitAfter("b", "1 hour", { id: "later", kind: "Later" }),
                  Step.armTimer("kept", "1 minute"),
                  Step.armTimer("gone", "1 minute"),
                  Step.cancelTimer("gone"),
                  Step.spawn("k", { context: { n: 1 } }),
                  Step.trace({ actions: ["price"], assigned: { qty: 3 } })
                )
              )
          }
        })
        yield* store.save(execution("a", { activePath: "Cart" }))
        const processed = yield* process("a", event("e1", { x: 1 }))
        assert.strictEqual(processed._tag === "Advanced" && processed.committed.seqs.length, 1)
        const stored = yield* load(store, "a")
        assert.strictEqual(stored.status, "RUNNING")
        assert.strictEqual(stored.activePath, "Work.Pick")
        assert.deepStrictEqual(stored.history, { "": "Work", Work: "Work.Pick" })
        assert.deepStrictEqual(stored.context, { qty: 3 })
        assert.deepStrictEqual(Object.keys(stored.children), ["a:k:0"])
        assert.deepStrictEqual(stored.invokeSeq, { k: 1 })
        assert.deepStrictEqual(yield* pendingIds(store), ["now"])
        assert.deepStrictEqual(yield* store.delayed.next, Option.some(3700.5))
        assert.deepStrictEqual(yield* armed(store), [["a", "kept", 160.5]])
        assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [
          { seq: 1, parentId: "a", childId: "a:k:0", rootPath: "k", context: { n: 1 } }
        ])
        assert.deepStrictEqual((yield* store.readTrace("a")).entries, [
          {
            index: 0,
            eventKind: "Happened",
            eventData: { x: 1 },
            fromPath: "Cart",
            toPath: "Work.Pick",
            actions: ["price"],
            contextOut: { qty: 3 },
            timestamp: 100.5,
            assigned: { qty: 3 },
            extra: {}
          }
        ])
      })
    )
  )

  it.effect("spawns children of another definition, which finish, are joined and tell what they cost", () =>
    on((store) =>
      Effect.gen(function* () {
        const runtime = yield* ExecutionRuntime.make({ definitions: { crew, worker } })
        const prices = [1, 2, 500, 4]
        yield* runtime.start(execution("p", { definitionId: "crew", context: { prices }, priority: 3 }))
        yield* driven(runtime.awaitIdle)
        const parent = yield* load(store, "p")
        assert.strictEqual(parent.status, "DONE")
        assert.strictEqual(parent.outcome, "success")
        assert.deepStrictEqual(parent.context, {
          prices,
          total: 14,
          outcomes: ["success", "success", "refused", "success"]
        })
        const child = yield* load(store, "p:Work:2")
        assert.deepInclude(child, {
          definitionId: "worker",
          definitionFqn: "worker",
          parentId: "p",
          childId: "p:Work:2",
          priority: 3,
          status: "DONE",
          outcome: "refused"
        })
        assert.deepStrictEqual(child.context, { price: 500 })
        assert.deepStrictEqual(parent.children["p:Work:2"], {
          rootPath: "",
          finished: true,
          outcome: "refused",
          result: {},
          submachine: true,
          key: "Work",
          extra: {}
        })
        assert.deepStrictEqual(yield* pendingIds(store), [])
      })
    )
  )

  it.effect("spawns children that run a part of its own definition", () =>
    on((store) =>
      Effect.gen(function* () {
        const checkout: Processor.Transition = (execution, event) =>
          Effect.map(Step.make(execution, event), (step) => {
            if (execution.rootPath !== "") {
              return step.pipe(Step.advance(`${execution.rootPath}.Cleared`), Step.finish({ result: { score: 7 } }))
            }
            if (event.kind === "Start") {
              return step.pipe(Step.advance("Verifying"), Step.spawn("Verifying.Fraud"), Step.spawn("Verifying.Stock"))
            }
            const joined = Step.join(step)
            return Step.isJoined(joined) ? joined.pipe(Step.finish("success")) : joined
          })
        const runtime = yield* ExecutionRuntime.make({ definitions: { checkout } })
        yield* runtime.start(execution("p", { definitionId: "checkout" }))
        yield* driven(runtime.awaitIdle)
        assert.strictEqual((yield* load(store, "p")).status, "DONE")
        const region = yield* load(store, "p:Verifying.Fraud:0")
        assert.deepInclude(region, { definitionId: "checkout", rootPath: "Verifying.Fraud", status: "DONE" })
        assert.strictEqual(region.activePath, "Verifying.Fraud.Cleared")
        assert.deepStrictEqual(region.history, { "Verifying.Fraud": "Verifying.Fraud.Cleared" })
      })
    )
  )

  it.effect("delivers a delayed event and fires a timer in their time, and not before", () =>
    on((store) =>
      Effect.gen(function* () {
        const runtime = yield* ExecutionRuntime.make({
          definitions: {
            recorder: (execution, event) =>
              event.kind === "Start"
                ? Effect.map(Step.make(execution, event), (step) =>
                    step.pipe(
                      Step.advance("Waiting"),
                      Step.emitAfter(execution.id, "30 seconds", { id: "later", kind: "Later" }),
                      Step.armTimer("t", "1 minute")
                    )
                  )
                : recorder(execution, event)
          }
        })
        yield* runtime.start(execution("a"))
        yield* eventually(
          Effect.map(load(store, "a"), ({ activePath }) => activePath),
          "Waiting"
        )
        yield* TestClock.adjust("29 seconds")
        assert.deepStrictEqual(seen(yield* load(store, "a")), [])
        yield* TestClock.adjust("1 second")
        yield* eventually(Effect.map(load(store, "a"), seen), ["later"])
        yield* TestClock.adjust("30 seconds")
        yield* eventually(Effect.map(load(store, "a"), seen), ["later", "timeout:a:t:60.0"])
      })
    )
  )

  it.effect("emits the same ids where it runs again after a commit that did not come through", () =>
    on((store) =>
      Effect.gen(function* () {
        const tried: Array<unknown> = []
        const down = new StoreUnavailable({
          operation: "commit",
          reason: "timeout",
          outcome: "not-applied",
          detail: "no answer"
        })
        const idsOf = (commit: Commit.Commit | undefined) => commit?.emits?.map(({ event }) => event.id)
        const flaky: Store = {
          ...store,
          commit: (execution, commit) => {
            tried.push(idsOf(commit))
            return tried.length === 1 ? Effect.fail(down) : store.commit(execution, commit)
          }
        }
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution, event) =>
              Effect.map(Step.make(execution, event), (step) =>
                step.pipe(Step.emit("b", { kind: "A" }), Step.emitAfter("b", "1 hour", { kind: "B" }))
              )
          }
        }).pipe(Effect.provideService(ExecutionStore.ExecutionStore, flaky))
        yield* store.save(execution("a"))
        assert.strictEqual((yield* Effect.flip(process("a", event("e1"))))._tag, "StoreUnavailable")
        yield* TestClock.adjust("1 minute")
        yield* process("a", event("e1"))
        assert.deepStrictEqual(tried, [tried[1], tried[1]])
        assert.strictEqual((yield* pendingIds(store)).length, 1)
      })
    )
  )

  it.effect("that does not know of cancellation is cancelled at Cancel, and its parent told", () =>
    on((store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: { recorder: (execution) => Effect.succeed({ execution }) }
        })
        yield* store.save(execution("c", { status: "CANCELLING", parentId: "p", childId: "c" }))
        yield* process("c", Event.make({ id: "x", kind: "Cancel" }))
        const child = yield* load(store, "c")
        assert.deepStrictEqual([child.status, child.outcome], ["CANCELLED", null])
        const told = (yield* store.pendingOutbox()).entries.map(({ event, targetId }) => [
          targetId,
          event.kind,
          event.data
        ])
        assert.deepStrictEqual(told, [["p", "Finished", { child_id: "c", outcome: "cancelled" }]])
      })
    )
  )
})

describe("The default child of a spawn", () => {
  const spawn = { seq: 1, parentId: "p", childId: "p:k:0", rootPath: "k", context: { n: 1 } }
  const parent = execution("p", { definitionFqn: "lib.d", priority: 2 })

  it.effect("follows its parent's definition, at its priority", () =>
    Effect.gen(function* () {
      const child = yield* SpawnRelay.defaultChild(spawn, Option.some(parent))
      const expected = { definitionId: "recorder", definitionFqn: "lib.d", priority: 2, rootPath: "k", parentId: "p" }
      assert.deepInclude(child, { ...expected, id: "p:k:0", childId: "p:k:0", status: "PENDING" })
      assert.deepStrictEqual(child.context, { n: 1 })
    })
  )

  it.effect("follows the definition that the spawn names, and then needs no parent", () =>
    Effect.gen(function* () {
      const named = { ...spawn, context: { n: 1, __invoke_fqn__: "other" } }
      for (const [found, priority] of [
        [Option.some(parent), 2],
        [Option.none(), 0]
      ] as const) {
        const child = yield* SpawnRelay.defaultChild(named, found)
        assert.deepInclude(child, { definitionId: "other", definitionFqn: "other", priority })
        assert.deepStrictEqual(child.context, { n: 1 })
      }
      const error = yield* Effect.flip(SpawnRelay.defaultChild(spawn, Option.none()))
      assert.strictEqual(error._tag, "ParentNotFound")
      const numbered = { ...spawn, context: { __invoke_fqn__: 7 } }
      const child = yield* SpawnRelay.defaultChild(numbered, Option.some(parent))
      assert.deepInclude(child, { definitionId: "recorder", context: { __invoke_fqn__: 7 } })
    })
  )
})

/** A copy of a database that harel wrote. */
const sample: Effect.Effect<Store, unknown, Scope.Scope> = Effect.gen(function* () {
  const filename = yield* Temp.database
  const source = fileURLToPath(new URL("../fixtures/interop/sample-sqlite.db", import.meta.url))
  yield* Effect.promise(() => copyFile(source, filename))
  return yield* SqliteStore.make({ filename })
})

describe("A built step on harel's rows", () => {
  const joining: Processor.Transition = (execution, event) =>
    Effect.map(Step.make(execution, event), (step) => {
      if (execution.parentId !== null) return step.pipe(Step.finish({ outcome: "success", result: { score: 7 } }))
      const joined = Step.join(step)
      return Step.isJoined(joined) ? joined.pipe(Step.advance("Approved"), Step.finish("success")) : joined
    })

  it.scoped("joins a child that harel finished with one that is finished here, as harel does both", () =>
    Effect.gen(function* () {
      const store = yield* sample
      const { process } = yield* Effect.provideService(
        Processor.make({ definitions: { checkout: joining } }),
        ExecutionStore.ExecutionStore,
        store
      )
      const { entries } = yield* store.pendingOutbox()
      const ours = yield* process("s-finishing:Verifying.Fraud:0", event("clear"))
      assert.strictEqual(ours._tag, "Advanced")
      const told = (yield* store.pendingOutbox()).entries.filter(({ targetId }) => targetId === "s-finishing")
      assert.strictEqual(told.length, 2)
      const [theirs, own] = told
      assert.deepStrictEqual(
        theirs,
        entries.find(({ targetId }) => targetId === "s-finishing")
      )
      assert.deepStrictEqual(own?.event.data, {
        child_id: "s-finishing:Verifying.Fraud:0",
        outcome: "success",
        score: 7
      })
      for (const { event, seq } of told) yield* process("s-finishing", event, { ack: { _tag: "Outbox", seq } })
      const parent = yield* load(store, "s-finishing")
      const peer = yield* load(store, "s-join")
      assert.strictEqual(parent.status, peer.status)
      assert.strictEqual(parent.outcome, peer.outcome)
      assert.strictEqual(parent.activePath, peer.activePath)
      const named = (children: typeof parent.children, id: string) =>
        Object.entries(children).map(([childId, state]) => [childId.slice(id.length), state])
      assert.deepStrictEqual(named(parent.children, "s-finishing"), named(peer.children, "s-join"))
    })
  )

  it.scoped("spawns a region as harel does", () =>
    Effect.gen(function* () {
      const store = yield* sample
      const forked = yield* load(store, "s-forked")
      const step = Step.makeAt({ ...forked, children: {} }, event("x"), 0).pipe(
        Step.spawn("Verifying.Fraud", { context: { qty: 9 } }),
        Step.spawn("Verifying.Stock", { context: { qty: 9 } })
      )
      assert.deepStrictEqual(step.execution.children, forked.children)
      const theirs = (yield* store.pendingSpawns()).entries.map(({ childId, context, rootPath }) => ({
        childId,
        rootPath,
        context
      }))
      assert.deepStrictEqual(step.commit.spawns, theirs)
    })
  )
})
