import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as OutboxRelay from "holdfast/OutboxRelay"
import type * as Processor from "holdfast/Processor"
import * as QueueWorker from "holdfast/QueueWorker"
import * as TimerSweeper from "holdfast/TimerSweeper"
import * as InProcessNode from "../support/rqlite/inProcessNode.js"
import * as InProcessStore from "../support/rqlite/inProcessStore.js"
import * as Tracing from "../support/tracing.js"
import * as Support from "../support/workers.js"
import { event, execution, note, recorder } from "../support/workers.js"

const provided = <A, E, R>(store: ExecutionStore.ExecutionStore, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, ExecutionStore.ExecutionStore, store)

const runtimeOn = <D extends Processor.Definitions>(
  store: ExecutionStore.ExecutionStore,
  options: ExecutionRuntime.Options<D>
) => provided(store, ExecutionRuntime.make(options))

/** Sends each `first` on as `second` to itself. */
const echo: Processor.Transition = (execution, cause) =>
  Effect.succeed({
    execution: note(execution, cause),
    ...(cause.id === "first" ? { commit: { emits: [{ targetId: execution.id, event: event("second") }] } } : undefined)
  })

Support.onEach("spans", (makeStore) => {
  it.scoped("link a delivery to the commit that emitted its event, and begin a trace of their own", () => {
    const tracing = Tracing.make()
    return Effect.gen(function* () {
      const store = yield* makeStore
      const runtime = yield* runtimeOn(store, { definitions: { echo } })
      yield* runtime.create(execution("a", { definitionId: "echo" }))
      yield* Effect.withSpan(runtime.send("a", event("first")), "request")
      yield* runtime.awaitIdle

      const [request] = tracing.named("request")
      const [enqueue] = tracing.named("ExecutionStore.enqueue")
      const [first, second] = tracing.named("OutboxRelay.deliver")
      const [step, nextStep] = tracing.named("Processor.process")
      const [, commit, nextCommit] = tracing.named("ExecutionStore.commit")

      assert.strictEqual(Tracing.parentOf(enqueue), request?.spanId)
      assert.deepStrictEqual(Tracing.links(first), [Tracing.idOf(enqueue)])
      assert.strictEqual(Tracing.parentOf(first), undefined)
      assert.notStrictEqual(first?.traceId, request?.traceId)
      assert.strictEqual(Tracing.parentOf(step), first?.spanId)
      assert.strictEqual(Tracing.parentOf(commit), step?.spanId)

      assert.deepStrictEqual(Tracing.links(second), [Tracing.idOf(commit)])
      assert.strictEqual(Tracing.parentOf(second), undefined)
      assert.strictEqual(Tracing.parentOf(nextStep), second?.spanId)
      assert.strictEqual(Tracing.parentOf(nextCommit), nextStep?.spanId)

      assert.deepStrictEqual([enqueue?.kind, first?.kind, commit?.kind], ["producer", "consumer", "producer"])
      assert.deepStrictEqual(Tracing.attributesOf(first), {
        "messaging.system": "holdfast",
        "messaging.operation.type": "process",
        "messaging.message.id": "first",
        executionId: "a",
        eventId: "first",
        eventKind: "Happened",
        seq: 1,
        attempt: 1
      })
      assert.deepStrictEqual(Tracing.attributesOf(commit), {
        executionId: "a",
        definitionId: "echo",
        version: 1,
        emits: 1
      })
      assert.deepStrictEqual(Tracing.attributesOf(step), {
        executionId: "a",
        eventId: "first",
        eventKind: "Happened",
        outcome: "advanced",
        attempts: 1
      })
    }).pipe(Effect.provide(tracing.layer))
  })

  it.scoped("link through a delay, and through the dead letters", () => {
    const tracing = Tracing.make()
    return Effect.gen(function* () {
      const store = yield* makeStore
      let broken = true
      yield* provided(
        store,
        OutboxRelay.make({
          deliver: () =>
            broken ? Effect.fail(new QueueWorker.Refused({ reason: "not yet" })) : Effect.succeed("Delivered")
        })
      )
      yield* provided(store, TimerSweeper.make({ deliver: () => Effect.succeed("Delivered") }))
      yield* store.enqueue([{ targetId: "a", event: event("e1"), dueAt: 60 }]).pipe(Effect.withSpan("request"))
      yield* TestClock.adjust("2 minutes")
      const { entries } = yield* store.deadLetters.list()
      assert.strictEqual(entries.length, 1)
      broken = false
      yield* Effect.forEach(entries, ({ id }) => store.deadLetters.redrive(id))
      yield* TestClock.adjust("1 second")

      const [enqueue] = tracing.named("ExecutionStore.enqueue")
      const deliveries = tracing.named("OutboxRelay.deliver")
      assert.deepStrictEqual(deliveries.map(Tracing.links), [[Tracing.idOf(enqueue)], [Tracing.idOf(enqueue)]])
      assert.deepStrictEqual(
        deliveries.map(({ status }) => status._tag === "Ended" && status.exit._tag),
        ["Failure", "Success"]
      )
    }).pipe(Effect.provide(tracing.layer))
  })

  it.scoped("tell of timers and children, each in a trace of its own", () => {
    const tracing = Tracing.make()
    return Effect.gen(function* () {
      const store = yield* makeStore
      const runtime = yield* runtimeOn(store, { definitions: { recorder } })
      yield* runtime.create(execution("a"), {
        spawns: [{ childId: "c", rootPath: "", context: {} }],
        timers: [Commit.scheduleTimer("t", 5)]
      })
      yield* TestClock.adjust("5 seconds")
      yield* runtime.awaitIdle
      const [fire] = tracing.named("TimerSweeper.fire")
      const [create] = tracing.named("SpawnRelay.create")
      assert.deepStrictEqual(Tracing.attributesOf(fire), { executionId: "a", path: "t", fireAt: 5, attempt: 1 })
      assert.deepStrictEqual(Tracing.attributesOf(create), { executionId: "c", parentId: "a", seq: 1, attempt: 1 })
      assert.deepStrictEqual([Tracing.parentOf(fire), Tracing.parentOf(create)], [undefined, undefined])
      // The child's Start is emitted by the commit that creates it.
      const made = tracing.named("ExecutionStore.commit").find((span) => Tracing.parentOf(span) === create?.spanId)
      assert.deepStrictEqual(tracing.named("OutboxRelay.deliver").map(Tracing.links), [[Tracing.idOf(made)]])
    }).pipe(Effect.provide(tracing.layer))
  })

  it.scoped("carry a caller's own span where no tracer is installed, and make none", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* store.enqueue([{ targetId: "a", event: event("e1") }])
      const span = yield* Effect.withSpan(
        Effect.zipRight(store.enqueue([{ targetId: "a", event: event("e2") }]), Effect.orDie(Effect.currentSpan)),
        "mine"
      )
      const { entries } = yield* store.pendingOutbox()
      assert.deepStrictEqual(
        entries.map((entry) => entry.traceparent),
        [null, `00-${span.traceId}-${span.spanId}-01`]
      )
    })
  )

  it.scoped("that nobody samples leave nothing in the outbox", () => {
    const tracing = Tracing.make({ sampled: false })
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* Effect.withSpan(store.enqueue([{ targetId: "a", event: event("e1") }]), "request")
      assert.strictEqual(tracing.named("ExecutionStore.enqueue").length, 1)
      const { entries } = yield* store.pendingOutbox()
      assert.deepStrictEqual(
        entries.map((entry) => entry.traceparent),
        [null]
      )
    }).pipe(Effect.provide(tracing.layer))
  })

  it.scoped("are not made by polling", () => {
    const tracing = Tracing.make()
    return Effect.gen(function* () {
      const store = yield* makeStore
      yield* runtimeOn(store, { definitions: { recorder } })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        tracing.spans.map(({ name }) => name),
        []
      )
    }).pipe(Effect.provide(tracing.layer))
  })
})

it.scoped("requests that only polls make are in no span, others are", () => {
  const tracing = Tracing.make()
  return Effect.gen(function* () {
    const node = yield* InProcessNode.make()
    const store = yield* Effect.withSpan(InProcessStore.open(node), "opening")
    yield* runtimeOn(store, { definitions: { recorder } })
    yield* TestClock.adjust("1 second")
    yield* node.asked
    const opened = tracing.spans.length
    yield* TestClock.adjust("1 minute")
    assert.isAbove((yield* node.asked).length, 10)
    assert.deepStrictEqual(
      tracing.spans.slice(opened).map(({ name }) => name),
      []
    )
    yield* store.save(execution("a"))
    yield* store.load("a")
    const made = tracing.spans.slice(opened)
    assert.deepStrictEqual(
      made.map((span) => [span.name, Tracing.parentOf(span)]),
      // Requests are shared: they belong to nobody's trace.
      [
        ["ExecutionStore.commit", undefined],
        ["http.client POST", undefined],
        ["http.client POST", undefined]
      ]
    )
  }).pipe(Effect.provide(tracing.layer))
})
