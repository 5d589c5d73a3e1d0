import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Definition from "holdfast/Definition"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import * as SpawnRelay from "holdfast/SpawnRelay"
import * as Step from "holdfast/Step"
import * as Support from "../support/workers.js"

/** Spawns a child at its start, again at `Again`, and ends with how its child ended. */
const waiter: Processor.Transition = (execution, event) =>
  Effect.map(Step.make(execution, event), (step) => {
    const { child, key } = execution.context
    const spawned = { definition: "kid", ...(typeof child === "string" ? { id: child } : undefined) }
    if (event.kind === "Start") return Step.spawn(step, String(key), spawned)
    if (event.kind === "Again") return step.pipe(Step.forgetChildren(), Step.spawn(String(key), spawned))
    const joined = Step.join(step)
    const [ended] = Step.children(joined)
    if (execution.context["stay"] === true || ended?.finished !== true) return joined
    return Step.finish(joined, `${ended.outcome}, ${Step.isRejected(ended) ? "rejected" : "was there"}`)
  })

const kid: Processor.Transition = (execution, event) => Effect.map(Step.make(execution, event), Step.finish("k"))

const runtimeOn = (store: ExecutionStore.ExecutionStore) =>
  ExecutionRuntime.make({ definitions: { waiter, kid } }).pipe(
    Effect.provideService(ExecutionStore.ExecutionStore, store)
  )

const parent = (id: string, context: Execution.Execution["context"]) =>
  Execution.make({ id, definitionId: "waiter", context: { key: "kids", ...context } })

const letters = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.deadLetters.list(), ({ entries }) =>
    entries.map(({ attempts, executionId, reason }) => [executionId, reason, attempts])
  )

const outcome = (store: ExecutionStore.ExecutionStore, id: string) =>
  Effect.map(Support.load(store, id), ({ outcome, status }) => [status, outcome])

