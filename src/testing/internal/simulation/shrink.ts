import * as Effect from "effect/Effect"
import type { StoreError } from "../../../StoreError.js"
import type { Report } from "../../Simulation.js"
import { type Given, run } from "./run.js"

/**
 * Leaves out of a failing run what it fails without: first halves of its operations and faults, then ever smaller parts, for at most so many
 * runs. Gives the last run that failed.
 */
export const shrink = <R>(given: Given<R>, failing: Report, runs: number): Effect.Effect<Report, StoreError> =>
  Effect.gen(function* () {
    let best = failing
    let left = runs
    let size = Math.ceil(best.ids.length / 2)
    while (size >= 1 && left > 0) {
      let smaller = false
      for (let from = 0; from < best.ids.length && left > 0; ) {
        left--
        const only = [...best.ids.slice(0, from), ...best.ids.slice(from + size)]
        const report = yield* run({ ...given, only })
        if (report.problems.length > 0) {
          best = report
          smaller = true
        } else from += size
      }
      if (size === 1 && !smaller) break
      size = size === 1 ? 1 : Math.ceil(size / 2)
    }
    return best
  })
