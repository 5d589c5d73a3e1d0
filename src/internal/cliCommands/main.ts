import type * as CliApp from "@effect/cli/CliApp"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Effect from "effect/Effect"
import { arrange, type Words } from "../cli/arguments.js"
import { exitCode, type Failure, usage } from "../cli/failure.js"
import { Screen } from "../cli/screen.js"
import { stats, verify, watch } from "../cliHealth/health.js"
import { serve } from "../cliServe/serve.js"
import { exportCommand } from "../cliTransfer/exportCommand.js"
import { importCommand } from "../cliTransfer/importCommand.js"
import { printable } from "../util/printable.js"
import { versionOfPackage } from "../util/version.js"
import { mended } from "./completions.js"
import { cron } from "./cron.js"
import * as deadLetters from "./deadLetters.js"
import { definition } from "./definitions.js"
import * as executions from "./executions.js"
import * as lifecycle from "./lifecycle.js"
import { migrate, prune } from "./maintenance.js"
import { activities, outbox, spawns, timers } from "./pendingWork.js"
import { send } from "./send.js"

const execution = Command.make("execution").pipe(
  Command.withDescription("The executions."),
  Command.withSubcommands([...executions.commands, send, ...lifecycle.commands])
)

const deadLetter = Command.make("dead-letter").pipe(
  Command.withDescription("The work that was given up."),
  Command.withSubcommands(deadLetters.commands)
)

const words: Words = {
  execution: ["list", "show", "trace", "tree", "send", "suspend", "resume", "cancel", "terminate", "redrive", "purge"],
  outbox: ["list"],
  spawns: ["list"],
  timers: ["list"],
  activities: ["list"],
  "dead-letter": ["list", "show", "redrive", "discard"],
  definition: ["list", "show", "check", "migrate", "publish"],
  cron: ["list", "show", "pause", "resume", "trigger", "remove"],
  stats: [],
  verify: [],
  watch: [],
  serve: [],
  prune: [],
  migrate: [],
  export: [],
  import: []
}

const holdfast = Command.make("holdfast").pipe(
  Command.withDescription("Looks into a store of executions, and steers what is in it."),
  Command.withSubcommands([
    execution,
    outbox,
    spawns,
    timers,
    activities,
    deadLetter,
    definition,
    cron,
    stats,
    verify,
    watch,
    serve,
    prune,
    migrate,
    exportCommand,
    importCommand
  ])
)

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const ansi = /\u001b\[[0-9;]*m/g

const sentence = (error: ValidationError.ValidationError): string =>
  HelpDoc.toAnsiText(error.error).replace(ansi, "").replace(/\s+/g, " ").trim()

/** What @effect/cli prints goes to the screen; what it says of a wrong command line is said once, in a sentence. */
const onScreen = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Screen> =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const console = yield* Effect.console
    const log = (...texts: ReadonlyArray<unknown>) => {
      const text = mended(texts.join(" "))
      return screen.out((screen.colors ? text : text.replace(ansi, "")).replace(/[ \t]+$/gm, "").trimEnd())
    }
    return yield* Effect.withConsole(effect, { ...console, log, error: () => Effect.void })
  })

const toFailure = (error: Failure | ValidationError.ValidationError): Failure =>
  ValidationError.isValidationError(error)
    ? usage(`${sentence(error)} (--help behind a command lists what it takes)`)
    : error

/** Runs a command line, without the program's own name; gives the exit code. What goes wrong is said in one sentence. */
export const run = (args: ReadonlyArray<string>): Effect.Effect<number, never, Screen | CliApp.CliApp.Environment> =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const cli = Command.run(holdfast, { name: "holdfast", version: versionOfPackage() })
    return yield* arrange(args, words).pipe(
      Effect.flatMap((arranged) => onScreen(cli(["node", "holdfast", ...arranged]))),
      Effect.as(0),
      Effect.catchAll((error) => {
        const failure = toFailure(error)
        return Effect.as(screen.note(printable(`holdfast: ${failure.message}`)), exitCode(failure))
      })
    )
  })
