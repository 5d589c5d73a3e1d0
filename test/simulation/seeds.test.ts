import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Simulation from "holdfast/testing/Simulation"
import { extent } from "../support/extent.js"
import { variant } from "../support/variant.js"
import { tight } from "../support/wrongSources.js"

const stores = [
  ["memory", extent({ quick: 5, long: 200 })],
  ["sqlite", extent({ quick: 3, long: 80 })]
] as const

describe("A simulated world keeps its promises", () => {
  for (const [store, count] of stores) {
    it.live(`on ${store}`, () => Simulation.check({ workload: Simulation.orders, store, seeds: count }))
  }

  it.live("where its limits are small", () =>
    Effect.flatMap(variant(tight), ({ orders, run }) =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= extent({ quick: 1, long: 80 }); seed++) {
          const { problems } = yield* run({ seed, workload: orders })
          assert.deepStrictEqual(problems, [], `seed ${seed}`)
        }
      })
    )
  )
})
