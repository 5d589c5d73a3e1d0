// One process of a torture: a runtime on the store, and clients of it. It says "ready" when it runs. It is sent `rest`, after which its
// clients ask for nothing any more, and it says "resting" when it is well and nothing is left in it; and `end`. Its options are the first argument, as JSON.
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as StoreName from "../../src/internal/cli/storeName.js"
import * as Child from "./child.js"
import * as Clients from "./clients.js"
import * as Copies from "./copies.js"
import * as Health from "./health.js"
import * as Journal from "./journal.js"
import { Live } from "./order.js"
import * as Store from "./store.js"
import * as Watched from "./watched.js"

export interface Options extends Clients.Options {
  readonly store: string
  readonly durability: Store.Durability
  readonly prefix: string
  /** The file of its own copy of a libSQL server's database. */
  readonly copy?: string | undefined
  readonly journals: string
  readonly leases: boolean
  readonly executionCache: Store.Remembers
}

const options: Options = JSON.parse(process.argv[2] ?? "{}")

const place = Effect.map(StoreName.parse(options.store), (name) => ({ ...options, name }))

const RuntimeLive = ExecutionRuntime.layer({
  leases: options.leases ? { ttl: "1500 millis", handover: "100 millis" } : false,
  activityTtl: "1500 millis",
  pollInterval: "100 millis",
  timerInterval: "100 millis",
  retry: Schedule.spaced("200 millis"),
  maxAttempts: 1_000_000,
  shutdownTimeout: "3 seconds",
  retention: { finished: "3 minutes", interval: "20 seconds" }
})

const StoreLive = Layer.unwrapEffect(Effect.map(place, Store.layer))

const lines = Effect.gen(function* () {
  const rest = yield* Deferred.make<void>()
  const end = yield* Deferred.make<void>()
  yield* Child.hear((line) => Deferred.unsafeDone(line === "rest" ? rest : end, Effect.void))
  return { rest, end }
})

/** Looks at the health of this process again and again. */
const looks = (health: Effect.Effect<ExecutionRuntime.Health>, last: () => Health.LastWrite) => {
  const write = Health.makeWriter(options.journals, options.by)
  const once = Effect.map(Health.look(health, last), write)
  return Effect.repeat(once, Schedule.spaced("250 millis"))
}

const program = Effect.gen(function* () {
  const { end, rest } = yield* lines
  const writer = Journal.makeWriter(options.journals, options.by)
  const context = yield* Layer.build(StoreLive)
  const store = yield* Effect.provide(ExecutionStore, context)
  const watched = yield* Health.watch(Watched.make(writer, store))
  const live = Layer.provide(Live.pipe(Layer.provideMerge(RuntimeLive)), Layer.succeed(ExecutionStore, watched.store))
  const { health } = Context.get(yield* Layer.build(live), ExecutionRuntime.ExecutionRuntime)
  yield* Effect.forkScoped(looks(health, watched.last))
  yield* Child.say("ready")
  const clients = Clients.run(writer, options).pipe(Effect.provideService(ExecutionStore, store))
  yield* Effect.raceFirst(clients, Deferred.await(rest))
  const unwell = Effect.map(health, (found) => Health.unwell(found).join("; "))
  const sayHow = Effect.flatMap(unwell, (what) => Child.say(what === "" ? "resting" : `clients rest: ${what}`))
  yield* Effect.raceFirst(Effect.repeat(sayHow, Schedule.spaced("300 millis")), Deferred.await(end))
  if (options.copy !== undefined) {
    const server = yield* Layer.build(
      Layer.unwrapEffect(Effect.map(place, ({ copy: _, ...rest }) => Store.layer(rest)))
    )
    yield* Copies.judge(writer, store, Context.get(server, ExecutionStore))
  }
})

Child.run(program)
