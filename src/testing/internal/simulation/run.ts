import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ExecutionRuntime from "../../../ExecutionRuntime.js"
import { prefix as recurring } from "../../../internal/cron/contract.js"
import type { StoreError } from "../../../StoreError.js"
import type { Options, Report, Workload } from "../../Simulation.js"
import * as backends from "./backend.js"
import * as dice_ from "./dice.js"
import * as end from "./end.js"
import { Journal } from "./journal.js"
import * as leftFibers from "./leftFibers.js"
import * as looks from "./looks.js"
import { Network } from "./network.js"
import * as plans from "./plan.js"
import { Process, type Tamper } from "./processes.js"
import * as runtimeOptions_ from "./runtimeOptions.js"
import * as size_ from "./size.js"
import { World } from "./world.js"

/** What a run is made of. */
export interface Stage<R> {
  readonly world: World
  readonly network: Network
  readonly journal: Journal
  readonly backend: backends.Backend
  readonly workload: Workload<R>
  readonly runtimeOptions: runtimeOptions_.RuntimeOptions
  readonly processes: ReadonlyArray<Process<R>>
}

export interface Given<R> extends Options<R> {
  readonly tamper?: Tamper | undefined
}

/** How much happens by default. */
const amounts = <R>(given: Given<R>): plans.Amounts => {
  const { commands, faults, operations, processes, seconds, seed, store } = given
  const size = size_.make(seed)
  return {
    processes: runtimeOptions_.make(seed, { commands, processes }).alone ? 1 : (processes ?? size.processes),
    millis: (seconds ?? size.seconds) * 1_000,
    faults: faults ?? size.faults,
    operations: operations ?? size.operations,
    commands: commands ?? ["suspend", "resume", "cancel", "redrive", "terminate", "purge"],
    sql: store === "sqlite"
  }
}

/** The things that a seed makes happen, those of them that are asked for. */
export const plan = <R>(given: Given<R>): ReadonlyArray<plans.Item> => {
  const all = plans.make(given.seed, amounts(given))
  const { only } = given
  return only === undefined ? all : all.filter(({ id }) => only.includes(id))
}

const stage = <R>(given: Given<R>): Effect.Effect<Stage<R>, StoreError, Scope.Scope> =>
  Effect.gen(function* () {
    const { seed, tamper = (encoded) => encoded, workload } = given
    const runtimeOptions = runtimeOptions_.make(seed, given)
    const backend = yield* backends.make(given.store ?? "memory", runtimeOptions)
    const world = new World(dice_.make(seed, "order"))
    yield* Effect.addFinalizer(() => leftFibers.forget(world))
    const network = new Network(world, dice_.make(seed, "network"), { ...runtimeOptions, sql: backend.sql })
    const keeps = workload.runtime?.retention === undefined ? runtimeOptions_.keeps : undefined
    const journal = new Journal(world, backend.truth, keeps)
    const settings = { seed, workload, backend, network, journal, tamper, runtimeOptions }
    const processes = Array.from({ length: amounts(given).processes }, (_, index) => new Process<R>(index, settings))
    return { world, network, journal, backend, workload, runtimeOptions, processes }
  })

/** The process of an item, or the next one that is up. */
const upFrom = <R>({ processes }: Stage<R>, index: number): Process<R> | undefined =>
  [...processes.slice(index), ...processes.slice(0, index)].find(({ running }) => running)

const command = (item: plans.Item & { readonly _tag: "Command" }, id: string) =>
  Effect.flatMap(ExecutionRuntime.ExecutionRuntime, ({ control }) => {
    switch (item.command) {
      case "suspend":
        return control.suspend(id)
      case "resume":
        return control.resume(id)
      case "cancel":
        return control.cancel(id, { children: "cancel" })
      case "redrive":
        return control.redrive(id)
      case "terminate":
        return control.terminate(id)
      case "purge":
        return control.purge(id)
    }
  })

/** Makes one thing happen. */
const happen = <R>(stage: Stage<R>, item: plans.Item): void => {
  const { runtimeOptions, journal, network, processes, workload, world } = stage
  const process = "process" in item ? processes[item.process] : undefined
  switch (item._tag) {
    case "Trouble":
      network.disturb(item.how, item.millis * 1_000)
      break
    case "Operation": {
      const operation = workload.operations[item.nth % workload.operations.length]
      if (operation !== undefined)
        upFrom(stage, item.process)?.run(`${operation.name} ${item.argument}`, operation.run(item.argument))
      break
    }
    case "Command": {
      // Recurring work that is ended on purpose leaves out times.
      const ends = item.command === "cancel" || item.command === "terminate"
      const all = ends ? journal.executions.filter((id) => !id.startsWith(recurring)) : journal.executions
      const id = all[item.nth % Math.max(1, all.length)]
      if (id !== undefined && item.command === "purge") journal.removes(id)
      if (id !== undefined) upFrom(stage, item.process)?.run(`${item.command} ${id}`, command(item, id))
      break
    }
    case "Request":
      process?.pending.push({ how: item.how, micros: item.millis * 1_000, kind: item.kind })
      break
    case "Kill":
      if (runtimeOptions.exclusive) break
      process?.kill(item.steps)
      // Where it has not run so many steps by then, it stops dead now.
      world.after(item.millis * 1_000, () => {
        process?.die()
        process?.start()
      })
      break
    case "Restart":
      if (runtimeOptions.exclusive) break
      process?.stop(() => process.start())
      break
    case "Freeze":
      process?.freeze()
      world.after(item.millis * 1_000, () => process?.thaw())
      break
    case "Clock":
      process?.setClock(item.millis)
      break
  }
}

/** Runs a seed to its end, or to the first thing that is wrong. */
export const run = <R>(given: Given<R>): Effect.Effect<Report, StoreError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const staged = yield* stage(given)
      const { journal, processes, world } = staged
      const items = plan(given)
      for (const process of processes) process.start()
      for (const item of items) {
        world.after(item.at * 1_000, () => {
          world.note(plans.describe(item))
          happen(staged, item)
        })
      }
      looks.begin(staged)
      const wrong = () => journal.problems.length > 0
      yield* world.run(wrong, amounts(given).millis * 1_000)
      if (!wrong()) yield* end.settle(staged, (given.settleSeconds ?? 600) * 1_000_000)
      if (!wrong()) yield* end.judge(staged)
      // It costs as much as a world of few operations does.
      if (!wrong() && dice_.make(given.seed, "stop").chance(0.4)) yield* end.stop(staged)
      return {
        seed: given.seed,
        store: given.store ?? "memory",
        problems: journal.problems,
        plan: items.map(plans.describe),
        ids: items.map(({ id }) => id),
        history: world.history,
        fingerprint: world.fingerprint,
        seconds: world.now / 1_000_000,
        faults: items.filter(plans.isFault).length,
        commits: Array.from(journal.commits.values()).reduce((sum, { byVersion }) => sum + byVersion.size, 0)
      }
    })
  )
