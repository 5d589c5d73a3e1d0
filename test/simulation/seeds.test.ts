import { describe, it } from "@effect/vitest"
import * as Simulation from "holdfast/testing/Simulation"

/** Which seeds are asked for, by `npm run simulate`: the first, and how many. */
const asked = /^(\d+):(\d+)$/.exec(process.env["HOLDFAST_SEEDS"] ?? "")
const only = process.env["HOLDFAST_SEEDS_STORE"] ?? ""

const seeds = (count: number): { readonly from: number; readonly seeds: number } =>
  asked === null ? { from: 1, seeds: count } : { from: Number(asked[1]), seeds: Number(asked[2]) }

const stores = [
  ["memory", 20],
  ["sqlite", 6]
] as const

// A run of many seeds takes as long as it takes.
const timeout = 24 * 3_600_000

describe("A simulated world keeps its promises", () => {
  for (const [store, count] of stores) {
    if (only !== "" && only !== store) continue
    it.live(`on ${store}`, () => Simulation.check({ workload: Simulation.orders, store, ...seeds(count) }), timeout)
  }
})
