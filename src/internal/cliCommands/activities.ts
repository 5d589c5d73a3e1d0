import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import type { ActivityEntry } from "../../Commit.js"
import * as format from "../cli/format.js"
import { common, limitOf, value, withStore } from "../cli/options.js"
import * as table from "../cli/table.js"
import { after, afterOf, say, sayNext } from "./work.js"

const columns: ReadonlyArray<table.Column<ActivityEntry>> = [
  { name: "seq", show: ({ seq }) => String(seq) },
  { name: "execution", show: ({ executionId }) => executionId },
  { name: "name", show: ({ name }) => name },
  { name: "key", show: ({ key }) => key },
  { name: "ready", show: ({ readyAt }) => format.time(readyAt) },
  { name: "owner", show: ({ owner }) => format.text(owner) },
  {
    name: "attempts",
    show: ({ attempts }) => String(attempts),
    color: ({ attempts }) => (attempts === 0 ? undefined : "yellow")
  },
  {
    name: "error",
    show: ({ error }) => error ?? format.nothing,
    color: ({ error }) => (error === null ? undefined : "red")
  }
]

const list = Command.make("list", { ...common, limit: value("limit"), cursor: after }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const query = { limit: yield* limitOf(options.limit), after: yield* afterOf(options.cursor) }
      const { corrupt, entries, next } = yield* store.activities.list(query)
      yield* table.print(options.json, columns, entries)
      yield* say(corrupt)
      yield* sayNext(next)
    })
  )
).pipe(Command.withDescription("Lists the activities that run or wait, in the order in which they were asked for."))

export const activities = Command.make("activities").pipe(
  Command.withDescription("The activities that have not ended."),
  Command.withSubcommands([list])
)
