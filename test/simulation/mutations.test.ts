import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as simulated from "holdfast/testing/internal/simulation/run"
import * as Simulation from "holdfast/testing/Simulation"
import { extent, patient, share } from "../support/extent.js"
import { mutations } from "../support/mutations.js"
import { variant } from "../support/variant.js"
import { wrongSources } from "../support/wrongSources.js"

/** Within so many seeds each is found: a hundred from the first on take about a minute of a processor. */
const mostSeeds = extent({ quick: 60, long: 100 })

const settleSeconds = 500

/** Runs seeds until one shows what is wrong: from the first on, or in the short test from `quick` on. */
const findsWith = (
  run: (seed: number) => Effect.Effect<{ readonly problems: ReadonlyArray<string> }, unknown>,
  found: RegExp,
  quick = 1
) =>
  Effect.gen(function* () {
    const first = extent({ quick, long: 1 })
    for (let seed = first; seed < first + mostSeeds; seed++) {
      const { problems } = yield* run(seed)
      if (problems.length === 0) continue
      assert.match(problems.join("\n"), found)
      return
    }
    assert.fail(`none of ${mostSeeds} seeds from ${first} shows it`)
  })

describe("The simulation finds that", () => {
  for (const { found, name, tamper } of share(mutations, 4, 11)) {
    it.live(
      name,
      () => findsWith((seed) => simulated.run({ seed, workload: Simulation.orders, tamper, settleSeconds }), found),
      patient
    )
  }

  for (const { edits, first, found, name, store } of share(wrongSources, 7, 9)) {
    it.live(
      name,
      () =>
        Effect.flatMap(variant(edits), ({ orders, run }) =>
          findsWith((seed) => run({ seed, store, workload: orders, settleSeconds }), found, first)
        ),
      patient
    )
  }
})
