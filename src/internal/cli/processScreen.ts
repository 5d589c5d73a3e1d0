import * as readline from "node:readline/promises"
import * as Effect from "effect/Effect"
import { usage } from "./failure.js"
import type { Screen } from "./screen.js"

/** Writes, and waits until it is written, or cannot be. */
const write = (stream: NodeJS.WriteStream, text: string): Effect.Effect<Error | undefined> =>
  Effect.async((resume) => {
    stream.write(text, (error) => resume(Effect.succeed(error ?? undefined)))
  })

/** What is asked has a line of its own, also where nobody answers. */
const ask = (question: string): Effect.Effect<string> =>
  Effect.suspend(() => {
    let answered = false
    return Effect.acquireUseRelease(
      Effect.sync(() => readline.createInterface({ input: process.stdin, output: process.stderr })),
      (lines) =>
        Effect.async<string>((resume) => {
          // An end of the input is no answer.
          lines.once("close", () => resume(Effect.succeed("")))
          lines.once("SIGINT", () => resume(Effect.interrupt))
          lines.question(question).then((answer) => {
            answered = true
            resume(Effect.succeed(answer))
          })
        }),
      (lines) =>
        Effect.sync(() => {
          lines.close()
          if (!answered) process.stderr.write("\n")
        })
    )
  })

const eraseLine = "\r\u001b[K"

/**
 * The streams of this process. Colours are for terminals, where `NO_COLOR` and `TERM=dumb` do not forbid them. Where stdout takes nothing any
 * more there is nothing left to do: `onBroken` learns why, and what runs is interrupted. What is for people is passed over where they do not see it.
 */
export const make = (onBroken: (error: Error) => void): Screen => {
  const { stderr, stdin, stdout } = process
  const { NO_COLOR = "", TERM = "" } = process.env
  let shown = false
  const erased = (): string => {
    const text = shown ? eraseLine : ""
    shown = false
    return text
  }
  const writeData = (text: string) =>
    Effect.flatMap(write(stdout, text), (error) => {
      if (error === undefined) return Effect.void
      onBroken(error)
      return Effect.interrupt
    })
  return {
    out: (line) =>
      Effect.suspend(() => Effect.zipRight(shown ? write(stderr, erased()) : Effect.void, writeData(`${line}\n`))),
    note: (line) => Effect.suspend(() => Effect.asVoid(write(stderr, `${erased()}${line}\n`))),
    colors: stdout.isTTY === true && NO_COLOR === "" && TERM !== "dumb",
    // A terminal that does not know its width says 0.
    width: stdout.isTTY === true && stdout.columns > 0 ? stdout.columns : undefined,
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
            return Effect.asVoid(write(stderr, `${eraseLine}${line}`))
          })
        : Effect.void,
    clear: stdout.isTTY === true ? Effect.suspend(() => writeData("\u001b[H\u001b[2J")) : Effect.void
  }
}
