import { fileURLToPath } from "node:url"
import * as Command from "@effect/platform/Command"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Figure from "./internal/figure.js"
import * as fill from "./internal/fill.js"
import { databaseFile, type Topic } from "./internal/settings.js"

const script = fileURLToPath(new URL("./drainProcess.js", import.meta.url))

const Printed = Schema.parseJson(Schema.Struct({ tenths: Schema.Array(Schema.Number), peak: Schema.Number }))

/** A backlog that is worked off to its end: whether it goes slower or takes more memory towards it. */
export const drain: Topic = (settings) =>
  Effect.gen(function* () {
    const events = settings.quick ? 2000 : 1_000_000
    const topic = `${events.toLocaleString("en-US")} events of 1,000 executions, drained, NORMAL`
    const filename = yield* databaseFile(settings)
    yield* fill.file(filename, {
      executions: 1000,
      statuses: ["RUNNING", "RUNNING"],
      outbox: { rows: events, targets: 1000 }
    })
    const command = Command.make(process.execPath, script, filename, String(events))
    const { peak, tenths } = yield* Schema.decode(Printed)(yield* Command.string(Command.stderr(command, "inherit")))
    const end = (n: number): number => tenths[n - 1] ?? Number.NaN
    const rate = (from: number, to: number): number => ((to - from) * (events / 10)) / (end(to) - end(from))
    return [
      Figure.make({
        topic,
        name: "the last tenth",
        unit: "/s",
        against: "the second tenth",
        rounds: [{ value: rate(9, 10), baseline: rate(1, 2) }],
        target: Figure.atLeast(0.9)
      }),
      Figure.make({
        topic,
        name: "all of them",
        unit: "/s",
        against: "the second tenth",
        rounds: [{ value: events / end(10), baseline: rate(1, 2) }]
      }),
      Figure.make({
        topic,
        name: "peak RSS",
        unit: "MiB",
        against: "256 MiB, asked for",
        rounds: [{ value: peak, baseline: 256 }],
        target: Figure.valueAtMost(256)
      })
    ]
  }).pipe(Effect.scoped)
