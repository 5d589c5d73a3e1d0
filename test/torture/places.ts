/** The stores that a torture can run on, with what can be done to them. */
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StoreName } from "../../src/internal/cli/storeName.js"
import * as CopyFaults from "./copyFaults.js"
import * as Faults from "./faults.js"
import * as FileFaults from "./fileFaults.js"
import type { BadInput, Options } from "./options.js"
import type * as Round from "./round.js"
import * as Servers from "./servers.js"
import * as Store from "./store.js"

/** - `root`: of the checkout. - `program`: the worker, bundled. - `directory`: for what is written beside the store. */
export interface Context {
  readonly options: Options
  readonly root: string
  readonly program: string
  readonly directory: string
}

export interface Found {
  readonly place: Round.Place
  readonly missing: ReadonlyArray<Faults.Missing>
}

const integrity = (root: string, filename: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.async((resume) => {
    execFile(process.execPath, [join(root, "test/torture/integrity.mjs"), filename], (error, stdout) => {
      const found = stdout.split("\n").filter((line) => line !== "")
      const problems = error === null ? found : [...found, error.message]
      resume(Effect.succeed(problems.map((line) => `SQLite finds ${filename} damaged: ${line}`)))
    })
  })

const chosen = (only: ReadonlyArray<string>, faults: ReadonlyArray<Faults.Fault>): ReadonlyArray<Faults.Fault> =>
  only.length === 0 ? faults : faults.filter(({ name }) => only.includes(name))

/**
 * The store that looks at a file between losses of power, which replace it. A client of libSQL keeps a file that it has closed until garbage is
 * collected, and would go on by what it knows of the one before.
 */
const looking = (name: Extract<StoreName, { readonly filename: string }>): StoreName => ({ ...name, _tag: "Sqlite" })

const onFile = (
  { directory, options, program, root }: Context,
  name: Extract<StoreName, { readonly filename: string }>,
  text: string
): Effect.Effect<Found, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { durability, only, pause } = options
    const library = yield* FileFaults.compile(join(root, "test/torture/disk.c"), join(directory, "disk.so"))
    const files = FileFaults.make(
      { database: name.filename, directory, durability, lockFile: join(root, "test/support/lockFile.mjs") },
      library
    )
    const ofProcesses = yield* Faults.ofProcesses
    return {
      missing: [...files.missing, ...ofProcesses.missing],
      place: {
        faults: chosen(only, files.faults),
        ofProcesses: (workers) => chosen(only, ofProcesses.faults(workers)),
        begin: files.begin,
        cut: only.length === 0 || only.includes("loss of power") ? files.cut : undefined,
        calm: files.calm,
        store: Store.layer({ name: looking(name), durability, prefix: "" }),
        sound: integrity(root, name.filename),
        settings: { program, env: files.env, copies: false, store: text, durability, prefix: "", pause }
      }
    }
  })

const onServers = ({ options, program }: Context, servers: Servers.Servers): Effect.Effect<Found> =>
  Effect.gen(function* () {
    const { copies, durability, only, pause } = options
    const prefix = `t${randomBytes(6).toString("hex")}_`
    const ofProcesses = yield* Faults.ofProcesses
    return {
      missing: [...servers.missing, ...ofProcesses.missing],
      place: {
        faults: chosen(only, servers.faults),
        ofProcesses: (workers, note) =>
          chosen(only, [...ofProcesses.faults(workers), ...(copies ? [CopyFaults.damaged(workers, note)] : [])]),
        begin: Effect.void,
        cut: undefined,
        calm: servers.calm,
        store: Store.layer({ name: servers.name, durability: "normal", prefix }),
        sound: Effect.succeed([]),
        // What libSQL prints by itself would be taken for what the process says.
        settings: { program, env: { RUST_LOG: "off" }, copies, store: servers.text, durability, prefix, pause }
      }
    }
  })

/** A folder beside a database, or the one for temporary files. */
export const folder = ({ target }: Pick<Options, "target">, temporary: string, keep: () => boolean) => {
  const parent = target._tag === "Store" && "filename" in target.name ? dirname(target.name.filename) : temporary
  return Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(parent, "torture-"))),
    (path) => Effect.sync(() => (keep() ? undefined : rmSync(path, { recursive: true, force: true })))
  )
}

export const find = (context: Context): Effect.Effect<Found, BadInput, Scope.Scope> => {
  const { target } = context.options
  if (target._tag === "Store" && "filename" in target.name) return onFile(context, target.name, target.text)
  return Effect.flatMap(Servers.start(target, context.directory), (servers) => onServers(context, servers))
}
