import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Definition from "holdfast/Definition"
import * as Step from "holdfast/Step"
import * as Simulation from "holdfast/testing/Simulation"
import { long } from "../support/extent.js"

const Trial = Definition.make("trial", {
  context: Schema.Struct({ email: Schema.String }),
  events: { Upgraded: Schema.Struct({ plan: Schema.String }) },
  timers: ["end"],
  result: Schema.Struct({ plan: Schema.NullOr(Schema.String) })
})

/** A user's own definition. */
const trials: Simulation.Workload = {
  layer: Trial.toLayer({
    Start: (step) => step.pipe(Step.advance("Trying"), Trial.armTimer("end", "20 seconds")),
    Upgraded: (step, { plan }) => step.pipe(Trial.cancelTimer("end"), Trial.finish({ plan })),
    timers: { end: (step) => Trial.finish(step, { plan: null }) }
  }),
  operations: [
    { name: "try", run: (argument) => Trial.start(`trial-${argument % 5}`, { email: "ada@example.org" }) },
    { name: "upgrade", run: (argument) => Trial.send(`trial-${argument % 5}`, "Upgraded", { plan: "large" }) }
  ]
}

const small = { seconds: 10, faults: 4, operations: 6 }

describe("A simulation", () => {
  it.live("does the same again with the same seed, on each database", () =>
    Effect.forEach(["memory", "sqlite"] as const, (store) =>
      Effect.gen(function* () {
        const options = { seed: 11, store, workload: Simulation.orders, ...(long ? {} : small) }
        const first = yield* Simulation.run(options)
        const second = yield* Simulation.run(options)
        assert.deepStrictEqual(second, first)
        assert.isAbove(first.commits, 5)
      })
    )
  )

  it.live("does something else with another seed", () =>
    Effect.gen(function* () {
      const first = yield* Simulation.run({ seed: 1, workload: Simulation.orders, ...small })
      const second = yield* Simulation.run({ seed: 2, workload: Simulation.orders, ...small })
      assert.notStrictEqual(second.fingerprint, first.fingerprint)
      assert.notDeepEqual(second.plan, first.plan)
    })
  )

  it.live("runs a user's definitions", () =>
    Effect.gen(function* () {
      const { commits, seeds } = yield* Simulation.check({ workload: trials, seeds: 2 })
      assert.strictEqual(seeds, 2)
      assert.isAbove(commits, 4)
    })
  )

  it.live("leaves out of a failing run what it fails without, and says how to replay it", () =>
    Effect.gen(function* () {
      const workload: Simulation.Workload = {
        ...trials,
        check: Effect.flatMap(Effect.succeed(["nothing pleases this check"]), Effect.succeed)
      }
      const failed = yield* Effect.flip(Simulation.check({ workload, seeds: 3, from: 5, ...small }))
      assert.instanceOf(failed, Simulation.SimulationFailed)
      if (!(failed instanceof Simulation.SimulationFailed)) return
      assert.deepStrictEqual(failed.ids, [])
      assert.match(failed.message, /^seed 5 on memory:\nnothing pleases this check\n/)
      assert.match(failed.message, /Replay it with \{ seed: 5, store: "memory", only: \[\] \}\.$/)
      const { problems } = yield* Simulation.run({ workload, seed: failed.seed, only: failed.ids, ...small })
      assert.deepStrictEqual(problems, failed.problems)
    })
  )

  it.live("says that a process does not start", () =>
    Effect.gen(function* () {
      const workload = { ...trials, layer: Layer.fail("the mailer is missing") }
      const { history, problems } = yield* Simulation.run({ seed: 1, workload, settleSeconds: 10, ...small })
      assert.deepStrictEqual(problems, ["p0 does not start"])
      assert.isTrue(history.some((line) => line.includes("the mailer is missing")))
    })
  )

  it.live("says that fibers are left behind", () =>
    Effect.gen(function* () {
      const layer = Layer.merge(trials.layer, Layer.effectDiscard(Effect.forkDaemon(Effect.never)))
      // Not each world is stopped in the end.
      const workload = { ...trials, layer }
      const failed = yield* Effect.flip(Simulation.check({ workload, seeds: 20, shrinkRuns: 0, ...small }))
      assert.match(failed.message, /has stopped, and 1 of its fibers run\n/)
    })
  )

  it.live("leaves no fiber behind when its world is over", () =>
    Effect.gen(function* () {
      const before = (yield* Fiber.roots).length
      yield* Simulation.run({ seed: 1, workload: trials, ...small })
      assert.isAtMost((yield* Fiber.roots).length, before)
    })
  )

  for (const [what, options, path] of [
    ["a seed that is no whole number", { seed: 0.5 }, "seed"],
    ["no process", { seed: 1, processes: 0 }, "processes"],
    ["a negative number of faults", { seed: 1, faults: -1 }, "faults"],
    ["a time that is none", { seed: 1, seconds: Number.NaN }, "seconds"]
  ] as const) {
    it.live(`refuses ${what}`, () =>
      Effect.gen(function* () {
        const refused = yield* Effect.either(Simulation.run({ workload: trials, ...options }))
        assert.isTrue(Either.isLeft(refused) && refused.left._tag === "StoreRejected" && refused.left.path === path)
      })
    )
  }
})
