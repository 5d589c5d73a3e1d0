import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import type { Execution } from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Processor from "holdfast/Processor"
import type * as ProcessorError from "holdfast/ProcessorError"
import * as Step from "holdfast/Step"
import { StoreUnavailable } from "holdfast/StoreError"
import * as Support from "../support/workers.js"

const { driven, event, execution, load, note, onEach, pendingIds, recorder, seen } = Support

type Store = ExecutionStore.ExecutionStore

class Declined extends Schema.TaggedError<Declined>()("Declined", { why: Schema.String }) {
  override get message(): string {
    return `declined: ${this.why}`
  }
}

const declined = new Declined({ why: "limit" })

/** Ways in which a transition fails, and what is kept of each. */
const failures: ReadonlyArray<
  readonly [what: string, transition: Processor.Transition<Declined>, tag: string, text: string]
> = [
  ["fails", () => Effect.fail(declined), "Declined", "Declined: declined: limit"],
  ["dies", () => Effect.die(new RangeError("no 7")), "TransitionDied", "RangeError: no 7"],
  [
    "throws",
    () => {
      throw new TypeError("x is not a function")
    },
    "TransitionDied",
    "TypeError: x is not a function"
  ],
  [
    "fails, and dies while it cleans up",
    () => Effect.ensuring(Effect.fail(declined), Effect.die("late")),
    "Declined",
    "Declined: declined: limit"
  ],
  [
    "returns a step of another execution",
    (execution) => Effect.succeed({ execution: { ...execution, id: "b" } }),
    "StepRejected",
    'StepRejected: definition "recorder" took execution "a" at event "e1" and returned execution "b": it must return the same execution, changed, at the same version'
  ]
]

