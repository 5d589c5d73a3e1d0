import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { DefinitionNotFound } from "holdfast/ProcessorError"
import * as unserved from "../../src/internal/runtime/unserved.js"

describe("A definition that is registered while a worker finds that it is missing", () => {
  it.effect("is not passed over", () =>
    Effect.gen(function* () {
      const transitions = new Map<string, string>()
      const state = unserved.make({
        definitions: { transitions, serves: (definitionId) => transitions.has(definitionId) },
        activities: new Set(),
        waits: true,
        tellsChildren: true
      })
      const clock = yield* Effect.clock
      // Another fiber has its turn where the time is asked for.
      const turn = Effect.suspend(() => {
        if (transitions.has("order")) return Effect.void
        transitions.set("order", "it")
        return unserved.forgetDefinition(state, "order")
      })
      const elsewhere = unserved.elsewhere(state)
      yield* elsewhere
        .found(new DefinitionNotFound({ definitionId: "order", executionId: "order-1", eventId: "e" }))
        .pipe(
          Effect.withClock({
            [Clock.ClockTypeId]: Clock.ClockTypeId,
            currentTimeMillis: Effect.zipRight(turn, clock.currentTimeMillis),
            currentTimeNanos: clock.currentTimeNanos,
            unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis(),
            unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
            sleep: (duration) => clock.sleep(duration)
          })
        )
      assert.deepStrictEqual((yield* elsewhere.passed()).definitions, [])
    })
  )
})