Support.onEach("A child whose id is taken", (makeStore) => {
  it.scoped("is a dead letter, and its parent is told, where another parent's child has the id", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const runtime = yield* runtimeOn(store)
      // both ask for "a:x:1:y:0"
      yield* runtime.start(parent("a", { key: "x:1:y" }))
      yield* runtime.awaitIdle
      yield* runtime.start(parent("a:x:1", { key: "y" }))
      yield* runtime.awaitIdle
      assert.deepStrictEqual(yield* outcome(store, "a"), ["DONE", "k, was there"])
      assert.deepStrictEqual(yield* outcome(store, "a:x:1"), ["DONE", "rejected, rejected"])
      assert.deepStrictEqual(yield* letters(store), [["a:x:1", "id-taken", 1]])
      const [letter] = (yield* store.deadLetters.list()).entries
      assert.include(letter?.error, 'is a child of "a"')
      assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [])
      assert.deepStrictEqual((yield* Support.load(store, "a:x:1:y:0")).parentId, "a")
    })
  )

  it.scoped(
    "is one where an execution of a user's own has it, which is left alone; and is created when that is gone",
    () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        const runtime = yield* runtimeOn(store)
        yield* store.save(Support.execution("mine", { status: "RUNNING", context: { n: 1 } }))
        const before = yield* Support.load(store, "mine")
        yield* runtime.start(parent("p", { child: "mine", stay: true }))
        yield* runtime.awaitIdle
        assert.deepStrictEqual(yield* Support.load(store, "mine"), before)
        const state = (yield* Support.load(store, "p")).children["mine"]
        assert.deepInclude(state, { finished: true, outcome: "rejected" })
        assert.deepStrictEqual(yield* letters(store), [["p", "id-taken", 1]])
        const [letter] = (yield* store.deadLetters.list()).entries
        assert.isTrue(yield* store.purge("mine", 1))
        assert.isTrue(yield* store.deadLetters.redrive(letter?.id ?? -1))
        yield* runtime.awaitIdle
        assert.deepStrictEqual(yield* outcome(store, "mine"), ["DONE", "k"])
        assert.deepInclude((yield* Support.load(store, "p")).children["mine"], { finished: true, outcome: "k" })
      })
  )

  it.scoped("is told each time that it is redriven while the id is taken", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const runtime = yield* runtimeOn(store)
      yield* store.save(Support.execution("mine"))
      yield* runtime.start(parent("p", { child: "mine", stay: true }))
      yield* runtime.awaitIdle
      const { version } = yield* Support.load(store, "p")
      const [letter] = (yield* store.deadLetters.list()).entries
      yield* store.deadLetters.redrive(letter?.id ?? -1)
      yield* runtime.awaitIdle
      assert.deepStrictEqual(yield* letters(store), [["p", "id-taken", 1]])
      assert.strictEqual((yield* Support.load(store, "p")).version, version + 1)
    })
  )

  it.scoped("is one where the parent spawned it before and it has ended", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const runtime = yield* runtimeOn(store)
      yield* runtime.start(parent("p", { child: "c", stay: true }))
      yield* runtime.awaitIdle
      assert.deepInclude((yield* Support.load(store, "p")).children["c"], { finished: true, outcome: "k" })
      yield* TestClock.adjust("1 second")
      yield* store.enqueue([{ targetId: "p", event: { ...Support.event("again"), kind: "Again" } }])
      yield* runtime.awaitIdle
      assert.deepInclude((yield* Support.load(store, "p")).children["c"], { finished: true, outcome: "rejected" })
      assert.deepStrictEqual(yield* letters(store), [["p", "id-taken", 1]])
    })
  )

  it.scoped("is the child itself where another program made it and did not remove the spawn", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      for (const status of ["RUNNING", "DONE"] as const) {
        const id = `p-${status}`
        const kids = { child: `c-${status}` }
        const { execution } = yield* Step.make(parent(id, kids), Support.event("e")).pipe(
          Effect.map(Step.spawn("kids", { id: kids.child })),
          Effect.flatMap((step) => store.commit(step.execution, { spawns: step.commit.spawns }))
        )
        yield* store.save(Support.execution(kids.child, { parentId: execution.id, childId: kids.child, status }))
      }
      const relay = yield* Effect.provideService(SpawnRelay.make(), ExecutionStore.ExecutionStore, store)
      yield* relay.awaitQuiet
      assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [])
      assert.deepStrictEqual(yield* letters(store), [])
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
    })
  )

  it.scoped("tells nobody where the parent is gone", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { version } = yield* store.save(Support.execution("p"))
      yield* store.save(Support.execution("mine"))
      yield* store.commit(
        { ...Support.execution("p"), version },
        { spawns: [{ childId: "mine", rootPath: "", context: { __invoke_fqn__: "kid" } }] }
      )
      const gone = { ...store, load: (id: string) => (id === "p" ? Effect.succeedNone : store.load(id)) }
      const relay = yield* Effect.provideService(SpawnRelay.make(), ExecutionStore.ExecutionStore, gone)
      yield* relay.awaitQuiet
      assert.deepStrictEqual(yield* letters(store), [["p", "id-taken", 1]])
      assert.deepStrictEqual(yield* Support.pendingIds(store), [])
    })
  )

  it.scoped("is told to a definition by its own name, and not to be confused with an outcome of that name", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const Kid = Definition.make("Kid", { context: Schema.Struct({}), result: Schema.Number })
      const Parent = Definition.make("Parent", {
        context: Schema.Struct({ ids: Schema.Array(Schema.String) }),
        children: { kids: Kid },
        result: Schema.Array(Schema.String)
      })
      const live = Layer.mergeAll(
        Kid.toLayer({ Start: (step) => Kid.finish(step, 7, { outcome: "rejected" }) }),
        Parent.toLayer({
          Start: (step) =>
            step.execution.context.ids.reduce((step, id) => Parent.spawn(step, "kids", {}, { id }), step),
          children: {
            kids: (step, children) =>
              Parent.finish(
                step,
                children.map(({ id, outcome, rejected, result }) =>
                  [id, outcome, rejected, Option.getOrElse(result, () => "none")].join(" ")
                )
              )
          }
        })
      ).pipe(
        Layer.provideMerge(ExecutionRuntime.layer()),
        Layer.provide(Layer.succeed(ExecutionStore.ExecutionStore, store))
      )
      yield* store.save(Support.execution("taken"))
      yield* Effect.gen(function* () {
        const runtime = yield* ExecutionRuntime.ExecutionRuntime
        yield* Parent.start("p", { ids: ["taken", "free"] })
        yield* runtime.awaitIdle
      }).pipe(Effect.provide(Layer.merge(live, Layer.succeed(ExecutionStore.ExecutionStore, store))))
      assert.deepStrictEqual((yield* Support.load(store, "p")).result, [
        "taken rejected true none",
        "free rejected false 7"
      ])
    })
  )
})
