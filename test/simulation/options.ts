import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import { BadInput, number } from "../torture/options.js"

export const usage = `npm run simulate -- [options]

Runs seeds of the simulation, one after the other, until one shows a promise that was not kept. Ends with 0 where all were kept,
1 where one was not, 2 where it was asked for something that it cannot do, and 130 where it was interrupted.

--hours N        how long, for example 8 or 0.1
--seeds N        how many seeds, by default 100 where --hours is not given; with both it ends with what comes first
--from N         the first seed, by default 1
--seed N         this seed alone, of which the history is printed
--only A,B       of a single seed: these items of its plan alone, by their numbers
--store S        memory or sqlite, by default one seed in five on SQLite
--cores N        how many processes run seeds, each on a core of its own; by default as many as there are
--limits L       usual, or small: with sources whose limits are so small that little work reaches them; by default one seed in five
--help           says this

A failing seed is shortened: what is printed is the least that was found to show it, and the command that replays that.`

export type Store = "memory" | "sqlite"

export type Limits = "usual" | "small"

/**
 * - `only`: which items of the plan, all where it is undefined.
 * - `single`: whether its history is wanted.
 * - `cores`: how many processes share the seeds.
 * - `part`: which of them this is, where it is one of them.
 */
export interface Options {
  readonly cores: number
  readonly part: number | undefined
  readonly until: { readonly hours: number; readonly seeds: number }
  readonly from: number
  readonly single: boolean
  readonly only: ReadonlyArray<number> | undefined
  readonly store: Store | undefined
  readonly limits: Limits | undefined
}

const fields = {
  hours: { type: "string" },
  seeds: { type: "string" },
  from: { type: "string" },
  seed: { type: "string" },
  only: { type: "string" },
  store: { type: "string" },
  limits: { type: "string" },
  cores: { type: "string" },
  // Of processes that run seeds for another one.
  part: { type: "string" },
  help: { type: "boolean", short: "h" }
} as const

const bad = (detail: string) => Effect.fail(new BadInput({ detail }))

const parse = (args: ReadonlyArray<string>) =>
  Effect.try({
    try: () => parseArgs({ args: [...args], options: fields }).values,
    catch: (error) =>
      new BadInput({ detail: (error instanceof Error ? error.message : String(error)).split(/\n|\. /)[0] ?? "" })
  })

const whole = (name: string, text: string, least: number) =>
  number(name, text, { least, most: Number.MAX_SAFE_INTEGER, whole: true })

const oneOf = <A extends string>(name: string, text: string | undefined, ...all: ReadonlyArray<A>) => {
  if (text === undefined) return Effect.succeed(undefined)
  const found = all.find((one) => one === text)
  return found === undefined
    ? bad(`--${name} is ${all.join(" or ")}, and not ${JSON.stringify(text)}`)
    : Effect.succeed(found)
}

const numbers = (text: string) =>
  text.trim() === "" ? Effect.succeed([]) : Effect.forEach(text.split(","), (one) => whole("only", one, 0))

/** The options; none where only help is asked for. */
export const read = (args: ReadonlyArray<string>): Effect.Effect<Options | undefined, BadInput> =>
  Effect.gen(function* () {
    const { cores, from, help, hours, limits, only, part, seed, seeds, store } = yield* parse(args)
    if (help === true) return undefined
    if (seed !== undefined && (seeds ?? hours ?? from) !== undefined)
      return yield* bad("give --seed alone, or --from with --seeds or --hours")
    if (only !== undefined && seed === undefined) return yield* bad("--only is for a single seed: give --seed too")
    return {
      cores: seed !== undefined ? 1 : yield* whole("cores", cores ?? String(availableParallelism()), 1),
      part: part === undefined ? undefined : yield* whole("part", part, 0),
      until: {
        hours:
          hours === undefined ? Infinity : yield* number("hours", hours, { least: 0.001, most: 10_000, whole: false }),
        seeds:
          seed !== undefined ? 1 : yield* whole("seeds", seeds ?? (hours === undefined ? "100" : "9007199254740991"), 1)
      },
      from: yield* whole(seed === undefined ? "from" : "seed", seed ?? from ?? "1", 0),
      single: seed !== undefined,
      only: only === undefined ? undefined : yield* numbers(only),
      store: yield* oneOf("store", store, "memory", "sqlite"),
      limits: yield* oneOf("limits", limits, "usual", "small")
    }
  })
