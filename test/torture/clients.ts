/** What the clients of one process do to a store while the faults come. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type { Told, Writer } from "./journal.js"
import { Order } from "./order.js"
import * as Registers from "./registers.js"

/**
 * - `by`: the name of the process, of which there is never another one.
 * - `shared`: the names of the orders and registers that all processes use begin so.
 * - `pause`: how long a client rests between two things, in milliseconds, on average.
 */
export interface Options {
  readonly by: string
  readonly shared: string
  readonly pause: number
}

/** What the ids of orders and registers begin with. */
export const prefixes = ["o-", "s-", "g-", "r-"] as const

/** How many orders and registers all processes share. */
const together = 3

const eventsOfAnOrder = 4

/** A client that is not answered asks again, with the same ids, until it is. */
export const patiently = Effect.retry(Schedule.spaced("150 millis"))

const done =
  (tell: (told: Told) => void) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.tap(effect, () => Effect.sync(() => tell({ _tag: "Done" })))

const start = (writer: Writer, id: string, events: number) =>
  Effect.suspend(() => {
    const tell = writer.ask({ _tag: "Start", id, events })
    return Order.startOrGet(id, { events }).pipe(patiently, done(tell))
  })

/** Sends the next event of a client to an order, at times twice. */
const send = (writer: Writer, id: string, client: string, nth: number) =>
  Effect.gen(function* () {
    const event = `${client}-${nth}`
    const tell = writer.ask({ _tag: "Send", id, event, client, nth })
    const sending = Order.send(id, "Add", { event, client, nth }, { id: event }).pipe(patiently)
    const chance = yield* Random.next
    // Twice at the same time, or once more when it is acknowledged.
    const both = Effect.all(chance < 0.05 ? [sending, sending] : [sending], { concurrency: "unbounded" })
    yield* done(tell)(both)
    if (chance > 0.9) yield* sending
  })

const rest = (pause: number) => Effect.flatMap(Random.nextIntBetween(0, 2 * pause), (millis) => Effect.sleep(millis))

/** Lists what this process has started, where a copy may answer. What it has written it sees. */
const list = (writer: Writer, id: string) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore.ExecutionStore
    const tell = writer.ask({ _tag: "List", id })
    const ids = yield* store.idsWithPrefix(id).pipe(patiently)
    tell(ids.includes(id) ? { _tag: "Done" } : { _tag: "Lacking" })
  })

/** An order of its own, to its end. */
const ownOrder = (writer: Writer, { by, pause }: Options, nth: number) =>
  Effect.gen(function* () {
    const id = `o-${by}-${nth}`
    yield* start(writer, id, eventsOfAnOrder)
    if ((yield* Random.next) < 0.3) yield* list(writer, id)
    for (let i = 1; i <= eventsOfAnOrder; i++) {
      yield* send(writer, id, id, i)
      yield* rest(pause)
    }
  })

const ordersClient = (writer: Writer, options: Options, first: number) =>
  Effect.gen(function* () {
    for (let nth = first; ; nth += together) yield* ownOrder(writer, options, nth)
  })

/** Events to the orders that all processes send to. */
const sharedClient = (writer: Writer, { by, pause, shared }: Options) =>
  Effect.gen(function* () {
    const id = (n: number) => `s-${shared}-${n}`
    for (let n = 0; n < together; n++) yield* start(writer, id(n), 0)
    for (let nth = 1; ; nth++) {
      const n = yield* Random.nextIntBetween(0, together)
      yield* send(writer, id(n), `c-${by}`, nth)
      // Events that come one after the other without a rest are lanes with several of them.
      if ((yield* Random.next) < 0.7) yield* rest(4 * pause)
    }
  })

const sizeOfAGroup = 6

/** Orders of their own that are started together, at times once more, and whose only events come at the same time. */
const groupClient = (writer: Writer, { by, pause }: Options) =>
  Effect.gen(function* () {
    for (let nth = 1; ; nth++) {
      const ids = Array.from({ length: sizeOfAGroup }, (_, i) => `g-${by}-${nth}-${i}`)
      const starting = Order.startMany(ids.map((id) => ({ id, input: { events: 1 } }))).pipe(patiently)
      const tells = ids.map((id) => writer.ask({ _tag: "Start", id, events: 1 }))
      yield* starting
      for (const tell of tells) tell({ _tag: "Done" })
      if ((yield* Random.next) < 0.2) yield* starting
      yield* Effect.forEach(ids, (id) => send(writer, id, id, 1), { concurrency: "unbounded", discard: true })
      yield* rest(8 * pause)
    }
  })

const register = (shared: string, n: number): string => `r-${shared}-${n}`

const registerClient = (writer: Writer, { by, pause, shared }: Options, client: number) =>
  Effect.gen(function* () {
    for (let nth = 1; ; nth++) {
      const n = yield* Random.nextIntBetween(0, together)
      yield* Effect.ignore(Registers.one(writer, { id: register(shared, n), value: `${by}/${client}/${nth}` }))
      yield* rest(pause)
    }
  })

/** All registers together, again and again. */
const registersClient = (writer: Writer, { by, pause, shared }: Options) =>
  Effect.gen(function* () {
    for (let nth = 1; ; nth++) {
      const steps = Array.from({ length: together }, (_, n) => ({ id: register(shared, n), value: `${by}/all/${nth}` }))
      yield* Registers.several(writer, steps)
      yield* rest(4 * pause)
    }
  })

/** All clients of a process, until they are interrupted. */
export const run = (writer: Writer, options: Options): Effect.Effect<void, unknown, ExecutionStore.ExecutionStore> =>
  Effect.all(
    [
      ...[0, 1, 2].map((first) => ordersClient(writer, options, first)),
      sharedClient(writer, options),
      groupClient(writer, options),
      ...[1, 2].map((client) => registerClient(writer, options, client)),
      registersClient(writer, options)
    ],
    { concurrency: "unbounded", discard: true }
  )
