/**
 * `npm start`: an event log, replayed through a durable runtime into a database.
 */
import { fileURLToPath } from "node:url"
import type { Teardown } from "@effect/platform/Runtime"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Cli from "./cli.js"
import { othersThan, replay } from "./importer.js"
import { type Log, survey } from "./log.js"
import * as Progress from "./progress.js"
import * as Report from "./report.js"
import * as Target from "./target.js"
import { type Compared, verify } from "./verify.js"

/** The log that comes with the example; the compiler does not copy it to where this module runs. */
const sample = () => fileURLToPath(new URL("examples/replay/sample.csv", import.meta.resolve("holdfast/package.json")))

const run = (options: Cli.Options) =>
  Effect.gen(function* () {
    const log = yield* survey(Option.getOrElse(options.log, sample), options.columns, options.delimiter)
    const done = yield* replayInto(log, options)
    // The store is closed, and what was in its write-ahead log is in the file.
    const fileBytes = yield* Target.fileBytes(options.store)
    const { rows, seconds } = done.run
    const table: Report.Table = {
      ...done.totals,
      // A clock that counts milliseconds may have seen none pass.
      eventsPerSecond: rows === 0 ? Option.none() : Option.some(Math.round(rows / Math.max(seconds, 0.001))),
      fileBytes
    }
    yield* Console.log(options.json ? Report.toJson(table) : Report.toText(table))
  })

const replayInto = (log: Log, options: Cli.Options) =>
  Effect.scoped(Effect.flatMap(Target.open(options.store), (store) => Effect.provide(replayLog(log, options), store)))

const replayLog = (log: Log, { batch, inactivity, store, verbose, ...options }: Cli.Options) =>
  Effect.gen(function* () {
    yield* Console.error(`replaying ${log.path} into ${Target.describe(store)}`)
    yield* sayWhatElseIsThere(log, store)
    const run = yield* Effect.scoped(
      Effect.gen(function* () {
        const progress = yield* showProgress(log.rows, verbose)
        return yield* replay(log, { batch, inactivity, progress })
      })
    )
    const totals = yield* Report.totals(log)
    if (options.verify) yield* Console.error(toSentence(yield* verify(log)))
    return { run, totals }
  })

const toSentence = ({ cases, counters, executions }: Compared): string =>
  `${executions} executions are as the log says: ${cases} cases, ${counters} counters of activities and the importer`

/** Who forgot that the file is there would else wonder at its size, and at what else is in it. */
const sayWhatElseIsThere = (log: Log, store: Target.Target) =>
  Effect.flatMap(othersThan(log), (others) =>
    others === 0
      ? Effect.void
      : Console.error(
          `${Target.describe(store)} also holds ${others === 1 ? "another log" : `${others} other logs`}: this one is replayed beside it, and counted alone`
        )
  )

const showProgress = (rows: number, verbose: boolean) => {
  if (verbose) return Effect.succeed(Progress.lines(rows))
  return process.stderr.isTTY ? Progress.bar(rows) : Progress.linesNowAndThen(rows)
}

/** What goes wrong with a worker is logged, and what ends the replay is also the error that it ends with: this one is said once. */
const logTo = (verbose: boolean) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ logLevel, message }) => {
      if (verbose ? LogLevel.greaterThanEqual(logLevel, LogLevel.Info) : logLevel === LogLevel.Error) {
        process.stderr.write(`${logLevel.label}: ${Array.isArray(message) ? String(message[0]) : String(message)}\n`)
      }
    })
  )

/** Gives the exit code: 0, or 2 where the command or the log is to be changed, or 1 where it is worth another try. */
const main = Effect.gen(function* () {
  const options = yield* Cli.parse(process.argv.slice(2))
  yield* Option.match(options, {
    onNone: () => Console.log(Cli.help),
    onSome: (options) => Effect.provide(run(options), logTo(options.verbose))
  })
  return 0
}).pipe(
  Effect.catchAll((error) =>
    Effect.as(
      Console.error(`replay: ${error.message}`),
      error._tag === "UsageError" || error._tag === "LogError" ? 2 : 1
    )
  ),
  Effect.onInterrupt(() => Console.error("replay: stopped; run the same command again to go on")),
  Effect.catchAllDefect((defect) => Effect.as(Console.error(`replay: this should not happen: ${String(defect)}`), 1))
)

const teardown: Teardown = (exit, onExit) =>
  onExit(
    Exit.match(exit, {
      onFailure: (cause) => (Cause.isInterruptedOnly(cause) ? 130 : 1),
      onSuccess: (code) => (typeof code === "number" ? code : 0)
    })
  )

NodeRuntime.runMain(main, { disableErrorReporting: true, disablePrettyLogger: true, teardown })
