import * as readline from "node:readline/promises"
import * as Effect from "effect/Effect"
import { usage } from "./failure.js"
import type { Screen } from "./screen.js"

/** Writes, and waits until it is written. Where nobody reads any more there is nothing left to do. */
const write = (stream: NodeJS.WriteStream, text: string): Effect.Effect<void> =>
  Effect.async((resume) => {
    stream.write(text, (error) => resume(error ? Effect.interrupt : Effect.void))
  })

const ask = (question: string): Effect.Effect<string> =>
  Effect.acquireUseRelease(
    Effect.sync(() => readline.createInterface({ input: process.stdin, output: process.stderr })),
    (lines) =>
      Effect.async<string>((resume) => {
        // An end of the input is no answer.
        lines.once("close", () => resume(Effect.succeed("")))
        lines.once("SIGINT", () => resume(Effect.interrupt))
        lines.question(question).then((answer) => resume(Effect.succeed(answer)))
      }),
    (lines) => Effect.sync(() => lines.close())
  )

const eraseLine = "\r\u001b[K"

/** The streams of this process. Colours are for terminals, where `NO_COLOR` and `TERM=dumb` do not forbid them. */
export const make = (): Screen => {
  const { stderr, stdin, stdout } = process
  const { NO_COLOR = "", TERM = "" } = process.env
  let shown = false
  const erased = (): string => {
    const text = shown ? eraseLine : ""
    shown = false
    return text
  }
  return {
    out: (line) =>
      Effect.suspend(() => Effect.zipRight(shown ? write(stderr, erased()) : Effect.void, write(stdout, `${line}\n`))),
    note: (line) => Effect.suspend(() => write(stderr, `${erased()}${line}\n`)),
    colors: stdout.isTTY === true && NO_COLOR === "" && TERM !== "dumb",
    width: stdout.isTTY === true ? stdout.columns : undefined,
    confirm: (question) =>
      stdin.isTTY === true
        ? Effect.map(
            Effect.suspend(() => ask(`${erased()}${question} [y/N] `)),
            (answer) => /^y(es)?$/i.test(answer.trim())
          )
        : Effect.fail(usage(`${question} Nobody can be asked, as the input is no terminal: give --yes`)),
    progress: (line) =>
      stderr.isTTY === true
        ? Effect.suspend(() => {
            shown = true
            return write(stderr, `${eraseLine}${line}`)
          })
        : Effect.void,
    clear: stdout.isTTY === true ? Effect.suspend(() => write(stdout, "\u001b[H\u001b[2J")) : Effect.void
  }
}
