/** The driver of a torture: see `options.ts` for what it does. */
import { tmpdir } from "node:os"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Dice from "../../src/testing/internal/simulation/dice.js"
import { BadInput, type Options, read, usage } from "./options.js"
import * as Places from "./places.js"
import * as Round from "./round.js"

/** What a torture came to. `counts` is what befell the processes. */
export interface Outcome {
  readonly rounds: number
  readonly seconds: number
  readonly acknowledged: number
  readonly operations: number
  readonly counts: ReadonlyMap<string, number>
  readonly problems: ReadonlyArray<string>
}

const inWords = (counts: ReadonlyMap<string, number>): string =>
  Array.from(counts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(", ")

const now = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

const known = ["loss of power"]

/** Names of faults that there are not. */
const unknownFaults = ({ only }: Options, { missing, place }: Places.Found): ReadonlyArray<string> => {
  const names = [...known, ...place.faults.map(({ name }) => name), ...missing.map(({ name }) => name)]
  return only.filter((name) => !names.includes(name) && !ofProcesses.includes(name))
}

const ofProcesses: ReadonlyArray<string> = ["kill", "kill of several", "freeze", "descriptors used up", "damaged copy"]

/** Runs rounds until the time is over, or something is found. */
export const torture = (
  options: Options,
  { program, root }: { readonly program: string; readonly root: string },
  say: (line: string) => Effect.Effect<void>
): Effect.Effect<Outcome, BadInput> =>
  Effect.gen(function* () {
    const { until } = options
    const begun = yield* now
    const tally = new Round.Tally()
    const problems: Array<string> = []
    const keep = () => options.keep || problems.length > 0
    const directory = yield* Places.folder(options, tmpdir(), keep)
    const found = yield* Places.find({ options, root, program, directory })
    const unknown = unknownFaults(options, found)
    if (unknown.length > 0) return yield* new BadInput({ detail: `there is no fault named ${unknown.join(", ")}` })
    yield* say(`seed ${options.seed}`)
    for (const { name, why } of found.missing) yield* say(`without ${name}: ${why}`)
    let rounds = 0
    const goesOn = Effect.map(now, (time) =>
      until._tag === "Rounds" ? rounds < until.count : time - begun < until.count * 60
    )
    while ((yield* goesOn) && problems.length === 0) {
      const nth = ++rounds
      const { processes, seconds, seed } = options
      const note = (what: string) => say(`  round ${nth}: ${what}`)
      const dice = Dice.make(seed, `round ${nth}`)
      const round = yield* Effect.either(
        Round.run(found.place, { nth, seconds, processes, directory, tally, note }, dice)
      )
      if (round._tag === "Left") problems.push(`the store could not be looked at: ${String(round.left)}`)
      else {
        problems.push(...round.right.problems)
        yield* say(`round ${nth}: ${round.right.acknowledged} acknowledged; so far ${inWords(tally.counts)}`)
      }
    }
    if (problems.length > 0) yield* say(`the journals of round ${rounds} and what is beside them: ${directory}`)
    const { acknowledged, counts, operations } = tally
    return { rounds, seconds: (yield* now) - begun, acknowledged, operations, counts, problems }
  }).pipe(Effect.scoped)

const report = ({ acknowledged, counts, operations, problems, rounds, seconds }: Outcome): string =>
  [
    `${rounds} rounds in ${(seconds / 60).toFixed(1)} minutes: ${acknowledged} things acknowledged, ${operations} operations on registers`,
    `faults: ${inWords(counts)}`,
    ...(problems.length === 0 ? ["all promises were kept"] : ["", "PROBLEMS", ...problems])
  ].join("\n")

/** Gives the code that the program ends with. */
const main = (
  args: ReadonlyArray<string>,
  files: { readonly program: string; readonly root: string }
): Effect.Effect<number> =>
  Effect.gen(function* () {
    const options = yield* read(args)
    if (options === undefined) {
      yield* Console.log(usage)
      return 0
    }
    const outcome = yield* torture(options, files, Console.log)
    yield* Console.log(report(outcome))
    return outcome.problems.length === 0 ? 0 : 1
  }).pipe(
    Effect.catchAll((error) =>
      Effect.as(Console.error(`${error.message}\n\nnpm run test:torture -- --help says more`), 2)
    )
  )

export const start = (
  args: ReadonlyArray<string>,
  files: { readonly program: string; readonly root: string }
): Promise<number> => Effect.runPromise(main(args, files))
