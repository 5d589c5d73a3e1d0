import { fileURLToPath } from "node:url"
import * as Command from "@effect/platform/Command"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Figure from "./internal/figure.js"
import * as fill from "./internal/fill.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const topic = "Memory: peak RSS of a process with a backlog, beside one with none"

const script = fileURLToPath(new URL("./backlogProcess.js", import.meta.url))

const Printed = Schema.parseJson(Schema.Struct({ peak: Schema.Number, transitions: Schema.Number }))

/** Runs a runtime in a process of its own on a file with these rows. */
const peak = (settings: Settings, rows: fill.Rows) =>
  Effect.gen(function* () {
    const filename = yield* databaseFile(settings)
    yield* fill.file(filename, rows)
    const command = Command.make(process.execPath, script, filename, settings.quick ? "1" : "6")
    const printed = yield* Command.string(Command.stderr(command, "inherit"))
    return yield* Schema.decode(Printed)(printed)
  }).pipe(Effect.scoped)

export const memory: Topic = (settings) =>
  Effect.gen(function* () {
    const now = (yield* Clock.currentTimeMillis) / 1000
    const [events, timers, executions] = settings.quick ? [20_000, 5000, 5000] : [1_000_000, 100_000, 100_000]
    const count = (rows: number): string => rows.toLocaleString("en-US")
    const idle: fill.Rows = { executions, statuses: ["RUNNING", "RUNNING"] }
    const backlogs: ReadonlyArray<readonly [name: string, rows: fill.Rows]> = [
      [`${count(events)} events to 1,000 executions`, { ...idle, outbox: { rows: events, targets: 1000 } }],
      [`${count(events)} events to one execution`, { ...idle, outbox: { rows: events, targets: 1 } }],
      [`${count(timers)} due timers`, { ...idle, timers: { rows: timers, from: now - 1_000_000 } }]
    ]
    const none = yield* peak(settings, idle)
    const figures: Array<Figure.Figure> = []
    for (const [name, rows] of backlogs) {
      const { peak: value, transitions } = yield* peak(settings, rows)
      if (transitions === 0) return yield* Effect.fail(`nothing was done of the backlog of ${name}`)
      figures.push(
        Figure.make({
          topic,
          name,
          unit: "MiB",
          against: "no backlog",
          rounds: [{ value, baseline: none.peak }],
          target: Figure.moreAtMost(150)
        })
      )
    }
    return figures
  })
