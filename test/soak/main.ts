/** A soak: a process at half of its full speed for a long time, which must not grow. */
import { readdirSync, statSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { parseArgs } from "node:util"
import * as Clock from "effect/Clock"
import type { ConfigError } from "effect/ConfigError"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Ref from "effect/Ref"
import type { StoreError } from "holdfast/StoreError"
import { BadInput, number, parse, target } from "../torture/options.js"
import * as Store from "../torture/store.js"
import * as Load from "./load.js"
import * as Trend from "./trend.js"

const usage = `npm run soak -- [--minutes 60] [--store sqlite:FILE|libsql:file:FILE] [--rate N]

Runs a process on a new file at half of its full speed, with leases, retention, timers, activities, children, delayed events, recurring work
and somebody who looks at it; prints now and then how large and how slow it is, and at the end whether any of that grows. Ends with 0 where
nothing does, with 1 where something does, and with 2 where it was asked for something that it cannot do.

--minutes N   how long, by default 60
--store S     by default sqlite:./soak.db
--rate N      orders a second; by default half of what it can do, which is measured first`

interface Sample {
  readonly minute: number
  readonly rss: number
  readonly heap: number
  readonly file: number
  readonly descriptors: number
  readonly loopDelay: number
  readonly commit: number
  readonly orders: number
}

const sizeOf = (filename: string): number =>
  ["", "-wal"].reduce((sum, suffix) => sum + (statSync(filename + suffix, { throwIfNoEntry: false })?.size ?? 0), 0)

const descriptors = (): number => (process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0)

const mebibytes = (bytes: number): number => bytes / 2 ** 20

const p99 = (values: Array<number>): number =>
  values.sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN

/** What of a sample must stay flat, and by how large a part it may grow in the second half all the same. */
const watched: ReadonlyArray<readonly [name: keyof Sample, heading: string, allowed: number]> = [
  ["rss", "RSS, MiB", 0.1],
  ["heap", "heap after gc, MiB", 0.1],
  ["file", "file, MiB", 0.1],
  ["descriptors", "descriptors", 0.02],
  ["loopDelay", "event loop p99, ms", 0.5],
  ["commit", "commit p99, ms", 0.5]
]

const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const rowOf = (sample: Sample): string =>
  row([sample.minute.toFixed(1), sample.orders.toFixed(1), ...watched.map(([name]) => sample[name].toFixed(1))])

const heading = [
  row(["minute", "orders/s", ...watched.map(([, text]) => text)]),
  row(["---:", "---:", ...watched.map(() => "---:")])
]

const judged = (samples: ReadonlyArray<Sample>) =>
  watched.map(([name, text, allowed]) => {
    const points = samples.map((sample) => ({ time: sample.minute, value: sample[name] }))
    return { text, allowed, trend: Trend.judge(points, allowed) }
  })

const percent = (part: number): string => `${(100 * part).toFixed(1)} %`

const verdict = (samples: ReadonlyArray<Sample>): { readonly lines: ReadonlyArray<string>; readonly flat: boolean } => {
  const all = judged(samples)
  return {
    lines: [
      row(["the second half", "median", "growth by its trend", "allowed", ""]),
      row(["---", "---:", "---:", "---:", "---"]),
      ...all.map(({ allowed, text, trend }) =>
        row([text, trend.median.toFixed(1), percent(trend.growth), percent(allowed), trend.flat ? "flat" : "GROWS"])
      )
    ],
    flat: all.every(({ trend }) => trend.flat)
  }
}

interface Options {
  readonly minutes: number
  readonly rate: number | undefined
  readonly filename: string
  readonly layer: ReturnType<typeof Store.layer>
}

const fields = {
  minutes: { type: "string" },
  store: { type: "string" },
  rate: { type: "string" },
  help: { type: "boolean", short: "h" }
} as const

const read = (args: ReadonlyArray<string>): Effect.Effect<Options | undefined, BadInput> =>
  Effect.gen(function* () {
    const given = yield* parse(() => parseArgs({ args: [...args], options: fields }).values)
    if (given.help === true) return undefined
    const minutes = yield* number("minutes", given.minutes ?? "60", { least: 0.2, most: 100_000, whole: false })
    const rate =
      given.rate === undefined
        ? undefined
        : yield* number("rate", given.rate, { least: 0.1, most: 10_000, whole: false })
    const found = yield* target(given.store ?? "sqlite:./soak.db")
    if (found._tag !== "Store" || !("filename" in found.name)) {
      return yield* new BadInput({ detail: "--store must be a file: sqlite:FILE or libsql:file:FILE" })
    }
    const layer = Store.layer({ name: found.name, durability: "full", prefix: "" })
    return { minutes, rate, filename: found.name.filename, layer }
  })

const now = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

/** Takes a sample each minute, and more often in a short soak. */
const sampling = ({ filename, minutes }: Options, rate: number) =>
  Effect.gen(function* () {
    const every = Math.min(60, (minutes * 60) / 24)
    const done = yield* Ref.make(0)
    const took: Array<number> = []
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    const samples: Array<Sample> = []
    const sample = Effect.gen(function* () {
      const time = (samples.length + 1) * every
      const loopDelay = delay.percentile(99) / 1e6
      globalThis.gc?.()
      const { heapUsed, rss } = process.memoryUsage()
      const taken: Sample = {
        minute: time / 60,
        rss: mebibytes(rss),
        heap: mebibytes(heapUsed),
        file: mebibytes(sizeOf(filename)),
        descriptors: descriptors(),
        loopDelay,
        commit: p99(took.splice(0)),
        orders: (yield* Ref.getAndSet(done, 0)) / every
      }
      delay.reset()
      samples.push(taken)
      yield* Console.log(rowOf(taken))
    })
    yield* Effect.forkScoped(Load.steady(rate, done))
    yield* Effect.forkScoped(Load.probe((millis) => took.push(millis)))
    yield* Effect.forkScoped(Load.onlookers)
    const end = (yield* now) + minutes * 60
    while ((yield* now) < end) yield* Effect.delay(sample, `${every} seconds`)
    delay.disable()
    return samples
  }).pipe(Effect.scoped)

const soak = (options: Options): Effect.Effect<boolean, StoreError | ConfigError> =>
  Effect.gen(function* () {
    const full = options.rate === undefined ? yield* Load.fullSpeed(30) : 2 * options.rate
    const rate = Math.max(0.1, full / 2)
    yield* Console.log(`full speed: ${full.toFixed(1)} orders a second; from now on ${rate.toFixed(1)}\n`)
    yield* Effect.forEach(heading, (line) => Console.log(line))
    const { flat, lines } = verdict(yield* sampling(options, rate))
    yield* Console.log(`\n${lines.join("\n")}`)
    return flat
  }).pipe(
    Effect.provide(Load.RuntimeLive),
    Effect.provide(options.layer),
    Effect.catchAll((error) => Effect.die(error)),
    Logger.withMinimumLogLevel(LogLevel.Error)
  )

const main = (args: ReadonlyArray<string>): Effect.Effect<number, StoreError | ConfigError> =>
  Effect.gen(function* () {
    const options = yield* read(args)
    if (options === undefined) {
      yield* Console.log(usage)
      return 0
    }
    return (yield* soak(options)) ? 0 : 1
  }).pipe(
    Effect.catchTag("BadInput", (error) =>
      Effect.as(Console.error(`${error.message}\n\nnpm run soak -- --help says more`), 2)
    )
  )

export const start = (args: ReadonlyArray<string>): Promise<number> => Effect.runPromise(main(args))
