// commitProcess.ts FILE NAME STEPS: opens a store, says "ready", waits for a line, then reads and commits so many executions, each with one
// emit, and says what became of it.
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"

const [filename = "", name = "", steps = "0"] = process.argv.slice(2)

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const heard = Effect.async<void>((resume) => {
  process.stdin.once("data", () => resume(Effect.void))
})

const step = (i: number) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const id = `${name}-${i}`
    const found = yield* store.load(id)
    const execution = Option.getOrElse(found, () => Execution.make({ id, definitionId: "step" }))
    yield* store.commit(execution, {
      emits: [{ targetId: id, event: Event.make({ id: `${id}-stepped`, kind: "Stepped" }) }]
    })
  })

const program = Effect.gen(function* () {
  yield* say("ready")
  yield* heard
  for (let i = 0; i < Number(steps); i++) yield* step(i)
  yield* say("done")
}).pipe(
  Effect.provide(SqliteStore.layer({ filename })),
  Effect.catchAll((error) => say(`failed: ${error.message}`)),
  Effect.ensuring(Effect.sync(() => process.stdin.destroy()))
)

Effect.runFork(program)
