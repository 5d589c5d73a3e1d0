import * as Effect from "effect/Effect"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as Monitor from "holdfast/Monitor"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Figure from "./internal/figure.js"
import * as fill from "./internal/fill.js"
import * as measure from "./internal/measure.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const topic = "Pages of the monitor, on a large store"

/** Timers of executions that go on, in years to come. */
const firstDue = 4_000_000_000

/** A store with a timer for each execution that goes on, and an event for every tenth of all. */
const open = (settings: Settings, rows: number) =>
  Effect.gen(function* () {
    const filename = yield* databaseFile(settings)
    yield* fill.file(filename, {
      executions: rows,
      statuses: ["RUNNING", "DONE"],
      outbox: { rows: Math.ceil(rows / 10), targets: rows },
      timers: { rows: rows / 2, from: firstDue }
    })
    return yield* SqliteStore.make({ filename })
  })

/** What each page asks for. */
const pages = (rows: number): Readonly<Record<string, string>> => ({
  overview: "overview",
  executions: "executions?limit=50",
  "executions of a definition and status": "executions?limit=50&definition=order&status=RUNNING,FAILED",
  "executions by how their ids begin": `executions?limit=50&prefix=${fill.orderId(rows - 1).slice(0, -2)}&roots=true`,
  "how many a filter selects": "executions/count?definition=order&status=RUNNING",
  "one execution": `execution?id=${fill.orderId(Math.floor(rows / 2))}`,
  trace: `trace?id=${fill.orderId(Math.floor(rows / 2))}`,
  events: "outbox?limit=50",
  timers: "timers?limit=50",
  "dead letters": "dead-letters?limit=50"
})

/** How many milliseconds an answer takes, of a monitor that has answered nothing before. */
const first = (store: ExecutionStore, path: string) =>
  Effect.gen(function* () {
    const { handler } = yield* Monitor.make({ access: () => Effect.succeed("read") })
    const answer = Effect.promise(async () => (await handler(new Request(`http://localhost/api/${path}`))).text())
    const begun = performance.now()
    const text = yield* answer
    const took = performance.now() - begun
    return text.includes('"title"') ? yield* Effect.fail(text) : took
  }).pipe(Effect.scoped, Effect.provideService(ExecutionStore, store))

/** A person waits for a page, so its first answer counts, and 100 milliseconds are no wait. */
const target = Figure.valueAtMost(100)

export const monitor: Topic = (settings) =>
  Effect.gen(function* () {
    const [few, many] = settings.quick ? [100, 1000] : [1000, 1_000_000]
    const small = yield* open(settings, few)
    const large = yield* open(settings, many)
    const figures: Array<Figure.Figure> = []
    for (const [name, path] of Object.entries(pages(many))) {
      const ofFew = pages(few)[name] ?? path
      yield* first(large, path)
      const rounds = yield* measure.rounds(
        settings.rounds,
        Effect.all({ value: first(large, path), baseline: first(small, ofFew) })
      )
      const at = `${name}, ${many.toLocaleString("en-US")} executions`
      const against = `${few.toLocaleString("en-US")} executions`
      figures.push(Figure.make({ topic, name: at, unit: "ms", against, rounds, target }))
    }
    return figures
  }).pipe(Effect.scoped)
