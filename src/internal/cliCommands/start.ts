import type { Teardown } from "@effect/platform/Runtime"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import { make } from "../cli/processScreen.js"
import { Screen } from "../cli/screen.js"
import { describe } from "../util/causeText.js"
import { printable } from "../util/printable.js"
import { run } from "./main.js"

const interrupted = 130

/** As of any other program whose reader has gone, such as `head`. */
const readerGone = 141

/** Why stdout takes nothing any more, such as a disk that is full. */
let broken: Error | undefined

const readerHasGone = (error: Error): boolean => "code" in error && error.code === "EPIPE"

const interruption = (): number => {
  if (broken === undefined) return interrupted
  return readerHasGone(broken) ? readerGone : 1
}

/** The code is what the program gives, and what shells expect of one that was interrupted. */
const teardown: Teardown = (exit, onExit) =>
  onExit(
    Exit.match(exit, {
      onFailure: (cause) => (Cause.isInterruptedOnly(cause) ? interruption() : 1),
      onSuccess: (code) => (typeof code === "number" ? code : 0)
    })
  )

/** Runs the command line of this process. */
export const start = (): void => {
  // What writes is interrupted by it, so that the store is closed.
  const screen = make((error) => {
    broken ??= error
  })
  // What went wrong is told to who was writing; unheard it would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  const main = run(process.argv.slice(2)).pipe(
    Effect.catchAllDefect((defect) =>
      Effect.as(screen.note(`holdfast: this should not happen: ${describe(Cause.die(defect))}`), 1)
    ),
    Effect.onInterrupt(() =>
      broken === undefined || readerHasGone(broken)
        ? Effect.void
        : screen.note(`holdfast: stdout cannot be written: ${printable(broken.message)}`)
    ),
    Effect.provideService(Screen, screen),
    Effect.provide(NodeContext.layer),
    Effect.provide(
      Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => void process.stderr.write(`holdfast: ${String(message)}\n`))
      )
    )
  )
  NodeRuntime.runMain(main, { disableErrorReporting: true, disablePrettyLogger: true, teardown })
}
