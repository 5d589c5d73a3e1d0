import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import type { Status } from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Processor from "holdfast/Processor"
import * as ProcessorError from "holdfast/ProcessorError"
import { StoreConflict } from "holdfast/StoreError"
import { extent, longer } from "../support/extent.js"
import * as Support from "../support/workers.js"

const { driven, event, execution, load, note, onEach, recorder, seen } = Support

class Declined extends Schema.TaggedError<Declined>()("Declined", {}) {}

onEach("Processor", (make) => {
  const withStore = <A, E, R>(effect: (store: ExecutionStore.ExecutionStore) => Effect.Effect<A, E, R>) =>
    Effect.scoped(
      Effect.flatMap(make, (store) => Effect.provideService(effect(store), ExecutionStore.ExecutionStore, store))
    )

  const withRecorder = <A, E, R>(
    effect: (store: ExecutionStore.ExecutionStore, processor: Processor.Processor) => Effect.Effect<A, E, R>
  ) =>
    withStore((store) =>
      Effect.flatMap(Processor.make({ definitions: { recorder } }), (processor) => effect(store, processor))
    )

  it.effect("advances the execution and writes what the step says, the ledger and the count", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution, cause) =>
              Effect.succeed({
                execution: { ...note(execution, cause), processedEvents: 77 },
                commit: {
                  emits: [{ targetId: "b", event: event("out") }],
                  timers: [Commit.scheduleTimer("t", 60)],
                  spawns: [{ childId: "a:1", rootPath: "r", context: {} }],
                  trace: Commit.traceStep({ eventKind: cause.kind, timestamp: 1 })
                }
              })
          }
        })
        yield* store.save(execution("a"))
        const processed = yield* process("a", event("e1"))
        assert.strictEqual(processed._tag, "Advanced")
        assert.deepStrictEqual(processed._tag === "Advanced" && processed.committed.execution, yield* load(store, "a"))
        const stored = yield* load(store, "a")
        assert.strictEqual(stored.version, 2)
        assert.strictEqual(stored.processedEvents, 1)
        assert.deepStrictEqual(seen(stored), ["e1"])
        assert.isTrue(yield* store.isProcessed("a", "e1"))
        assert.deepStrictEqual(yield* Support.pendingIds(store), ["out"])
        assert.deepStrictEqual(yield* Support.armed(store), [["a", "t", 60]])
        assert.strictEqual((yield* store.pendingSpawns()).entries[0]?.childId, "a:1")
        assert.strictEqual((yield* store.readTrace("a")).entries.length, 1)
      })
    )
  )

  it.effect("removes the work that the event came from in the very commit, each kind of it", () =>
    withRecorder((store, { process }) =>
      Effect.gen(function* () {
        const commits: Array<ExecutionStore.Notice> = []
        yield* Effect.scoped(
          Effect.gen(function* () {
            const fireAt = 0.5
            const [seq = 0] = yield* store.enqueue([{ targetId: "a", event: event("e1") }])
            yield* store.commit(execution("a"), {
              timers: [Commit.scheduleTimer("t", fireAt)],
              spawns: [{ childId: "c", rootPath: "", context: {} }]
            })
            yield* store.listen((notice) => commits.push(notice))
            yield* process("a", event("e1"), { ack: { _tag: "Outbox", seq } })
            yield* process("a", event("e2"), { ack: { _tag: "Spawn", seq: 1 } })
            yield* process("a", event("e3"), { ack: { _tag: "Timer", executionId: "a", path: "t", fireAt } })
          })
        )
        assert.strictEqual(commits.length, 3)
        assert.deepStrictEqual(yield* Support.pendingIds(store), [])
        assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [])
        assert.deepStrictEqual(yield* Support.armed(store), [])
        assert.deepStrictEqual(seen(yield* load(store, "a")), ["e1", "e2", "e3"])
      })
    )
  )

  it.effect("skips an event that is processed already, and acknowledges it by itself", () =>
    withRecorder((store, { process }) =>
      Effect.gen(function* () {
        yield* store.save(execution("a"))
        yield* process("a", event("e1"))
        const [seq = 0] = yield* store.enqueue([{ targetId: "a", event: event("e1") }])
        assert.deepStrictEqual(yield* process("a", event("e1"), { ack: { _tag: "Outbox", seq } }), {
          _tag: "Skipped",
          reason: "processed"
        })
        assert.deepStrictEqual(yield* Support.pendingIds(store), [])
        assert.strictEqual((yield* load(store, "a")).version, 2)
      })
    )
  )

  const finished: ReadonlyArray<Status> = ["DONE", "CANCELLED", "FAILED"]
  for (const status of finished) {
    it.effect(`skips an event for an execution that is ${status}, and acknowledges it by itself`, () =>
      withRecorder((store, { process }) =>
        Effect.gen(function* () {
          yield* store.commit(execution("a", { status, definitionId: "unknown" }), {
            timers: [Commit.scheduleTimer("t", 1)],
            spawns: [{ childId: "c", rootPath: "", context: {} }],
            emits: [{ targetId: "a", event: event("e1") }]
          })
          const skipped: Processor.Processed = { _tag: "Skipped", reason: "finished" }
          assert.deepStrictEqual(yield* process("a", event("e1")), skipped)
          assert.deepStrictEqual(yield* Support.pendingIds(store), ["e1"])
          assert.deepStrictEqual(yield* process("a", event("e1"), { ack: { _tag: "Outbox", seq: 1 } }), skipped)
          assert.deepStrictEqual(yield* process("a", event("e1"), { ack: { _tag: "Spawn", seq: 1 } }), skipped)
          const ack = { _tag: "Timer" as const, executionId: "a", path: "t", fireAt: 1 }
          assert.deepStrictEqual(yield* process("a", event("e1"), { ack }), skipped)
          assert.deepStrictEqual(yield* Support.pendingIds(store), [])
          assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [])
          assert.deepStrictEqual(yield* Support.armed(store), [])
          assert.isFalse(yield* store.isProcessed("a", "e1"))
        })
      )
    )
  }

  it.effect("leaves an event for a suspended execution where it is", () =>
    withRecorder((store, { process }) =>
      Effect.gen(function* () {
        yield* store.commit(execution("a", { status: "SUSPENDED" }), {
          emits: [{ targetId: "a", event: event("e1") }]
        })
        const error = yield* Effect.flip(process("a", event("e1"), { ack: { _tag: "Outbox", seq: 1 } }))
        Support.assertError(error, new ProcessorError.ExecutionSuspended({ executionId: "a", eventId: "e1" }))
        assert.deepStrictEqual(yield* Support.pendingIds(store), ["e1"])
        assert.isFalse(yield* store.isProcessed("a", "e1"))
      })
    )
  )

  it.effect("fails for an execution that does not exist", () =>
    withRecorder((store, { process }) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(process("a", event("e1"), { ack: { _tag: "Outbox", seq: 1 } }))
        Support.assertError(error, new ProcessorError.ExecutionNotFound({ executionId: "a", eventId: "e1" }))
        assert.isTrue(Option.isNone(yield* store.load("a")))
      })
    )
  )

  it.effect("finds a definition among the object's own keys alone", () =>
    withRecorder((store, { process }) =>
      Effect.gen(function* () {
        for (const definitionId of ["unknown", "__proto__", "constructor", "toString", "hasOwnProperty"]) {
          yield* store.save(execution(definitionId, { definitionId }))
          const error = yield* Effect.flip(process(definitionId, event("e1")))
          Support.assertError(
            error,
            new ProcessorError.DefinitionNotFound({ executionId: definitionId, eventId: "e1", definitionId })
          )
        }
      })
    )
  )

  it.effect("runs a definition that is called as a built-in key, where it is an own one", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({ definitions: { ["__proto__"]: recorder, constructor: recorder } })
        for (const definitionId of ["__proto__", "constructor"]) {
          yield* store.save(execution(definitionId, { definitionId }))
          assert.strictEqual((yield* process(definitionId, event("e1")))._tag, "Advanced")
        }
      })
    )
  )

  it.effect("refuses a step that returns another execution or another version", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: {
            other: (execution) => Effect.succeed({ execution: { ...execution, id: "b" } }),
            ahead: (execution) => Effect.succeed({ execution: { ...execution, version: execution.version + 1 } })
          }
        })
        yield* store.save(execution("x", { definitionId: "other" }))
        yield* store.save(execution("y", { definitionId: "ahead" }))
        const other = yield* Effect.flip(process("x", event("e1")))
        assert.strictEqual(other._tag, "StepRejected")
        assert.include(other.message, '"b"')
        const ahead = yield* Effect.flip(process("y", event("e1")))
        assert.strictEqual(ahead._tag, "StepRejected")
        assert.include(ahead.message, "version 2 in place of 1")
        assert.strictEqual((yield* load(store, "x")).version, 1)
        assert.strictEqual((yield* load(store, "y")).version, 1)
        assert.isTrue(Option.isNone(yield* store.load("b")))
      })
    )
  )

  it.effect("keeps the failures of transitions typed, and takes their services once", () =>
    withStore((store) =>
      Effect.gen(function* () {
        class Price extends Context.Tag("test/Price")<Price, number>() {}
        const processor = yield* Processor.make({
          definitions: {
            declining: () => new Declined(),
            priced: (execution) => Effect.map(Price, (price) => ({ execution: { ...execution, context: { price } } })),
            conflicting: () => new StoreConflict({ executionId: "elsewhere", expected: 1, found: Option.none() })
          }
        }).pipe(Effect.provideService(Price, 7))
        const typed: Processor.Processor<Declined | StoreConflict> = processor
        yield* store.save(execution("a", { definitionId: "declining" }))
        yield* store.save(execution("b", { definitionId: "priced" }))
        yield* store.save(execution("c", { definitionId: "conflicting" }))
        assert.strictEqual((yield* Effect.flip(typed.process("a", event("e1"))))._tag, "Declined")
        assert.strictEqual((yield* load(store, "a")).version, 1)
        yield* typed.process("b", event("e1"))
        assert.deepStrictEqual((yield* load(store, "b")).context, { price: 7 })
        // a conflict of the transition's own is its failure, and none of the commit to run again
        assert.strictEqual((yield* Effect.flip(typed.process("c", event("e1"))))._tag, "StoreConflict")
      })
    )
  )

  it.effect("runs the step again on what is stored where another commit came first", () =>
    withStore((store) =>
      Effect.gen(function* () {
        let runs = 0
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution, cause) =>
              Effect.gen(function* () {
                runs++
                if (runs === 1) yield* store.save(note(execution, event("rival"))).pipe(Effect.orDie)
                return { execution: note(execution, cause) }
              })
          }
        })
        yield* store.save(execution("a"))
        assert.strictEqual((yield* driven(process("a", event("e1"))))._tag, "Advanced")
        assert.strictEqual(runs, 2)
        assert.deepStrictEqual(seen(yield* load(store, "a")), ["rival", "e1"])
      })
    )
  )

  it.effect("skips the event where the commit that came first had consumed it", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution, cause) => Effect.as(Deferred.await(gate), { execution: note(execution, cause) })
          }
        })
        yield* store.commit(execution("a"), { emits: [{ targetId: "a", event: event("e1") }] })
        const ack = { _tag: "Outbox" as const, seq: 1 }
        const twice = yield* Effect.fork(
          Effect.all([process("a", event("e1"), { ack }), process("a", event("e1"), { ack })], {
            concurrency: "unbounded"
          })
        )
        yield* TestClock.adjust(0)
        yield* Deferred.succeed(gate, undefined)
        const outcomes = yield* driven(Fiber.join(twice))
        assert.deepStrictEqual(outcomes.map((outcome) => outcome._tag).sort(), ["Advanced", "Skipped"])
        assert.deepStrictEqual(seen(yield* load(store, "a")), ["e1"])
        assert.strictEqual((yield* load(store, "a")).processedEvents, 1)
      })
    )
  )

  it.effect("ends the retries with a typed error that counts the attempts; ten by default", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const definitions = {
          recorder: (execution: Parameters<typeof recorder>[0], cause: Event.Event) =>
            Effect.as(Effect.orDie(store.save(execution)), { execution: note(execution, cause) })
        }
        const byDefault = yield* Processor.make({ definitions })
        const brief = yield* Processor.make({ definitions, conflictRetry: Schedule.recurs(2) })
        yield* store.save(execution("a"))
        Support.assertError(
          yield* Effect.flip(brief.process("a", event("e1"))),
          new ProcessorError.ProcessConflict({ executionId: "a", eventId: "e1", attempts: 3 })
        )
        const fiber = yield* Effect.fork(Effect.flip(byDefault.process("a", event("e1"))))
        yield* Effect.repeat(Effect.zipRight(TestClock.adjust("10 seconds"), Fiber.poll(fiber)), {
          until: Option.isSome,
          times: 100
        })
        Support.assertError(
          yield* Fiber.join(fiber),
          new ProcessorError.ProcessConflict({ executionId: "a", eventId: "e1", attempts: 10 })
        )
        assert.isFalse(yield* store.isProcessed("a", "e1"))
      })
    )
  )

  it.effect("waits longer after each lost commit, and never exactly as long as others do", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const times: Array<number> = []
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution, cause) =>
              Effect.gen(function* () {
                times.push(yield* Clock.currentTimeMillis)
                if (times.length < 5) yield* Effect.orDie(store.save(execution))
                return { execution: note(execution, cause) }
              })
          }
        })
        yield* store.save(execution("a"))
        const fiber = yield* Effect.fork(Effect.withRandom(process("a", event("e1")), Random.make("holdfast")))
        yield* Effect.repeat(Effect.zipRight(TestClock.adjust("1 millis"), Fiber.poll(fiber)), {
          until: Option.isSome,
          times: 300
        })
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "Advanced")
        const waits = times.slice(1).map((time, i) => time - (times[i] ?? 0))
        const exact = [5, 10, 20, 40]
        assert.strictEqual(waits.length, exact.length)
        for (const [i, wait] of waits.entries()) assert.closeTo(wait, exact[i] ?? 0, 0.2 * (exact[i] ?? 0) + 1)
        assert.notDeepEqual(waits, exact)
      })
    )
  )

  it.effect("drops what comes to a cancelling execution, except its Cancel", () =>
    withRecorder((store, { process }) =>
      Effect.gen(function* () {
        yield* store.commit(execution("a", { status: "CANCELLING" }), {
          emits: [{ targetId: "a", event: event("e1") }]
        })
        assert.deepStrictEqual(yield* process("a", event("e1"), { ack: { _tag: "Outbox", seq: 1 } }), {
          _tag: "Skipped",
          reason: "cancelling"
        })
        assert.deepStrictEqual(yield* Support.pendingIds(store), [])
        assert.isFalse(yield* store.isProcessed("a", "e1"))
        yield* process("a", Event.make({ id: "e2", kind: "Cancel" }))
        // the recorder's own verdict stands: it goes on
        assert.strictEqual((yield* load(store, "a")).status, "RUNNING")
        assert.deepStrictEqual(seen(yield* load(store, "a")), ["e2"])
      })
    )
  )

  it.effect("does not fire a timer that is cancelled, or armed anew, before it gets there", () =>
    withRecorder((store, { process }) =>
      Effect.gen(function* () {
        const ack = { _tag: "Timer" as const, executionId: "a", path: "t", fireAt: 1 }
        const timeout = Event.timeout("a", "t", 1)
        const cancelled: Processor.Processed = { _tag: "Skipped", reason: "cancelled" }
        const first = yield* store.commit(execution("a"), { timers: [Commit.scheduleTimer("t", 1)] })
        const second = yield* store.commit(first.execution, { timers: [Commit.cancelTimer("t")] })
        assert.deepStrictEqual(yield* process("a", timeout, { ack }), cancelled)
        yield* store.commit(second.execution, { timers: [Commit.scheduleTimer("t", 2)] })
        assert.deepStrictEqual(yield* process("a", timeout, { ack }), cancelled)
        assert.deepStrictEqual(yield* Support.armed(store), [["a", "t", 2]])
        assert.deepStrictEqual(seen(yield* load(store, "a")), [])
      })
    )
  )

  it.effect("does not fire a timer that is cancelled while its step runs", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution, cause) =>
              Effect.as(Effect.orDie(store.commit(execution, { timers: [Commit.cancelTimer("t")] })), {
                execution: note(execution, cause)
              })
          }
        })
        yield* store.commit(execution("a"), { timers: [Commit.scheduleTimer("t", 1)] })
        const ack = { _tag: "Timer" as const, executionId: "a", path: "t", fireAt: 1 }
        assert.deepStrictEqual(yield* driven(process("a", Event.timeout("a", "t", 1), { ack })), {
          _tag: "Skipped",
          reason: "cancelled"
        })
        assert.deepStrictEqual(seen(yield* load(store, "a")), [])
      })
    )
  )

  it.effect("keeps a timer that its own step arms anew", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution, cause) =>
              Effect.succeed({
                execution: note(execution, cause),
                commit: { timers: [Commit.scheduleTimer("t", 9)] }
              })
          }
        })
        yield* store.commit(execution("a"), { timers: [Commit.scheduleTimer("t", 1)] })
        yield* process("a", Event.timeout("a", "t", 1), {
          ack: { _tag: "Timer", executionId: "a", path: "t", fireAt: 1 }
        })
        assert.deepStrictEqual(yield* Support.armed(store), [["a", "t", 9]])
      })
    )
  )

  it.effect("makes one span for each event, below the caller's and not below the one it was made in", () => {
    const spans = Support.spans()
    return withStore((store) =>
      Effect.gen(function* () {
        const { process } = yield* Effect.withSpan(
          Processor.make({
            definitions: {
              recorder: (execution, cause) =>
                Effect.currentParentSpan.pipe(
                  Effect.map((span) => {
                    assert.strictEqual(span._tag === "Span" && span.name, "Processor.process")
                    return { execution: note(execution, cause) }
                  }),
                  Effect.orDie
                )
            }
          }),
          "made"
        )
        yield* store.save(execution("a"))
        yield* process("a", event("e1"))
        yield* Effect.withSpan(process("a", event("e2")), "caller")
        assert.deepStrictEqual(
          spans.started.filter((span) => span.name !== "ExecutionStore.commit"),
          [
            { name: "made", root: true },
            { name: "Processor.process", root: true },
            { name: "caller", root: true },
            { name: "Processor.process", root: false }
          ]
        )
      })
    ).pipe(Effect.provide(spans.layer))
  })
})

