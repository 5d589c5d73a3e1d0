import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { failed } from "../cli/failure.js"
import * as format from "../cli/format.js"
import { common, withRows } from "../cli/options.js"
import { Screen } from "../cli/screen.js"
import { make } from "../transfer/exportText.js"
import { decode } from "../transfer/line.js"

const pageSize = 1000

/** How many rows the end of an export says that it has. */
const rowsOf = (line: string): number => {
  const end = decode(line)
  return typeof end !== "string" && end._tag === "End" ? end.rows : 0
}

const newlines = (text: string): number => text.split("\n").length - 1

export const exportCommand = Command.make("export", common, (options) =>
  withRows(options, ({ name, rows }) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      let lines = 0
      let last = ""
      yield* Stream.runForEach(make(rows, pageSize), (text) => {
        lines += newlines(text)
        last = text
        return Effect.zipRight(screen.out(text.slice(0, -1)), screen.progress(`${format.many(lines, "line")} written`))
      })
      yield* screen.note(`${format.many(rowsOf(last.trimEnd()), "row")} exported from ${name}`)
    }).pipe(
      Effect.catchTag("StoreChanged", ({ tables }) =>
        failed(
          `${name} was written to while it was exported (${tables.join(", ")}), so that what is written has no end: stop what writes to it, or export a backup of it`
        )
      )
    )
  )
).pipe(Command.withDescription("Writes every row of the store to stdout, as lines of JSON."))
