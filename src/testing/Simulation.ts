/**
 * Deterministic simulation: a seed makes a world of several processes over one database, with clocks that differ, in which
 * requests fail, hang
 * and are lost, processes stop dead, freeze and start again, and operators intervene. What a store and its workers promise is checked all
 * along, and once more when the faults have ended. The same seed does the same things in the same order.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { CommonOptions, ExecutionRuntime } from "../ExecutionRuntime.js"
import type { ExecutionStore } from "../ExecutionStore.js"
import { decoder, type Fields, refused } from "../internal/options/decode.js"
import { checked, object, oneOf, optional, whole } from "../internal/options/fields.js"
import * as order from "./internal/simulation/order.js"
import * as internal from "./internal/simulation/run.js"
import * as shrinking from "./internal/simulation/shrink.js"
import type { StoreError } from "../StoreError.js"

/**
 * What clients do in a simulated world.
 *
 * - `run`: is run in one of the processes, with a number that the seed decides, from 0 to below 1,000,000. It may fail: clients
 *   see faults.
 *   What it did is checked by what was acknowledged.
 *
 * @since 0.1.0
 * @category models
 */
export interface Operation<out R = never> {
  readonly name: string
  readonly run: (argument: number) => Effect.Effect<unknown, unknown, R | ExecutionRuntime | ExecutionStore>
}

/**
 * What runs in a simulated world.
 *
 * - `layer`: what each process has beside its runtime: definitions, activities, services. It is built each time that a process
 *   starts. What
 *   waits there for time must use `Clock`, and what is random `Random`; it must not touch the network or files.
 * - `others`: what a process may have in its place while faults come, as when a deployment is rolled out: an older version, or one that does
 *   not serve a definition. At a start one in four has one of these. When the faults have ended all have `layer`.
 * - `operations`: what clients do.
 * - `runtime`: options of the runtime. Its leases are the simulation's own.
 * - `end`: what is done by one of the processes when the faults have ended, again and again, as to stop what would go on for ever.
 * - `check`: what is wrong with what is stored in the end, a sentence each. The store is one without faults.
 *
 * @since 0.1.0
 * @category models
 */
export interface Workload<in out R = never> {
  readonly layer: Layer.Layer<R, unknown, ExecutionRuntime | ExecutionStore>
  readonly others?: ReadonlyArray<Layer.Layer<R, unknown, ExecutionRuntime | ExecutionStore>> | undefined
  readonly operations: ReadonlyArray<Operation<R>>
  readonly runtime?: Omit<CommonOptions, "leases" | "definitions"> | undefined
  readonly end?: Effect.Effect<unknown, unknown, R | ExecutionRuntime | ExecutionStore> | undefined
  readonly check?: Effect.Effect<ReadonlyArray<string>, unknown, ExecutionStore> | undefined
}

/**
 * - `seed`: a whole number. It decides `processes`, `seconds`, `faults` and `operations` where they are not given: most worlds are small.
 * - `workload`: by default {@link orders}.
 * - `store`: the simulated database: `"memory"`, the default, or `"sqlite"`, which is an SQLite in memory behind the SQL of all databases.
 * - `processes`: how many there are, by default 1 to 3.
 * - `seconds`: for how long faults and operations come, in seconds of the simulated time, by default 5 to 22.
 * - `settleSeconds`: within which time everything must be done after the last fault, by default 600.
 * - `faults`, `operations`: how many there are, by default 6 to 20 and 7 to 24.
 * - `commands`: what operators do to executions, by default all of these.
 * - `only`: which items of the plan happen, by their numbers: what is left of a plan that was shrunk. By default all of them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<R = never> {
  readonly seed: number
  readonly workload: Workload<R>
  readonly store?: "memory" | "sqlite" | undefined
  readonly processes?: number | undefined
  readonly seconds?: number | undefined
  readonly settleSeconds?: number | undefined
  readonly faults?: number | undefined
  readonly operations?: number | undefined
  readonly commands?: ReadonlyArray<"suspend" | "resume" | "cancel" | "redrive" | "terminate" | "purge"> | undefined
  readonly only?: ReadonlyArray<number> | undefined
}

/**
 * What became of a seed.
 *
 * - `problems`: what is wrong, a sentence each; empty where all promises were kept. The simulation ends at the first.
 * - `plan`: the operations and faults that the seed made happen, and `ids` their numbers.
 * - `history`: what happened, in order, each with its time in seconds.
 * - `fingerprint`: is the same for runs that did the same.
 * - `seconds`: how much simulated time passed. `commits`: how many commits were acknowledged. `faults`: how many faults the plan had.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly seed: number
  readonly store: "memory" | "sqlite"
  readonly problems: ReadonlyArray<string>
  readonly plan: ReadonlyArray<string>
  readonly ids: ReadonlyArray<number>
  readonly history: ReadonlyArray<string>
  readonly fingerprint: string
  readonly seconds: number
  readonly commits: number
  readonly faults: number
}

/**
 * A seed for which a promise was not kept. `report` is of the shortest run that was found to show it; its `ids` are the `only`
 * that replays it.
 *
 * @since 0.1.0
 * @category errors
 */
