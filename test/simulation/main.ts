/** What `npm run simulate` does: see `options.ts`. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as simulated from "../../src/testing/internal/simulation/run.js"
import * as shrinking from "../../src/testing/internal/simulation/shrink.js"
import * as Simulation from "../../src/testing/Simulation.js"
import { type Simulated, variant } from "../support/variant.js"
import { tight } from "../support/wrongSources.js"
import { type Limits, type Options, read, type Store, usage } from "./options.js"

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

/** What seeds came to. */
interface Sum {
  seeds: number
  seconds: number
  commits: number
}

const plain: Simulated = { run: simulated.run, shrink: shrinking.shrink, orders: Simulation.orders }

const minutes = (seconds: number): string => `${(seconds / 60).toFixed(1)} min`

const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

const inWords = ({ commits, seconds, seeds }: Sum, last: number): string => {
  const spent = cpuSeconds()
  return [
    `${seeds} seeds up to ${last}`,
    `${(seconds / 3600).toFixed(1)} simulated hours`,
    `${commits} commits`,
    `${minutes(spent)} of the processor, ${Math.round((seeds * 60) / spent)} seeds a minute of it`
  ].join(", ")
}

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

/** How often is told how far it is, in milliseconds. */
const interval = 10_000

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
    const { from, only, single, until } = options
    let small: Simulated | undefined
    const sum: Sum = { seeds: 0, seconds: 0, commits: 0 }
    const interrupted = interruption()
    const end = Date.now() + until.hours * 3_600_000
    let told = Date.now()
    for (let seed = from; seed < from + until.seeds; seed++) {
      if (sum.seeds > 0 && (Date.now() >= end || interrupted.asked)) break
      const kind = kindOf(seed, options)
      if (kind.limits === "small") small ??= yield* variant(tight)
      const world = kind.limits === "small" && small !== undefined ? small : plain
      const given = { seed, store: kind.store, workload: world.orders, only }
      const report = yield* world.run(given)
      if (report.problems.length > 0) return yield* failed(world, given, report, kind)
      if (single) yield* Console.log(report.history.join("\n"))
      sum.seeds++
      sum.seconds += report.seconds
      sum.commits += report.commits
      if (Date.now() - told >= interval) {
        told = Date.now()
        yield* Console.log(inWords(sum, seed))
      }
    }
    yield* Console.log(`All promises kept: ${inWords(sum, from + sum.seeds - 1)}`)
    return interrupted.asked ? 130 : 0
  })

/** Does what the arguments ask for, and gives the exit code. */
export const start = (args: ReadonlyArray<string>): Promise<number> =>
  Effect.runPromise(
    read(args).pipe(
      Effect.flatMap((options) => (options === undefined ? Effect.as(Console.log(usage), 0) : simulate(options))),
      Effect.catchTags({
        BadInput: ({ message }) => Effect.as(Console.error(`${message}; --help says what there is`), 2),
        StoreUnavailable: ({ message }) => Effect.as(Console.error(message), 2),
        StoreRejected: ({ message }) => Effect.as(Console.error(message), 2),
        StoreCorrupt: ({ message }) => Effect.as(Console.error(message), 2)
      })
    )
  )
