import { existsSync, readdirSync, readlinkSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { extent, long, longer } from "../support/extent.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as Temp from "../support/temp.js"
import { bundle } from "./bundle.mjs"
import { torture } from "./main.js"
import { read } from "./options.js"
import * as Places from "./places.js"
import * as Snapshot from "./snapshot.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Runs a torture; gives what is wrong, and what came to pass. */
const tortured = (...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { worker } = yield* Effect.promise(() => bundle({ worker: "worker.ts" }))
    const options = yield* read(args)
    if (options === undefined) return yield* Effect.dieMessage("only help was asked for")
    const said: Array<string> = []
    const outcome = yield* torture(options, { program: worker, root }, (line) => Effect.sync(() => said.push(line)))
    assert.deepStrictEqual(outcome.problems, [], said.join("\n"))
    assert.isAbove(outcome.acknowledged, 0)
    return outcome
  })

/** The databases of a directory that this process has open, where the system tells. */
const opened = (directory: string): ReadonlyArray<string> => {
  const descriptors = process.platform === "linux" ? readdirSync("/proc/self/fd") : []
  return descriptors
    .map((fd) => `/proc/self/fd/${fd}`)
    .flatMap((path) => (existsSync(path) ? [readlinkSync(path)] : []))
    .filter((path) => path.startsWith(`${directory}/store.db`))
}

/** Few processes and slow clients, for a machine that does other things too. */
const few = ["--processes", "2", "--pause", "100"]

const refusals: ReadonlyArray<readonly [args: ReadonlyArray<string>, says: string]> = [
  [[], "--store is missing"],
  [["--store", "mysql:x"], "is no store"],
  [["--store", `sqlite:${fileURLToPath(import.meta.url)}`], "is there already"],
  [["--store", "sqlite:x.db", "--minutes", "soon"], "--minutes is a number"],
  [["--store", "sqlite:x.db", "--rounds", "1.5"], "--rounds is a whole number"],
  [["--store", "sqlite:x.db", "--rounds", "1", "--minutes", "1"], "and not both"],
  [["--store", "sqlite:x.db", "--durability", "most"], "--durability is full or normal"],
  [["--store", "sqlite:x.db", "--copies"], "--copies is of sqld"],
  [["--store", "sqlite:x.db", "--processes", "0"], "--processes is a whole number from 1 to 50"],
  [["--store", "sqlite:x.db", "--sead", "1"], "sead"]
]

describe("Processes that are tortured", () => {
  it.scopedLive(longer("with kills on an SQLite file keep all promises"), () =>
    Effect.gen(function* () {
      const store = `sqlite:${yield* Temp.database}`
      const seconds = String(extent({ quick: 1, long: 6 }))
      const { counts } = yield* tortured(
        "--store",
        store,
        "--rounds",
        "1",
        "--seconds",
        seconds,
        "--only",
        "kill",
        "--seed",
        "3"
      )
      assert.isAbove(counts.get("kill") ?? 0, 0)
    })
  )

  it.scopedLive.runIf(long)(longer("with all faults on a libSQL file keep all promises"), () =>
    Effect.gen(function* () {
      const store = `libsql:file:${yield* Temp.database}`
      yield* tortured("--store", store, "--rounds", "1", "--seconds", "6", "--seed", "1", ...few)
    })
  )

  it.scopedLive.runIf(long)(
    longer("behind a network that fails, on an rqlite node's stand-in, keep all promises"),
    () =>
      Effect.gen(function* () {
        const { urls } = yield* RqliteServer.make()
        yield* tortured("--store", `rqlite:${urls.join(",")}`, "--rounds", "1", "--seconds", "4", "--seed", "2", ...few)
      })
  )

  for (const kind of ["sqlite:", "libsql:file:"]) {
    it.scopedLive(`on ${kind} are judged by who keeps no file that a loss of power replaces`, () =>
      Effect.gen(function* () {
        const directory = yield* Temp.directory
        const options = yield* read(["--store", `${kind}${directory}/store.db`])
        if (options === undefined) return assert.fail("there are options")
        const { place } = yield* Places.find({ options, root, program: "", directory })
        const found = yield* Effect.provide(Snapshot.take(["a"]), place.store)
        assert.deepStrictEqual([found.executions.size, found.corrupt], [0, []])
        assert.deepStrictEqual(opened(directory), [])
      })
    )
  }

  for (const [args, says] of refusals) {
    it.effect(`are not those of ${JSON.stringify(args.slice(-2).join(" "))}`, () =>
      Effect.map(Effect.flip(read(args)), (error) => assert.include(error.message, says))
    )
  }

  it.scoped("are refused a fault that there is not", () =>
    Effect.gen(function* () {
      const options = yield* read(["--store", `sqlite:${yield* Temp.database}`, "--only", "earthquake"])
      if (options === undefined) return assert.fail("there are options")
      const error = yield* Effect.flip(torture(options, { program: "", root }, () => Effect.void))
      assert.include(error.message, "there is no fault named earthquake")
    })
  )
})
