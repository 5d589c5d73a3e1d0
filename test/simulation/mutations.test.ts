import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { run } from "holdfast/testing/internal/simulation/run"
import * as Simulation from "holdfast/testing/Simulation"
import { mutations } from "../support/mutations.js"

/** Within so many seeds each is found. */
const patience = 12

describe("The simulation finds that", () => {
  for (const { found, name, tamper } of mutations) {
    it.live(name, () =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= patience; seed++) {
          const { problems } = yield* run({ seed, workload: Simulation.orders, tamper, settleSeconds: 60 })
          if (problems.length === 0) continue
          assert.match(problems.join("\n"), found)
          return
        }
        assert.fail(`no seed up to ${patience} shows it`)
      })
    )
  }
})
