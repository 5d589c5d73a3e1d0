/** Histories of several processes on any store, and whether they are linearizable: see `historyOptions.ts`. */
import { randomBytes } from "node:crypto"
import { mkdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type { StoreError } from "holdfast/StoreError"
import * as Child from "../support/childProcess.js"
import { type Options, read, usage } from "./historyOptions.js"
import type * as Worker from "./historyWorker.js"
import * as Journal from "./journal.js"
import * as Judge from "./judge.js"
import { BadInput } from "./options.js"
import * as Places from "./places.js"
import * as Servers from "./servers.js"
import * as Snapshot from "./snapshot.js"
import * as Store from "./store.js"

/** What processes were told. `problems` is what is wrong with it. */
export interface Outcome {
  readonly reads: number
  readonly written: number
  /** Those of the writes that nothing was read for. */
  readonly unread: number
  readonly conflicts: number
  readonly unknown: number
  readonly problems: ReadonlyArray<string>
}

const count = (entries: ReadonlyArray<Journal.Entry>, is: (entry: Journal.Entry) => boolean): number =>
  entries.filter(is).length

const outcome = (entries: ReadonlyArray<Journal.Entry>, problems: ReadonlyArray<string>): Outcome => ({
  reads: count(entries, ({ told }) => told._tag === "Saw"),
  written: count(entries, ({ asked, told }) => asked._tag === "Write" && told._tag === "Done"),
  unread: count(
    entries,
    ({ asked, told }) => asked._tag === "Write" && asked.remembered === true && told._tag === "Done"
  ),
  conflicts: count(entries, ({ told }) => told._tag === "Conflict"),
  unknown: count(entries, ({ asked, told }) => asked._tag === "Write" && told._tag === "Unknown"),
  problems
})

/** Starts all, lets them begin together, and waits for their end; gives what those said that did not end well. */
const ran = (program: string, workers: ReadonlyArray<Worker.Options>) =>
  Effect.gen(function* () {
    const children = yield* Effect.forEach(
      workers,
      (worker) => Child.spawn(process.execPath, [program, JSON.stringify(worker)]),
      { concurrency: "unbounded" }
    )
    const said = yield* Effect.forEach(children, ({ line }) => line, { concurrency: "unbounded" })
    const unready = said.filter((line) => line !== "ready")
    if (unready.length > 0) return unready
    yield* Effect.forEach(children, ({ send }) => send("begin"), { discard: true })
    const exits = yield* Effect.forEach(children, ({ exit }) => exit, { concurrency: "unbounded" })
    return exits.flatMap((exit, place) => (exit === 0 ? [] : [`${workers[place]?.by} ended with ${exit}`]))
  }).pipe(Effect.scoped)

/** A place of its own for each run: a file is new, and tables on a server have a prefix. */
const place = ({ target }: Options, directory: string) =>
  target._tag === "Store" && "filename" in target.name
    ? Effect.succeed({ name: target.name, text: target.text, prefix: "" })
    : Effect.map(Servers.start(target, directory), ({ name, text }) => ({
        name,
        text,
        prefix: `t${randomBytes(6).toString("hex")}_`
      }))

/** Runs processes on a store and judges what they were told. */
export const run = (options: Options, program: string): Effect.Effect<Outcome, BadInput> =>
  Effect.gen(function* () {
    const { clients, copies, processes, registers, steps } = options
    let keep = false
    const directory = yield* Places.folder(options, tmpdir(), () => keep)
    const journals = join(directory, "journals")
    mkdirSync(journals)
    const { name, prefix, text } = yield* place(options, directory)
    const store = Store.layer({ name, durability: "normal", prefix })
    // The tables are there before several make them at the same time.
    yield* withStore(store, Effect.void)
    const workers = Array.from({ length: processes }, (_, nth) => ({
      ...{ by: `p${nth}`, store: text, prefix, copies, journals },
      ...{ clients, registers, steps }
    }))
    const failed = yield* ran(program, workers)
    const entries = Journal.read(journals)
    const snapshot = yield* withStore(store, Snapshot.take(Judge.idsOf(entries)))
    const found = [...failed, ...Judge.problems({ before: [], entries }, snapshot)]
    keep = found.length > 0
    return outcome(entries, keep ? [...found, `the journals: ${journals}`] : found)
  }).pipe(Effect.scoped)

const withStore = <A>(
  store: ReturnType<typeof Store.layer>,
  effect: Effect.Effect<A, StoreError, ExecutionStore.ExecutionStore>
): Effect.Effect<A, BadInput> =>
  Effect.provide(Effect.zipRight(ExecutionStore.ExecutionStore, effect), store).pipe(
    Effect.mapError((error) => new BadInput({ detail: `the store cannot be used: ${String(error)}` }))
  )

const report = ({ conflicts, problems, reads, unknown, unread, written }: Outcome): string =>
  [
    `${reads} reads, ${written} writes, ${unread} of them to what was remembered, ${conflicts} conflicts, ${unknown} of unknown outcome`,
    ...(problems.length === 0 ? ["all histories are linearizable"] : ["", "PROBLEMS", ...problems])
  ].join("\n")

const main = (args: ReadonlyArray<string>, program: string): Effect.Effect<number> =>
  Effect.gen(function* () {
    const options = yield* read(args)
    if (options === undefined) {
      yield* Console.log(usage)
      return 0
    }
    const found = yield* run(options, program)
    yield* Console.log(report(found))
    return found.problems.length === 0 ? 0 : 1
  }).pipe(
    Effect.catchAll(({ message }) =>
      Effect.as(Console.error(`${message}\n\nnpm run test:histories -- --help says more`), 2)
    )
  )

export const start = (args: ReadonlyArray<string>, program: string): Promise<number> =>
  Effect.runPromise(main(args, program))
