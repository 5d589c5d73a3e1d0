import { fileURLToPath } from "node:url"
import * as Command from "@effect/platform/Command"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Figure from "./internal/figure.js"
import * as fill from "./internal/fill.js"
import * as measure from "./internal/measure.js"
import * as raw from "./internal/raw.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const script = fileURLToPath(new URL("./drainProcess.js", import.meta.url))

const often = Schedule.spaced("10 millis")

/** So many processes share a file by leases; when each has some, a backlog comes, and it is timed until that is worked off. */
const shared = (settings: Settings, processes: number, events: number) =>
  Effect.gen(function* () {
    const filename = yield* databaseFile(settings)
    yield* fill.file(filename, { executions: 1000, statuses: ["RUNNING", "RUNNING"] })
    const database = yield* raw.connect(filename)
    database.pragma("journal_mode = WAL")
    const number = (sql: string) => Effect.sync(() => Number(database.prepare(sql).pluck().get()))
    for (const i of measure.range(processes)) {
      // More than there are: the process works until it is ended.
      const command = Command.make(process.execPath, script, filename, String(10 * events), `process-${i}`)
      yield* Command.start(Command.stderr(command, "inherit"))
    }
    const holders = `SELECT COUNT(DISTINCT holder) FROM ${raw.prefix}holdfast_leases WHERE holder LIKE 'process-%'`
    yield* Effect.repeat(number(holders), { schedule: often, until: (found) => found === processes })
    // What was taken by the first comes to the others by and by.
    yield* Effect.sleep("3 seconds")
    return yield* measure.timed(
      Effect.gen(function* () {
        fill.addEvents(database, events, 1000)
        const left = `SELECT COUNT(*) FROM ${raw.prefix}outbox`
        yield* Effect.repeat(number(left), { schedule: often, until: (rows) => rows === 0 })
        return events
      })
    )
  }).pipe(Effect.scoped)

export const processes: Topic = (settings) =>
  Effect.gen(function* () {
    const events = settings.quick ? 500 : 10_000
    const topic = `${events.toLocaleString("en-US")} events of 1,000 executions, by processes that share one file by leases, NORMAL`
    const rounds = yield* Effect.replicateEffect(
      Effect.all({
        one: shared(settings, 1, events),
        two: shared(settings, 2, events),
        four: shared(settings, 4, events)
      }),
      settings.quick ? 1 : 3
    )
    return (["two", "four"] as const).map((name) =>
      Figure.make({
        topic,
        name: `${name} processes`,
        unit: "/s",
        against: "one process",
        rounds: rounds.map((round) => ({ value: measure.rate(round[name]), baseline: measure.rate(round.one) }))
      })
    )
  })
