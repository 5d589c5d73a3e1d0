import { assert, describe, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Definition from "holdfast/Definition"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import { JsonObject } from "holdfast/Json"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Processor from "holdfast/Processor"
import { StepInvalid } from "holdfast/ProcessorError"
import * as Step from "holdfast/Step"

const Timed = Definition.make("timed", {
  context: JsonObject,
  events: { Go: Schema.Struct({}) },
  timers: ["pay"]
})

type Delayed = (step: Step.Builder, delay: Duration.DurationInput) => Step.Builder

const delayed: ReadonlyArray<readonly [what: string, change: Delayed, subject: string]> = [
  ["Step.armTimer", (step, delay) => Step.armTimer(step, "pay", delay), "delay of timer pay"],
  ["armTimer of a definition", (step, delay) => step.pipe(Timed.armTimer("pay", delay)), "delay of timer pay"],
  ["Step.emitAfter", (step, delay) => Step.emitAfter(step, "b", delay, { kind: "Go" }), "delay of event Go"],
  ["emit of a definition", (step, delay) => Timed.emit(step, "b", "Go", {}, { after: delay }), "delay of event Go"]
]

const delays: ReadonlyArray<readonly [what: string, delay: Duration.DurationInput]> = [
  ["no end", Number.POSITIVE_INFINITY],
  ["a time before", -1],
  ["no number", Number.NaN],
  // what a caller without types could pass
  ["no duration", JSON.parse('"3 bananas"')],
  ["nothing", JSON.parse("null")],
  ["an object", JSON.parse("{}")]
]

const go = Event.make({ id: "go", kind: "Go" })

const transitions = (change: Delayed, delay: Duration.DurationInput) => {
  const plain: Processor.Transition = (execution, event) =>
    Effect.map(Step.make(execution, event), (step) => change(step, delay))
  const implemented: Processor.Transition<Processor.TransitionFailure<never>> = Timed.toTransition({
    Start: (step) => step,
    Go: (step) => change(step, delay),
    timers: { pay: (step) => step }
  })
  return {
    "a transition": Processor.make({ definitions: { timed: plain } }),
    "a transition on contexts of a type": Processor.make({ context: JsonObject, definitions: { timed: plain } }),
    "a definition": Processor.make({
      definitions: { timed: implemented }
    })
  }
}

describe("a delay that is no finite duration", () => {
  for (const [what, change, subject] of delayed) {
    it.effect(`refuses the step, and is no defect, in ${what}`, () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const [given, delay] of delays) {
          for (const [by, processor] of Object.entries(transitions(change, delay))) {
            const id = `${given}, ${by}`
            yield* store.save(Execution.make({ id, definitionId: "timed", status: "RUNNING" }))
            const error = yield* Effect.flip(Effect.flatMap(processor, ({ process }) => process(id, go)))
            assert.instanceOf(error, StepInvalid, id)
            assert.deepInclude(error, { executionId: id, subject, problem: "expected a finite duration" })
          }
        }
        assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
        assert.deepStrictEqual((yield* store.dueTimers(2 ** 52)).entries, [])
      }).pipe(Effect.provide(MemoryStore.layer))
    )
  }

  it.effect("is refused by the store where the step was copied", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.save(Execution.make({ id: "a", definitionId: "timed", status: "RUNNING" }))
      const copied: Processor.Transition = (execution, event) =>
        Effect.map(Step.make(execution, event), (step) => ({ ...Step.armTimer(step, "pay", Number.POSITIVE_INFINITY) }))
      const { process } = yield* Processor.make({ definitions: { timed: copied } })
      const error = yield* Effect.flip(process("a", go))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "invalid-input" })
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})

describe("an event that a step of a definition emits", () => {
  it.effect("waits until the time that it is given", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      yield* store.save(Execution.make({ id: "a", definitionId: "timed", status: "RUNNING" }))
      const { process } = yield* Processor.make({
        definitions: {
          timed: (execution, event) =>
            Effect.map(Step.make(execution, event), (step) => Timed.emit(step, "b", "Go", {}, { at: 100.5 }))
        }
      })
      yield* process("a", go)
      assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
      assert.strictEqual(yield* store.delayed.release(100, 10), 0)
      assert.strictEqual(yield* store.delayed.release(100.5, 10), 1)
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})
