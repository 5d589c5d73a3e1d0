/** What the processes of a torture and those of histories have in common: what they hear and say, and how they end. */
import * as readline from "node:readline"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"

export const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

/** Hears each line that it is sent. A process whose parent has gone ends. */
export const hear = (line: (text: string) => void) =>
  Effect.sync(() => {
    const input = readline.createInterface(process.stdin)
    input.on("line", line)
    input.on("close", () => process.exit(3))
  })

/** Runs the program of this process, which says with what it failed. */
export const run = (program: Effect.Effect<void, unknown, Scope.Scope>): void => {
  Effect.runCallback(program.pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None)), {
    onExit: (exit) => {
      if (Exit.isFailure(exit)) process.stdout.write(`failed: ${String(exit.cause).replaceAll("\n", " ")}\n`)
      process.exit(Exit.isSuccess(exit) ? 0 : 1)
    }
  })
}
