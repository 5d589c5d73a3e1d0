import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import { BadInput, copiesOfServers, isOfLibsqlServer, number, parse, type Target, target } from "./options.js"

export const usage = `npm run test:histories -- --store STORE [options]

Several processes read and write the same registers on a store at the same time, as fast as they can, one at a time and several together.
What they were told is then one history for each register, and it is checked that it is linearizable. Nothing is done to the store or the
processes: that is what npm run test:torture does. Ends with 0 where all histories are linearizable, 1 where one is not, and 2 where it was
asked for something that it cannot do.

STORE is one of
  sqlite:FILE             a new SQLite file
  libsql:file:FILE        a new libSQL file
  libsql:URL, rqlite:URL  servers that run, of which it makes and leaves tables with a prefix of their own
  sqld, rqlited           servers of its own: the programs that SQLD and RQLITED are the paths of

--processes N   how many processes use the store, by default 4
--clients N     how many clients are in each of them, by default 4
--registers N   how many registers all of them share, by default 3
--steps N       how often each client reads a register and mostly writes it, by default 200
--copies        each process has a copy of the libSQL server's database
--help          says this

LIBSQL_AUTH_TOKEN, RQLITE_USERNAME and RQLITE_PASSWORD are what servers ask for.`

export interface Options {
  readonly target: Target
  readonly processes: number
  readonly clients: number
  readonly registers: number
  readonly steps: number
  readonly copies: boolean
}

const fields = {
  store: { type: "string" },
  processes: { type: "string", default: "4" },
  clients: { type: "string", default: "4" },
  registers: { type: "string", default: "3" },
  steps: { type: "string", default: "200" },
  copies: { type: "boolean", default: false },
  help: { type: "boolean", short: "h" }
} as const

const whole = (name: string, text: string, most: number) => number(name, text, { least: 1, most, whole: true })

/** The options; none where only help is asked for. */
export const read = (args: ReadonlyArray<string>): Effect.Effect<Options | undefined, BadInput> =>
  Effect.gen(function* () {
    const given = yield* parse(() => parseArgs({ args: [...args], options: fields }).values)
    if (given.help === true) return undefined
    const on = yield* target(given.store)
    if (given.copies && !isOfLibsqlServer(on)) return yield* new BadInput({ detail: copiesOfServers })
    return {
      target: on,
      processes: yield* whole("processes", given.processes, 50),
      clients: yield* whole("clients", given.clients, 100),
      registers: yield* whole("registers", given.registers, 1000),
      steps: yield* whole("steps", given.steps, 1_000_000),
      copies: given.copies
    }
  })
