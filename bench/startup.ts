import { fileURLToPath } from "node:url"
import * as Command from "@effect/platform/Command"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Figure from "./internal/figure.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const topic = "Startup: from the beginning of a process to its first event, on a new file"

const script = fileURLToPath(new URL("./startupProcess.js", import.meta.url))

const Printed = Schema.parseJson(Schema.Tuple(Schema.Number, Schema.Number, Schema.Number))

const run = (settings: Settings, form: "holdfast" | "raw") =>
  Effect.gen(function* () {
    const command = Command.make(process.execPath, script, form, yield* databaseFile(settings))
    const [loaded, opened, done] = yield* Schema.decode(Printed)(
      yield* Command.string(Command.stderr(command, "inherit"))
    )
    return { loaded, opened: opened - loaded, event: done - opened, done }
  }).pipe(Effect.scoped)

const parts = [
  ["modules loaded", "loaded"],
  ["file opened, tables made, workers started", "opened"],
  ["first event sent, processed, committed", "event"],
  ["all of it", "done"]
] as const

export const startup: Topic = (settings) =>
  Effect.gen(function* () {
    const rounds = yield* Effect.replicateEffect(
      Effect.all({ holdfast: run(settings, "holdfast"), raw: run(settings, "raw") }),
      settings.rounds
    )
    return parts.map(([name, part]) =>
      Figure.make({
        topic,
        name,
        unit: "ms",
        against: "better-sqlite3, an insert and an update",
        rounds: rounds.map(({ holdfast, raw }) => ({ value: holdfast[part], baseline: raw[part] }))
      })
    )
  })
