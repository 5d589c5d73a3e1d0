/**
 * Random histories: a store and the model of it give the same results and show the same state.
 *
 * @since 0.1.0
 */
import { describe } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as MemoryStore from "../../MemoryStore.js"
import * as History from "../History.js"
import type { Subject } from "../Subject.js"

/**
 * @since 0.1.0
 * @category tests
 */
export const histories = ({ property }: Subject): void => {
  describe("histories", () => {
    property(
      "every operation gives what the model gives, and leaves the same behind",
      History.operations(30),
      20,
      (operations) =>
        Effect.gen(function* () {
          const model = yield* MemoryStore.make()
          const [ours, theirs] = [History.makePlayer(), History.makePlayer()]
          const onModel = Effect.provideService(ExecutionStore, model)
          for (const operation of operations) {
            const expected = yield* onModel(theirs.play(operation))
            deepStrictEqual({ operation, result: yield* ours.play(operation) }, { operation, result: expected })
            // both stores take their times from the one clock
            if (operation._tag === "Wait") yield* TestClock.adjust(operation.millis)
          }
          deepStrictEqual(yield* ours.state, yield* onModel(theirs.state))
        })
    )
  })
}