onEach("A failing transition", (make) => {
  const on = <A, E, R>(
    effect: (store: Store) => Effect.Effect<A, E, R>,
    stored: Parameters<typeof execution>[1] = {}
  ) =>
    Effect.scoped(
      Effect.gen(function* () {
        const store = yield* make
        yield* store.commit(execution("a", { status: "RUNNING", activePath: "Cart", context: { qty: 1 }, ...stored }), {
          emits: [{ targetId: "a", event: event("e1") }],
          timers: [Commit.scheduleTimer("t", 5)]
        })
        return yield* Effect.provideService(effect(store), ExecutionStore.ExecutionStore, store)
      })
    )

  const ack: Commit.WorkItem = { _tag: "Outbox", seq: 1 }

  for (const [what, transition, tag, text] of failures) {
    it.effect(`that ${what} writes nothing by default, and fails with ${tag}`, () =>
      on((store) =>
        Effect.gen(function* () {
          for (const options of [{}, { onFailure: "retry" as const }]) {
            const { process } = yield* Processor.make({ definitions: { recorder: transition }, ...options })
            const before = yield* load(store, "a")
            const error = yield* Effect.flip(process("a", event("e1"), { ack }))
            assert.strictEqual(error._tag, tag)
            if (error._tag === "TransitionDied") {
              assert.deepInclude(error, { executionId: "a", eventId: "e1", definitionId: "recorder" })
              assert.include(error.message, `definition "recorder" broke for execution "a" at event "e1": ${text}`)
            }
            assert.deepStrictEqual(yield* load(store, "a"), before)
            assert.deepStrictEqual(yield* pendingIds(store), ["e1"])
            assert.isFalse(yield* store.isProcessed("a", "e1"))
          }
        })
      )
    )

    it.effect(`that ${what} leaves the execution FAILED where the policy says so, in one commit`, () => {
      const logs = Support.logs()
      return on((store) =>
        Effect.gen(function* () {
          const { process } = yield* Processor.make({ definitions: { recorder: transition }, onFailure: "fail" })
          const before = yield* load(store, "a")
          const processed = yield* process("a", event("e1"), { ack })
          assert.strictEqual(processed._tag, "Advanced")
          const after = yield* load(store, "a")
          assert.deepStrictEqual(after, {
            ...before,
            status: "FAILED",
            error: text,
            version: 2,
            processedEvents: 1,
            updatedAt: after.updatedAt,
            finishedAt: null
          })
          assert.isTrue(yield* store.isProcessed("a", "e1"))
          assert.deepStrictEqual(yield* pendingIds(store), [])
          assert.deepStrictEqual(
            logs.lines.filter((line) => line.startsWith("ERROR")),
            [`ERROR execution "a" failed: ${text}`]
          )
          assert.deepStrictEqual(yield* process("a", event("e2")), { _tag: "Skipped", reason: "finished" })
        })
      ).pipe(Effect.provide(logs.layer))
    })
  }

  it.effect("is judged one by one, by its error, the stored execution and the event", () =>
    on((store) =>
      Effect.gen(function* () {
        const judged: Array<unknown> = []
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (_, event) =>
              event.kind === "Broken" ? Effect.die("broken") : Effect.fail(new Declined({ why: event.id })),
            fine: recorder
          },
          onFailure: (error, execution, event) => {
            judged.push([error._tag, execution.version, event.id])
            return error._tag === "Declined" && error.why === "e2" ? "fail" : "retry"
          }
        })
        assert.strictEqual((yield* Effect.flip(process("a", event("e1"))))._tag, "Declined")
        const broken = Event.make({ id: "e0", kind: "Broken" })
        assert.strictEqual((yield* Effect.flip(process("a", broken)))._tag, "TransitionDied")
        assert.strictEqual((yield* load(store, "a")).version, 1)
        assert.strictEqual((yield* process("a", event("e2")))._tag, "Advanced")
        assert.strictEqual((yield* load(store, "a")).error, "Declined: declined: e2")
        assert.deepStrictEqual(judged, [
          ["Declined", 1, "e1"],
          ["TransitionDied", 1, "e0"],
          ["Declined", 1, "e2"]
        ])
      })
    )
  )

  it.effect("is replaced by the step that the policy gives, which may need services", () =>
    on((store) =>
      Effect.gen(function* () {
        class Desk extends Context.Tag("test/Desk")<Desk, string>() {}
        const { process } = yield* Processor.make({
          definitions: { recorder: (): Effect.Effect<never, Declined> => Effect.fail(declined) },
          onFailure: (error, execution, event) =>
            Effect.gen(function* () {
              const desk = yield* Desk
              const step = yield* Step.make(execution, event)
              return step.pipe(
                Step.advance({ path: "Review", context: { ...execution.context, why: error._tag } }),
                Step.emit(desk, { id: "look", kind: "Look" })
              )
            })
        }).pipe(Effect.provideService(Desk, "desk"))
        yield* process("a", event("e1"), { ack })
        const after = yield* load(store, "a")
        assert.strictEqual(after.status, "RUNNING")
        assert.strictEqual(after.activePath, "Review")
        assert.deepStrictEqual(after.context, { qty: 1, why: "Declined" })
        assert.isTrue(yield* store.isProcessed("a", "e1"))
        assert.deepStrictEqual(yield* pendingIds(store), ["look"])
      })
    )
  )

  it.effect("is tried again where the policy itself dies, or gives a step of another execution", () =>
    on((store) =>
      Effect.gen(function* () {
        const policies: ReadonlyArray<readonly [Processor.OnFailure<Declined>, string]> = [
          [
            () => {
              throw new Error("policy")
            },
            "TransitionDied"
          ],
          [() => Effect.die("policy"), "TransitionDied"],
          [(_, execution) => ({ execution: { ...execution, version: 9 } }), "StepRejected"]
        ]
        for (const [onFailure, tag] of policies) {
          const { process } = yield* Processor.make({
            definitions: { recorder: (): Effect.Effect<never, Declined> => Effect.fail(declined) },
            onFailure
          })
          assert.strictEqual((yield* Effect.flip(process("a", event("e1"))))._tag, tag)
        }
        assert.strictEqual((yield* load(store, "a")).version, 1)
      })
    )
  )

  it.effect("may have a policy of its definition's own that needs services", () =>
    on((store) =>
      Effect.gen(function* () {
        class Desk extends Context.Tag("test/Desk")<Desk, Processor.FailureAction>() {}
        const { process } = yield* Processor.make({
          definitions: {
            recorder: Processor.transition({
              context: Schema.Struct({ qty: Schema.Number }),
              transition: () => Effect.fail(declined),
              onFailure: () => Desk
            })
          }
        }).pipe(Effect.provideService(Desk, "fail"))
        yield* process("a", event("e1"))
        assert.strictEqual((yield* load(store, "a")).status, "FAILED")
      })
    )
  )

  it.effect("is not what a store does that refuses a step or does not answer", () =>
    on((store) =>
      Effect.gen(function* () {
        const options = {
          definitions: {
            recorder: (given: Execution) => Effect.succeed({ execution: { ...given, context: { at: new Date(0) } } })
          },
          onFailure: "fail" as const
        }
        const { process } = yield* Processor.make(options)
        const refused = yield* Effect.flip(process("a", event("e1"), { ack }))
        assert.deepInclude(refused, { _tag: "StoreRejected", reason: "invalid-input" })
        const down = new StoreUnavailable({
          operation: "commit",
          reason: "timeout",
          outcome: "not-applied",
          detail: "no answer"
        })
        const silent = yield* Processor.make({ definitions: { recorder }, onFailure: "fail" }).pipe(
          Effect.provideService(ExecutionStore.ExecutionStore, { ...store, commit: () => Effect.fail(down) })
        )
        assert.strictEqual(yield* Effect.flip(silent.process("a", event("e1"), { ack })), down)
        assert.deepInclude(yield* load(store, "a"), { status: "RUNNING", version: 1 })
        assert.deepStrictEqual(yield* pendingIds(store), ["e1"])
      })
    )
  )

  it.effect("is no failure where it is interrupted", () =>
    on((store) =>
      Effect.gen(function* () {
        const asked = yield* Ref.make(0)
        const { process } = yield* Processor.make({
          definitions: { recorder: () => Effect.interrupt },
          onFailure: () =>
            Effect.as(
              Ref.update(asked, (n) => n + 1),
              "fail" as const
            )
        })
        const exit = yield* Effect.exit(process("a", event("e1")))
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
        assert.strictEqual(yield* Ref.get(asked), 0)
        assert.strictEqual((yield* load(store, "a")).version, 1)
      })
    )
  )

  it.effect("loses to another commit as any step does, and is run and judged again", () =>
    on((store) =>
      Effect.gen(function* () {
        let runs = 0
        const { process } = yield* Processor.make({
          definitions: {
            recorder: (execution) =>
              Effect.gen(function* () {
                runs++
                if (runs === 1) yield* Effect.orDie(store.save(note(execution, event("rival"))))
                return yield* declined
              })
          },
          onFailure: "fail"
        })
        yield* driven(process("a", event("e1"), { ack }))
        const after = yield* load(store, "a")
        assert.deepStrictEqual([runs, after.status, after.version, seen(after)], [2, "FAILED", 3, ["rival"]])
      })
    )
  )

  it.effect("tells no parent: a failed child waits to be redriven", () =>
    on(
      (store) =>
        Effect.gen(function* () {
          const { process } = yield* Processor.make({
            definitions: { recorder: () => Effect.fail(declined) },
            onFailure: "fail"
          })
          yield* process("a", event("e1"), { ack })
          assert.strictEqual((yield* load(store, "a")).status, "FAILED")
          assert.deepStrictEqual(yield* pendingIds(store), [])
        }),
      { parentId: "p", childId: "a" }
    )
  )

  it.effect("is judged by its definition's own policy first, and by the processor's where that says to try again", () =>
    on((store) =>
      Effect.gen(function* () {
        const own = (onFailure: Processor.OnFailure<Declined | ProcessorError.ContextInvalid>) =>
          Processor.transition({ context: Schema.Struct({}), transition: () => Effect.fail(declined), onFailure })
        const failing = yield* Processor.make({ definitions: { recorder: own("fail") } })
        const retrying = yield* Processor.make({ definitions: { recorder: own("retry") }, onFailure: "fail" })
        yield* store.save(execution("b"))
        yield* failing.process("a", event("e1"))
        yield* retrying.process("b", event("e1"))
        assert.strictEqual((yield* load(store, "a")).status, "FAILED")
        assert.strictEqual((yield* load(store, "b")).error, "Declined: declined: limit")
      })
    )
  )

  it.effect("has a policy of its own without a type for its contexts too", () =>
    on((store) =>
      Effect.gen(function* () {
        const recorder = Processor.transition({
          transition: (execution) =>
            execution.context["qty"] === 1 ? Effect.fail(declined) : Effect.succeed({ execution }),
          onFailure: (error) => (error._tag === "Declined" ? "fail" : "retry")
        })
        const { process } = yield* Processor.make({ definitions: { recorder } })
        yield* process("a", event("e1"))
        assert.strictEqual((yield* load(store, "a")).error, "Declined: declined: limit")
      })
    )
  )

  it.effect("in a runtime: the execution is FAILED and the event gone, or the event is delivered again", () =>
    on((store) =>
      Effect.gen(function* () {
        const runs = yield* Ref.make(0)
        const runtime = yield* ExecutionRuntime.make({
          definitions: {
            recorder: () => Effect.fail(declined),
            recovering: (execution, event) =>
              Effect.flatMap(
                Ref.updateAndGet(runs, (n) => n + 1),
                (n) => (n < 3 ? Effect.die("not yet") : Effect.succeed({ execution: note(execution, event) }))
              )
          },
          onFailure: (error) => (error._tag === "Declined" ? "fail" : "retry")
        })
        yield* runtime.create(execution("r", { definitionId: "recovering" }))
        yield* runtime.send("r", event("e9"))
        yield* driven(runtime.awaitIdle)
        assert.strictEqual((yield* load(store, "a")).error, "Declined: declined: limit")
        assert.deepStrictEqual(seen(yield* load(store, "r")), ["e9"])
        assert.strictEqual(yield* Ref.get(runs), 3)
      })
    )
  )
})
