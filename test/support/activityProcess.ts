// activityProcess.ts FILE NAME: runs jobs and their activities on a store that others share. It says `began JOB KEY` whenever an activity begins, and
// `ran JOB KEY` when it has run and its outcome is still to be written. It is ended by a signal.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as SqliteStore from "holdfast/SqliteStore"
import { Job, jobHandlers, Work } from "./activityJob.js"

const [filename = "", name = ""] = process.argv.slice(2)

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const WorkLive = Work.toLayer(({ n }, { attempt, executionId, idempotencyKey, key }) =>
  Effect.gen(function* () {
    yield* say(`began ${executionId} ${key}`)
    // Long enough that most of the time of a process, and so most kills, fall into it.
    yield* Effect.sleep(yield* Random.nextIntBetween(100, 600))
    yield* say(`ran ${executionId} ${key}`)
    if (n % 5 === 0 && attempt === 1) return yield* Effect.fail("not yet")
    return `${name} ${idempotencyKey}`
  })
)

const Live = Layer.mergeAll(Job.toLayer(jobHandlers), WorkLive).pipe(
  Layer.provideMerge(ExecutionRuntime.layer({ activityTtl: "1 second", pollInterval: "100 millis" })),
  Layer.provide(SqliteStore.layer({ filename, durability: "normal" })),
  Layer.provide(Logger.minimumLogLevel(LogLevel.None))
)

Effect.runFork(Effect.catchAllCause(Layer.launch(Live), (cause) => say(`failed: ${String(cause)}`)))
