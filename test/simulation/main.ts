/** What `npm run simulate` does: see `options.ts`. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as simulated from "../../src/testing/internal/simulation/run.js"
import * as shrinking from "../../src/testing/internal/simulation/shrink.js"
import * as Simulation from "../../src/testing/Simulation.js"
import { type Simulated, variant } from "../support/variant.js"
import { tight } from "../support/wrongSources.js"
import * as cores from "./cores.js"
import { type Limits, type Options, read, type Store, usage } from "./options.js"
import * as sums from "./sums.js"

/** What a world is of. */
interface Kind {
  readonly store: Store
  readonly limits: Limits
}

/** Most seeds are on the store in memory, which is fast, with the limits that users have. */
const kindOf = (seed: number, { limits, store }: Options): Kind => ({
  store: store ?? (seed % 5 === 2 && limits !== "small" ? "sqlite" : "memory"),
  limits: limits ?? (seed % 5 === 4 && store !== "sqlite" ? "small" : "usual")
})

const plain: Simulated = { run: simulated.run, shrink: shrinking.shrink, orders: Simulation.orders }

const command = (seed: number, { limits, store }: Kind, only: ReadonlyArray<number>): string =>
  `npm run simulate -- --seed ${seed} --store ${store} --limits ${limits} --only ${only.length === 0 ? '""' : only.join(",")}`

const failure = (report: Simulation.Report, kind: Kind): string =>
  [
    `seed ${report.seed} on ${kind.store} with ${kind.limits} limits:`,
    ...report.problems,
    "",
    "What happened:",
    ...report.history,
    "",
    "With:",
    ...report.plan,
    "",
    `Replay it: ${command(report.seed, kind, report.ids)}`
  ].join("\n")

/** So many runs are spent to shorten a failing seed. */
const shrinkRuns = 150

/** Whether it was interrupted, which ends it with the seed that runs. */
const interruption = (): { asked: boolean } => {
  const state = { asked: false }
  process.once("SIGINT", () => {
    state.asked = true
  })
  return state
}

const failed = (world: Simulated, given: simulated.Given<never>, report: Simulation.Report, kind: Kind) =>
  Effect.gen(function* () {
    yield* Console.log(`seed ${report.seed} fails and is made shorter: ${report.problems[0] ?? ""}`)
    const shortest = given.only === undefined ? yield* world.shrink(given, report, shrinkRuns) : report
    yield* Console.log(failure(shortest, kind))
    return 1
  })

/** Runs seeds; gives the exit code. */
const simulate = (options: Options) =>
  Effect.gen(function* () {
    const { from, only, part, single, until } = options
    let small: Simulated | undefined
    let sum = sums.none
    const interrupted = interruption()
    const end = Date.now() + until.hours * 3_600_000
    let told = Date.now()
    const step = part === undefined ? 1 : options.cores
    for (let seed = from + (part ?? 0); seed < from + until.seeds; seed += step) {
      if (sum.seeds > 0 && (Date.now() >= end || interrupted.asked)) break
      const kind = kindOf(seed, options)
      if (kind.limits === "small") small ??= yield* variant(tight)
      const world = kind.limits === "small" && small !== undefined ? small : plain
      const given = { seed, store: kind.store, workload: world.orders, only }
      const report = yield* world.run(given)
      if (report.problems.length > 0) return yield* failed(world, given, report, kind)
      if (single) yield* Console.log(report.history.join("\n"))
      sum = sums.add(sum, report)
      if (Date.now() - told >= sums.interval) {
        told = Date.now()
        if (part === undefined) yield* Console.log(sums.inWords([sum]))
        else yield* cores.tell(sum)
      }
    }
    if (part === undefined) yield* Console.log(`All promises kept: ${sums.inWords([sum])}`)
    else yield* cores.tell(sum)
    return interrupted.asked ? 130 : 0
  })

/** Does what the arguments ask for, and gives the exit code. */
export const start = (args: ReadonlyArray<string>): Promise<number> =>
  Effect.runPromise(
    read(args).pipe(
      Effect.flatMap((options) => {
        if (options === undefined) return Effect.as(Console.log(usage), 0)
        return options.part === undefined && options.cores > 1 ? cores.run(options.cores, args) : simulate(options)
      }),
      Effect.catchTags({
        BadInput: ({ message }) => Effect.as(Console.error(`${message}; --help says what there is`), 2),
        StoreUnavailable: ({ message }) => Effect.as(Console.error(message), 2),
        StoreRejected: ({ message }) => Effect.as(Console.error(message), 2),
        StoreCorrupt: ({ message }) => Effect.as(Console.error(message), 2)
      })
    )
  )
