import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Simulation from "holdfast/testing/Simulation"
import { extent, patient } from "../support/extent.js"
import { variant } from "../support/variant.js"
import { tight } from "../support/wrongSources.js"

const stores = [
  ["memory", extent({ quick: 5, long: 200 })],
  ["sqlite", extent({ quick: 3, long: 80 })]
] as const

/** So many seeds are a test, so that one says soon how far it is. */
const most = 10

const parts = (count: number): ReadonlyArray<{ readonly from: number; readonly seeds: number }> =>
  Array.from({ length: Math.ceil(count / most) }, (_, i) => ({
    from: 1 + i * most,
    seeds: Math.min(most, count - i * most)
  }))

const small = Effect.runSync(Effect.cached(variant(tight)))

describe("A simulated world keeps its promises", () => {
  for (const [store, count] of stores) {
    for (const { from, seeds } of parts(count)) {
      it.live(
        `on ${store}, ${seeds} seeds from ${from}`,
        () => Simulation.check({ workload: Simulation.orders, store, from, seeds }),
        patient
      )
    }
  }

  for (const { from, seeds } of parts(extent({ quick: 1, long: 80 }))) {
    it.live(
      `where its limits are small, ${seeds} seeds from ${from}`,
      () =>
        Effect.flatMap(small, ({ orders, run }) =>
          Effect.gen(function* () {
            for (let seed = from; seed < from + seeds; seed++) {
              const { problems } = yield* run({ seed, workload: orders })
              assert.deepStrictEqual(problems, [], `seed ${seed}`)
            }
          })
        ),
      patient
    )
  }
})
