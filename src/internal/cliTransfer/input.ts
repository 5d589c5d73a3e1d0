import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type CliError, failed, missing, usage } from "../cli/failure.js"

/** The text that an import reads: that of a file, or of stdin. `again` is the same where it can be read a second time. */
export interface Input {
  readonly text: Stream.Stream<string, CliError>
  readonly again: Stream.Stream<string, CliError> | undefined
}

const standard: Stream.Stream<string, CliError> = NodeStream.fromReadable<CliError, Uint8Array>(
  () => process.stdin,
  (cause) => failed(`stdin cannot be read: ${String(cause)}`)
).pipe(Stream.decodeText())

const fromStandard: Effect.Effect<Input, CliError> = Effect.suspend(() =>
  process.stdin.isTTY === true
    ? usage("there is nothing to import: name a file, or send an export into stdin")
    : Effect.succeed({ text: standard, again: undefined })
)

const fromFile = (name: string): Effect.Effect<Input, CliError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const shown = JSON.stringify(name)
    const kind = yield* fs.stat(name).pipe(
      Effect.map(({ type }) => type),
      Effect.catchTags({
        SystemError: (error) =>
          error.reason === "NotFound"
            ? missing(`there is no file ${shown}`)
            : failed(`${shown} cannot be read: ${error.reason}`),
        BadArgument: (error) => failed(`${shown} cannot be read: ${error.message}`)
      })
    )
    if (kind === "Directory") return yield* usage(`${shown} is a directory, and no file`)
    const text = fs.stream(name).pipe(
      Stream.mapError((error) => failed(`${shown} cannot be read: ${error.message}`)),
      Stream.decodeText()
    )
    // A pipe gives what is in it once.
    return { text, again: kind === "File" ? text : undefined }
  })

/** What a command reads that is given the name of a file, or none, or `-`. */
export const of = (name: Option.Option<string>): Effect.Effect<Input, CliError, FileSystem.FileSystem> =>
  Option.match(
    Option.filter(name, (name) => name !== "-"),
    { onNone: () => fromStandard, onSome: fromFile }
  )
