// shardsProcess.ts FILE NAME HALF: shares the outbox of a store with other processes. It says "shares" when it has half of the shards, and
// "half" when it has delivered HALF events; each delivery it begins is a line of FILE.NAME. When it is sent a line, it ends as soon as the
// outbox is empty, and says "end".
import { appendFileSync } from "node:fs"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as OutboxRelay from "holdfast/OutboxRelay"
import * as Processor from "holdfast/Processor"
import * as Shards from "holdfast/Shards"
import * as SqliteStore from "holdfast/SqliteStore"

const [filename = "", name = "", half = "0"] = process.argv.slice(2)

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const heard = Effect.async<void>((resume) => {
  process.stdin.once("data", () => resume(Effect.void))
})

const often = Schedule.spaced("50 millis")

const count: Processor.Transition = (execution) =>
  Effect.succeed({ execution: { ...execution, context: { n: Number(execution.context["n"] ?? 0) + 1 } } })

const program = Effect.gen(function* () {
  const store = yield* ExecutionStore.ExecutionStore
  const shards = yield* Shards.make({ holder: name, ttl: "2 seconds" })
  const processor = yield* Processor.make({ definitions: { counter: count } })
  const halfDone = yield* Deferred.make<void>()
  let delivered = 0
  yield* OutboxRelay.make({
    shards,
    pollInterval: "500 millis",
    deliver: ({ event, seq, targetId }) =>
      Effect.gen(function* () {
        appendFileSync(`${filename}.${name}`, `${event.id}\n`)
        if (++delivered === Number(half)) yield* Deferred.succeed(halfDone, undefined)
        if (targetId !== null) yield* processor.process(targetId, event, { ack: { _tag: "Outbox", seq } })
        return "Acknowledged" as const
      })
  })
  yield* Effect.repeat(shards.health, { schedule: often, until: ({ owned }) => owned.length === shards.count / 2 })
  yield* say("shares")
  yield* Effect.fork(Effect.zipRight(Deferred.await(halfDone), say("half")))
  yield* heard
  yield* Effect.repeat(store.pendingOutbox({ limit: 1 }), {
    schedule: often,
    until: (page) => page.entries.length === 0
  })
}).pipe(
  Effect.scoped,
  Effect.zipRight(say("end")),
  Effect.provide(SqliteStore.layer({ filename, durability: "normal" })),
  Effect.catchAll((error) => say(`failed: ${error.message}`)),
  Effect.ensuring(Effect.sync(() => process.stdin.destroy()))
)

Effect.runFork(program)
