import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as StoreName from "../../src/internal/cli/storeName.js"

export const usage = `npm run test:torture -- --store STORE [options]

Runs processes on a store, does to them what machines do, and decides by a journal of what they were told whether all promises
were kept. Ends with 0 where they were, 1 where not, and 2 where it was asked for something that it cannot do.

STORE is one of
  sqlite:FILE             a new SQLite file
  libsql:file:FILE        a new libSQL file
  libsql:URL, rqlite:URL  servers that run, of which it makes and leaves tables with a prefix of their own
  sqld, rqlited           servers of its own: the programs that SQLD and RQLITED are the paths of

--minutes N     how long, by default 1: rounds are begun for as long
--rounds N      how many rounds, in place of --minutes
--seed N        decides which faults come, by default one that is printed
--seconds N     how long faults come in each round, by default 15
--processes N   how many processes use the store, by default 3
--pause N       how long a client rests between two things, by default 40 milliseconds; there are 8 in each process
--durability D  full (the default) or normal, of a file
--copies        each process has a copy of the libSQL server's database, from which it lists
--only A,B      faults by name, in place of all
--keep          keeps the journals; those of a round that found something are kept in any case
--help          says this

LIBSQL_AUTH_TOKEN, RQLITE_USERNAME and RQLITE_PASSWORD are what servers ask for.`

/** What is asked for cannot be done. */
export class BadInput extends Schema.TaggedError<BadInput>("holdfast/torture/BadInput")("BadInput", {
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

export type Target =
  | { readonly _tag: "Store"; readonly text: string; readonly name: StoreName.StoreName }
  | { readonly _tag: "Sqld" | "Rqlited"; readonly program: string }

export interface Options {
  readonly help: boolean
  readonly target: Target
  readonly until: { readonly _tag: "Minutes" | "Rounds"; readonly count: number }
  readonly seed: number
  readonly seconds: number
  readonly processes: number
  readonly pause: number
  readonly durability: "full" | "normal"
  readonly copies: boolean
  readonly only: ReadonlyArray<string>
  readonly keep: boolean
}

const bad = (detail: string) => Effect.fail(new BadInput({ detail }))

const fields = {
  store: { type: "string" },
  minutes: { type: "string" },
  rounds: { type: "string" },
  seed: { type: "string" },
  seconds: { type: "string" },
  processes: { type: "string" },
  pause: { type: "string" },
  durability: { type: "string" },
  only: { type: "string" },
  keep: { type: "boolean" },
  copies: { type: "boolean" },
  help: { type: "boolean", short: "h" }
} as const

/** What was given on a command line, as it is taken apart. */
export const parse = <A>(takenApart: () => A): Effect.Effect<A, BadInput> =>
  Effect.try({
    try: takenApart,
    catch: (error) => new BadInput({ detail: error instanceof Error ? error.message : String(error) })
  })

export interface Range {
  readonly least: number
  readonly most: number
  readonly whole: boolean
}

export const number = (name: string, text: string, { least, most, whole }: Range) => {
  const value = Number(text)
  const fits = text.trim() !== "" && value >= least && value <= most && (!whole || Number.isInteger(value))
  return fits
    ? Effect.succeed(value)
    : bad(
        `--${name} is ${whole ? "a whole number" : "a number"} from ${least} to ${most}, and not ${JSON.stringify(text)}`
      )
}

const program = (variable: string): Effect.Effect<string, BadInput> => {
  const path = process.env[variable]
  if (path === undefined || path === "") return bad(`${variable} must be the path of the server's program`)
  return existsSync(path) ? Effect.succeed(resolve(path)) : bad(`${variable} is ${path}, where no file is`)
}

/** A database that is somebody's must not be tortured. */
const newFile = (filename: string): Effect.Effect<string, BadInput> =>
  existsSync(filename)
    ? bad(`${filename} is there already: name a file that is not, since what is in it would be lost`)
    : Effect.succeed(resolve(filename))

export const target = (text: string | undefined): Effect.Effect<Target, BadInput> => {
  if (text === undefined)
    return bad("--store is missing: sqlite:FILE, libsql:file:FILE, libsql:URL, rqlite:URL, sqld or rqlited")
  if (text === "sqld") return Effect.map(program("SQLD"), (path) => ({ _tag: "Sqld", program: path }))
  if (text === "rqlited") return Effect.map(program("RQLITED"), (path) => ({ _tag: "Rqlited", program: path }))
  const name = StoreName.parse(text)
  if (Either.isLeft(name)) return bad(`--store: ${name.left}, sqld or rqlited`)
  const { right } = name
  if (right._tag !== "Sqlite" && right._tag !== "LibsqlFile")
    return Effect.succeed({ _tag: "Store", text, name: right })
  return Effect.map(newFile(right.filename), (filename) => ({
    _tag: "Store",
    text: `${right._tag === "Sqlite" ? "sqlite:" : "libsql:file:"}${filename}`,
    name: { ...right, filename }
  }))
}

const untilOf = (minutes: string | undefined, rounds: string | undefined) => {
  if (minutes !== undefined && rounds !== undefined) return bad("give --minutes or --rounds, and not both")
  return rounds === undefined
    ? Effect.map(number("minutes", minutes ?? "1", { least: 0.05, most: 100_000, whole: false }), (count) => ({
        _tag: "Minutes" as const,
        count
      }))
    : Effect.map(number("rounds", rounds, { least: 1, most: 1_000_000, whole: true }), (count) => ({
        _tag: "Rounds" as const,
        count
      }))
}

const durability = (text = "full"): Effect.Effect<"full" | "normal", BadInput> =>
  text === "full" || text === "normal" ? Effect.succeed(text) : bad(`--durability is full or normal, and not ${text}`)

export const copiesOfServers = "--copies is of sqld, or of a libSQL server's URL"

export const isOfLibsqlServer = (target: Target): boolean =>
  target._tag === "Sqld" || (target._tag === "Store" && target.name._tag === "LibsqlServer")

/** The options; none where only help is asked for. */
export const read = (args: ReadonlyArray<string>): Effect.Effect<Options | undefined, BadInput> =>
  Effect.gen(function* () {
    const given = yield* parse(() => parseArgs({ args: [...args], options: fields }).values)
    if (given.help === true) return undefined
    const seed = String(Math.floor(Math.random() * 1e9))
    const on = yield* target(given.store)
    if (given.copies === true && !isOfLibsqlServer(on)) return yield* bad(copiesOfServers)
    return {
      help: false,
      target: on,
      until: yield* untilOf(given.minutes, given.rounds),
      seed: yield* number("seed", given.seed ?? seed, { least: 0, most: Number.MAX_SAFE_INTEGER, whole: true }),
      seconds: yield* number("seconds", given.seconds ?? "15", { least: 1, most: 3600, whole: false }),
      processes: yield* number("processes", given.processes ?? "3", { least: 1, most: 50, whole: true }),
      pause: yield* number("pause", given.pause ?? "40", { least: 1, most: 10_000, whole: true }),
      durability: yield* durability(given.durability),
      copies: given.copies === true,
      only: given.only === undefined ? [] : given.only.split(",").map((name) => name.trim()),
      keep: given.keep === true
    }
  })
