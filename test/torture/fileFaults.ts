/** What happens to the file of a database: its disk fails, lies, is full, loses its power; others lock it. */
import { execFile } from "node:child_process"
import { closeSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import type { Dice } from "../../src/testing/internal/simulation/dice.js"
import * as Child from "../support/childProcess.js"
import { type Fault, type Missing, millis } from "./faults.js"
import * as PowerLoss from "./powerLoss.js"

/** The library between the processes and the disk, or why there is none. */
export type Library =
  | { readonly _tag: "Built"; readonly path: string }
  | { readonly _tag: "Missing"; readonly why: string }

export const compile = (source: string, path: string): Effect.Effect<Library> =>
  process.platform !== "linux"
    ? Effect.succeed({ _tag: "Missing", why: "libraries are preloaded on Linux alone" })
    : Effect.async((resume) => {
        execFile("cc", ["-O2", "-shared", "-fPIC", "-o", path, source, "-ldl"], (error, _, stderr) =>
          resume(
            Effect.succeed(
              error === null
                ? { _tag: "Built", path }
                : { _tag: "Missing", why: `cc does not compile ${source}: ${stderr.split("\n")[0] || error.message}` }
            )
          )
        )
      })

const states = { failing: 0, lying: 4, full: 8 } as const

/** Sets what the library does, in the file that it has mapped. */
export const makeControl = (path: string) => {
  const fd = openSync(path, "w+")
  writeSync(fd, Buffer.alloc(12), 0, 12, 0)
  const set = (state: keyof typeof states, on: boolean) =>
    Effect.sync(() => void writeSync(fd, Buffer.from([on ? 1 : 0, 0, 0, 0]), 0, 4, states[state]))
  return {
    set,
    calm: Effect.zipRight(set("failing", false), Effect.zipRight(set("lying", false), set("full", false))),
    close: () => closeSync(fd)
  }
}

/** What a process is started with that has the library between itself and a database. */
export const environment = (places: {
  readonly library: string
  readonly database: string
  readonly directory: string
}): { readonly [name: string]: string } => ({
  LD_PRELOAD: places.library,
  HOLDFAST_DISK_DATABASE: places.database,
  HOLDFAST_DISK_CONTROL: join(places.directory, "disk.control"),
  HOLDFAST_DISK_LOG: join(places.directory, "disk.log")
})

/** What a loss of power came to. `kept` says whether nothing that was acknowledged may be gone. */
export interface PowerCut {
  readonly kept: boolean
  readonly counts: PowerLoss.Counts
}

/**
 * - `env`: what processes are started with that use the database.
 * - `faults`: those of the file. A disk that lies does so until the power is cut.
 * - `cut`: puts the files into the state after a loss of power. All processes have ended.
 * - `begin`: is run when no process has the files open, before the first that is to lose what it did not sync.
 * - `calm`: ends all faults.
 */
export interface FileFaults {
  readonly env: { readonly [name: string]: string }
  readonly faults: ReadonlyArray<Fault>
  readonly missing: ReadonlyArray<Missing>
  readonly begin: Effect.Effect<void>
  readonly cut: ((dice: Dice) => Effect.Effect<PowerCut>) | undefined
  readonly calm: Effect.Effect<void>
}

/** Another connection holds a lock: readers are let in, or nobody is. */
const locked = (database: string, env: FileFaults["env"], lockFile: string): Fault => ({
  name: "locked file",
  run: (dice) =>
    Effect.scoped(
      Effect.gen(function* () {
        const begin = dice.pick("BEGIN IMMEDIATE", "BEGIN EXCLUSIVE")
        const child = yield* Child.spawn(process.execPath, [lockFile, database, begin], env)
        // It may find the file locked itself.
        const said = yield* Effect.raceFirst(
          Effect.option(Effect.sandbox(child.line)),
          Effect.as(child.exit, undefined)
        )
        if (said === undefined || said._tag === "None") return 0
        yield* millis(dice, 300, 3000)
        return 1
      })
    )
})

interface Places {
  readonly database: string
  readonly directory: string
  readonly lockFile: string
  readonly durability: "full" | "normal"
}

export const make = ({ database, directory, durability, lockFile }: Places, library: Library): FileFaults => {
  if (library._tag === "Missing") {
    const names = ["failing sync", "lying sync", "full disk", "loss of power"]
    return {
      env: {},
      faults: [locked(database, {}, lockFile)],
      missing: names.map((name) => ({ name, why: library.why })),
      begin: Effect.void,
      cut: undefined,
      calm: Effect.void
    }
  }
  const control = makeControl(join(directory, "disk.control"))
  const disk = PowerLoss.makeDisk(database, join(directory, "disk.log"))
  const env = environment({ library: library.path, database, directory })
  let lying = false
  const forAWhile = (name: string, state: "failing" | "full"): Fault => ({
    name,
    run: (dice) =>
      control
        .set(state, true)
        .pipe(Effect.zipRight(millis(dice, 200, 2500)), Effect.zipRight(control.set(state, false)), Effect.as(1))
  })
  const lie: Fault = {
    name: "lying sync",
    run: () =>
      Effect.suspend(() => {
        if (lying) return Effect.succeed(0)
        lying = true
        return Effect.as(control.set("lying", true), 1)
      })
  }
  return {
    env,
    faults: [
      forAWhile("failing sync", "failing"),
      forAWhile("full disk", "full"),
      lie,
      locked(database, env, lockFile)
    ],
    missing: [],
    begin: Effect.sync(disk.begin),
    cut: (dice) =>
      Effect.gen(function* () {
        const counts = disk.lose(dice.pick("all", "sectors", "end"), dice)
        const kept = durability === "full" && !lying
        lying = false
        yield* control.calm
        return { kept, counts }
      }),
    calm: control.calm
  }
}
