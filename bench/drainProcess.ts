/**
 * What the drain and processes benches start: FILE EVENTS [HOLDER], a runtime on a file that works until so many events are done, or with a holder until it is
 * ended, sharing the work by leases. Prints the second, from the start of the runtime, at which each tenth of the events was done, and how much memory the
 * process took at most, in MiB.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"

const [filename = "", events = "0", holder] = process.argv.slice(2)
const count = Number(events)

const program = Effect.gen(function* () {
  const store = yield* SqliteStore.make({ filename, durability: "normal" })
  const done = yield* Deferred.make<void>()
  const tenths: Array<number> = []
  let committed = 0
  let began = performance.now()
  yield* store.listen((notice) => {
    if (Option.isNone(notice.committed)) return
    committed++
    if (committed % (count / 10) === 0) tenths.push((performance.now() - began) / 1000)
    if (committed === count) Deferred.unsafeDone(done, Effect.void)
  })
  began = performance.now()
  const runtime = yield* ExecutionRuntime.make({
    definitions: { order: (execution) => Effect.succeed({ execution }) },
    concurrency: 64,
    pageSize: 1000,
    leases: holder === undefined ? undefined : { holder, ttl: "2 seconds" }
  }).pipe(Effect.provideService(ExecutionStore, store))
  yield* Effect.raceFirst(Deferred.await(done), runtime.awaitFatal)
  yield* Console.log(JSON.stringify({ tenths, peak: process.resourceUsage().maxRSS / 1024 }))
}).pipe(Effect.scoped)

NodeRuntime.runMain(program)