export class SimulationFailed extends Schema.TaggedError<SimulationFailed>("holdfast/testing/SimulationFailed")(
  "SimulationFailed",
  {
    seed: Schema.Number,
    store: Schema.Literal("memory", "sqlite"),
    problems: Schema.Array(Schema.String),
    plan: Schema.Array(Schema.String),
    ids: Schema.Array(Schema.Number),
    history: Schema.Array(Schema.String)
  }
) {
  /** @since 0.1.0 */
  override get message(): string {
    const { history, ids, plan, problems, seed, store } = this
    return [
      `seed ${seed} on ${store}:`,
      ...problems,
      "",
      "What happened:",
      ...history,
      "",
      "With:",
      ...plan,
      "",
      `Replay it with { seed: ${seed}, store: "${store}", only: [${ids.join(", ")}] }.`
    ].join("\n")
  }
}

/**
 * A workload of this library's own: orders with timers, delayed events, children and activities, clients that send events, some twice, and
 * transitions and activities that fail now and then; children that fail or give up; recurring reports, which a newer deployment
 * migrates; deployments without one of these;
 * clients that redrive and discard dead letters, and pause the workers. It knows which of its parts must happen, each once.
 *
 * @since 0.1.0
 * @category workloads
 */
export const orders: Workload = order.workload

/**
 * Runs a seed to its end, or to the first thing that is wrong. Fails with `StoreRejected` where an option is invalid, or the
 * simulated database
 * cannot be made: `"sqlite"` needs a library
 * of SQLite, as `SqliteStore` does.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import * as Simulation from "holdfast/testing/Simulation"
 *
 * const program = Effect.gen(function* () {
 *   const report = yield* Simulation.run({ seed: 7, workload: Simulation.orders, seconds: 5, faults: 3, operations: 4 })
 *   assert.deepStrictEqual(report.problems, [])
 * })
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const run = <R>(options: Options<R>): Effect.Effect<Report, StoreError> =>
  Effect.zipRight(decodeRun(options), internal.run(options))

const fields = {
  workload: object,
  store: optional(oneOf("memory", "sqlite")),
  processes: optional(whole(1, 100)),
  seconds: optional(whole(1)),
  settleSeconds: optional(whole(1)),
  faults: optional(whole(0)),
  operations: optional(whole(0)),
  commands: optional(checked(Array.isArray, "a list of commands"))
}

const decodeRun = decoder(
  Schema.Struct({
    ...fields,
    seed: whole(Number.MIN_SAFE_INTEGER),
    only: optional(checked(Array.isArray, "a list of numbers"))
  } satisfies Fields<Options>),
  refused("run", "Simulation")
)

/**
 * - `seeds`: how many seeds are run, one after the other.
 * - `from`: the first of them, by default 1.
 * - `shrinkRuns`: how many runs are spent to shorten a failing one, by default 100.
 *
 * @since 0.1.0
 * @category models
 */
export interface CheckOptions<R = never> extends Omit<Options<R>, "seed" | "only"> {
  readonly seeds: number
  readonly from?: number | undefined
  readonly shrinkRuns?: number | undefined
}

/**
 * Runs seeds, and fails with the first for which a promise was not kept, shortened. Gives how much was simulated.
 *
 * @since 0.1.0
 * @category running
 */
export const check = <R>(
  options: CheckOptions<R>
): Effect.Effect<
  { readonly seeds: number; readonly seconds: number; readonly commits: number; readonly faults: number },
  SimulationFailed | StoreError
> =>
  Effect.gen(function* () {
    yield* decodeCheck(options)
    const { from = 1, seeds, shrinkRuns = 100, ...rest } = options
    let seconds = 0
    let commits = 0
    let faults = 0
    for (let seed = from; seed < from + seeds; seed++) {
      const report = yield* internal.run({ ...rest, seed })
      if (report.problems.length > 0) {
        return yield* new SimulationFailed(yield* shrinking.shrink({ ...rest, seed }, report, shrinkRuns))
      }
      seconds += report.seconds
      commits += report.commits
      faults += report.faults
    }
    return { seeds, seconds, commits, faults }
  })

const decodeCheck = decoder(
  Schema.Struct({
    ...fields,
    seeds: whole(1),
    from: optional(whole(Number.MIN_SAFE_INTEGER)),
    shrinkRuns: optional(whole(0))
  } satisfies Fields<CheckOptions>),
  refused("check", "Simulation")
)
