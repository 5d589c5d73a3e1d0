import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Processor from "holdfast/Processor"
import { TransitionTimedOut } from "holdfast/ProcessorError"
import * as Support from "../support/workers.js"

const { event, execution, load, recorder } = Support

const timedOut = (after = 60) =>
  new TransitionTimedOut({ executionId: "a", eventId: "e1", definitionId: "recorder", after })

/** Transitions that never end, of which the second cannot be interrupted either. */
const endless: ReadonlyArray<readonly [name: string, transition: Processor.Transition]> = [
  ["waits for ever", () => Effect.never],
  ["waits for ever and cannot be interrupted", () => Effect.uninterruptible(Effect.never)]
]

const withStore = <A, E, R>(use: (store: ExecutionStore.ExecutionStore) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.make()
    yield* store.save(execution("a", { status: "RUNNING" }))
    return yield* Effect.provideService(use(store), ExecutionStore.ExecutionStore, store)
  })

/** What an effect comes to once the clock has gone on for so many seconds, and not before. */
const endsAfter = <A, E, R>(seconds: number, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust(`${seconds * 1000 - 1} millis`)
    assert.strictEqual((yield* Fiber.poll(fiber))._tag, "None")
    yield* TestClock.adjust("1 millis")
    return yield* Fiber.join(fiber)
  })

describe("A transition", () => {
  for (const [name, transition] of endless) {
    it.effect(`that ${name} fails after a minute, and nothing is written`, () =>
      withStore((store) =>
        Effect.gen(function* () {
          const { process } = yield* Processor.make({ definitions: { recorder: transition } })
          const before = yield* load(store, "a")
          const error = yield* endsAfter(60, Effect.flip(process("a", event("e1"))))
          assert.instanceOf(error, TransitionTimedOut)
          assert.deepInclude(error, { executionId: "a", eventId: "e1", definitionId: "recorder", after: 60 })
          assert.include(
            error.message,
            'definition "recorder" took more than 60 seconds for execution "a" at event "e1"'
          )
          assert.deepStrictEqual(yield* load(store, "a"), before)
          assert.isFalse(yield* store.isProcessed("a", "e1"))
        })
      )
    )

    it.effect(`that ${name} is what a policy is asked about: the definition's first, then the processor's`, () =>
      withStore((store) =>
        Effect.gen(function* () {
          const asked: Array<string> = []
          const told =
            (who: string): Processor.OnFailure =>
            (error) => {
              asked.push(`${who}: ${String(error)}`)
              return who === "processor" ? "fail" : "retry"
            }
          const own = Processor.transition({ transition, onFailure: told("definition") })
          const { process } = yield* Processor.make({
            definitions: { recorder: own },
            onFailure: told("processor"),
            transitionTimeout: "2 seconds"
          })
          yield* endsAfter(2, process("a", event("e1")))
          const text = String(timedOut(2))
          assert.deepStrictEqual(asked, [`definition: ${text}`, `processor: ${text}`])
          const { error, status } = yield* load(store, "a")
          assert.deepStrictEqual([status, error], ["FAILED", text])
        })
      )
    )
  }

  it.effect("may have a policy that never ends: it fails too", () =>
    withStore(() =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: { recorder: () => Effect.fail("no") },
          onFailure: () => Effect.never
        })
        const error = yield* endsAfter(60, Effect.flip(process("a", event("e1"))))
        assert.deepStrictEqual(String(error), String(timedOut()))
      })
    )
  )

  it.effect("that takes too long is interrupted, and what it had is given back", () =>
    withStore(() =>
      Effect.gen(function* () {
        const released = yield* Deferred.make<string>()
        const transition: Processor.Transition = () =>
          Effect.onExit(Effect.never, (exit) =>
            Deferred.succeed(released, Exit.isInterrupted(exit) ? "interrupted" : "else")
          )
        const { process } = yield* Processor.make({
          definitions: { recorder: transition },
          transitionTimeout: "1 second"
        })
        yield* endsAfter(1, Effect.flip(process("a", event("e1"))))
        assert.strictEqual(yield* Deferred.await(released), "interrupted")
      })
    )
  )

  it.effect("is interrupted with whoever runs it, who waits for its end", () =>
    withStore(() =>
      Effect.gen(function* () {
        const began = yield* Deferred.make<void>()
        let ended = false
        const transition: Processor.Transition = () =>
          Deferred.succeed(began, undefined).pipe(
            Effect.zipRight(Effect.never),
            Effect.onInterrupt(() =>
              Effect.andThen(
                Effect.yieldNow(),
                Effect.sync(() => {
                  ended = true
                })
              )
            )
          )
        const { process } = yield* Processor.make({ definitions: { recorder: transition } })
        const fiber = yield* Effect.fork(process("a", event("e1")))
        yield* Deferred.await(began)
        const exit = yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.isInterrupted(exit))
        assert.isTrue(ended)
      })
    )
  )

  it.effect("that does not wait needs no clock", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({ definitions: { recorder } })
        yield* process("a", event("e1"))
        assert.strictEqual((yield* load(store, "a")).version, 2)
        assert.deepStrictEqual(Array.from(yield* TestClock.sleeps()), [])
      })
    )
  )

  it.effect("that waits, and ends in time, is what it would be without a limit", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const slow: Processor.Transition<string> = (execution, event) =>
          Effect.delay(event.id === "bad" ? Effect.fail("no") : recorder(execution, event), "59 seconds")
        const { process } = yield* Processor.make({ definitions: { recorder: slow } })
        yield* endsAfter(59, process("a", event("e1")))
        assert.strictEqual(yield* endsAfter(59, Effect.flip(process("a", event("bad")))), "no")
        assert.deepStrictEqual(Support.seen(yield* load(store, "a")), ["e1"])
      })
    )
  )

  it.effect("has no limit where none is wanted", () =>
    withStore((store) =>
      Effect.gen(function* () {
        const slow: Processor.Transition = (execution, event) => Effect.delay(recorder(execution, event), "1 day")
        const { process } = yield* Processor.make({
          definitions: { recorder: slow },
          transitionTimeout: Number.POSITIVE_INFINITY
        })
        yield* endsAfter(24 * 3600, process("a", event("e1")))
        assert.deepStrictEqual(Support.seen(yield* load(store, "a")), ["e1"])
      })
    )
  )
})
