/**
 * What the memory bench starts: a runtime on a file, for so many seconds. Prints how much memory the process took at most, in MiB, and how
 * many transitions ran.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"

const [filename = "", seconds = "1"] = process.argv.slice(2)

const program = Effect.gen(function* () {
  let transitions = 0
  const store = yield* SqliteStore.make({ filename, durability: "normal" })
  const runtime = yield* ExecutionRuntime.make({
    definitions: {
      order: (execution) =>
        Effect.sync(() => {
          transitions++
          return { execution }
        })
    }
  }).pipe(Effect.provideService(ExecutionStore, store))
  yield* Effect.raceFirst(Effect.sleep(Number(seconds) * 1000), runtime.awaitFatal)
  const peak = process.resourceUsage().maxRSS / 1024
  yield* Console.log(JSON.stringify({ peak, transitions }))
}).pipe(Effect.scoped)

NodeRuntime.runMain(program)
