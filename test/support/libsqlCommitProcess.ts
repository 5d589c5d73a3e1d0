// libsqlCommitProcess.ts FILE NAME STEPS: opens a store, says "ready", waits for a line, then adds one to a counter that it shares with
// others so many times, with an emit each, and says how many conflicts there were.
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"

const [filename = "", name = "", steps = "0"] = process.argv.slice(2)

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const heard = Effect.async<void>((resume) => {
  process.stdin.once("data", () => resume(Effect.void))
})

let conflicts = 0

const step = (i: number) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const execution = Option.getOrThrow(yield* store.load("counter"))
    const n = Number(execution.context["n"]) + 1
    yield* store.commit(
      { ...execution, context: { n } },
      { emits: [{ targetId: "counter", event: Event.make({ id: `${name}-${i}`, kind: "Added" }) }] }
    )
  }).pipe(
    Effect.tapErrorTag("StoreConflict", () => Effect.sync(() => conflicts++)),
    Effect.retry({ while: (error) => error._tag === "StoreConflict" })
  )

const program = Effect.gen(function* () {
  const store = yield* ExecutionStore.ExecutionStore
  const counter = Execution.make({ id: "counter", definitionId: "count", context: { n: 0 } })
  yield* Effect.catchTag(store.save(counter), "StoreConflict", () => Effect.void)
  yield* say("ready")
  yield* heard
  for (let i = 0; i < Number(steps); i++) yield* step(i)
  yield* say(`done after ${conflicts} conflicts`)
}).pipe(
  Effect.provide(LibsqlStore.layer({ url: `file:${filename}`, busyTimeout: "1 minute" })),
  Effect.catchAll((error) => say(`failed: ${error.message}`)),
  Effect.ensuring(Effect.sync(() => process.stdin.destroy()))
)

Effect.runFork(program)