describe("Processor", () => {
  // Every pause is a place where another fiber can come first; the seed decides how long each of them is.
  it.effect.prop(
    longer("processes each event once however commits of one execution interleave"),
    {
      pauses: FastCheck.array(FastCheck.nat(3), { minLength: 1, maxLength: 24 }),
      deliveries: FastCheck.array(FastCheck.constantFrom("e1", "e2", "e3"), { minLength: 1, maxLength: 6 }),
      rivals: FastCheck.nat(2)
    },
    ({ deliveries, pauses, rivals }) =>
      Effect.gen(function* () {
        let next = 0
        const pause = Effect.suspend(() => Effect.repeatN(Effect.yieldNow(), pauses[next++ % pauses.length] ?? 0))
        const store = yield* MemoryStore.make()
        const slow: ExecutionStore.ExecutionStore = {
          ...store,
          loadForEvent: (...args) => Effect.zipLeft(store.loadForEvent(...args), pause),
          commit: (...args) => Effect.zipRight(pause, Effect.zipLeft(store.commit(...args), pause))
        }
        const { process } = yield* Effect.provideService(
          Processor.make({ definitions: { recorder } }),
          ExecutionStore.ExecutionStore,
          slow
        )
        yield* slow.save(execution("a"))
        const rival = Effect.gen(function* () {
          const current = yield* load(slow, "a")
          yield* pause
          yield* Effect.catchTag(
            slow.save({ ...current, priority: (current.priority + 1) % 5 }),
            "StoreConflict",
            () => Effect.void
          )
        })
        const fiber = yield* Effect.fork(
          Effect.all(
            [
              ...deliveries.map((id) => Effect.asVoid(process("a", event(id)))),
              ...Array.from({ length: rivals }, () => rival)
            ],
            { concurrency: "unbounded", discard: true }
          )
        )
        yield* TestClock.adjust("1 minute")
        assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
        const stored = yield* load(store, "a")
        const distinct = Array.from(new Set(deliveries)).sort()
        assert.deepStrictEqual(Array.from(seen(stored)).sort(), distinct)
        assert.strictEqual(stored.processedEvents, distinct.length)
      }),
    { fastCheck: { numRuns: extent({ quick: 15, long: 60 }) } }
  )
})
