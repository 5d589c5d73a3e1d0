// One process whose clients read and write registers. It says "ready" when its store is open, begins when it is sent a line, and ends when
// each of its clients has done its steps. Its options are the first argument, as JSON.
import { join } from "node:path"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as StoreName from "../../src/internal/cli/storeName.js"
import * as Child from "./child.js"
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

const copy = options.copies ? join(options.journals, `${options.by}.copy`) : undefined

const StoreLive = Layer.unwrapEffect(
  Effect.map(StoreName.parse(options.store), (name) => Store.layer({ ...options, name, copy, durability: "normal" }))
)

const step = (writer: Journal.Writer, value: string) =>
  Effect.gen(function* () {
    const first = yield* Random.nextIntBetween(0, options.registers)
    const id = (n: number) => `r-${n % options.registers}`
    const chance = yield* Random.next
    if (chance < 0.5) return yield* Effect.ignore(Registers.one(writer, { id: id(first), value }))
    if (chance < 0.7) return yield* Effect.ignore(Registers.recalled(writer, { id: id(first), value }))
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
  const sent = yield* Deferred.make<void>()
  yield* Child.hear(() => Deferred.unsafeDone(sent, Effect.void))
  const writer = Journal.makeWriter(options.journals, options.by)
  const context = yield* Layer.build(StoreLive)
  yield* Child.say("ready")
  yield* Deferred.await(sent)
  const clients = Array.from({ length: options.clients }, (_, nth) => client(writer, nth))
  yield* Effect.provide(Effect.all(clients, { concurrency: "unbounded", discard: true }), context)
})

Child.run(program)
