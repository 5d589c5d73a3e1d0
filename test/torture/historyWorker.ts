// One process whose clients read and write registers. It says "ready" when its store is open, begins when it is sent a line, and ends when
// each of its clients has done its steps. Its options are the first argument, as JSON.
import { join } from "node:path"
import * as readline from "node:readline"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as StoreName from "../../src/internal/cli/storeName.js"
import * as Journal from "./journal.js"
import * as Registers from "./registers.js"
import * as Store from "./store.js"

/** - `by`: its name, of which there is no other. */
export interface Options {
  readonly by: string
  readonly store: string
  readonly prefix: string
  readonly copies: boolean
  readonly journals: string
  readonly clients: number
  readonly registers: number
  readonly steps: number
}

const options: Options = JSON.parse(process.argv[2] ?? "{}")

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const copy = options.copies ? join(options.journals, `${options.by}.copy`) : undefined

const StoreLive = Layer.unwrapEffect(
  Effect.map(StoreName.parse(options.store), (name) => Store.layer({ ...options, name, copy, durability: "normal" }))
)

/** Until it is sent a line. A process whose parent has gone ends. */
const line = Effect.gen(function* () {
  const sent = yield* Deferred.make<void>()
  const input = readline.createInterface(process.stdin)
  input.on("line", () => Deferred.unsafeDone(sent, Effect.void))
  input.on("close", () => process.exit(3))
  return sent
})

const step = (writer: Journal.Writer, value: string) =>
  Effect.gen(function* () {
    const first = yield* Random.nextIntBetween(0, options.registers)
    const id = (n: number) => `r-${n % options.registers}`
    if ((yield* Random.next) < 0.7) return yield* Effect.ignore(Registers.one(writer, { id: id(first), value }))
    const several = Math.min(options.registers, 3)
    yield* Registers.several(
      writer,
      Array.from({ length: several }, (_, i) => ({ id: id(first + i), value }))
    )
  })

const client = (writer: Journal.Writer, nth: number) =>
  Effect.gen(function* () {
    for (let i = 1; i <= options.steps; i++) yield* step(writer, `${options.by}/${nth}/${i}`)
  })

const program = Effect.gen(function* () {
  const sent = yield* line
  const writer = Journal.makeWriter(options.journals, options.by)
  const context = yield* Layer.build(StoreLive)
  yield* say("ready")
  yield* Deferred.await(sent)
  const clients = Array.from({ length: options.clients }, (_, nth) => client(writer, nth))
  yield* Effect.provide(Effect.all(clients, { concurrency: "unbounded", discard: true }), context)
}).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))

Effect.runCallback(program, {
  onExit: (exit) => {
    if (Exit.isFailure(exit)) process.stdout.write(`failed: ${String(exit.cause).replaceAll("\n", " ")}\n`)
    process.exit(Exit.isSuccess(exit) ? 0 : 1)
  }
})
